"""SNAPPY: framed snappy around each message; the frames concatenate to an Arrow stream."""

from __future__ import annotations

import cramjam

from keepset.codecs.codec import Codec


def _compress(data: bytes | memoryview) -> bytes:
    return bytes(cramjam.snappy.compress(data))


def _decompress_into(data: bytes | memoryview, target: bytearray) -> int:
    try:
        return int(cramjam.snappy.decompress_into(data, target))
    except cramjam.DecompressionError as error:
        raise ValueError(str(error)) from error


SNAPPY = Codec("SNAPPY", ".arrows.sz", compress=_compress, decompress_into=_decompress_into)
