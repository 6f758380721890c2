"""Writable: what is kept as copies, for consumers that change arrays in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor, Lookup, State
from keepset.core.dtypes import Array
from keepset.core.node import Node, stage
from keepset.core.parameter import upstream
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.snapshot.writing.staging import copied


@stage
class Writable(Node):
    """The elements of ``parent`` in memory of their own."""

    is_physical = True

    parent: Node = upstream()

    def cursor(self, run: Run) -> Cursor:
        return _WritableCursor(self.parent.cursor(run.input(0)))

    def cardinality(self) -> int:
        return self.parent.cardinality()

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)

    def project(self, keys: tuple[Any, ...]) -> Node | None:
        parent = self.parent.project(keys)
        return None if parent is None else replace(self, parent=parent)

    def obstacle(self) -> str | None:
        return self.parent.obstacle()

    def gather(self, indices: Array, run: Run) -> Chunk:
        return _copied(self.parent.gather(indices, run.input(0)))


class _WritableCursor(Cursor):
    def __init__(self, parent: Cursor) -> None:
        self._parent = parent

    def read(self, max_rows: int) -> Chunk:
        return _copied(self._parent.read(max_rows))

    def skip(self, count: int) -> int:
        return self._parent.skip(count)

    def lookup(self) -> Lookup | None:
        found = self._parent.lookup()
        return None if found is None else lambda numbers: _copied(found(numbers))

    def state(self) -> State:
        return {"parent": self._parent.state()}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])

    def close(self) -> None:
        self._parent.close()


def _copied(chunk: Chunk) -> Chunk:
    return copied(chunk) if len(chunk) else chunk
