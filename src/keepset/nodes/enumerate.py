"""Enumerate: put a running number in front of each element."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.node import Node, stage
from keepset.core.parameter import upstream
from keepset.core.run import Run
from keepset.core.spec import Spec, TensorSpec
from keepset.core.structure import LEAF, tuple_of


@stage
class Enumerate(Node):
    """``(number, element)``, counting from ``start``."""

    parent: Node = upstream()
    start: int = 0

    def cursor(self, run: Run) -> Cursor:
        return _EnumerateCursor(self, self.parent.cursor(run.input(0)))

    def cardinality(self) -> int:
        return self.parent.cardinality()

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return (TensorSpec((), np.int64), spec(self.parent))

    def obstacle(self) -> str | None:
        return self.parent.obstacle()

    def gather(self, indices: Array, run: Run) -> Chunk:
        return self.number(self.parent.gather(indices, run.input(0)), indices + self.start)

    def number(self, chunk: Chunk, numbers: Array) -> Chunk:
        """Pair elements with their numbers, in whichever form the elements are."""
        if chunk.has_columns:
            columns = [numbers, *chunk.columns]
            return Chunk.from_columns(tuple_of(LEAF, chunk.structure), columns, len(chunk))
        return Chunk.from_rows(list(zip(numbers, chunk.rows, strict=True)))


class _EnumerateCursor(Cursor):
    def __init__(self, node: Enumerate, parent: Cursor) -> None:
        self._node, self._parent, self._next = node, parent, node.start

    def read(self, max_rows: int) -> Chunk:
        chunk = self._parent.read(max_rows)
        if not len(chunk):
            return EMPTY
        first, self._next = self._next, self._next + len(chunk)
        return self._node.number(chunk, np.arange(first, self._next))

    def skip(self, count: int) -> int:
        skipped = self._parent.skip(count)
        self._next += skipped
        return skipped

    def state(self) -> State:
        return {"parent": self._parent.state(), "next": self._next}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        self._next = state["next"]

    def close(self) -> None:
        self._parent.close()
