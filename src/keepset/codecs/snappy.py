"""SNAPPY: framed snappy around each message; the frames concatenate to an Arrow stream."""

from __future__ import annotations

import cramjam
import numpy as np

from keepset.codecs.codec import Codec
from keepset.core.dtypes import Array


def _compress(data: bytes | memoryview) -> bytes:
    return bytes(cramjam.snappy.compress(data))


def _decompress(data: bytes | memoryview, size: int) -> Array:
    found = np.empty(size, np.uint8)  # a bytearray would be filled with zeros first
    try:
        return found[: int(cramjam.snappy.decompress_into(data, found.data))]
    except cramjam.DecompressionError as error:
        raise ValueError(str(error)) from error


SNAPPY = Codec("SNAPPY", ".arrows.sz", compress=_compress, decompress=_decompress)
