"""ShuffledCursor: elements in an order that jumps about, read window by window."""

from __future__ import annotations

import time
from collections.abc import Callable
from weakref import WeakSet

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.cursor import GatherCursor
from keepset.core.dtypes import Array
from keepset.core.spec import structure_and_leaves
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.reading.loading import Load
from keepset.snapshot.reading.read_ahead import threads_for
from keepset.snapshot.reading.window import Window

# What all windows in this process may take together.
MOST_BYTES = 192 << 20
# What a row takes besides its content: numbers that say where it is, and for each leaf that is an
# object of its own.
_INDEX_BYTES = 32
_LEAF_BYTES = 112

_active: WeakSet[ShuffledCursor] = WeakSet()


class ShuffledCursor(GatherCursor):
    """Elements in the order in which ``rows_at`` gives their rows for positions from 0 on.

    Windows are as large as memory allows, but the first ones are small: no more than twice as many
    chunks are loaded for one as were needed before, or than the read that needs it asks for.
    """

    def __init__(self, kept: Kept, rows_at: Callable[[Array], Array], length: int) -> None:
        super().__init__(self._between, length)
        self._kept, self._rows_at = kept, rows_at
        self._chunks = len(kept.chunk_ends()) - 1
        self._window: Window | None = None
        self._coming: Window | None = None  # which is being filled while the other is read
        self._loaded = 0  # how many chunks windows have needed
        self._opened_at = 0.0
        self._using_s = 0.0  # of a row, by the consumer
        self._filling_s = 0.0  # for a chunk, by a thread
        leaves = structure_and_leaves(kept.spec)[1]
        objects = sum(leaf.shape is None or None in leaf.shape for leaf in leaves)
        self._overhead_bytes = _INDEX_BYTES + _LEAF_BYTES * objects

    def _between(self, start: int, stop: int) -> Chunk:
        window = self._window
        if window is None or not window.holds(start):
            if window is not None:
                used_s = time.perf_counter() - self._opened_at
                self._using_s = used_s / (window.stop - window.start)
            self._window = window = None  # its memory is for the next one
            window = self._window = self._opened(start, stop)
            self._opened_at = time.perf_counter()
        stop = min(stop, window.stop)
        if window.is_broken:
            return self._kept.gather(window.rows(start, stop))
        return window.read(start, stop)

    def _opened(self, start: int, stop: int) -> Window:
        """The window that begins at ``start``, filled."""
        window, self._coming = self._coming, None
        looked_at = None if self._loaded else self._look_at(start)
        threads = threads_for(self._kept.source)
        if window is None or window.start != start:
            window = self._make(start, stop - start)
            if threads is not None and window.chunks > 1:
                window.start_filling(threads)
        window.fill()
        del looked_at  # not before: it need not be loaded again
        self._loaded += window.chunks
        self._filling_s = window.filling_s / window.chunks
        is_half = 2 * (window.stop - window.start) <= self._most_rows
        if threads is not None and window.stop < self._length and is_half and self._overlaps:
            self._coming = self._make(window.stop, 1)
            self._coming.start_filling(threads)
        return window

    def _look_at(self, position: int) -> Load:
        """Load one chunk that is needed, so that it is known how large rows are."""
        row = self._rows_at(np.array([position]))[0]
        number = int(np.searchsorted(self._kept.chunk_ends(), row, side="right")) - 1
        load = self._kept.source.request(number)
        load.run()
        return load

    def _make(self, start: int, asked: int) -> Window:
        most = self._most_rows // 2 if self._overlaps else self._most_rows
        rows = max(2 * self._loaded, asked)
        # A window that needs many of the chunks anyway may as well be large.
        rows = most if 2 * rows >= self._chunks else min(rows, most)
        stop = min(start + max(1, rows), self._length)
        return Window(self._kept, start, self._rows_at(np.arange(start, stop)))

    @property
    def _overlaps(self) -> bool:
        """Whether to fill one window while another is read.

        That means windows of half the size, which need all chunks twice as often. It is worth it if
        to use rows takes longer than to load them.
        """
        threads = threads_for(self._kept.source)
        if threads is None or self._length <= self._most_rows:
            return False
        return self._using_s * self._most_rows > self._filling_s * self._chunks / threads.limit

    @property
    def _most_rows(self) -> int:
        """How many rows there is memory for."""
        _active.add(self)
        row_bytes = self._kept.source.row_bytes + self._overhead_bytes
        return int(MOST_BYTES // len(_active) // row_bytes)

    def close(self) -> None:
        self._window = self._coming = None
        _active.discard(self)
