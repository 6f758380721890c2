"""Indexed stages: reorderings and selections that are computed from positions alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor, PositionCursor
from keepset.core.dtypes import Array
from keepset.core.node import Node, stage
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
        translate, parent, upstream = self.translator(run), self.parent, run.input(0)

        def stretch(start: int, stop: int) -> Chunk:
            return parent.gather(translate(np.arange(start, stop)), upstream)

        return PositionCursor(stretch, self.cardinality())

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)

    def obstacle(self) -> str | None:
        return self.parent.obstacle()

    def gather(self, indices: Array, run: Run) -> Chunk:
        return self.parent.gather(self.translator(run)(indices), run.input(0))
