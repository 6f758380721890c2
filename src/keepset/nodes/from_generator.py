"""FromGenerator: what a Python generator yields."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.conform import conformer
from keepset.core.cursor import Cursor, State
from keepset.core.element import to_element
from keepset.core.node import UNKNOWN, Node, must_run
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.errors import InvalidArgumentError
from keepset.nodes.rowwise import explain


@dataclass(frozen=True, kw_only=True, eq=False)
class FromGenerator(Node):
    """``generator(*args)`` is called anew for each pass, and never run ahead of its consumer."""

    is_live: ClassVar[bool] = True

    generator: Callable[..., Any]
    args: tuple[Any, ...] = ()
    output_signature: Any = None

    def __post_init__(self) -> None:
        if not callable(self.generator):
            raise InvalidArgumentError(
                f"from_generator needs a function that returns an iterator, not "
                f"{type(self.generator).__name__}; a generator object can be used only once, so "
                "pass the function that makes it"
            )

    def cursor(self, run: Run) -> Cursor:
        return _GeneratorCursor(self)

    def cardinality(self) -> int:
        return UNKNOWN

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return must_run() if self.output_signature is None else self.output_signature


class _GeneratorCursor(Cursor):
    def __init__(self, node: FromGenerator) -> None:
        self._node = node
        signature = node.output_signature
        self._convert = to_element if signature is None else conformer(signature)
        self._values: Iterator[Any] | None = None
        self._yielded: deque[Any] = deque()
        self._read = 0
        self._error: Exception | None = None
        self._has_failed = False

    def _open(self) -> Iterator[Any]:
        if self._values is None:
            self._values = iter(self._node.generator(*self._node.args))
        return self._values

    def read(self, max_rows: int) -> Chunk:
        if not self._yielded and self._error is None:
            try:
                # What was yielded before an error stays in the deque.
                self._yielded.extend(islice(self._open(), max_rows))
            except Exception as error:
                self._error = error
        out: list[Any] = []
        while self._yielded and len(out) < max_rows:
            try:
                out.append(self._convert(self._yielded[0]))
            except Exception as error:
                if out:
                    break
                self._yielded.popleft()
                self._read += 1
                raise explain(error, self._node.title, self._read - 1) from error.__cause__
            self._yielded.popleft()
            self._read += 1
        if not out and self._error is not None:
            self._fail(self._error)
        return Chunk.from_rows(out) if out else EMPTY

    def _fail(self, error: Exception) -> None:
        """The generator itself has failed, and with that it has ended."""
        self._values, self._error, self._has_failed = iter(()), None, True
        raise explain(error, self._node.title, self._read) from error.__cause__

    def skip(self, count: int) -> int:
        if self._yielded or self._error is not None:
            return super().skip(count)
        skipped = sum(1 for _ in islice(self._open(), count))
        self._read += skipped
        return skipped

    def state(self) -> State:
        return {"read": self._read, "failed": self._has_failed}

    def restore(self, state: State) -> None:
        if state["failed"]:
            self._values, self._read, self._has_failed = iter(()), state["read"], True
        else:
            self.skip(state["read"])

    def close(self) -> None:
        close = getattr(self._values, "close", None)
        if close is not None:
            # A generator that a thread is still waiting in cannot be closed from here; it ends
            # with that thread.
            with suppress(ValueError):
                close()
