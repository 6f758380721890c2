"""Indexed stages: reorderings and selections that are computed from positions alone."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor, GatherCursor
from keepset.core.dtypes import Array
from keepset.core.node import Node, stage
from keepset.core.parameter import upstream
from keepset.core.run import Run
from keepset.core.spec import Spec

_TIMES_AHEAD, _MOST_AHEAD = 8, 1 << 15


@stage
class Indexed(Node):
    """A stage whose element ``i`` is the parent's element ``translate(i)``.

    Its cursor holds one number, and reads from its parent only what it gives.
    """

    parent: Node = upstream()

    @abstractmethod
    def translator(self, run: Run) -> Callable[[Array], Array]:
        """The function from own positions to the parent's positions."""

    def cursor(self, run: Run) -> Cursor:
        translate, parent, upstream = self.translator(run), self.parent, run.input(0)
        if self.jumps:
            ahead = parent.cursor_over(translate, self.cardinality(), upstream)
            if ahead is not None:
                return ahead
        places = _Places(translate, self.cardinality())

        def stretch(start: int, stop: int) -> Chunk:
            return parent.gather(places.between(start, stop), upstream)

        return GatherCursor(stretch, self.cardinality())

    @property
    def jumps(self) -> bool:
        """Whether neighbours may lie anywhere in the parent."""
        return isinstance(self.parent, Indexed) and self.parent.jumps

    def cursor_over(self, order: Callable[[Array], Array], length: int, run: Run) -> Cursor | None:
        translate = self.translator(run)
        return self.parent.cursor_over(lambda at: translate(order(at)), length, run.input(0))

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)

    def obstacle(self) -> str | None:
        return self.parent.obstacle()

    def gather(self, indices: Array, run: Run) -> Chunk:
        return self.parent.gather(self.translator(run)(indices), run.input(0))


class _Places:
    """Where the elements of one stretch after another are, computed for several at a time.

    A permutation takes a hundred steps for any number of positions.
    """

    def __init__(self, translate: Callable[[Array], Array], length: int) -> None:
        self._translate = translate
        self._length = length if length >= 0 else sys.maxsize
        self._start = 0
        self._known: Array = np.zeros(0, np.int64)

    def between(self, start: int, stop: int) -> Array:
        first = start - self._start
        if first < 0 or stop - self._start > len(self._known):
            ahead = min(_TIMES_AHEAD * (stop - start), _MOST_AHEAD)
            end = min(max(stop, start + ahead), self._length)
            self._known = self._translate(np.arange(start, end))
            self._start, first = start, 0
        return self._known[first : first + stop - start]
