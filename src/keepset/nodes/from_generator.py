"""FromGenerator: what a Python generator yields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import Any, ClassVar

import numpy as np

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.conform import conformer
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import PLAIN_SCALARS, StringType
from keepset.core.element import to_element
from keepset.core.node import UNKNOWN, Node, must_run, stage
from keepset.core.run import Run
from keepset.core.spec import Spec, TensorSpec
from keepset.core.structure import LEAF
from keepset.errors import InvalidArgumentError
from keepset.nodes.row_loop import explain

# Python numbers cannot change after they were yielded, and become arrays quickest by the many.
_LITERALS_DTYPE = {int: np.dtype(np.int64), float: np.dtype(np.float64), bool: np.dtype(np.bool_)}
_LITERALS = frozenset(_LITERALS_DTYPE)


@stage
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
        self._literals = _literals_of(signature)
        self._as_they_are = self._literals | _scalars_of(signature)
        self._generator: Iterator[Any] | None = None
        self._values: Iterator[Any] | None = None  # what it yields, and what was taken back
        self._read = 0
        self._error: Exception | None = None
        self._has_failed = False

    def _open(self) -> Iterator[Any]:
        if self._values is None:
            self._generator = self._values = iter(self._node.generator(*self._node.args))
        return self._values

    def read(self, max_rows: int) -> Chunk:
        if self._error is not None:
            self._raise(self._error)
        out: list[Any] = []
        append, convert, as_they_are = out.append, self._convert, self._as_they_are
        kind: type | None = None  # that of the last value, if it was taken as it is
        kinds: set[type] = set()
        converting = False
        try:
            for value in islice(self._open(), max_rows):
                if type(value) is not kind:
                    kind = type(value)
                    if kind in as_they_are:
                        kinds.add(kind)
                    else:
                        # At once, because the generator may use its buffer again.
                        converting = True
                        value = convert(value)
                        converting, kind = False, None
                append(value)
        except Exception as error:
            self._error = explain(error, self._node.title, self._read + len(out))
            # Either a value was not what was promised, or the generator itself failed, and with
            # that has ended.
            self._has_failed = not converting
        chunk = self._chunk_of(out, kinds & self._literals) if out else EMPTY
        self._read += len(chunk)
        if self._error is not None and not len(chunk):
            self._raise(self._error)
        return chunk

    def _chunk_of(self, values: list[Any], literals: set[type]) -> Chunk:
        """Elements, and Python numbers that are still to become some: all at once if alike."""
        if not literals:
            return Chunk.from_rows(values)
        kinds = set(map(type, values))
        if len(values) > 1 and len(kinds) == 1:
            with suppress(OverflowError):  # too large for int64; one by one, it is seen to
                array = np.array(values, _LITERALS_DTYPE[kinds.pop()])
                return Chunk.from_columns(LEAF, [array], len(values))
        return Chunk.from_rows(self._one_by_one(values))

    def _one_by_one(self, values: list[Any]) -> list[Any]:
        """Convert what is still a Python number; those behind one that fails are taken back."""
        out: list[Any] = []
        for value in values:
            try:
                out.append(self._convert(value) if type(value) in self._literals else value)
            except Exception as error:
                later = [] if self._error is None else [self._error]
                self._values = chain(values[len(out) + 1 :], map(_fail, later), self._open())
                self._error = explain(error, self._node.title, self._read + len(out))
                self._has_failed = False
                break
        return out

    def _raise(self, error: Exception) -> None:
        self._error = None
        self._read += 1
        raise error

    def skip(self, count: int) -> int:
        if self._error is not None:
            return super().skip(count)
        skipped = sum(1 for _ in islice(self._open(), count))
        self._read += skipped
        return skipped

    def state(self) -> State:
        return {"read": self._read, "failed": self._has_failed and self._error is None}

    def restore(self, state: State) -> None:
        if state["failed"]:
            self._values, self._read, self._has_failed = iter(()), state["read"], True
        else:
            self.skip(state["read"])

    def close(self) -> None:
        close = getattr(self._generator, "close", None)
        if close is not None:
            # A generator that a thread is still waiting in cannot be closed from here; it ends
            # with that thread.
            with suppress(ValueError):
                close()


def _fail(error: Exception) -> None:
    raise error


def _scalars_of(signature: Any) -> frozenset[type]:
    """The types whose values are elements already, and as promised."""
    if signature is None:
        return PLAIN_SCALARS
    if not isinstance(signature, TensorSpec) or signature.shape != ():
        return frozenset()
    if isinstance(signature.dtype, StringType):
        return frozenset({bytes})
    # Times of different units share one type.
    return frozenset() if signature.dtype.kind in "mM" else frozenset({signature.dtype.type})


def _literals_of(signature: Any) -> frozenset[type]:
    """The Python numbers that need no conversion of their own: they have the promised dtype."""
    if signature is None:
        return _LITERALS
    if not isinstance(signature, TensorSpec) or signature.shape != ():
        return frozenset()
    return frozenset(kind for kind, dtype in _LITERALS_DTYPE.items() if dtype == signature.dtype)
