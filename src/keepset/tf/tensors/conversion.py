"""Conversion of Python and NumPy values to what a tensor holds, by TensorFlow's rules.

A tensor holds a *value*: an array of at least one dimension, a scalar of NumPy, or ``bytes``.
Strings are ``bytes``, and arrays of strings are object arrays of ``bytes``.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from keepset.core.arrays import as_array
from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.tensors.dtype import DType, as_dtype
from keepset.tf.tensors.of_tensorflow import array_of_tensorflow, is_of_tensorflow
from keepset.tf.tensors.quiet import run_quietly

Value = Any
_INT32 = np.iinfo(np.int32)
_KINDS = {bool: "bool", int: "int", float: "float", complex: "complex", str: "text", bytes: "text"}
# A sequence takes its dtype from its first item; these are what the others may be of.
_FOLLOWERS = {
    "bool": {"bool"},
    "int": {"int", "bool", "float"},
    "float": {"float", "int", "bool"},
    "complex": {"complex", "float", "int", "bool"},
    "text": {"text"},
}


class Holder:
    """The base of :class:`keepset.tf.Tensor`: what holds a value."""

    __slots__ = ("_value",)
    _value: Value


def value_of(given: Any, dtype: Any = None) -> Value:
    """The value that something stands for, of a dtype if that is given.

    Python's own numbers become int32 and float32 where no dtype is given. Arrays of NumPy are cast,
    and numbers of Python's own are taken only if the dtype can hold their kind.

    Example:
        >>> value_of(3), value_of([0.5, 1]), value_of("text"), value_of(3, "float64")
        (np.int32(3), array([0.5, 1. ], dtype=float32), b'text', np.float64(3.0))

    Raises:
        DtypeError: It is of another dtype and cannot become the one that is asked for.
        InvalidArgumentError: It is no tensor at all.
    """
    if isinstance(given, Holder):
        return given._value if dtype is None else _checked(given._value, as_dtype(dtype))
    wanted = None if dtype is None else as_dtype(dtype)
    kind = type(given)
    if kind in _KINDS:
        return _own(given, wanted, given)
    if isinstance(given, np.generic | np.ndarray):
        return _from_numpy(given, wanted)
    if isinstance(given, list | tuple | range):
        return _from_sequence(given, wanted)
    return _from_other(given, wanted)


def matching(*given: Any) -> list[Value]:
    """Values of one dtype: that of the first tensor among them, else that of the first of all.

    Example:
        >>> matching(1.5, 2)
        [np.float32(1.5), np.float32(2.0)]
    """
    leader = value_of(next(filter(_is_tensor, given), given[0]))
    dtype = dtype_of(leader)
    return [_as(each, dtype) for each in given]


def dtype_of(value: Value) -> DType:
    """The dtype of a value, as users name it."""
    kind = type(value)
    if kind is bytes:
        return _STRING
    found = _BY_NUMPY.get(value.dtype)
    return as_dtype(value.dtype) if found is None else found


def as_value(found: Any) -> Value:
    """What NumPy returned: a scalar in place of an array without dimensions."""
    if type(found) is np.ndarray:
        return found if found.ndim else found[()]
    if type(found) is bool:  # of the comparison of two bytes
        return np.bool_(found)
    return found


def cast_value(value: Value, dtype: Any) -> Value:
    """The same numbers in another dtype, cut off and wrapped round as in TensorFlow."""
    wanted, given = as_dtype(dtype), dtype_of(value)
    if wanted is given:
        return value
    if _STRING in (wanted, given):
        how = "tf.strings.as_string" if wanted is _STRING else "tf.strings.to_number"
        raise DtypeError(f"Cast {given.name} to {wanted.name} is not supported; use {how}")
    return cast_numbers(value, wanted.storage)


def cast_numbers(value: Value, dtype: np.dtype[Any]) -> Value:
    """As NumPy's ``astype``, without its warnings of what does not fit."""
    given = value.dtype.kind
    if given == "c" and dtype.kind not in "cb":
        value = value.real
    if given == "f" and dtype.kind in "iu" and dtype.itemsize < 4:
        # As wide integers and wrapped round then, which NumPy leaves to the machine.
        value = run_quietly(value.astype, np.int32)
    return run_quietly(value.astype, dtype)


def plain(value: Value) -> Any:
    """An array or a scalar of NumPy, for functions that know no ``bytes``."""
    return string_scalar(value) if type(value) is bytes else value


def string_scalar(text: bytes) -> Any:
    """An array of one string without dimensions."""
    array = np.empty((), object)
    array[()] = text
    return array


def string_array(items: Sequence[bytes], shape: Any = None) -> Any:
    """An array of strings; NumPy's own ``S`` type drops trailing zero bytes."""
    array = np.empty(len(items), object)
    array[:] = items
    return array if shape is None else array.reshape(shape)


def zero_of(dtype: DType) -> Value:
    """What tensors of a dtype are filled with: 0, False or an empty string."""
    return b"" if dtype is _STRING else dtype.storage.type(0)


def ints_of(given: Any) -> tuple[int, ...]:
    """Whole numbers that stand for sizes, axes or repetitions, however they were given.

    Tensors of floats in a list are cut off, as TensorFlow does; a list of Python's floats, or a
    tensor of floats that is not in a list, is refused as there.

    Raises:
        DtypeError: They are no whole numbers.
    """
    if type(given) is int:
        return (given,)
    if isinstance(given, list | tuple):
        return tuple(_cut_off(each) if _is_tensor(each) else int_of(each) for each in given)
    value = value_of(list(given) if hasattr(given, "as_list") else given)
    if np.size(value) == 0:
        return ()
    _check_whole(value)
    return tuple(np.ravel(value).tolist())


def int_of(given: Any) -> int:
    """A single whole number, such as an axis."""
    if type(given) is int:
        return given
    value = value_of(given)
    _check_whole(value)
    if np.size(value) != 1:
        raise InvalidArgumentError(f"a single whole number is needed, not {given!r:.80}")
    return int(np.ravel(value)[0])


def _cut_off(given: Any) -> int:
    """A tensor among sizes as a whole number."""
    value = value_of(given)
    is_float = type(value) is not bytes and value.dtype.kind == "f"
    return int_of(cast_value(value, "int32") if is_float else given)


def _check_whole(value: Value) -> None:
    if dtype_of(value).name not in ("int32", "int64", "int16", "uint16", "uint8", "int8"):
        raise DtypeError(f"whole numbers are needed here, not {dtype_of(value).name}; use tf.cast")


def _as(given: Any, dtype: DType) -> Value:
    if isinstance(given, Holder):
        return _checked(given._value, dtype)
    return value_of(given, dtype)


def _checked(value: Value, dtype: DType) -> Value:
    found = dtype_of(value)
    if found is not dtype:
        raise DtypeError(
            f"a tensor of {dtype.name} is needed here, and this one is of {found.name}; "
            f"use tf.cast(x, tf.{dtype.name})"
        )
    return value


def _own(item: Any, wanted: DType | None, shown: Any) -> Value:
    """A number or text of Python's own."""
    kind = _KINDS[type(item)]
    if wanted is None:
        return _scalar(item, kind)
    if kind == "text":
        if wanted is not _STRING:
            raise _cannot(shown, wanted)
        return item.encode() if type(item) is str else item
    _check_kind(kind, wanted, shown)
    if kind == "int" and wanted.is_integer:
        return _whole(item, wanted.storage)
    return wanted.storage.type(item)


def _whole(item: int, dtype: np.dtype[Any]) -> Value:
    try:
        return dtype.type(item)
    except OverflowError:  # it is wrapped round
        return as_value(np.asarray(_bounded(item)).astype(dtype))


def _scalar(item: Any, kind: str) -> Value:
    if kind == "int":
        return np.int32(item) if _INT32.min <= item <= _INT32.max else np.int64(_bounded(item))
    if kind == "float":
        with np.errstate(over="ignore"):
            return np.float32(item)
    if kind == "bool":
        return np.bool_(item)
    if kind == "complex":
        return np.complex128(item)
    return item.encode() if type(item) is str else item


def _bounded(item: int) -> int:
    if not -(2**63) <= item < 2**64:
        raise InvalidArgumentError(f"the number {item} does not fit into 64 bits")
    return item


def _check_kind(kind: str, wanted: DType, shown: Any) -> None:
    """Whether numbers of a kind may become a dtype: whole ones any number, others as they are."""
    if wanted is _STRING:
        raise _cannot(shown, wanted)
    if kind == "bool":
        return
    if wanted.is_bool or (kind == "float" and wanted.is_integer):
        raise _cannot(shown, wanted)
    if kind == "complex" and not wanted.is_complex:
        raise _cannot(shown, wanted)


def _cannot(shown: Any, wanted: DType) -> DtypeError:
    return DtypeError(
        f"Cannot convert {shown!r:.80} to a tensor of {wanted.name}; a tensor's dtype stays, "
        "use tf.cast to change it"
    )


def _from_numpy(given: Any, wanted: DType | None) -> Value:
    """A copy, for tensors never change, cast if need be."""
    array = np.asarray(given)
    if array.dtype.kind in "OUS":
        made = _strings(array)
        return made if wanted is None else _checked(made, wanted)
    native = array.dtype.newbyteorder("=")
    if native not in _BY_NUMPY and native.name != "bfloat16":
        raise InvalidArgumentError(
            f"an array of {native.name} is no tensor: TensorFlow has no such dtype; use numbers"
        )
    if wanted is None:
        # An array may be written to by its owner. Scalars of NumPy cannot.
        return np.array(array, native) if array.ndim else array.astype(native)[()]
    if wanted is _STRING:
        raise _cannot(given, wanted)
    return as_value(cast_numbers(array, wanted.storage))


def _strings(array: Any) -> Value:
    if array.dtype.kind == "U":
        items = [item.encode() for item in array.ravel().tolist()]
    else:
        items = [_text(item, array) for item in array.ravel().tolist()]
    return string_array(items, array.shape) if array.ndim else items[0]


def _text(item: Any, array: Any) -> bytes:
    if isinstance(item, str):
        return item.encode()
    if isinstance(item, Holder):
        item = item._value
    if not isinstance(item, bytes):
        raise InvalidArgumentError(
            f"an array of objects holds {type(item).__name__}; a tensor holds numbers of one "
            "dtype, or strings"
        )
    return item


def _from_sequence(given: Sequence[Any], wanted: DType | None) -> Value:
    """A sequence, whose first number says what it is of."""
    if type(given) is range:
        return value_of(np.arange(given.start, given.stop, given.step), wanted or _INT32_DTYPE)
    if (arrays := _arrays_alike(given)) is not None:
        return _from_arrays(arrays, wanted)
    flat, shape, has_tensors = _flattened(given)
    if has_tensors:
        return _stacked(given, wanted)
    if not flat:
        dtype = (wanted or _FLOAT32).storage
        return np.zeros(shape, dtype)
    first = _kind_of(flat[0])
    kinds = set(map(_kind_of, flat))
    if not kinds <= _FOLLOWERS[first]:
        raise _mixed(given, flat)
    if first == "text":
        if wanted not in (None, _STRING):
            assert wanted is not None
            raise _cannot(given, wanted)
        return string_array([_encoded(item) for item in flat], shape)
    kind = "float" if "float" in kinds and first in ("int", "bool") else first
    if wanted is not None:
        _check_kind(kind, wanted, given)
        return _numbers(flat, shape, wanted.storage)
    if kind == "int":
        fits = all(_INT32.min <= item <= _INT32.max for item in (min(flat), max(flat)))
        return _numbers(flat, shape, np.dtype(np.int32 if fits else np.int64))
    if kind == "float":
        # The first number decides here as well: NumPy's float64 is wide.
        is_wide = type(flat[0]) is np.float64
        return _numbers(flat, shape, np.dtype(np.float64 if is_wide else np.float32))
    return _numbers(flat, shape, np.dtype(bool if kind == "bool" else np.complex128))


def _arrays_alike(given: Sequence[Any]) -> Any:
    """Arrays of one shape and dtype in one, which need not be taken apart; else None."""
    first = given[0] if given else None
    if type(first) is not np.ndarray or not first.ndim or first.dtype.kind not in "biufc":
        return None
    kind = first.dtype, first.shape
    if all(type(each) is np.ndarray and (each.dtype, each.shape) == kind for each in given):
        return np.stack(given)
    return None


def _from_arrays(array: Any, wanted: DType | None) -> Value:
    """Whole numbers of arrays in a list are taken for Python's own, as TensorFlow does."""
    if wanted is not None:
        return _from_numpy(array, wanted)
    if array.dtype.kind in "iu" and array.size and array.max() <= _INT32.max:
        return array.astype(np.int32) if array.min() >= _INT32.min else array.astype(np.int64)
    return array


def _numbers(flat: list[Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Value:
    with np.errstate(all="ignore"):
        if dtype.kind in "iu":
            wide = np.uint64 if dtype == np.uint64 else np.int64
            try:
                return np.array(flat, wide).astype(dtype).reshape(shape)
            except OverflowError as error:
                raise InvalidArgumentError(f"a number of the list is no {dtype.name}") from error
        return np.array(flat).astype(dtype).reshape(shape)


def _flattened(given: Any) -> tuple[list[Any], tuple[int, ...], bool]:
    """The items of nested sequences and arrays, their shape, and whether there are tensors."""
    shape: list[int] = []
    level: list[Any] = [given]
    while level and _is_sequence(level[0]):
        size = len(level[0])
        for each in level:
            if _is_tensor(each):
                return [], (), True
            if not _is_sequence(each) or len(each) != size:
                if any(map(_is_tensor, level)):
                    return [], (), True
                raise InvalidArgumentError(
                    f"{given!r:.80} is not rectangular; use tf.ragged.constant"
                )
        shape.append(size)
        level = list(itertools.chain.from_iterable(level))
    level = [each[()] if type(each) is np.ndarray and not each.ndim else each for each in level]
    has_tensors = any(isinstance(each, Holder) for each in level)
    if not has_tensors:
        for each in level:
            if type(each) in _KINDS or isinstance(each, np.generic):
                continue
            if _is_sequence(each):
                raise InvalidArgumentError(
                    f"{given!r:.80} is not rectangular; use tf.ragged.constant"
                )
            return [], (), True
    return level, tuple(shape), has_tensors


def _is_sequence(given: Any) -> bool:
    return isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim > 0)


def _kind_of(item: Any) -> str:
    kind = _KINDS.get(type(item)) or _NUMPY_KINDS.get(item.dtype.kind)
    if kind is None:
        raise InvalidArgumentError(
            f"{item!r} of {item.dtype.name} is no part of a tensor: TensorFlow has no such dtype; "
            "use numbers"
        )
    return kind


_NUMPY_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}
_NUMPY_KINDS |= dict.fromkeys("OSU", "text")


def _mixed(given: Sequence[Any], flat: list[Any]) -> InvalidArgumentError:
    first = _kind_of(flat[0])
    place = next(n for n, item in enumerate(flat) if _kind_of(item) not in _FOLLOWERS[first])
    return InvalidArgumentError(
        f"{given!r:.80} mixes kinds: number 0 is {flat[0]!r:.40}, but number {place} is "
        f"{flat[place]!r:.40}; a tensor is of one dtype"
    )


def _encoded(item: Any) -> bytes:
    return item.encode() if isinstance(item, str) else bytes(item)


def _stacked(given: Sequence[Any], wanted: DType | None) -> Value:
    """Sequences with tensors in them: the first tensor says what they are of."""
    dtype = wanted or _first_dtype(given)
    parts = [plain(value_of(each, dtype)) for each in given]
    if len({np.shape(part) for part in parts}) > 1:
        shapes = ", ".join(str(np.shape(part)) for part in parts[:4])
        raise InvalidArgumentError(f"tensors of different shapes make no tensor: {shapes}")
    return np.stack(parts)


def _first_dtype(given: Any) -> DType | None:
    for each in given:
        if _is_tensor(each):
            return dtype_of(value_of(each))
        if isinstance(each, list | tuple) and (found := _first_dtype(each)) is not None:
            return found
    return None


def _is_tensor(given: Any) -> bool:
    """Whether something has a dtype that the others beside it must be of."""
    return isinstance(given, Holder) or (type(given) not in _KINDS and is_of_tensorflow(given))


def _from_other(given: Any, wanted: DType | None) -> Value:
    """An object of another library that says how it becomes an array."""
    if is_of_tensorflow(given):
        value = _of_tensorflow(given)
        return value if wanted is None else _checked(value, wanted)
    if hasattr(given, "__tf_tensor__"):
        return value_of(given.__tf_tensor__(wanted), wanted)
    if hasattr(given, "as_list"):  # a TensorShape
        return value_of(given.as_list(), wanted or _INT32_DTYPE)
    for base in _KINDS:
        if isinstance(given, base):  # a class of the user's over one of Python's
            return _own(base(given), wanted, given)
    if hasattr(given, "__array__"):
        return _from_numpy(_array_of(given), wanted)
    raise InvalidArgumentError(
        f"Attempt to convert a value ({given!r:.80}) with an unsupported type "
        f"({type(given).__name__}) to a tensor; pass numbers, text, lists or arrays"
    )


def _of_tensorflow(given: Any) -> Value:
    found = array_of_tensorflow(given)
    return found if type(found) is bytes else _from_numpy(found, None)


def _array_of(given: Any) -> Any:
    """What another library's object holds; of Torch, also what is being trained or bfloat16."""
    is_torch = type(given).__module__.partition(".")[0] == "torch"
    return as_array(given) if is_torch else np.asarray(given)


_STRING = as_dtype("string")
_FLOAT32 = as_dtype("float32")
_INT32_DTYPE = as_dtype("int32")
_NUMPY_NAMES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "float16 float32 float64 complex64 complex128"
)
_BY_NUMPY: dict[Any, DType] = {np.dtype(name): as_dtype(name) for name in _NUMPY_NAMES.split()}
_BY_NUMPY[np.dtype(object)] = _STRING
