"""Values of Arrow arrays as NumPy's: where they lie, if that can be, and which are missing."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keepset.core.dtypes import (
    TEXT_OBJECTS,
    Array,
    DType,
    StringType,
    text,
)
from keepset.exchange.arrow.leaves import is_text

_OF_OTHERS: Final = 2  # what NumPy says of a dtype that another package adds


class BadValueError(Exception):
    """The value at a position cannot be cast: ``index``, ``value`` and ``reason`` say which."""

    def __init__(self, index: int, value: Any, reason: str) -> None:
        super().__init__(index, value, reason)
        self.index, self.value, self.reason = index, value, reason


def values_of(array: pa.Array, dtype: DType, is_cast: bool) -> tuple[Array, Array | None]:
    """All values of an array without lists, and which of them are missing, if any are.

    What stands in the place of a missing one means nothing. Values are where they were, and
    read-only, unless they have to be made.
    """
    if is_cast:
        array = _cast(array, dtype)
    if dtype is text:
        values = _texts(array)
    else:
        values = _strings(array) if isinstance(dtype, StringType) else _numbers(array, dtype)
    missing = missing_in(array)
    return values, missing


def first_overflow(given: pa.Array, made: Array, missing: Array | None) -> int | None:
    """Where the first number is that became infinite when it was cast, if one did."""
    infinite = np.isinf(made)
    if missing is not None:
        infinite &= ~missing
    if infinite.any() and pa.types.is_floating(given.type):
        infinite &= pc.is_finite(given).fill_null(False).to_numpy(zero_copy_only=False)
    places: list[int] = np.flatnonzero(infinite).tolist()
    finite = (place for place in places if not math.isinf(float(given[place].as_py())))
    return next(finite, None)


def array_of(batch: pa.RecordBatch | pa.Table, name: str) -> pa.Array:
    """One column of a batch or a table, in one piece."""
    column = batch.column(name)
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    joined = column.combine_chunks()
    # More than fits into one array of its type stays in pieces.
    return pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined


def missing_in(array: pa.Array) -> Array | None:
    """Which items are missing, or None if none is."""
    if not array.null_count and not _hides_nulls(array.type):
        return None
    missing: Array = array.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_dictionary(array.type) and array.dictionary.null_count:
        # An item of a dictionary may be missing too.
        missing = array.dictionary_decode().is_null().to_numpy(zero_copy_only=False)
    return missing if missing.any() else None


def _hides_nulls(type: pa.DataType) -> bool:
    return bool(pa.types.is_null(type) or pa.types.is_dictionary(type))


def _numbers(array: pa.Array, dtype: np.dtype[Any]) -> Array:
    values: Array
    if pa.types.is_boolean(array.type):
        values = array.fill_null(False).to_numpy(zero_copy_only=False)
    elif isinstance(array.type, pa.Bool8Type):
        values = _bools(_items(array.storage, np.dtype(np.int8)))
    elif pa.types.is_date32(array.type):
        values = _items(array, np.dtype(np.int32)).astype(np.int64).view("M8[D]")
    elif pa.types.is_date64(array.type):
        values = _items(array, np.dtype("M8[ms]")).astype("M8[D]")
    elif pa.types.is_time(array.type):
        width = np.dtype(np.int32 if pa.types.is_time32(array.type) else np.int64)
        values = _items(array, width).astype(np.int64, copy=False).view(f"m8[{array.type.unit}]")
    elif pa.types.is_temporal(array.type):
        kind = "M8" if pa.types.is_timestamp(array.type) else "m8"
        values = _items(array, np.dtype(f"{kind}[{array.type.unit}]"))
    else:
        values = _items(array, np.dtype(array.type.to_pandas_dtype()))
    if values.dtype == dtype:
        return values
    with np.errstate(over="ignore"):  # see first_overflow
        return values.astype(dtype)


def _items(array: pa.Array, dtype: np.dtype[Any]) -> Array:
    """Items of a fixed width, where they lie; those that are missing are anything."""
    data = array.buffers()[1]
    if data is None or not len(array):
        return np.zeros(len(array), dtype)
    items = np.frombuffer(data, dtype, len(array), array.offset * dtype.itemsize)
    items.flags.writeable = False
    return items


def _bools(items: Array) -> Array:
    if items.size and (items.min() < 0 or items.max() > 1):
        return np.asarray(items != 0)  # any other number is true as well
    return items.view(bool)


def _strings(array: pa.Array) -> Array:
    if pa.types.is_dictionary(array.type):
        # Items that are the same are one object, as they are in the dictionary.
        indices = array.indices.fill_null(0).to_numpy(zero_copy_only=False)
        words = _strings(array.dictionary)
        return words.take(indices) if len(words) else np.full(len(indices), b"", object)
    values: Array = _binary(array).fill_null(b"").to_numpy(zero_copy_only=False)
    return values


def _texts(array: pa.Array) -> Array:
    """As ``_strings``, as ``str``; what is not UTF-8 is a BadValueError."""
    if pa.types.is_dictionary(array.type):
        indices = array.indices.fill_null(0).to_numpy(zero_copy_only=False)
        words = _texts(array.dictionary)
        return words.take(indices) if len(words) else np.full(len(indices), "", TEXT_OBJECTS)
    octets = _binary(array).fill_null(b"")
    # Looked at in any case: readers of files do not, whatever the type says.
    narrow = pa.types.is_binary(octets.type)
    checked = _cast_checked(octets, pa.string() if narrow else pa.large_string())
    values: Array = checked.to_numpy(zero_copy_only=False).view(TEXT_OBJECTS)
    return values


def _binary(array: pa.Array) -> pa.Array:
    is_narrow = pa.types.is_string(array.type) or pa.types.is_binary(array.type)
    return array.cast(pa.binary() if is_narrow else pa.large_binary())


def _cast(array: pa.Array, dtype: DType) -> pa.Array:
    """The array in an Arrow type of which ``dtype`` can be made."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if isinstance(array.type, pa.Bool8Type):
        bools = _bools(_items(array.storage, np.dtype(np.int8)))
        array = pa.array(bools, pa.bool_(), mask=missing_in(array))
    if pa.types.is_time(array.type) and not isinstance(dtype, StringType):
        if dtype.kind == "m":
            return array  # Arrow cannot, and NumPy will
        array = array.cast(pa.int32() if pa.types.is_time32(array.type) else pa.int64())
    if is_text(array.type):
        if isinstance(dtype, StringType):
            return array
        array = _cast_checked(_binary(array), pa.large_string())
    return _cast_checked(array, arrow_type(dtype))


def arrow_type(dtype: DType) -> pa.DataType:
    """The Arrow type that is nearest to a dtype and can be parsed and cast to."""
    if isinstance(dtype, StringType):
        return pa.large_string()
    if dtype.kind in "mM":
        unit = np.datetime_data(dtype)[0]
        if unit == "D" and dtype.kind == "M":
            return pa.date32()
        unit = unit if unit in ("s", "ms", "us", "ns") else "s"
        return pa.timestamp(unit) if dtype.kind == "M" else pa.duration(unit)
    if dtype.kind in "biu" and dtype.isbuiltin != _OF_OTHERS:
        return pa.from_numpy_dtype(dtype)
    if dtype.kind == "f" and dtype.itemsize <= 4:
        return pa.float32()
    return pa.float64()


def _cast_checked(array: pa.Array, type: pa.DataType) -> pa.Array:
    try:
        return _arrow_cast(array, type)
    except pa.ArrowNotImplementedError as error:
        raise BadValueError(-1, None, str(error)) from None
    except pa.ArrowInvalid:
        index = _first_bad(array, type)
    try:
        _arrow_cast(array[index : index + 1], type)
    except pa.ArrowInvalid as error:
        raise BadValueError(index, array[index].as_py(), str(error)) from None
    raise AssertionError("a value that could not be cast can be")


def _arrow_cast(array: pa.Array, type: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(type) and pa.types.is_timestamp(array.type):
        # Those with a time zone are kept in UTC, and stay in it.
        type = pa.timestamp(type.unit, array.type.tz)
    if pa.types.is_decimal(array.type) and pa.types.is_float32(type):
        array = array.cast(pa.float64())
    return pc.cast(array, type)


def _first_bad(array: pa.Array, type: pa.DataType) -> int:
    """Where the first value is that cannot be cast."""
    sound, bad = 0, len(array)
    while bad - sound > 1:
        middle = (sound + bad) // 2
        try:
            _arrow_cast(array[sound:middle], type)
            sound = middle
        except pa.ArrowInvalid:
            bad = middle
    return sound
