"""Choosing a codec by looking at the data: the same data always gets the same answer."""

from __future__ import annotations

import pyarrow as pa

from keepset.codecs import AUTO, CODECS, Codec
from keepset.core.chunk import Chunk
from keepset.format.layout import Layout

_WORTHWHILE = 0.15


def choose_codec(compression: str, layout: Layout, chunk: Chunk, is_remote: bool) -> Codec:
    """The codec of that name; for ``AUTO`` the one that suits the first chunk.

    LZ4 where it saves at least 15%, ZSTD where it saves twice as much as that again, or at least
    15% of what has to cross a network; otherwise none.
    """
    if compression != AUTO:
        return CODECS[compression]
    data = layout.encode(chunk).serialize()
    lz4, zstd = (_saved(data, name) for name in ("lz4", "zstd"))
    if zstd >= _WORTHWHILE and (is_remote or zstd >= 2 * max(lz4, _WORTHWHILE)):
        return CODECS["ZSTD"]
    return CODECS["LZ4" if lz4 >= _WORTHWHILE else "NONE"]


def _saved(data: pa.Buffer, codec: str) -> float:
    """The share of the bytes that a codec saves."""
    return float(1 - pa.compress(data, codec=codec).size / max(data.size, 1))
