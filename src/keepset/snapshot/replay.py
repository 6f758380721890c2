"""Replay: the elements of a kept version, by position, without computing anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, PositionCursor, State
from keepset.core.dtypes import Array
from keepset.core.node import Node, stage
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.snapshot.kept import Kept
from keepset.snapshot.opening import Location


@stage
class Replay(Node):
    """All elements of a kept version in their order, or every ``step``-th of them, or a shard's."""

    location: Location
    shard: int | None = None
    first: int = 0
    step: int = 1
    keys: tuple[Any, ...] | None = None

    @cached_property
    def kept(self) -> Kept:
        kept = self.location.kept
        return kept if self.keys is None else kept.project(self.keys)

    def project(self, keys: tuple[Any, ...]) -> Node:
        return replace(self, keys=keys)

    @property
    def title(self) -> str:
        part = "" if self.shard is None else f", shard {self.shard}"
        return f"load({self.location.url!r}{part})"

    def cursor(self, run: Run) -> Cursor:
        if (self.shard is None and self.kept.manifest.order is not None) or self.step != 1:
            return PositionCursor(self._between, self.cardinality())
        return _ChunkCursor(self.kept, self._rows())

    def _rows(self) -> range:
        """The rows of the snapshot that are given, in order, where they are next to each other."""
        if self.shard is None:
            return range(len(self.kept))[self.first :: self.step]
        return self.kept.shard_rows(self.shard)[self.first :: self.step]

    def cardinality(self) -> int:
        return len(self._rows())

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return self.kept.spec

    def obstacle(self) -> str | None:
        return None

    def gather(self, indices: Array, run: Run) -> Chunk:
        rows = self._rows()
        places = rows.start + np.asarray(indices) * rows.step
        return self.kept.gather(places if self.shard is not None else self.kept.rows_at(places))

    def _between(self, start: int, stop: int) -> Chunk:
        rows = self._rows()[start:stop]
        places = np.arange(rows.start, rows.stop, rows.step)
        return self.kept.gather(places if self.shard is not None else self.kept.rows_at(places))


class _ChunkCursor(Cursor):
    """Reads rows that lie next to each other: as views of one chunk after another."""

    def __init__(self, kept: Kept, rows: range) -> None:
        self._kept, self._first, self._length = kept, rows.start, len(rows)
        self._next = 0

    def read(self, max_rows: int) -> Chunk:
        stop = min(self._next + max_rows, self._length)
        if self._next >= stop:
            return EMPTY
        chunk = self._kept.read(self._first + self._next, self._first + stop)
        self._next += len(chunk)
        return chunk

    def skip(self, count: int) -> int:
        skipped = min(count, self._length - self._next)
        self._next += skipped
        return skipped

    def state(self) -> State:
        return {"next": self._next}

    def restore(self, state: State) -> None:
        self._next = int(state["next"])
