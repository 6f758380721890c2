"""AssertCardinality: promise a number of elements, and check it."""

from __future__ import annotations

from collections.abc import Callable

from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.node import INFINITE, UNKNOWN, Node, stage
from keepset.core.parameter import upstream
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.errors import CardinalityError, InvalidArgumentError


@stage
class AssertCardinality(Node):
    """The input, with a cardinality that the user knows; an error if it turns out wrong."""

    parent: Node = upstream()
    expected: int

    def __post_init__(self) -> None:
        if self.expected < INFINITE:
            raise InvalidArgumentError(
                "expected_cardinality must be a number of elements or INFINITE_CARDINALITY, not "
                f"{self.expected}"
            )

    def cursor(self, run: Run) -> Cursor:
        return _CountingCursor(self, self.parent.cursor(run.input(0)))

    @property
    def promises_count(self) -> bool:
        return True

    def cardinality(self) -> int:
        return self.expected

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)

    def obstacle(self) -> str | None:
        return self.parent.obstacle()

    def gather(self, indices: Array, run: Run) -> Chunk:
        length = self.parent.cardinality()
        if length not in (self.expected, UNKNOWN):
            raise CardinalityError(
                f"{self.expected} elements were promised, but there are {length}"
            )
        return self.parent.gather(indices, run.input(0))


class _CountingCursor(Cursor):
    def __init__(self, node: AssertCardinality, parent: Cursor) -> None:
        self._expected, self._parent, self._given = node.expected, parent, 0

    def read(self, max_rows: int) -> Chunk:
        if self._expected == INFINITE:
            return self._some(self._parent.read(max_rows))
        left = self._expected - self._given
        chunk = self._parent.read(min(max_rows, left) if left else 1)
        if left:
            return self._some(chunk)
        if len(chunk):
            raise CardinalityError(
                f"{self._expected} elements were promised, but there are more; "
                "correct the number, or take(count) before"
            )
        return chunk

    def _some(self, chunk: Chunk) -> Chunk:
        if not len(chunk):
            promised = "no end" if self._expected == INFINITE else f"{self._expected} elements"
            raise CardinalityError(
                f"{promised} was promised, but there are only {self._given} elements"
            )
        self._given += len(chunk)
        return chunk

    def state(self) -> State:
        return {"parent": self._parent.state(), "given": self._given}

    def restore(self, state: State) -> None:
        self._given = state["given"]
        self._parent.restore(state["parent"])

    def close(self) -> None:
        self._parent.close()
