"""Rows: elements that are in memory already, such as those of one window."""

from __future__ import annotations

from collections.abc import Callable

from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor, PositionCursor
from keepset.core.dtypes import Array
from keepset.core.node import Node, must_run, stage
from keepset.core.run import Run
from keepset.core.spec import Spec


@stage
class Rows(Node):
    """The elements of a chunk.

    ``promised`` is the spec, in a one-tuple, of the stage that they come from, if it is known: two
    windows of one data set are of one type, whatever they happen to hold.
    """

    chunk: Chunk
    promised: tuple[Spec] | None = None

    def cursor(self, run: Run) -> Cursor:
        return PositionCursor(lambda start, stop: self.chunk[start:stop], len(self.chunk))

    def cardinality(self) -> int:
        return len(self.chunk)

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return must_run() if self.promised is None else self.promised[0]

    def obstacle(self) -> str | None:
        return None

    def gather(self, indices: Array, run: Run) -> Chunk:
        return self.chunk.take(indices)
