"""SkipCorrupt: leave out the elements whose file is damaged, and say how many there were."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Final

from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.node import UNKNOWN, Node, must_run, stage
from keepset.core.parameter import parameter, upstream
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.errors import CorruptRecordError, CorruptRecordWarning, InvalidArgumentError

POLICIES: Final = ("error", "skip", "warn")


def sound(node: Node, on_corrupt: str) -> Node:
    """What a stage gives, with the damaged left out if that is wanted.

    Raises:
        InvalidArgumentError: There is no such policy.
    """
    if on_corrupt not in POLICIES:
        raise InvalidArgumentError(
            f"on_corrupt={on_corrupt!r} is unknown; choose one of {', '.join(map(repr, POLICIES))}"
        )
    if on_corrupt == "error":
        return node
    return SkipCorrupt(parent=node, log_warning=on_corrupt == "warn")


@stage
class SkipCorrupt(Node):
    """Elements that are damaged are left out; with ``log_warning``, each of them is told of."""

    parent: Node = upstream()
    log_warning: bool = parameter(default=False, identity=False)  # what is said of it

    def cursor(self, run: Run) -> Cursor:
        return _SkipCorruptCursor(self, self.parent.cursor(run.input(0)))

    def cardinality(self) -> int:
        return UNKNOWN

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        known = self.parent.known_spec()
        # The first element may be damaged, so the first that is not has to tell.
        return must_run() if known is None else known[0]

    def obstacle(self) -> str | None:
        return f"{self.title} leaves out what is damaged, and so does not know its length"


class _SkipCorruptCursor(Cursor):
    def __init__(self, node: SkipCorrupt, parent: Cursor) -> None:
        self._node, self._parent = node, parent
        self._left_out, self._first = 0, ""

    def read(self, max_rows: int) -> Chunk:
        while True:
            try:
                chunk = self._parent.read(max_rows)
            except CorruptRecordError as error:
                self._note(error)
                continue
            if not len(chunk):
                self._tell()
            return chunk

    def _note(self, error: CorruptRecordError) -> None:
        self._left_out += 1
        self._first = self._first or str(error)
        if self._node.log_warning:
            warnings.warn(f"left out: {error}", CorruptRecordWarning, stacklevel=2)

    def _tell(self) -> None:
        count, first = self._left_out, self._first
        self._left_out, self._first = 0, ""
        if count:
            what = "damaged file or record was" if count == 1 else "damaged files or records were"
            warnings.warn(
                f"{count} {what} left out; the first: {first}", CorruptRecordWarning, stacklevel=2
            )

    def state(self) -> State:
        return {"parent": self._parent.state(), "left_out": self._left_out, "first": self._first}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        self._left_out, self._first = state["left_out"], state["first"]

    def close(self) -> None:
        self._parent.close()
