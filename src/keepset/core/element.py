"""What a user's function or source gives becomes an element: NumPy leaves in a nested structure."""

from __future__ import annotations

import datetime
import enum
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from keepset.core.arrays import as_array, as_unit, is_fixed, microseconds, naive
from keepset.core.dtypes import PLAIN_SCALARS, Array, is_numeric
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.structure import is_dataclass_element, is_namedtuple, record_fields
from keepset.core.utf8 import utf8
from keepset.errors import ElementError, ResultError


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
    kind = type(value)
    if kind is np.ndarray:  # the usual case, without another call
        if (
            value.base is None
            and getrefcount(value) <= _RETURNED_REFERENCES
            and value.ndim
            and value.dtype in _NUMERIC
        ):
            return value
    elif kind in PLAIN_SCALARS:
        return value
    convert = _from_tuple if kind is list else _CONVERTERS.get(kind)
    if convert is None:
        convert = _CONVERTERS[kind] = _converter_for(kind)
    return convert(value)


def _from_array(value: Any) -> Any:
    if value.ndim and value.dtype in _NUMERIC:
        if getrefcount(value) <= _REFERENCES and (value.base is None or owns_memory(value)):
            return value
        return own(value)
    return _from_odd_array(value)


def _from_nested_array(value: Any, references: int) -> Any:
    """As ``_from_array``, for an item of a container that only the function's result holds."""
    if value.ndim and value.dtype in _NUMERIC:
        if getrefcount(value) <= references and (value.base is None or owns_memory(value)):
            return value
        return own(value)
    return _from_odd_array(value)


def _from_odd_array(value: Any) -> Any:
    if value.dtype.names:
        return {name: _from_array(value[name]) for name in value.dtype.names}
    array = as_array(value)
    if not array.ndim:
        return array[()]
    if is_numeric(array.dtype):
        _NUMERIC.add(array.dtype)
    return own(array) if array is value else array


def owns_memory(array: Array) -> bool:
    """Whether nobody but this view can write to the memory that it looks at."""
    base: Any = array.base
    return (
        (not array.flags.writeable and is_fixed(array))
        # The view, our two names for it and the argument: nobody else has it.
        or (type(base) is np.ndarray and base.base is None and getrefcount(base) <= 3)
    )


def own(array: Array) -> Array:
    """The array if nobody can write to it, else a copy.

    A function may give the same buffer again and again, with new contents. Elements are held for
    a while before they are used, so a buffer that somebody else still has must be copied at once.
    """
    return array.copy() if array.flags.writeable or not is_fixed(array) else array


def _from_list(value: Any) -> Any:
    return _from_array(as_array(value))


def _from_array_like(value: Any) -> Any:
    """An object with an array inside, which it may write to again."""
    array = as_array(value)
    # A new one, which nothing but this name stands for.
    if array.base is None and getrefcount(array) <= _ONLY_NAME:
        return _from_array(array)
    if array.dtype in _NUMERIC and array.ndim:
        return own(array)
    return _from_odd_array(array)


def _from_dict(value: Mapping[Any, Any]) -> dict[Any, Any]:
    is_shared = getrefcount(value) > _REFERENCES
    try:
        return _dict_of(value, is_shared)
    except (RecursionError, ElementError) as error:
        _explain(error, value)
        raise


def _from_tuple(value: Sequence[Any]) -> tuple[Any, ...]:
    is_shared = getrefcount(value) > _REFERENCES
    try:
        return _tuple_of(value, is_shared)
    except (RecursionError, ElementError) as error:
        _explain(error, value)
        raise


def _explain(error: Exception, value: Any) -> None:
    """Say where text cannot be encoded, and what is wrong with dicts in dicts without an end."""
    if isinstance(error, RecursionError):
        raise ElementError(
            "an element is nested too deep, or holds itself; return dicts and tuples of a few "
            "levels, or the text of it, as json.dumps makes"
        ) from error
    if isinstance(error, ElementError) and isinstance(error.__cause__, UnicodeEncodeError):
        keys = _keys_to_failure(value)
        error.leaf = None if keys is None else ".".join(map(str, keys)) or None


def _keys_to_failure(value: Any) -> tuple[Any, ...] | None:
    """The keys to the first leaf that is no element; containers are only looked through."""
    kind = type(value)
    items: Iterable[tuple[Any, Any]]
    if issubclass(kind, Mapping):
        items = value.items()
    elif is_namedtuple(kind) or is_dataclass_element(kind):
        items = ((field, getattr(value, field)) for field in record_fields(kind))
    elif issubclass(kind, tuple):
        items = enumerate(value)
    else:
        try:
            to_element(value)
        except ElementError:
            return ()
        return None
    for key, item in items:
        if (keys := _keys_to_failure(item)) is not None:
            return (key, *keys)
    return None


def _dict_of(value: Mapping[Any, Any], is_shared: bool) -> dict[Any, Any]:
    if is_shared:
        return {key: _owned(item) for key, item in value.items()}
    return {
        key: item
        if type(item) in PLAIN_SCALARS
        else _from_nested_array(item, _DICT_REFERENCES)
        if type(item) is np.ndarray
        else _from_nested(item, _DICT_REFERENCES)
        for key, item in value.items()
    }


def _tuple_of(value: Sequence[Any], is_shared: bool) -> tuple[Any, ...]:
    for item in value:
        if type(item) not in PLAIN_SCALARS:
            break
    else:
        return tuple(value)
    del item
    if is_shared:
        return tuple(map(_owned, value))
    return tuple(
        [
            item
            if type(item) in PLAIN_SCALARS
            else _from_nested_array(item, _TUPLE_REFERENCES)
            if type(item) is np.ndarray
            else _from_nested(item, _TUPLE_REFERENCES)
            for item in value
        ]
    )


def _from_nested(value: Any, references: int) -> Any:
    """An item of a container that only the function's result holds."""
    is_shared = getrefcount(value) > references
    kind = type(value)
    if kind is dict:
        return _dict_of(value, is_shared)
    if kind is tuple:
        return _tuple_of(value, is_shared)
    return to_element(value)


def _owned(value: Any) -> Any:
    """An item of a container that somebody else has too, and may fill anew: arrays are copied."""
    kind = type(value)
    if kind is dict:
        return _dict_of(value, is_shared=True)
    if kind is tuple:
        return _tuple_of(value, is_shared=True)
    element = to_element(value)
    return own(element) if type(element) is np.ndarray else element


def _from_ragged(value: Ragged) -> Ragged:
    inner = value.values
    values = _from_ragged(inner) if isinstance(inner, Ragged) else _own_values(inner)
    return Ragged.trusted(values, own(value.row_splits))


def _from_sparse(value: Sparse) -> Sparse:
    return Sparse(own(value.indices), _own_values(value.values), own(value.dense_shape))


def _own_values(values: Array) -> Array:
    """As :func:`own`; text becomes bytes, as everywhere in what a function returns."""
    array = as_array(values) if values.dtype == object else values
    return own(array) if array is values else array


def _from_int(value: int) -> Any:
    if -(1 << 63) <= value < 1 << 63:
        return np.int64(value)
    if value < 1 << 64 and value > 0:
        return np.uint64(value)
    raise ElementError(f"the integer {value} does not fit into 64 bits; use a string or a float")


def _from_datetime(value: datetime.datetime) -> Any:
    return np.datetime64(naive(value), "us")


def _from_record(kind: type) -> Callable[[Any], Any]:
    fields = record_fields(kind)

    def convert(value: Any) -> Any:
        make = _owned if getrefcount(value) > _REFERENCES else to_element
        return kind(**{field: make(getattr(value, field)) for field in fields})

    return convert


def _unknown(value: Any) -> Any:
    raise ResultError(
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
    list: _from_list,
    type(None): _same,
    bool: np.bool_,
    int: _from_int,
    float: np.float64,
    complex: np.complex128,
    str: utf8,
    np.str_: lambda value: utf8(str(value)),
    np.bytes_: bytes,
    bytearray: bytes,
    memoryview: bytes,
    datetime.datetime: _from_datetime,
    datetime.date: lambda value: np.datetime64(value, "D"),
    datetime.timedelta: lambda value: np.timedelta64(microseconds(value), "us"),
    Ragged: _from_ragged,
    Sparse: _from_sparse,
    set: _unknown,
    frozenset: _unknown,
    object: _unknown,
    np.object_: _unknown,
}


def _fresh_references() -> list[int]:
    """The reference counts that the functions above see of an array that nobody else has.

    They depend on how the interpreter passes arguments, so they are measured, by functions that
    call each other in the same way.
    """
    counts: list[int] = []

    def innermost(value: Any, references: int = 0) -> Any:
        counts.append(getrefcount(value))
        return value

    converters = {np.ndarray: innermost}

    def outer(value: Any) -> Any:
        kind = type(value)
        convert = converters.get(kind)
        if convert is None:
            convert = converters[kind] = innermost
        return convert(value)

    def from_tuple(value: Any) -> Any:
        return tuple([innermost(x, 0) if type(x) is np.ndarray else outer(x) for x in value])

    def from_dict(value: Any) -> Any:
        return {k: innermost(x, 0) if type(x) is np.ndarray else outer(x) for k, x in value.items()}

    made: list[Callable[[], Any]] = [
        lambda: np.empty(1),
        lambda: np.empty(1),
        lambda: (np.empty(1),),
        lambda: {0: np.empty(1)},
    ]
    for make, convert in zip(made, (outer, innermost, from_tuple, from_dict), strict=True):
        result = make()
        result = convert(result)
    return counts


def _only_name() -> int:
    array = np.empty(1)
    return getrefcount(array)


_ONLY_NAME = _only_name()
_REFERENCES, _RETURNED_REFERENCES, _TUPLE_REFERENCES, _DICT_REFERENCES = _fresh_references()
_OF_MOCKS = ("unittest.mock", "mock.mock")
_NUMERIC: set[np.dtype[Any]] = {np.dtype(code) for code in "?bhilqBHILQefdgFDG"}


def _converter_for(kind: type) -> Callable[[Any], Any]:
    """Find the rule for a type that is met for the first time."""
    if is_namedtuple(kind) or is_dataclass_element(kind):
        return _from_record(kind)
    # The times of pandas, each of which has a unit of its own: all become nanoseconds.
    for name, dtype in (("to_datetime64", "M8[ns]"), ("to_timedelta64", "m8[ns]")):
        if hasattr(kind, name):
            return lambda value: as_unit(getattr(value, name)(), dtype)
    if hasattr(kind, "__keepset_node__"):
        return _same
    if issubclass(kind, enum.Enum):
        return lambda value: to_element(value.value)
    if hasattr(kind, "__array__") or hasattr(kind, "__array_interface__"):
        return _from_array_like
    if issubclass(kind, Mapping):
        return _from_dict
    if issubclass(kind, os.PathLike) and not _is_mock(kind):
        return os.fsencode
    for base in (bool, int, float, complex, str, bytes, list, tuple, datetime.datetime):
        if issubclass(kind, base):
            return _CONVERTERS.get(base, bytes)
    if hasattr(kind, "__dlpack__"):
        return lambda value: _from_array(np.from_dlpack(value))
    return _unknown


def _is_mock(kind: type) -> bool:
    """Whether a type has every method there is only because it stands for others in tests."""
    return any(base.__module__ in _OF_MOCKS for base in kind.__mro__)
