"""Window: the rows of a stretch of an order that is known ahead, in memory before they are needed.

Rows in random order lie in all chunks. To decompress a chunk for each of them takes as many times
longer as a chunk has rows. Here each chunk that has any row of the stretch is loaded once, what is
wanted of it is copied, and the chunk is let go.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from typing import Any

import numpy as np

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.column import Column, column_rows, column_take, own_leaf
from keepset.core.dtypes import Array
from keepset.core.jagged import Jagged
from keepset.core.spec import structure_and_leaves
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.reading.loading import Load
from keepset.workers.background import BackgroundThreads

_NUMBER_BITS = 63


class Window:
    """The rows at the positions from ``start`` on; ``rows`` are their numbers.

    ``fill`` brings them into memory, in several threads if ``start_filling`` was called before.
    """

    def __init__(self, kept: Kept, start: int, rows: Array) -> None:
        self.start, self.stop = start, start + len(rows)
        self._rows = rows
        self._contents = _Contents(kept, rows)
        numbers = range(len(self._contents.numbers))
        self._loads = [Load(number, self._contents.add) for number in numbers]
        self._fillers: list[_Filler] = []
        self.is_broken = False

    @property
    def filling_s(self) -> float:
        """How long it took to fill the window, all threads together."""
        return self._contents.filling_s

    @property
    def chunks(self) -> int:
        """How many chunks have any of the rows."""
        return len(self._loads)

    def holds(self, position: int) -> bool:
        return self.start <= position < self.stop

    def prepare(self) -> None:
        """Make room for the rows, by what one chunk says that they are."""
        try:
            self._contents.prepare()
        except Exception:
            # Whoever reads the rows one by one gets the error in its place.
            self.is_broken = True

    def start_filling(self, threads: BackgroundThreads) -> None:
        """Have threads load what is missing, for as long as somebody holds this window."""
        self.prepare()
        if self.is_broken:
            return
        left = deque(self._loads)
        self._fillers = [_Filler(left, threads) for _ in range(min(threads.limit, self.chunks))]
        for filler in self._fillers:
            threads.submit(filler)

    def fill(self) -> None:
        """Load what is missing, here and in threads that are at it."""
        self.prepare()
        try:
            for load in () if self.is_broken else self._loads:
                load.run()  # unless somebody else has begun to
            for load in () if self.is_broken else self._loads:
                load.fetch()
        except Exception:
            self.is_broken = True

    def read(self, start: int, stop: int) -> Chunk:
        """Copies of the elements at these positions, after ``fill``."""
        return self._contents.read(start - self.start, stop - self.start)

    def rows(self, start: int, stop: int) -> Array:
        return self._rows[start - self.start : stop - self.start]


class _Filler:
    """Loads one chunk at a time, then queues again behind what other readers want."""

    def __init__(self, left: deque[Load], threads: BackgroundThreads) -> None:
        self._left, self._threads = left, threads

    def run(self) -> None:
        while self._left:
            try:
                load = self._left.popleft()
            except IndexError:
                return  # another one was faster
            if not load.has_begun:
                load.run()
                self._threads.submit(self)
                return


class _Contents:
    """Where rows lie in memory: those of one chunk side by side, chunk after chunk."""

    def __init__(self, kept: Kept, rows: Array) -> None:
        self._source = kept.source
        ends = kept.chunk_ends()
        in_order, found = _sorted(rows)
        bounds = np.searchsorted(found, ends)
        self.numbers: list[int] = np.flatnonzero(np.diff(bounds)).tolist()
        self._bounds: list[int] = [*bounds[self.numbers].tolist(), len(rows)]
        # Within their chunks:
        self._places: Array = found - np.repeat(ends[:-1], np.diff(bounds))
        self._slots: Array = np.empty(len(rows), np.int64)
        self._slots[in_order] = np.arange(len(rows))
        self._structure, self._specs = structure_and_leaves(kept.spec)
        self._columns: list[_Column] = []
        self.filling_s = 0.0
        self._first: Load | None = None

    def prepare(self) -> None:
        """Make room for what the first chunk says that columns are."""
        if self._columns or not self.numbers:
            return
        self._first = self._source.request(self.numbers[0])
        rows = len(self._slots)
        self._columns = [
            _Arrays(column, rows)
            if isinstance(column, np.ndarray) and column.shape[1:] == spec.shape
            else _Leaves(rows)
            for column, spec in zip(self._first.fetch().columns, self._specs, strict=True)
        ]

    def add(self, number: int) -> tuple[Chunk, int]:
        """Load the chunk of this place in ``numbers``, and copy what is wanted of it."""
        began = time.perf_counter()
        chunk = self._source.request(self.numbers[number]).fetch()
        start, stop = self._bounds[number : number + 2]
        for column, found in zip(self._columns, chunk.columns, strict=True):
            column.put(start, stop, found, self._places[start:stop])
        if number == 0:
            self._first = None
        self.filling_s += time.perf_counter() - began
        return EMPTY, 0

    def read(self, start: int, stop: int) -> Chunk:
        slots = self._slots[start:stop]
        columns = [column.take(slots) for column in self._columns]
        return Chunk.from_columns(self._structure, columns, len(slots))


def _sorted(rows: Array) -> tuple[Array, Array]:
    """What sorts these numbers, and the numbers sorted."""
    bits = len(rows).bit_length()
    if bits + int(rows.max(initial=0)).bit_length() > _NUMBER_BITS:
        in_order = np.argsort(rows)
        return in_order, rows[in_order]
    # Numbers are sorted several times as fast as places of numbers: each takes its place along.
    both = np.sort((rows << bits) | np.arange(len(rows)))
    return both & ((1 << bits) - 1), both >> bits


class _Column(ABC):
    """One leaf of the rows."""

    @abstractmethod
    def put(self, start: int, stop: int, column: Column, places: Array) -> None:
        """Copy the leaves at ``places`` of a chunk's column."""

    @abstractmethod
    def take(self, slots: Array) -> Column:
        """Copies of some leaves."""


class _Arrays(_Column):
    """Leaves of one shape, in one array."""

    def __init__(self, like: Array, rows: int) -> None:
        self._array: Array = np.empty((rows, *like.shape[1:]), like.dtype)

    def put(self, start: int, stop: int, column: Column, places: Array) -> None:
        assert isinstance(column, np.ndarray)
        # With this mode NumPy writes to where it is to go, and not to a copy first.
        column.take(places, axis=0, out=self._array[start:stop], mode="clip")

    def take(self, slots: Array) -> Column:
        return self._array.take(slots, axis=0)


class _Leaves(_Column):
    """Any other leaves."""

    def __init__(self, rows: int) -> None:
        self._leaves: list[Any] = [None] * rows
        self._are_jagged = True

    def put(self, start: int, stop: int, column: Column, places: Array) -> None:
        taken = column_take(column, places)
        # What was only taken may be views, which would keep the whole chunk in memory.
        if isinstance(taken, Jagged):
            self._leaves[start:stop] = taken.copy().leaves()
        else:
            self._are_jagged = False
            self._leaves[start:stop] = map(own_leaf, column_rows(taken))

    def take(self, slots: Array) -> Column:
        found = [self._leaves[slot] for slot in slots.tolist()]
        return Jagged.of(found) if self._are_jagged else found
