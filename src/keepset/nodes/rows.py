"""Rows: elements that are in memory already, such as those of one window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor, PositionCursor
from keepset.core.dtypes import Array
from keepset.core.node import Node, must_run, stage
from keepset.core.run import Run
from keepset.core.spec import Spec


@stage
class Rows(Node):
    """The elements of a chunk, with read-only arrays: a window may be read twice, or overlap.

    ``promised`` is the spec, in a one-tuple, of the stage that they come from, if it is known: two
    windows of one data set are of one type, whatever they happen to hold.
    """

    chunk: Chunk
    promised: tuple[Spec] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "chunk", self.chunk.read_only())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__post_init__()

    def cursor(self, run: Run) -> Cursor:
        return PositionCursor(self._between, len(self.chunk))

    def _between(self, start: int, stop: int) -> Chunk:
        return self.chunk[start:stop].apart()

    def cardinality(self) -> int:
        return len(self.chunk)

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return must_run() if self.promised is None else self.promised[0]

    def obstacle(self) -> str | None:
        return None

    def gather(self, indices: Array, run: Run) -> Chunk:
        return self.chunk.take(indices).apart()
