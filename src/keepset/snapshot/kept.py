"""Kept: an opened version of a snapshot, read chunk by chunk or row by row."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from keepset.codecs import codec_named
from keepset.core.chunk import EMPTY, Chunk, concat
from keepset.core.dtypes import Array
from keepset.core.spec import Spec
from keepset.errors import CorruptSnapshotError
from keepset.format.layout import Layout
from keepset.format.manifest import KeptChunk, Manifest
from keepset.format.segment import ChunkEntry, ChunkReader
from keepset.nodes.select import selected
from keepset.storage import Store

# Decoded chunks that are held for rows asked for one by one. Those that are views of a mapped file
# take next to nothing.
_MOST_CHUNKS = 1024
_MOST_CHUNK_BYTES = 64 << 20


class Kept:
    """The elements of one manifest. Safe to use from many threads.

    Rows are numbered through the chunks of the first shard, then those of the second, and so on;
    ``rows_at`` says which row an element is.
    """

    def __init__(
        self,
        store: Store,
        manifest: Manifest,
        verify: bool = True,
        keys: tuple[Any, ...] | None = None,
    ) -> None:
        self.store, self.manifest, self._verify = store, manifest, verify
        self._keys = keys  # the entries of the elements that are read; None for all
        self.shards = sorted({chunk.shard for chunk in manifest.chunks})
        self._chunks: list[KeptChunk] = sorted(manifest.chunks, key=lambda chunk: chunk.shard)
        rows = [chunk.entry.rows for chunk in self._chunks]
        self._ends: Array = np.cumsum([0, *rows])
        # Of each shard the first row, in the order of the shards' numbers, and then the end.
        counts = np.zeros(len(self.shards) + 1, np.int64)
        places = np.searchsorted(self.shards, [chunk.shard for chunk in self._chunks])
        np.add.at(counts, places + 1, rows)
        self._shard_ends: Array = np.cumsum(counts)
        self._readers = _readers_of(store, manifest)
        self._views: dict[int, memoryview | None] = {}
        self._verified = np.zeros(len(self._chunks), bool)
        self._recent = _Recent()

    @property
    def spec(self) -> Spec:
        whole = self.manifest.spec
        return whole if self._keys is None else selected(whole, self._keys)

    def project(self, keys: tuple[Any, ...]) -> Kept:
        """The same elements, which are dicts, with some of their entries only."""
        selected(self.spec, keys)
        return Kept(self.store, self.manifest, self._verify, keys)

    def __len__(self) -> int:
        return self.manifest.elements

    def shard_rows(self, shard: int) -> range:
        """The rows of one shard."""
        place = self.shards.index(shard)
        return range(int(self._shard_ends[place]), int(self._shard_ends[place + 1]))

    def rows_at(self, positions: Array) -> Array:
        """The rows of the elements at these positions."""
        order = self.manifest.order
        if order is None:
            return positions
        shards, ranks = order.places(positions)
        return self._shard_ends[np.searchsorted(self.shards, shards)] + ranks

    def read(self, start: int, stop: int) -> Chunk:
        """Rows from ``start`` on, at most up to ``stop``: as many as lie in one chunk."""
        if start >= stop:
            return EMPTY
        number = int(np.searchsorted(self._ends, start, side="right")) - 1
        first = int(self._ends[number])
        return self.chunk(number)[start - first : stop - first]

    def gather(self, rows: Array) -> Chunk:
        """The rows asked for, in that order."""
        if not len(rows):
            return EMPTY
        numbers = np.searchsorted(self._ends, rows, side="right") - 1
        if (numbers == numbers[0]).all():
            return self.chunk(int(numbers[0])).take(rows - self._ends[numbers[0]])
        by_chunk = np.argsort(numbers, kind="stable")
        found, starts = np.unique(numbers[by_chunk], return_index=True)
        parts = []
        for number, places in zip(found.tolist(), np.split(by_chunk, starts[1:]), strict=True):
            parts.append(self.chunk(number).take(rows[places] - self._ends[number]))
        back = np.empty(len(rows), np.int64)
        back[by_chunk] = np.arange(len(rows))
        return concat(parts).take(back)

    def chunk_ends(self) -> Array:
        """The row at which each chunk begins, and the number of rows."""
        return self._ends

    def chunk(self, number: int) -> Chunk:
        """A whole chunk, checked the first time it is read."""
        chunk = self._recent.get(number)
        if chunk is None:
            chunk = self._load(number)
            self._recent.put(number, chunk)
        return chunk

    def _load(self, number: int) -> Chunk:
        kept = self._chunks[number]
        reader = self._readers[kept.segment]
        keys = self._keys
        columns = None if keys is None else reader.layout.structure.select(keys)[1]
        data = self._bytes_of(kept, columns)
        if self._verify and not self._verified[number]:
            reader.check(data, kept.entry, columns)
            self._verified[number] = True
        return reader.read(data, kept.entry, keys)

    def _bytes_of(self, kept: KeptChunk, columns: list[int] | None) -> memoryview:
        segment, entry = self.manifest.segments[kept.segment].entry, kept.entry
        if kept.segment not in self._views:
            self._views[kept.segment] = self.store.view(segment.name)
        view = self._views[kept.segment]
        if view is None and columns is not None and len(entry.ends) > 1:
            data = self._fetch_columns(segment.name, entry, columns)
        elif view is None:
            data = memoryview(self.store.read_range(segment.name, entry.offset, entry.stored_bytes))
        else:
            data = view[entry.offset : entry.offset + entry.stored_bytes]
        if len(data) != entry.stored_bytes:
            raise CorruptSnapshotError(
                f"{self.store.url}/{segment.name} ends at byte {entry.offset + len(data)}, but "
                f"{segment.size_bytes} bytes were kept; restore the file from a "
                "copy, or remove the snapshot's folder to have everything computed again",
                path=segment.name,
                byte=entry.offset + len(data),
            )
        return data

    def _fetch_columns(self, name: str, entry: ChunkEntry, columns: list[int]) -> memoryview:
        """The bytes of some columns in their places; nothing is fetched of the others."""
        ends = (0, *entry.ends)
        pieces = [(ends[i], ends[i + 1]) for i in (0, *(column + 1 for column in columns))]
        ranges = [(entry.offset + start, stop - start) for start, stop in pieces]
        data = bytearray(entry.stored_bytes)
        for (start, stop), found in zip(pieces, self.store.read_ranges(name, ranges), strict=True):
            data[start:stop] = found
        return memoryview(data)


def _readers_of(store: Store, manifest: Manifest) -> Sequence[ChunkReader]:
    layouts: dict[Any, Layout] = {}
    readers = []
    for segment in manifest.segments:
        key = (repr(segment.spec), segment.wide)
        if key not in layouts:
            layouts[key] = Layout(segment.spec, segment.wide)
        where = f"{store.url}/{segment.entry.name}"
        readers.append(ChunkReader(layouts[key], codec_named(segment.codec), where))
    return readers


class _Recent:
    """The chunks that were used last, within a bound of memory."""

    def __init__(self) -> None:
        self._chunks: OrderedDict[int, tuple[Chunk, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, number: int) -> Chunk | None:
        with self._lock:
            found = self._chunks.get(number)
            if found is None:
                return None
            self._chunks.move_to_end(number)
            return found[0]

    def put(self, number: int, chunk: Chunk) -> None:
        size = chunk.own_bytes
        with self._lock:
            if number in self._chunks:
                return
            self._chunks[number] = (chunk, size)
            self._bytes += size
            while len(self._chunks) > 1 and (
                len(self._chunks) > _MOST_CHUNKS or self._bytes > _MOST_CHUNK_BYTES
            ):
                self._bytes -= self._chunks.popitem(last=False)[1][1]
