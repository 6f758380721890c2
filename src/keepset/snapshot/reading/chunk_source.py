"""ChunkSource: the chunks of a manifest, fetched, checked the first time, and decoded."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.column import Column
from keepset.core.dtypes import Array
from keepset.core.jagged import Jagged
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.tally import tally
from keepset.errors import CorruptSnapshotError, ObjectMissingError, StorageError
from keepset.format.manifest import KeptChunk, Manifest
from keepset.format.place import check_place
from keepset.format.readers import readers_of
from keepset.format.segment import ChunkEntry
from keepset.snapshot.reading.loading import MOST_RECENT_BYTES, Load, Loads
from keepset.snapshot.reading.plain_rows import PlainRows
from keepset.storage import Store

_OBJECT_BYTES = 100  # about what a small Python object with its header takes
# Bytes that are in memory are checked many times as fast. A check that takes longer waits for the
# disk, and so will the next ones if it happens twice in a row.
_SLOW_CHECK_S, _SLOW_BYTES_PER_S = 0.0005, 1 << 30


class ChunkSource:
    """Chunks by their place in a list. Safe to use from many threads.

    ``keys`` are the entries of the elements that are read; None for all.
    """

    def __init__(
        self,
        store: Store,
        manifest: Manifest,
        chunks: Sequence[KeptChunk],
        verify: bool,
        keys: tuple[Any, ...] | None,
    ) -> None:
        self.store, self._manifest, self._chunks = store, manifest, chunks
        self._verify, self._keys = verify, keys
        self._readers = readers_of(manifest, store.url)
        self._views: dict[int, memoryview | None] = {}
        codecs = [segment.codec for segment in manifest.segments]
        self._is_plain = np.array([codecs[chunk.segment] == "NONE" for chunk in chunks], bool)
        self._are_plain = bool(self._is_plain.all())
        self._verified = np.zeros(len(chunks), bool)
        self._is_mapped = False  # as far as is known
        self._slow_checks = 0  # the last ones in a row
        self._rows = sum(chunk.entry.rows for chunk in chunks)
        self._row_bytes = 0.0  # of what was decoded last
        self._loads = Loads()
        self.plain_rows = PlainRows(len(chunks))

    def request(self, number: int) -> Load:
        """The load of a chunk, which may be done, under way, or for the caller to run."""
        return self._loads.request(number, self._load)

    def keep(self, load: Load) -> None:
        """Hold a chunk for those who ask for rows one by one."""
        self._loads.keep(load)

    def keep_for_next_pass(self, load: Load) -> None:
        """Hold a chunk if all of them can be held.

        Otherwise somebody who reads them in turn would find none of those that were held.
        """
        if self._rows * self._row_bytes <= MOST_RECENT_BYTES:
            self._loads.keep_if_room(load)

    @property
    def may_be_plain(self) -> bool:
        """Whether chunks are uncompressed and, as far as is known, in mapped files."""
        return self._are_plain and not self.store.is_remote

    @property
    def is_all_quick(self) -> bool:
        """Whether ``are_quick`` is so for every chunk."""
        is_quick = not self.is_slow or bool(self._verified.all())
        return self._is_mapped and self._are_plain and is_quick

    def are_quick(self, numbers: Array | Sequence[int]) -> bool:
        """Whether these are views of mapped files and in memory, so that no thread saves time."""
        if not self._is_mapped or not self._is_plain[numbers].all():
            return False
        return not self.is_slow or bool(self._verified[numbers].all())

    def is_quick(self, number: int) -> bool:
        """As ``are_quick``, for one."""
        return bool(
            self._is_mapped
            and self._is_plain[number]
            and (self._verified[number] or not self.is_slow)
        )

    @property
    def is_slow(self) -> bool:
        """Whether reading waits for a disk."""
        return self._slow_checks > 1

    @property
    def row_bytes(self) -> float:
        """How much memory a row takes, judged by the chunk that was read last."""
        return self._row_bytes

    def expected_bytes(self, number: int) -> int:
        """About how much memory a chunk will take, judged by the one before."""
        entry = self._chunks[number].entry
        return max(entry.stored_bytes, int(entry.rows * self._row_bytes))

    def _load(self, number: int) -> tuple[Chunk, int]:
        """A chunk, and how much memory it takes."""
        kept = self._chunks[number]
        reader = self._readers[kept.segment]
        keys = self._keys
        columns = None if keys is None else reader.layout.structure.select(keys)[1]
        try:
            view = self._view_of(kept)
            data = self._bytes_of(kept, view, columns)
        except (ObjectMissingError, StorageError) as error:
            for place in ("segments/", self._manifest.segments[kept.segment].entry.name):
                check_place(self.store, place)
            if isinstance(error, StorageError):
                raise
            raise ObjectMissingError(
                f"{error.url} is missing, which elements are kept in; if it was saved anew "
                "meanwhile, load it again; else restore the file from a copy, or drop what is lost "
                "with `keepset verify --repair`",
                url=error.url,
            ) from error
        was_read = bool(self._verified[number])
        if self._verify and not was_read:
            began = time.perf_counter()
            reader.check(data, kept.entry, columns)
            took_s = time.perf_counter() - began
            is_slow = took_s > _SLOW_CHECK_S + len(data) / _SLOW_BYTES_PER_S
            self._slow_checks = self._slow_checks + 1 if is_slow else 0
            self._verified[number] = True
        # Many passes share it.
        chunk = reader.read(data, kept.entry, keys, was_read).read_only()
        self._is_mapped = view is not None
        is_view = self._is_mapped and bool(self._is_plain[number])
        if is_view:
            assert view is not None
            if self.plain_rows.wants(number):
                places = reader.places(data, kept.entry, keys)
                self.plain_rows.note(number, chunk, places, view)
        size = sum(_memory_of(column, is_view) for column in chunk.columns)
        self._row_bytes = size / max(len(chunk), 1)
        return chunk, size

    def _view_of(self, kept: KeptChunk) -> memoryview | None:
        if kept.segment not in self._views:
            name = self._manifest.segments[kept.segment].entry.name
            tally("store_read")
            self._views.setdefault(kept.segment, self.store.view(name))
        return self._views[kept.segment]

    def _bytes_of(
        self, kept: KeptChunk, view: memoryview | None, columns: list[int] | None
    ) -> memoryview:
        segment, entry = self._manifest.segments[kept.segment].entry, kept.entry
        if view is None and columns is not None and len(entry.ends) > 1:
            data = self._fetch_columns(segment.name, entry, columns)
        elif view is None:
            tally("store_read")
            data = memoryview(self.store.read_range(segment.name, entry.offset, entry.stored_bytes))
        else:
            data = view[entry.offset : entry.offset + entry.stored_bytes]
        if len(data) != entry.stored_bytes:
            end = entry.offset + len(data) if view is None else len(view)
            raise CorruptSnapshotError(
                f"{self.store.url}/{segment.name} ends at byte {end}, but "
                f"{segment.size_bytes} bytes were kept; restore the file from a copy, or drop what "
                "is damaged with `keepset verify --repair`",
                path=segment.name,
                byte=end,
            )
        return data

    def _fetch_columns(self, name: str, entry: ChunkEntry, columns: list[int]) -> memoryview:
        """The bytes of some columns in their places; nothing is fetched of the others."""
        ends = (0, *entry.ends)
        pieces = [(ends[i], ends[i + 1]) for i in (0, *(column + 1 for column in columns))]
        ranges = [(entry.offset + start, stop - start) for start, stop in pieces]
        data = bytearray(entry.stored_bytes)
        tally("store_read")
        for (start, stop), found in zip(pieces, self.store.read_ranges(name, ranges), strict=True):
            data[start:stop] = found
        return memoryview(data)


def _memory_of(column: Column, is_view: bool) -> int:
    """How much memory of its own a decoded column takes."""
    if isinstance(column, Jagged) and column.values.dtype != object:
        return 0 if is_view else column.nbytes
    if isinstance(column, np.ndarray) and column.dtype != object:
        return 0 if is_view else column.nbytes
    # Strings are copies even where the file is mapped.
    if isinstance(column, np.ndarray):
        return sum(map(len, column.ravel())) + _OBJECT_BYTES * column.size
    content = sum(
        len(leaf) if isinstance(leaf, bytes | str) else 0 if is_view else _leaf_bytes(leaf)
        for leaf in column
    )
    return content + _OBJECT_BYTES * len(column)


def _leaf_bytes(leaf: Any) -> int:
    if isinstance(leaf, Ragged):
        return leaf.flat_values.nbytes + leaf.row_splits.nbytes
    if isinstance(leaf, Sparse):
        return leaf.values.nbytes + leaf.indices.nbytes
    return int(getattr(leaf, "nbytes", 0))
