"""Take and Skip: the first elements, or all but those."""

from __future__ import annotations

from collections.abc import Callable

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.node import INFINITE, UNKNOWN, Node, scaled, stage
from keepset.core.parameter import upstream
from keepset.core.run import Run
from keepset.core.spec import Spec

ALL = -1


@stage
class Take(Node):
    """At most the first ``count`` elements; -1 takes all."""

    parent: Node = upstream()
    count: int

    def cursor(self, run: Run) -> Cursor:
        parent = self.parent.cursor(run.input(0))
        return parent if self.count <= ALL else _TakeCursor(self.count, parent)

    def cardinality(self) -> int:
        length = self.parent.cardinality()
        if self.count <= ALL or length == UNKNOWN:
            return length
        return self.count if length == INFINITE else min(self.count, length)

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)

    def obstacle(self) -> str | None:
        return self.parent.obstacle()

    def gather(self, indices: Array, run: Run) -> Chunk:
        return self.parent.gather(indices, run.input(0))


class _TakeCursor(Cursor):
    def __init__(self, count: int, parent: Cursor) -> None:
        self._left, self._parent = count, parent

    def read(self, max_rows: int) -> Chunk:
        # Asking for no more than is left keeps everything upstream from running ahead.
        wanted = min(max_rows, self._left)
        if wanted == 0:
            return EMPTY
        chunk = self._parent.read(wanted)
        self._left = self._left - len(chunk) if len(chunk) else 0
        return chunk

    def skip(self, count: int) -> int:
        skipped = self._parent.skip(min(count, self._left))
        self._left -= skipped
        return skipped

    def state(self) -> State:
        return {"left": self._left, "parent": self._parent.state()}

    def restore(self, state: State) -> None:
        self._left = state["left"]
        self._parent.restore(state["parent"])

    def close(self) -> None:
        self._parent.close()


@stage
class Skip(Node):
    """All but the first ``count`` elements; -1 skips everything."""

    parent: Node = upstream()
    count: int

    def cursor(self, run: Run) -> Cursor:
        if self.count <= ALL:
            return _TakeCursor(0, self.parent.cursor(run.input(0)))
        return _SkipCursor(self.count, self.parent.cursor(run.input(0)))

    def cardinality(self) -> int:
        # As in TensorFlow, what is unknown stays unknown, even if it can only be nothing.
        length = self.parent.cardinality()
        if self.count <= ALL:
            return UNKNOWN if length == UNKNOWN else 0
        return scaled(length, lambda n: max(0, n - self.count))

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)

    def obstacle(self) -> str | None:
        return self.parent.obstacle()

    def gather(self, indices: Array, run: Run) -> Chunk:
        return self.parent.gather(indices + self.count, run.input(0))


class _SkipCursor(Cursor):
    def __init__(self, count: int, parent: Cursor) -> None:
        self._left, self._parent = count, parent

    def read(self, max_rows: int) -> Chunk:
        if self._left:
            count, self._left = self._left, 0
            self._parent.skip(count)
        return self._parent.read(max_rows)

    def skip(self, count: int) -> int:
        if self._left:
            left, self._left = self._left, 0
            self._parent.skip(left)
        return self._parent.skip(count)

    def state(self) -> State:
        return {"left": self._left, "parent": self._parent.state()}

    def restore(self, state: State) -> None:
        self._left = state["left"]
        self._parent.restore(state["parent"])

    def close(self) -> None:
        self._parent.close()
