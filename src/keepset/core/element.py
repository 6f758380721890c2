"""What a user's function or source gives becomes an element: NumPy leaves in a nested structure."""

from __future__ import annotations

import datetime
import enum
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from keepset.core.arrays import as_array
from keepset.core.dtypes import PLAIN_SCALARS, is_numeric
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.structure import is_dataclass_element, is_namedtuple, record_fields
from keepset.errors import ElementError


def to_element(value: Any) -> Any:
    """Make an element of any value: numbers become NumPy scalars, text bytes, lists arrays.

    Dicts, tuples, named tuples and dataclasses keep their nesting. What is an element already
    is returned as it is.

    Example:
        >>> to_element({"name": "ada", "age": 36, "marks": [1.0, 2.5]})
        {'name': b'ada', 'age': np.int64(36), 'marks': array([1. , 2.5])}
    """
    kind = type(value)
    if kind in PLAIN_SCALARS:
        return value
    convert = _CONVERTERS.get(kind)
    if convert is None:
        convert = _CONVERTERS[kind] = _converter_for(kind)
    return convert(value)


def to_returned_element(value: Any) -> Any:
    """As :func:`to_element` for a function's result, where a list means several components.

    TensorFlow reads a returned list as a tuple; a list deeper inside is an array.
    """
    return to_element(tuple(value) if type(value) is list else value)


def _from_array(value: Any) -> Any:
    if value.ndim and is_numeric(value.dtype):
        return value
    if value.dtype.names:
        return {name: _from_array(value[name]) for name in value.dtype.names}
    array = as_array(value)
    return array if array.ndim else array[()]


def _from_array_like(value: Any) -> Any:
    return _from_array(as_array(value))


def _from_dict(value: Mapping[Any, Any]) -> dict[Any, Any]:
    return {key: to_element(item) for key, item in value.items()}


def _from_tuple(value: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(to_element, value))


def _from_int(value: int) -> Any:
    if -(1 << 63) <= value < 1 << 63:
        return np.int64(value)
    if value < 1 << 64 and value > 0:
        return np.uint64(value)
    raise ElementError(f"the integer {value} does not fit into 64 bits; use a string or a float")


def _from_datetime(value: datetime.datetime) -> Any:
    if value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    return np.datetime64(value, "us")


def _from_record(kind: type) -> Callable[[Any], Any]:
    fields = record_fields(kind)

    def convert(value: Any) -> Any:
        return kind(**{field: to_element(getattr(value, field)) for field in fields})

    return convert


def _unknown(value: Any) -> Any:
    raise ElementError(
        f"a value of type {type(value).__module__}.{type(value).__qualname__} cannot be part of an "
        "element; return numbers, strings, arrays, Ragged, Sparse, or dicts and tuples of them"
    )


def _same(value: Any) -> Any:
    return value


_CONVERTERS: dict[type, Callable[[Any], Any]] = {
    np.ndarray: _from_array,
    np.void: _from_array,
    dict: _from_dict,
    tuple: _from_tuple,
    list: _from_array_like,
    type(None): _same,
    bool: np.bool_,
    int: _from_int,
    float: np.float64,
    complex: np.complex128,
    str: str.encode,
    np.str_: lambda value: str(value).encode(),
    np.bytes_: bytes,
    bytearray: bytes,
    memoryview: bytes,
    datetime.datetime: _from_datetime,
    datetime.date: lambda value: np.datetime64(value, "D"),
    datetime.timedelta: lambda value: np.timedelta64(value, "us"),
    Ragged: _same,
    Sparse: _same,
    set: _unknown,
    frozenset: _unknown,
    object: _unknown,
    np.object_: _unknown,
}


def _converter_for(kind: type) -> Callable[[Any], Any]:
    """Find the rule for a type that is met for the first time."""
    if is_namedtuple(kind) or is_dataclass_element(kind):
        return _from_record(kind)
    if hasattr(kind, "__keepset_node__"):
        return _same
    if issubclass(kind, enum.Enum):
        return lambda value: to_element(value.value)
    if hasattr(kind, "__array__") or hasattr(kind, "__array_interface__"):
        return _from_array_like
    if issubclass(kind, Mapping):
        return _from_dict
    if issubclass(kind, os.PathLike):
        return os.fsencode
    for base in (bool, int, float, complex, str, bytes, list, tuple, datetime.datetime):
        if issubclass(kind, base):
            return _CONVERTERS.get(base, bytes)
    if hasattr(kind, "__dlpack__"):
        return lambda value: _from_array(np.from_dlpack(value))
    return _unknown
