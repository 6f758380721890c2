"""Kept: an opened version of a snapshot, read chunk by chunk or row by row."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from keepset.core.cached import cached_property
from keepset.core.chunk import EMPTY, Chunk, concat
from keepset.core.dtypes import Array
from keepset.core.spec import Spec, structure_and_leaves, with_open_rows
from keepset.core.structure import Structure
from keepset.format.manifest import KeptChunk, Manifest
from keepset.nodes.select import selected
from keepset.snapshot.reading.chunk_source import ChunkSource
from keepset.snapshot.reading.read_ahead import ReadAhead
from keepset.storage import Store

# Chunks whose columns are views of a mapped file; each takes about a kilobyte.
_MOST_READY = 16_384


class Turns(NamedTuple):
    """The chunks in the order in which a reader of all elements comes to them.

    ``firsts`` are the positions of their first elements. ``lasts`` are those of the last ones, by
    the number of the chunk.
    """

    numbers: Array
    firsts: Array
    lasts: Array


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
        self._shards: Array = np.array(self.shards, np.int64)
        self._chunks: list[KeptChunk] = sorted(manifest.chunks, key=lambda chunk: chunk.shard)
        rows = [chunk.entry.rows for chunk in self._chunks]
        self._ends: Array = np.cumsum([0, *rows])
        # Of each shard the first row, in the order of the shards' numbers, and then the end.
        counts = np.zeros(len(self.shards) + 1, np.int64)
        self._places: Array = np.searchsorted(self._shards, [c.shard for c in self._chunks])
        np.add.at(counts, self._places + 1, rows)
        self._shard_ends: Array = np.cumsum(counts)
        self.source = ChunkSource(store, manifest, self._chunks, verify, keys)
        self._ready: dict[int, Chunk] = {}
        self._pickable: dict[int, Sequence[Any]] = {}
        self._projections: dict[tuple[Any, ...], Kept] = {}
        self._lock = threading.Lock()

    @property
    def spec(self) -> Spec:
        whole = with_open_rows(self.manifest.spec)
        return whole if self._keys is None else selected(whole, self._keys)

    @property
    def has_spec(self) -> bool:
        """Whether the spec is known. Of no elements, none is told from that of ``None``."""
        return self.manifest.spec is not None or self.manifest.elements > 0

    def project(self, keys: tuple[Any, ...]) -> Kept:
        """The same elements, which are dicts, with some of their entries only."""
        with self._lock:
            if keys not in self._projections:
                selected(self.spec, keys)
                self._projections[keys] = Kept(self.store, self.manifest, self._verify, keys)
            return self._projections[keys]

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
        return self._shard_ends[np.searchsorted(self._shards, shards)] + ranks

    def gather(self, rows: Array) -> Chunk:
        """The rows asked for, in that order."""
        found = self._gather_plain(rows)
        if found is not None:
            return found
        groups = self.by_chunk(rows)
        numbers = [number for number, _ in groups]
        if len(groups) < 2 or self.source.are_quick(numbers):
            return joined(groups, [self._taken(number, rows[at]) for number, at in groups])
        ahead, parts = ReadAhead(self.source), []
        for place, (number, at) in enumerate(groups):
            load = ahead.take(number, numbers[place + 1 : place + 1 + ahead.most])
            self.source.keep(load)
            parts.append(load.fetch().take(rows[at] - self._ends[number]))
        return joined(groups, parts)

    @property
    def gathers_at_once(self) -> bool:
        """Whether rows are gathered from mapped files, as far as those that were read tell."""
        return self.source.may_be_plain and self.source.plain_rows.is_possible

    def element(self, row: int) -> Any:
        """The element in one row."""
        even = self._even_rows
        if even:
            number, place = divmod(row, even)
        else:
            number = bisect_right(self._end_list, row) - 1
            place = row - self._end_list[number]
        columns = self._pickable.get(number)
        if columns is None:
            columns = self._columns_to_pick_from(number)
        return self._pick(columns, place)

    def _columns_to_pick_from(self, number: int) -> Sequence[Any]:
        """What gives the leaves of a chunk by their places; held unless it takes memory."""
        plain = self.source.plain_rows
        columns: Sequence[Any] | None = None
        if not plain.knows(number):
            columns = self.ready_chunk(number).columns
            if number not in self._ready and not plain.knows(number):
                return columns
        if plain.knows(number):
            columns = plain.columns(number, self.rows_in(number))
        assert columns is not None
        if len(self._pickable) >= _MOST_READY:
            self._pickable.clear()
        self._pickable[number] = columns
        return columns

    def ready_chunk(self, number: int) -> Chunk:
        """A chunk, which is held if it takes no memory of its own."""
        chunk = self._ready.get(number)
        if chunk is not None:
            return chunk
        load = self.source.request(number)
        chunk = load.fetch()
        self.source.keep(load)
        if not load.size:
            if len(self._ready) >= _MOST_READY:
                self._ready.clear()
            self._ready[number] = chunk
        return chunk

    def is_ready(self, number: int) -> bool:
        """Whether a chunk is held and takes no memory."""
        return number in self._ready

    @cached_property
    def _end_list(self) -> list[int]:
        found: list[int] = self._ends.tolist()
        return found

    @cached_property
    def structure(self) -> Structure:
        return structure_and_leaves(self.spec)[0]

    @cached_property
    def _pick(self) -> Callable[[Sequence[Any], int], Any]:
        return self.structure.picker()

    def _gather_plain(self, rows: Array) -> Chunk | None:
        """As ``gather``, where files are mapped and not compressed; None where they are not."""
        source = self.source
        if not source.may_be_plain or len(rows) < 2:
            return None
        numbers = self._chunk_numbers(rows)
        unknown = source.plain_rows.unknown(numbers)
        if unknown is None:
            return None
        if len(unknown):
            self._load_all(unknown.tolist())
            unknown = source.plain_rows.unknown(numbers)
            if unknown is None or len(unknown):
                return None  # they are not views after all
        return source.plain_rows.gather(numbers, rows - self._ends[numbers])

    def _chunk_numbers(self, rows: Array) -> Array:
        """The chunks that rows are in."""
        even = self._even_rows
        if even:
            return rows // even
        return np.searchsorted(self._ends, rows, side="right") - 1

    @cached_property
    def row_bytes(self) -> float:
        """About how large an element is."""
        return sum(chunk.entry.raw_bytes for chunk in self._chunks) / max(len(self), 1)

    @cached_property
    def _even_rows(self) -> int:
        """How many rows each chunk has but the last, which may have fewer; 0 if they differ."""
        counts = np.diff(self._ends)
        if not len(counts) or (counts[:-1] != counts[0]).any() or counts[-1] > counts[0]:
            return 0
        return int(counts[0])

    def _load_all(self, numbers: list[int]) -> None:
        """Read chunks for the first time."""
        if len(numbers) < 2 or self.source.are_quick(numbers):
            for number in numbers:
                self.chunk(number)
            return
        ahead = ReadAhead(self.source)
        for place, number in enumerate(numbers):
            load = ahead.take(number, numbers[place + 1 : place + 1 + ahead.most])
            self.source.keep(load)

    def _taken(self, number: int, rows: Array) -> Chunk:
        return self.chunk(number).take(rows - self._ends[number])

    def by_chunk(self, rows: Array) -> list[tuple[int, Array]]:
        """The chunks that hold these rows, each with the places of its rows among them."""
        if not len(rows):
            return []
        numbers = self._chunk_numbers(rows)
        if (numbers == numbers[0]).all():
            return [(int(numbers[0]), np.arange(len(rows)))]
        in_order = np.argsort(numbers, kind="stable")
        cuts = np.flatnonzero(np.diff(numbers[in_order])) + 1
        return [(int(numbers[at[0]]), at) for at in np.split(in_order, cuts)]

    def chunk_ends(self) -> Array:
        """The row at which each chunk begins, and the number of rows."""
        return self._ends

    def rows_in(self, number: int) -> int:
        """How many rows a chunk has."""
        return self._end_list[number + 1] - self._end_list[number]

    def chunk(self, number: int) -> Chunk:
        """A whole chunk, checked the first time it is read."""
        load = self.source.request(number)
        chunk = load.fetch()
        self.source.keep(load)
        return chunk

    @cached_property
    def turns(self) -> Turns:
        """When a reader of all elements in their order needs which chunk."""
        firsts, lasts = self._ends[:-1], self._ends[1:] - 1
        order = self.manifest.order
        if order is not None:
            pattern = self._shard_places(order.pattern)
            # The places in the pattern, shard by shard, and where those of each shard begin.
            places = np.argsort(pattern, kind="stable")
            counts = np.bincount(pattern, minlength=len(self.shards))
            starts = np.cumsum(counts) - counts
            of_chunk = self._places

            def positions(rows: Array) -> Array:
                ranks = rows - self._shard_ends[of_chunk]
                turns, within = np.divmod(ranks, counts[of_chunk])
                found: Array = turns * len(pattern) + places[starts[of_chunk] + within]
                return found

            firsts, lasts = positions(firsts), positions(lasts)
        numbers = np.argsort(firsts)
        return Turns(numbers, firsts[numbers], lasts)

    def _shard_places(self, shards: Array) -> Array:
        """Which of our shards these are; a number beyond them for those without elements."""
        known = np.append(self._shards, -1)
        places = np.searchsorted(self._shards, shards)
        places[known[places] != shards] = len(self.shards)
        # Small numbers are sorted several times as fast.
        return places.astype(np.uint16) if len(self.shards) < 1 << 16 else places


def joined(groups: list[tuple[int, Array]], parts: list[Chunk]) -> Chunk:
    """The rows of several chunks, each in its place."""
    if len(parts) < 2:
        return parts[0] if parts else EMPTY
    places = np.concatenate([places for _, places in groups])
    back = np.empty(len(places), np.int64)
    back[places] = np.arange(len(places))
    return concat(parts).take(back)
