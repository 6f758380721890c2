"""GZIP: one gzip member for each message; ``gunzip`` gives an Arrow stream."""

from __future__ import annotations

import cramjam

from keepset.codecs.codec import Codec

_LEVEL = 6  # what gzip itself does, and about as fast as it gets before files grow a lot


def _compress(data: bytes | memoryview) -> bytes:
    return bytes(cramjam.gzip.compress(data, level=_LEVEL))


def _decompress_into(data: bytes | memoryview, target: bytearray) -> int:
    try:
        return int(cramjam.gzip.decompress_into(data, target))
    except cramjam.DecompressionError as error:
        raise ValueError(str(error)) from error


GZIP = Codec("GZIP", ".arrows.gz", compress=_compress, decompress_into=_decompress_into)
