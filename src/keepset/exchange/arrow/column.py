"""ArrowColumn: one leaf of the rows of an Arrow table, as a column of a chunk."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keepset.core.column import Column
from keepset.core.dtypes import (
    Array,
    DType,
    StringType,
    dtype_name,
    is_float,
    join_arrays,
    range_text,
    text,
)
from keepset.core.jagged import Jagged
from keepset.core.ragged import Ragged
from keepset.core.spec import LeafSpec
from keepset.core.warn import warn_user
from keepset.errors import ElementError, InvalidArgumentError
from keepset.exchange.arrow.leaves import ArrowLeaf, without_views
from keepset.exchange.arrow.missing import default_fill, example_fill, fill_list, fill_value
from keepset.exchange.arrow.values import BadValueError, first_overflow, missing_in, values_of


class RowError(ElementError):
    """Some rows cannot be read: ``rows`` says which of those that were given, and ``what`` why."""

    rows: Array
    what: str


class ArrowColumn:
    """Reads one leaf, of dtype ``cast_to`` if that is given, with values for those missing."""

    def __init__(
        self, leaf: ArrowLeaf, cast_to: DType | None, missing: Mapping[str, Any], where: str
    ) -> None:
        self.leaf, self.where = leaf, where
        dtype = cast_to or leaf.dtype
        if dtype is None or leaf.is_unreadable:
            raise _unreadable(leaf, where)
        self.dtype: DType = dtype
        # NumPy takes None for float64 when it compares.
        is_known = leaf.dtype is not None
        self.is_cast = cast_to is not None and not (is_known and cast_to == leaf.dtype)
        self.has_warned = False  # of numbers that became infinite
        self.spec: LeafSpec = leaf.spec(dtype)
        self.fill = default_fill(dtype)
        if leaf.key in missing:
            self.fill = (fill_value(missing[leaf.key], dtype, leaf.key),)
        # What stands for whole lists that are missing, by their names.
        self.list_fills: dict[str, Array] = {
            step.key: fill_list(missing[step.key], dtype, leaf, step.key)
            for step in leaf.steps
            if step.kind == "list" and step.key in missing
        }

    def read(self, array: pa.Array, row: int | Array) -> Column:
        """The column of an array of such values, whose first or all rows have these numbers."""
        walk = _Walk(self, array, row)
        for step in self.leaf.steps:
            if step.kind == "field":
                walk.array = pc.struct_field(walk.array, [step.value])
            elif step.kind == "storage":
                walk.array = walk.array.storage
            elif step.kind == "plain":
                walk.array = _plain(walk.array)
            elif step.kind == "list":
                walk.into_lists(step.key)
            else:
                walk.into_fixed(step.value, step.kind == "even")
        return walk.column()


class _Walk:
    """The way from an array down to the values of a leaf."""

    def __init__(self, of: ArrowColumn, array: pa.Array, row: int | Array) -> None:
        self.array = array
        self._of, self._first = of, row
        self._count = len(array)  # of values, each with its fixed dimensions
        self._offsets: list[Array] = []  # where lists begin among their items, outermost first
        self._above: list[Array | int] = []  # the offsets or the size of each step into lists
        self._masked: Array | None = None  # items of lists of one size that are missing
        self._gaps: tuple[Array, Array] | None = None  # lists that are missing, and their values

    def into_lists(self, key: str) -> None:
        """Go down to the items of lists."""
        if self._masked is not None:
            self.array, self._masked = _without(self.array, self._masked), None
        missing = missing_in(self.array)
        if missing is not None:
            fill = self._of.list_fills.get(key)
            if fill is None:
                raise self._missing(missing, key, "[]")
            self._gaps = missing, fill
        offsets = np.zeros(len(self.array) + 1, np.int64)
        lengths = pc.list_value_length(self.array).fill_null(0).to_numpy(zero_copy_only=False)
        np.cumsum(lengths, out=offsets[1:])
        self.array = self.array.flatten()
        self._offsets.append(offsets)
        self._above.append(offsets)
        self._count = len(self.array)

    def into_fixed(self, size: int, is_level: bool) -> None:
        """Go down to the items of lists of one size; those of missing lists are missing too."""
        lists, missing = self.array, _either(missing_in(self.array), self._masked)
        self.array = lists.values.slice(lists.offset * size, len(lists) * size)
        self._masked = None if missing is None else missing.repeat(size)
        if is_level:
            self._offsets.append(np.arange(len(lists) + 1) * size)
            self._count = len(self.array)
        self._above.append(size)

    def column(self) -> Column:
        values = self._values().reshape(self._count, *self._of.leaf.sizes)
        if self._of.leaf.order is not None:
            values = values.transpose(0, *(1 + axis for axis in self._of.leaf.order))
        if not self._offsets:
            return values
        if len(self._offsets) > 1:
            bounds = pairwise(self._offsets[0].tolist())
            return [_ragged(values, self._offsets[1:], *each) for each in bounds]
        [offsets] = self._offsets
        if self._gaps is None or not len(self._gaps[1]):
            return Jagged.packed(values, offsets)
        return _with_gaps(values, offsets, *self._gaps)

    def _values(self) -> Array:
        of = self._of
        try:
            values, missing = values_of(self.array, of.dtype, of.is_cast)
        except BadValueError as error:
            raise self._bad(error) from error
        missing = _either(missing, self._masked)
        if of.is_cast and not isinstance(of.dtype, StringType) and is_float(of.dtype):
            self._warn_of_overflow(of.dtype, values, missing)
        if missing is not None:
            if of.fill is None:
                raise self._missing(missing, of.leaf.key, example_fill(of.dtype))
            values = values.copy()
            values[missing] = of.fill[0]
        values.flags.writeable = False
        return values

    def _warn_of_overflow(self, dtype: Any, values: Array, missing: Array | None) -> None:
        """Warn once of a number that the dtype which the user gave cannot hold."""
        of = self._of
        place = None if of.has_warned else first_overflow(self.array, values, missing)
        if place is not None:
            of.has_warned = True
            warn_user(
                f"{of.where}: {of.leaf.name!r} has {self.array[place].as_py()!r:.60}, which is not "
                f"within {range_text(dtype)}: such numbers are read as infinite; choose another "
                f"type in types={{{of.leaf.name!r}: ...}}"
            )

    def _rows(self, indices: Array) -> Array:
        """The rows that have the items at these places, of the array that was given."""
        for step in reversed(self._above):
            if isinstance(step, int):
                indices = indices // step
            else:
                indices = np.searchsorted(step, indices, side="right") - 1
        return np.unique(indices)

    def _error(self, what: str, indices: Array) -> RowError:
        rows = self._rows(indices)
        first = int(rows[0])
        number = self._first + first if isinstance(self._first, int) else int(self._first[first])
        error = RowError(f"{self._of.where}: row {number}: {what}")
        error.rows, error.what = rows, what
        return error

    def _missing(self, missing: Array, key: str, example: str) -> RowError:
        what = (
            f"{key!r} has no value; say what should stand there, with "
            f"missing={{{key!r}: {example}}}, or leave it out with columns="
        )
        return self._error(what, np.flatnonzero(missing))

    def _bad(self, error: BadValueError) -> Exception:
        of, name = self._of, dtype_name(self._of.dtype)
        if error.index < 0:
            return InvalidArgumentError(
                f"{of.where}: types={{{of.leaf.name!r}: {name!r}}} cannot be, as the column has "
                f"the type {of.leaf.type}; choose another one"
            )
        if of.dtype is text and isinstance(error.value, bytes):
            return self._error(
                f"{of.leaf.name!r} has {around_bad(error.value)}; read it as bytes, with "
                f"types={{{of.leaf.name!r}: 'string'}}, or pass the encoding= of a text file",
                np.array([error.index]),
            )
        what = (
            f"{of.leaf.name!r} has {error.value!r:.60}, which cannot become {name} "
            f"({error.reason}); choose another type in types={{{of.leaf.name!r}: ...}}, or "
            "'string'"
        )
        return self._error(what, np.array([error.index]))


def around_bad(value: bytes) -> str:
    """Which byte of a value is no UTF-8."""
    try:
        value.decode()
    except UnicodeDecodeError as error:
        some = value[max(0, error.start - 20) : error.start + 20]
        return f"the byte 0x{value[error.start]:02x} at {error.start}, which is no UTF-8: {some!r}"
    return repr(value)


def _either(one: Array | None, other: Array | None) -> Array | None:
    return other if one is None else one if other is None else one | other


def _without(array: pa.Array, missing: Array) -> pa.Array:
    """The same lists, some of them missing."""
    # Arrow cannot choose among lists of views of texts.
    array = array.cast(without_views(array.type))
    return array.take(pa.array(np.arange(len(array)), mask=missing))


def _plain(array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    return pc.run_end_decode(array)


def _ragged(values: Array, levels: list[Array], start: int, stop: int) -> Ragged:
    """The lists of the outermost level from ``start`` to ``stop``."""
    splits = levels[0][start : stop + 1]
    first, last = int(splits[0]), int(splits[-1])
    inner = values[first:last] if len(levels) == 1 else _ragged(values, levels[1:], first, last)
    return Ragged.trusted(inner, splits - first)


def _with_gaps(values: Array, offsets: Array, missing: Array, fill: Array) -> Jagged:
    starts, stops = offsets[:-1].copy(), offsets[1:].copy()
    starts[missing], stops[missing] = len(values), len(values) + len(fill)
    return Jagged(join_arrays([values, fill]), starts, stops)


def _unreadable(leaf: ArrowLeaf, where: str) -> InvalidArgumentError:
    column = leaf.path[0]
    if leaf.is_unreadable:
        return InvalidArgumentError(
            f"{where}: {leaf.name!r} has the type {leaf.type}, which no element can have; leave "
            f"the column {column!r} out with columns="
        )
    if pa.types.is_null(leaf.type):
        return InvalidArgumentError(
            f"{where}: {leaf.name!r} has no values at all and so no type; say which it has, with "
            f"types={{{leaf.name!r}: 'float64'}}, or leave {column!r} out with columns="
        )
    return InvalidArgumentError(
        f"{where}: {leaf.name!r} has the type {leaf.type}, which NumPy does not have; cast it, "
        f"with types={{{leaf.name!r}: 'float64'}}, or leave {column!r} out with columns="
    )
