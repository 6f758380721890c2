"""A codec's own library on the bytes of a workload, in one thread, and nothing else.

A limit for what reads or writes compressed data: nothing is read, written, checked or made of the
bytes. They are cut as Keepset cuts them: rows of about 2 MiB, each column of them by itself for
the codecs that Arrow knows, all columns together for the others.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cramjam
import numpy as np
import pyarrow as pa

from kept.codecs import BOUND, CODECS, ONE_CORE, WORKLOADS
from kept.jobs import Start
from kept.workloads import Array, Jagged, table

DISTRIBUTIONS = ("pyarrow", "cramjam", "numpy")

_CHUNK_BYTES = 2 << 20
_ZLIB_LEVEL = 6


@dataclass(frozen=True)
class _Codec:
    compress: Callable[[Any], Any]
    decompress: Callable[[Any, int], Any]


def _decompress_snappy(data: Any, size: int) -> Any:
    return cramjam.snappy.decompress_into(data, _memory(size))


@lru_cache(maxsize=4)
def _memory(size: int) -> bytearray:
    return bytearray(size)


def _of_arrow(name: str) -> _Codec:
    codec = pa.Codec(name)
    return _Codec(codec.compress, lambda data, size: codec.decompress(data, size))


_LIBRARIES = {
    "lz4": _of_arrow("lz4"),
    "zstd": _of_arrow("zstd"),
    "gzip": _Codec(
        lambda data: zlib.compress(data, _ZLIB_LEVEL, zlib.MAX_WBITS | 16),
        lambda data, size: zlib.decompress(data, zlib.MAX_WBITS | 16, size),
    ),
    "snappy": _Codec(cramjam.snappy.compress, _decompress_snappy),
}


@lru_cache(maxsize=1)
def _chunks(workload: str, codec: str) -> tuple[int, list[list[Array]]]:
    """How many rows a chunk has, and of each chunk the pieces that are compressed by themselves."""
    data = table(workload)
    row_bytes = sum(map(_size_bytes, data.columns.values())) / len(data)
    rows = 1 << int(np.log2(_CHUNK_BYTES / row_bytes))
    chunks = []
    for first in range(0, len(data), rows):
        pieces = [
            piece
            for column in data.columns.values()
            for piece in _buffers(column, first, min(first + rows, len(data)))
        ]
        chunks.append(pieces if codec in ("lz4", "zstd") else [np.concatenate(pieces)])
    return rows, chunks


def _size_bytes(column: Array | Jagged) -> int:
    if isinstance(column, Jagged):
        return column.values.nbytes + column.offsets.nbytes
    return column.nbytes


def _buffers(column: Array | Jagged, first: int, stop: int) -> list[Array]:
    if not isinstance(column, Jagged):
        return [column[first:stop].reshape(-1).view(np.uint8)]
    offsets = column.offsets[first : stop + 1]
    values = column.values[offsets[0] : offsets[-1]].view(np.uint8)
    # Keepset and Arrow keep where rows begin in 32 bits.
    return [(offsets - offsets[0]).astype(np.int32).view(np.uint8), values]


@lru_cache(maxsize=1)
def _compressed(workload: str, codec: str) -> list[list[tuple[Any, int]]]:
    compress = _LIBRARIES[codec].compress
    _, chunks = _chunks(workload, codec)
    return [[(compress(piece), piece.nbytes) for piece in pieces] for pieces in chunks]


@dataclass(frozen=True)
class _Alone:
    """Goes through the chunks; what comes out is not handed over, so there is nothing to check."""

    workload: str
    codec: str
    unchecked = True

    @property
    def least(self) -> int:
        """A chunk is all or nothing."""
        return _chunks(self.workload, self.codec)[0]

    def chunks(self, n: int) -> int:
        """How many chunks have about ``n`` rows."""
        rows, chunks = _chunks(self.workload, self.codec)
        return min(len(chunks), max(1, round(n / rows)))


class _Decompressing(_Alone):
    def __call__(self, n: int) -> Start:
        pieces = [
            piece
            for chunk in _compressed(self.workload, self.codec)[: self.chunks(n)]
            for piece in chunk
        ]
        decompress = _LIBRARIES[self.codec].decompress

        def start() -> Iterator[Any]:
            for data, size in pieces:
                decompress(data, size)
            return iter(())

        return start

    def stored_bytes(self) -> float:
        chunks = _compressed(self.workload, self.codec)
        total = sum(len(data) for chunk in chunks for data, _ in chunk)
        return total / len(table(self.workload))


class _Compressing(_Alone):
    note = "nothing is written"

    def __call__(self, n: int) -> Start:
        _, chunks = _chunks(self.workload, self.codec)
        pieces = [piece for chunk in chunks[: self.chunks(n)] for piece in chunk]
        compress = _LIBRARIES[self.codec].compress

        def start() -> Iterator[Any]:
            for piece in pieces:
                compress(piece)
            return iter(())

        return start


KEPT: dict[str, _Decompressing | _Compressing] = {}
for _workload in WORKLOADS:
    for _codec in CODECS:
        for _operation in BOUND:
            _name, _build = f"{_workload} {_codec} {_operation}", _Decompressing(_workload, _codec)
            KEPT |= {_name: _build, _name + ONE_CORE: _build}
        KEPT[f"{_workload} {_codec} write from arrays"] = _Compressing(_workload, _codec)
