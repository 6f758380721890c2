"""Outlets: the Arrow type in which the leaves of a spec leave for others, and the way into it.

They hold what our own files hold, under the types that everybody has: bools, dates, missing times,
lists of lists, and text where the user says so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from keepset.core.column import Column, column_rows
from keepset.core.dtypes import Array, DType, StringType
from keepset.core.ragged import Ragged
from keepset.core.spec import LeafSpec, RaggedTensorSpec, TensorSpec
from keepset.format.encodings import encoding_of
from keepset.format.encodings.encoding import list_of

_DAYS: Final = np.dtype("M8[D]")
_UNITS: Final = ("s", "ms", "us", "ns")
_OF_OTHERS: Final = 2  # what NumPy says of a dtype that another package adds


class NotTextError(Exception):
    """Bytes that should be text are not UTF-8."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


class Outlet(NamedTuple):
    """An Arrow type, and what makes arrays of it from columns."""

    type: pa.DataType
    encode: Callable[[Column], pa.Array]
    is_nullable: bool = False


def outlet_of(spec: LeafSpec, is_text: bool) -> Outlet:
    """How leaves of ``spec`` leave, their bytes as text if ``is_text``."""
    if isinstance(spec, RaggedTensorSpec) and has_plain_rows(spec):
        return _nested_lists(spec, is_text)
    encoding = encoding_of(spec)
    type = _open_type(spec, encoding.type)
    if is_text:
        return Outlet(_as_text(type), lambda column: _text_of(encoding.encode(column), column))
    is_nullable = pa.types.is_null(type) or pa.types.is_temporal(type)
    return Outlet(type, lambda column: _adapted(encoding.encode(column), type), is_nullable)


def has_plain_rows(spec: RaggedTensorSpec) -> bool:
    """Whether rows can be lists of lists that say all there is to say."""
    if spec.shape is None:
        return False
    inner = spec.shape[spec.ragged_rank + 1 :]
    return len(inner) < 2 and all(inner) and is_common(spec.dtype)


def is_common(dtype: DType) -> bool:
    """Whether every reader of Arrow has the dtype."""
    if isinstance(dtype, StringType) or dtype == _DAYS:
        return True
    if dtype.kind in "mM":
        unit, count = np.datetime_data(dtype)
        return unit in _UNITS and count == 1
    return dtype.kind in "biuf" and dtype.isbuiltin != _OF_OTHERS and dtype.itemsize <= 8


def _open_type(spec: LeafSpec, type: pa.DataType) -> pa.DataType:
    """The type that others know best for what is kept as ``type``."""
    if not isinstance(spec, TensorSpec) or spec.shape is None or len(spec.shape) > 1:
        return type
    if spec.dtype == _DAYS and spec.shape == ():
        return pa.date32()
    if isinstance(spec.dtype, StringType) or (len(spec.shape) != 1 and spec.dtype.kind != "b"):
        return type
    if isinstance(type, pa.BaseExtensionType):
        type = type.storage_type
    if spec.dtype.kind != "b" or pa.types.is_null(type):
        return type
    if not spec.shape:
        return pa.bool_()
    is_fixed = pa.types.is_fixed_size_list(type)
    return pa.list_(pa.bool_(), type.list_size) if is_fixed else pa.list_(pa.bool_())


def _adapted(array: pa.Array, type: pa.DataType) -> pa.Array:
    if isinstance(array, pa.ExtensionArray) and array.type != type:
        array = array.storage
    if not pa.types.is_temporal(type):
        return array if array.type == type else array.cast(type)
    # What NumPy calls NaT is the least number there is.
    items = np.frombuffer(array.buffers()[1], np.int64, len(array)) if len(array) else np.empty(0)
    is_nat = items == np.iinfo(np.int64).min
    if pa.types.is_date32(type):
        days = pa.array(items, pa.int64(), mask=is_nat).cast(pa.int32())
        return days.cast(type)
    return pa.array(items, pa.int64(), mask=is_nat).cast(type) if is_nat.any() else array


def _as_text(type: pa.DataType) -> pa.DataType:
    if pa.types.is_binary(type):
        return pa.string()
    if pa.types.is_list(type):
        return pa.list_(_as_text(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([(field.name, _as_text(field.type)) for field in type])
    return type


def _text_of(array: pa.Array, column: Column) -> pa.Array:
    try:
        return array.cast(_as_text(array.type))
    except pa.ArrowInvalid:
        for leaf in column_rows(column):
            for value in [leaf] if isinstance(leaf, bytes) else leaf.ravel().tolist():
                if not _is_text(value):
                    raise NotTextError(value) from None
        raise


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _nested_lists(spec: RaggedTensorSpec, is_text: bool) -> Outlet:
    assert spec.shape is not None
    items = outlet_of(TensorSpec(spec.shape[spec.ragged_rank + 1 :], spec.dtype), is_text)
    type = items.type.storage_type if isinstance(items.type, pa.BaseExtensionType) else items.type
    for _ in range(spec.ragged_rank + 1):
        type = pa.list_(type)
    return Outlet(type, partial(_encode_nested, spec, items, type))


def _encode_nested(
    spec: RaggedTensorSpec, items: Outlet, type: pa.DataType, column: Column
) -> pa.Array:
    leaves: list[Any] = list(column)
    lengths: list[Array] = [np.fromiter(map(len, leaves), np.int64, len(leaves))]
    for _ in range(spec.ragged_rank):
        lengths.append(_joined([np.diff(leaf.row_splits) for leaf in leaves]))
        leaves = [leaf.values for leaf in leaves]
    assert not any(isinstance(leaf, Ragged) for leaf in leaves)
    array = items.encode(np.concatenate(leaves) if leaves else [])
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    types = [type]
    while len(types) < len(lengths):
        types.append(types[-1].value_type)
    for each, kind in zip(reversed(lengths), reversed(types), strict=True):
        array = list_of(array, each, kind)
    return array


def _joined(parts: list[Array]) -> Array:
    return np.concatenate(parts).astype(np.int64) if parts else np.empty(0, np.int64)
