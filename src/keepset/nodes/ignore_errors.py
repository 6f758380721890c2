"""IgnoreErrors: leave out the elements that fail."""

from __future__ import annotations

import logging
from collections.abc import Callable

from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor, Standstill, State
from keepset.core.node import UNKNOWN, Node, must_run, stage
from keepset.core.parameter import parameter, upstream
from keepset.core.run import Run
from keepset.core.secrets import Mask
from keepset.core.spec import Spec
from keepset.core.warn import warn_user
from keepset.errors import (
    CardinalityError,
    FingerprintError,
    InvalidArgumentError,
    NewerFormatError,
    NotAddressableError,
    PendingSnapshotError,
    SnapshotMismatchError,
    SnapshotMissingError,
    StateError,
    UnknownSpecError,
    WorkerDiedError,
)
from keepset.nodes.row_loop import ends_source, is_explained, is_of_the_program

_log = logging.getLogger("keepset")
# Errors of a program, not of its data: each element would raise them, and an empty dataset would be
# all that is left. NotCoveredError and MissingExtraError are among them.
_PROGRAMMING_ERRORS = (
    NameError,
    AttributeError,
    ImportError,
    SyntaxError,
    MemoryError,
    RecursionError,
    # Nor are those about what is stored: nothing would be left of it.
    FingerprintError,
    PendingSnapshotError,
    SnapshotMismatchError,
    SnapshotMissingError,
    StateError,
)
# Errors of the pipeline, unless a function raised them for an element.
_PIPELINE_ERRORS = (
    CardinalityError,
    InvalidArgumentError,
    NewerFormatError,
    NotAddressableError,
    UnknownSpecError,
    WorkerDiedError,
)
_SAID_ALOUD = 5


@stage
class IgnoreErrors(Node):
    """Elements whose computation raises are left out and logged.

    NameError, AttributeError, ImportError, SyntaxError, MemoryError and RecursionError pass: they
    say that the program is wrong, or the machine too small, and not the element. So do errors of a
    snapshot stage that cannot be used at all, of functions that take another number of
    arguments or return what no stage can use, and of the pipeline itself, such as WorkerDiedError
    and CardinalityError. Any other error passes if the input raises again without having moved.
    """

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
        self._given = self._skipped = 0
        self._standstill = Standstill(parent)
        self._has_failed = False  # since the last element
        self._has_ended = False

    def read(self, max_rows: int) -> Chunk:
        while True:
            try:
                chunk = self._parent.read(max_rows)
            except _PROGRAMMING_ERRORS:
                raise
            except Exception as error:
                if is_of_the_program(error) or _is_of_the_pipeline(error):
                    raise
                if self._standstill.is_reached():
                    error.add_note(_standstill_text(self._node.title))
                    raise
                self._has_failed = True
                self._log_skipped(error)
                if ends_source(error):
                    warn_user(_ended_text(self._node.title, self._given + self._skipped, error))
                self._skipped += 1
                continue
            if self._has_failed:
                self._has_failed = False
                self._standstill.forget()
            self._given += len(chunk)
            if not len(chunk):
                self._end()
            return chunk

    def _log_skipped(self, error: Exception) -> None:
        if self._node.log_warning:
            level = logging.WARNING
        else:
            level = logging.INFO if self._skipped < _SAID_ALOUD else logging.DEBUG
        number = self._given + self._skipped
        notes = "; ".join(getattr(error, "__notes__", ()))
        text = Mask().text(f"{type(error).__name__}: {error}{f' ({notes})' if notes else ''}")
        _log.log(level, "%s skipped element %d: %s", self._node.title, number, text)

    def _end(self) -> None:
        if self._skipped and not self._has_ended:
            total = self._given + self._skipped
            level = logging.WARNING if 2 * self._skipped > total else logging.INFO
            text = "%s skipped %d of %d elements in this pass, because they raised errors"
            _log.log(level, text, self._node.title, self._skipped, total)
        self._has_ended = True

    def state(self) -> State:
        return {"parent": self._parent.state(), "given": self._given, "skipped": self._skipped}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        self._given, self._skipped = state["given"], state["skipped"]

    def close(self) -> None:
        self._parent.close()


def _is_of_the_pipeline(error: Exception) -> bool:
    return isinstance(error, _PIPELINE_ERRORS) and not is_explained(error)


def _standstill_text(title: str) -> str:
    return f"{title} raises this error because it came twice without an element being passed"


def _ended_text(title: str, element: int, error: Exception) -> str:
    return Mask().text(
        f"{title} passes over element {element}, whose generator raised {type(error).__name__}: "
        f"{error}; with that the generator has ended, and nothing comes behind it; catch the error "
        "inside the generator to go on"
    )
