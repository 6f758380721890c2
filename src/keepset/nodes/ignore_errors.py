"""IgnoreErrors: leave out the elements that fail."""

from __future__ import annotations

import logging
from collections.abc import Callable

from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.node import UNKNOWN, Node, must_run, stage
from keepset.core.parameter import parameter, upstream
from keepset.core.run import Run
from keepset.core.spec import Spec

_log = logging.getLogger("keepset")


@stage
class IgnoreErrors(Node):
    """Elements whose computation raises are dropped, with a logged warning if wished."""

    parent: Node = upstream()
    log_warning: bool = parameter(default=False, identity=False)  # what is said of it

    def cursor(self, run: Run) -> Cursor:
        return _IgnoreErrorsCursor(self, self.parent.cursor(run.input(0)))

    def cardinality(self) -> int:
        return UNKNOWN

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        known = self.parent.known_spec()
        # The first element may be one that fails, so the first that does not has to tell.
        return must_run() if known is None else known[0]


class _IgnoreErrorsCursor(Cursor):
    def __init__(self, node: IgnoreErrors, parent: Cursor) -> None:
        self._node, self._parent = node, parent

    def read(self, max_rows: int) -> Chunk:
        while True:
            try:
                return self._parent.read(max_rows)
            except Exception as error:
                level = logging.WARNING if self._node.log_warning else logging.DEBUG
                notes = "; ".join(getattr(error, "__notes__", ()))
                _log.log(level, "ignored %s: %s (%s)", type(error).__name__, error, notes)

    def state(self) -> State:
        return {"parent": self._parent.state()}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])

    def close(self) -> None:
        self._parent.close()
