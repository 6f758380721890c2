"""FromGenerator: what a Python generator yields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from contextvars import Context, copy_context
from itertools import chain, islice
from types import GeneratorType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from keepset.core.cached import cached_property
from keepset.core.chunk import EMPTY, Chunk
from keepset.core.column import Column, own_leaf
from keepset.core.conform import conformer
from keepset.core.cursor import Cursor, State, skip_to_place
from keepset.core.dtypes import PLAIN_SCALARS, Array, StringType, string
from keepset.core.element import to_element
from keepset.core.jagged import Jagged
from keepset.core.node import UNKNOWN, Node, must_run, stage
from keepset.core.run import Run
from keepset.core.spec import Spec, TensorSpec
from keepset.core.structure import LEAF, structure_of
from keepset.errors import InvalidArgumentError
from keepset.nodes.returned_iterator import ReturnedIterator
from keepset.nodes.row_loop import explain, note_end_of_source

# Python numbers cannot change after they were yielded, and become arrays quickest by the many.
_LITERALS_DTYPE = {int: np.dtype(np.int64), float: np.dtype(np.float64), bool: np.dtype(np.bool_)}
_LITERALS = frozenset(_LITERALS_DTYPE)

# Fewer rows are not worth a look at what they have in common.
_FEWEST_ALIKE = 16
# Of larger arrays those that nobody else has are better taken as they are than copied.
_LARGEST_COPIED_BYTES = 16 << 10
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1
_END = object()
# Behind so many equal errors in a row an iterator is taken to stand still.
_MOST_EQUAL_FAILURES = 1000


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

    @cached_property
    def returned(self) -> ReturnedIterator:
        """One for all passes, which are compared."""
        return ReturnedIterator(self.generator, self.title)

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
        self._may_be_alike = True
        # A generator comes back to the context that it was left in, whichever thread reads or
        # closes it: what it has set there can only be reset there.
        self._context: Context | None = None
        self._generator: Iterator[Any] | None = None
        self._values: Iterator[Any] | None = None  # what it yields, and what was taken back
        self._read = 0
        self._error: Exception | None = None
        self._has_failed = False
        self._equal_failures = 0  # how often it has raised the same with nothing in between
        self._next_failure: tuple[type, str, int] | None = None  # what would be the same again

    def _open(self) -> Iterator[Any]:
        if self._values is None:
            opened = [iter(self._node.generator(*map(own_leaf, self._node.args)))]
            self._node.returned.look_at(opened)
            self._generator = self._values = opened[0]
        return self._values

    def read(self, max_rows: int) -> Chunk:
        # Without a helper: live sources are read row by row, and a call would be felt.
        if self._context is None:
            self._context = copy_context()
        return self._context.run(self._read_rows, max_rows)

    def _read_rows(self, max_rows: int) -> Chunk:
        if self._error is not None:
            self._raise(self._error)
        chunk = None
        if self._may_be_alike and max_rows >= _FEWEST_ALIKE:
            chunk = self._read_alike(max_rows)
        if chunk is None:
            chunk = self._read_any(max_rows)
        self._read += len(chunk)
        if self._error is not None and not len(chunk):
            self._raise(self._error)
        return chunk

    def _read_alike(self, max_rows: int) -> Chunk | None:
        """Dicts that have the same keys and types; None if the first one is something else."""
        rows: _AlikeRows | None = None
        odd: Any = _END
        try:
            values = islice(self._open(), max_rows)
            first: Any = next(values, _END)
            if _AlikeRows.can_hold(first, self._node.output_signature):
                rows = _AlikeRows(first, self._node.output_signature)
                odd = rows.collect(values)
            else:
                odd = first
        except Exception as error:
            self._error = explain(error, self._node.title, self._read + (len(rows) if rows else 0))
            self._has_failed = True
        if odd is not _END:
            self._may_be_alike = False
            self._values = chain([odd], self._open())
        if rows is None:
            return EMPTY if odd is _END else None
        return rows.chunk()

    def _read_any(self, max_rows: int) -> Chunk:
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
        return self._chunk_of(out, kinds & self._literals) if out else EMPTY

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
        self._read += self._counts(error)
        if self._has_failed and isinstance(self._generator, GeneratorType):
            note_end_of_source(error)
        raise error

    def _counts(self, error: Exception) -> bool:
        """Whether an error stands for an element, behind which there may be others.

        Not if there is no iterator, or one that has raised nothing but this for a long time, such
        as one whose connection is lost.
        """
        if self._values is None or not self._has_failed:
            return self._values is not None
        failure = type(error), str(error), self._read
        is_equal = failure == self._next_failure
        self._equal_failures = self._equal_failures + 1 if is_equal else 1
        counts = self._equal_failures <= _MOST_EQUAL_FAILURES
        self._next_failure = type(error), str(error), self._read + counts
        return counts

    def skip(self, count: int) -> int:
        if self._error is not None:
            return super().skip(count)
        if self._context is None:
            self._context = copy_context()
        return self._context.run(self._skip_rows, count)

    def _skip_rows(self, count: int) -> int:
        skipped = sum(1 for _ in islice(self._open(), count))
        self._read += skipped
        return skipped

    def state(self) -> State:
        return {"read": self._read, "failed": self._has_failed and self._error is None}

    def restore(self, state: State) -> None:
        if state["failed"]:
            self._values, self._read, self._has_failed = iter(()), state["read"], True
        else:
            skip_to_place(self, state["read"])

    def close(self) -> None:
        close = getattr(self._generator, "close", None)
        if close is None or self._context is None:
            return
        errors: list[Exception] = []

        def end() -> None:
            try:
                close()
            except Exception as error:
                errors.append(error)

        # A generator that a thread is still waiting in cannot be closed from here, as its context
        # cannot be entered; it ends with that thread.
        with suppress(RuntimeError):
            self._context.run(end)
        if errors:
            raise errors[0]


class _AlikeRows:
    """Dicts that all have the keys of the first one, and leaves of its types, as columns.

    A leaf is copied the moment it comes, because the generator may use its buffer again. That is
    quicker than to make an element of every row first, and columns of the elements then.
    """

    def __init__(self, first: dict[Any, Any], signature: Any) -> None:
        self._structure, self._keys = structure_of(first), tuple(first)
        promised = signature or {}
        self._leaves = {key: _leaves_like(item, promised.get(key)) for key, item in first.items()}
        self.collect([first])

    @staticmethod
    def can_hold(value: Any, signature: Any) -> bool:
        """Whether rows like this one can be taken so, and are what was promised."""
        if type(value) is not dict or not value or not all(map(_is_plain, value.values())):
            return False
        if signature is None:
            return True
        return (
            type(signature) is dict
            and signature.keys() == value.keys()
            and all(_is_promised(item, signature[key]) for key, item in value.items())
        )

    def collect(self, rows: Iterable[Any]) -> Any:
        """Take rows up to one that is not like the first; gives that one, or ``_END``."""
        keys, takes = self._keys, [(key, leaves.take) for key, leaves in self._leaves.items()]
        for row in rows:
            if type(row) is not dict or tuple(row) != keys:
                return row
            for key, take in takes:
                if not take(row[key]):
                    return row
        return _END

    def __len__(self) -> int:
        # The last leaf of a row is taken last.
        return len(self._leaves[self._keys[-1]].taken)

    def chunk(self) -> Chunk:
        length = len(self)
        columns: list[Column] = [
            self._leaves[key].column(self._leaves[key].taken[:length])
            for key in self._structure.keys
        ]
        return Chunk.from_columns(self._structure, columns, length)


class _Leaves(NamedTuple):
    """The leaves of one column."""

    taken: list[Any]
    take: Callable[[Any], bool]  # False for what is not like the first one
    column: Callable[[list[Any]], Column]


def _leaves_like(first: Any, promised: Any) -> _Leaves:
    if type(first) is np.ndarray:
        is_list = first.ndim == 1 and (promised is None or promised.shape == (None,))
        return _lists_like(first) if is_list else _arrays_like(first)
    kind, taken = type(first), list[Any]()
    append = taken.append

    def take(item: Any) -> bool:
        if type(item) is not kind or (kind is int and not _SMALLEST <= item <= _LARGEST):
            return False
        append(item)
        return True

    def column(items: list[Any]) -> Array:
        array = np.empty(len(items), _LITERALS_DTYPE.get(kind, object if kind is bytes else kind))
        array[:] = items
        return array

    return _Leaves(taken, take, column)


def _arrays_like(first: Array) -> _Leaves:
    dtype, shape, taken = first.dtype, first.shape, list[bytes]()
    append, array_type = taken.append, np.ndarray

    def take(item: Any) -> bool:
        if type(item) is not array_type or item.shape != shape or item.dtype is not dtype:
            return False
        append(item.tobytes())
        return True

    def column(items: list[bytes]) -> Array:
        return np.frombuffer(bytearray().join(items), dtype).reshape(len(items), *shape)

    return _Leaves(taken, take, column)


def _lists_like(first: Array) -> _Leaves:
    """As arrays, with any number of items each."""
    dtype, taken = first.dtype, list[bytes]()
    append, array_type = taken.append, np.ndarray

    def take(item: Any) -> bool:
        if type(item) is not array_type or item.ndim != 1 or item.dtype is not dtype:
            return False
        append(item.tobytes())
        return True

    def column(items: list[bytes]) -> Column:
        values = np.frombuffer(bytearray().join(items), dtype)
        lengths = np.fromiter(map(len, items), np.int64, len(items)) // dtype.itemsize
        if (lengths == lengths[0]).all():
            return values.reshape(len(items), lengths[0])
        return Jagged.packed(values, np.concatenate([[0], np.cumsum(lengths)]))

    return _Leaves(taken, take, column)


def _is_plain(item: Any) -> bool:
    """Whether a leaf is one that rows which are alike may have."""
    kind = type(item)
    if kind is np.ndarray:
        is_small = item.nbytes <= _LARGEST_COPIED_BYTES and (item.nbytes > 0 or item.ndim == 1)
        return item.ndim > 0 and is_small and _is_basic(item.dtype)
    if kind is int:
        return bool(_SMALLEST <= item <= _LARGEST)
    return kind in (bytes, bool, float) or (kind in PLAIN_SCALARS and _is_basic(item.dtype))


def _is_promised(item: Any, spec: Any) -> bool:
    """Whether a plain leaf is as promised, with nothing to be cast."""
    if not isinstance(spec, TensorSpec):
        return False
    kind = type(item)
    if isinstance(spec.dtype, StringType) or kind is bytes:
        return spec.dtype is string and kind is bytes and spec.shape in ((), None)
    dtype = _LITERALS_DTYPE.get(kind) or item.dtype
    return bool(dtype == spec.dtype) and spec.has_shape(np.shape(item))


def _is_basic(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "biufc" and dtype.isbuiltin == 1 and dtype is np.dtype(dtype.type)


def _fail(error: Exception) -> None:
    raise error


def _scalars_of(signature: Any) -> frozenset[type]:
    """The types whose values are elements already, and as promised."""
    if signature is None:
        return frozenset(PLAIN_SCALARS)
    if not isinstance(signature, TensorSpec) or signature.shape != ():
        return frozenset()
    if isinstance(signature.dtype, StringType):
        # Whether text can be encoded is seen from each one.
        return frozenset({bytes} if signature.dtype is string else ())
    # Times of different units share one type.
    return frozenset() if signature.dtype.kind in "mM" else frozenset({signature.dtype.type})


def _literals_of(signature: Any) -> frozenset[type]:
    """The Python numbers that need no conversion of their own: they have the promised dtype."""
    if signature is None:
        return _LITERALS
    if not isinstance(signature, TensorSpec) or signature.shape != ():
        return frozenset()
    return frozenset(kind for kind, dtype in _LITERALS_DTYPE.items() if dtype == signature.dtype)
