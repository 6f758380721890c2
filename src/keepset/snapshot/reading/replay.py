"""Replay: the elements of a kept version, by position, without computing anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from keepset.core.cached import cached_property
from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor, GatherCursor, Lookup, PositionCursor
from keepset.core.dtypes import Array
from keepset.core.node import Node, must_run, stage
from keepset.core.run import Run
from keepset.core.secrets import Mask
from keepset.core.spec import Spec
from keepset.nodes.select import selected
from keepset.snapshot.reading.in_order import Reading, open_reading
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.reading.opening import Location
from keepset.snapshot.reading.shuffled import ShuffledCursor


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

    def project(self, keys: tuple[Any, ...]) -> Node | None:
        if not self.kept.has_spec:
            return None
        selected(self.kept.spec, keys)
        return replace(self, keys=keys)

    @property
    def title(self) -> str:
        part = "" if self.shard is None else f", shard {self.shard}"
        return f"load({Mask().text(self.location.url)!r}{part})"

    def cursor(self, run: Run) -> Cursor:
        if self.shard is None and self.kept.manifest.order is not None:
            if self.step != 1 or self.first:
                return GatherCursor(self._between, self.cardinality())
            return _ReplayCursor(self, open_reading(self.kept))
        # Rows that lie next to each other are views of one chunk after another.
        return _ReplayCursor(self, open_reading(self.kept, self._rows()))

    def _rows(self) -> range:
        """The rows of the snapshot that are given, in order, where they are next to each other."""
        if self.shard is None:
            return range(len(self.kept))[self.first :: self.step]
        return self.kept.shard_rows(self.shard)[self.first :: self.step]

    def cardinality(self) -> int:
        return self._length

    @cached_property
    def _length(self) -> int:
        return len(self._rows())

    @cached_property
    def pick(self) -> Callable[[int], Any] | None:
        kept = self.kept
        if self.shard is not None or kept.manifest.order is not None:
            return None
        if self.first or self.step != 1:
            return None
        return kept.element

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return self.kept.spec if self.kept.has_spec else must_run()

    def obstacle(self) -> str | None:
        return None

    def gather(self, indices: Array, run: Run) -> Chunk:
        return self.elements_at(np.asarray(indices))

    def elements_at(self, positions: Array) -> Chunk:
        """The elements at these positions, in this order."""
        return self.kept.gather(self._rows_at(positions))

    def cursor_over(self, order: Callable[[Array], Array], length: int, run: Run) -> Cursor | None:
        # Rows of mapped files are gathered from where they are.
        if self.kept.source.may_be_plain:
            return None
        return ShuffledCursor(self.kept, lambda at: self._rows_at(order(at)), length)

    def _rows_at(self, indices: Array) -> Array:
        places = indices
        if self.shard is not None or self.first or self.step != 1:
            rows = self._rows()
            places = rows.start + indices * rows.step
        return places if self.shard is not None else self.kept.rows_at(places)

    def _between(self, start: int, stop: int) -> Chunk:
        rows = self._rows()[start:stop]
        places = np.arange(rows.start, rows.stop, rows.step)
        return self.kept.gather(places if self.shard is not None else self.kept.rows_at(places))


class _ReplayCursor(PositionCursor):
    def __init__(self, node: Replay, reading: Reading) -> None:
        super().__init__(reading.read, node.cardinality())
        self._node, self._reading = node, reading

    def read(self, max_rows: int) -> Chunk:
        try:
            return super().read(max_rows)
        except Exception:
            self._next += 1  # the element that cannot be read
            raise

    def lookup(self) -> Lookup | None:
        return self._node.elements_at if self._node.kept.gathers_at_once else None

    def close(self) -> None:
        self._reading.close()
