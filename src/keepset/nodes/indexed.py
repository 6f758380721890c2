"""Indexed stages: reorderings and selections that are computed from positions alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.node import INFINITE, Node, stage
from keepset.core.run import Run
from keepset.core.spec import Spec


@stage
class Indexed(Node):
    """A stage whose element ``i`` is the parent's element ``translate(i)``.

    Its cursor holds one number, and reads from its parent only what it gives.
    """

    parent: Node

    @abstractmethod
    def translator(self, run: Run) -> Callable[[Array], Array]:
        """The function from own positions to the parent's positions."""

    def cursor(self, run: Run) -> Cursor:
        return IndexedCursor(self, run)

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)

    def obstacle(self) -> str | None:
        return self.parent.obstacle()

    def gather(self, indices: Array, run: Run) -> Chunk:
        return self.parent.gather(self.translator(run)(indices), run.input(0))


class IndexedCursor(Cursor):
    """Gathers position after position."""

    def __init__(self, node: Indexed, run: Run) -> None:
        self._parent, self._run = node.parent, run.input(0)
        self._translate = node.translator(run)
        length = node.cardinality()
        self._length = np.iinfo(np.int64).max if length == INFINITE else length
        self._next = 0

    def read(self, max_rows: int) -> Chunk:
        stop = min(self._next + max_rows, self._length)
        if stop <= self._next:
            return EMPTY
        indices = self._translate(np.arange(self._next, stop))
        chunk = self._parent.gather(indices, self._run)
        self._next = stop
        return chunk

    def skip(self, count: int) -> int:
        skipped = int(min(count, self._length - self._next))
        self._next += skipped
        return skipped

    def state(self) -> State:
        return {"next": self._next}

    def restore(self, state: State) -> None:
        self._next = state["next"]
