"""WithOptions: choices that hold for the whole pipeline."""

from __future__ import annotations

from collections.abc import Callable

from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor
from keepset.core.dtypes import Array
from keepset.core.node import Node, stage
from keepset.core.options import Options
from keepset.core.parameter import parameter, upstream
from keepset.core.run import Run
from keepset.core.spec import Spec


@stage
class WithOptions(Node):
    """The input as it is; ``chosen`` is read when a run begins."""

    is_physical = True

    parent: Node = upstream()
    # Threads, and an order that is free in passes that are not stored.
    chosen: Options = parameter(identity=False)

    def options(self) -> Options:
        return self.parent.options().merge(self.chosen)

    def cursor(self, run: Run) -> Cursor:
        return self.parent.cursor(run.input(0))

    def cardinality(self) -> int:
        return self.parent.cardinality()

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)

    def obstacle(self) -> str | None:
        return self.parent.obstacle()

    def gather(self, indices: Array, run: Run) -> Chunk:
        return self.parent.gather(indices, run.input(0))
