"""Tensors that are made: of values, of sizes, and like others."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.composites.ragged_functions import install
from keepset.tf.composites.ragged_tensor import RaggedTensor
from keepset.tf.composites.sparse_tensor import SparseTensor
from keepset.tf.tensors.arithmetic import REAL, check_dtype
from keepset.tf.tensors.conversion import (
    Holder,
    Value,
    as_value,
    cast_value,
    dtype_of,
    int_of,
    ints_of,
    plain,
    string_array,
    value_of,
)
from keepset.tf.tensors.dtype import DType, as_dtype
from keepset.tf.tensors.quiet import run_quietly
from keepset.tf.tensors.shapes import TensorShape
from keepset.tf.tensors.tensor import Tensor, array_of, tensor, wrapped

_INT32, _INT64 = as_dtype("int32"), as_dtype("int64")
_FLOAT32, _FLOAT64 = as_dtype("float32"), as_dtype("float64")
# The dtypes of tf.range, of which the last one among its arguments wins.
_OF_RANGES = [_INT32, _INT64, as_dtype("float16"), as_dtype("bfloat16"), _FLOAT32, _FLOAT64]


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor of a value, which is repeated or given a shape if one is passed."""
    if isinstance(value, Tensor) and dtype is not None:
        value_of(value, dtype)  # another dtype is an error
    made = array_of(value, dtype)
    if shape is None:
        return wrapped(made)
    sizes = ints_of(shape)
    if np.size(made) == 1:
        return wrapped(np.full(sizes, np.reshape(made, -1)[0], made.dtype))
    if np.size(made) != math.prod(sizes):
        raise TypeError(
            f"{np.size(made)} items have no shape {sizes}; tf.reshape and tf.fill do more"
        )
    return wrapped(np.reshape(made, sizes))


def convert_to_tensor(
    value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None
) -> Tensor:
    """A tensor of a value. ``dtype_hint`` is the dtype of a value that may have it."""
    if dtype is None and dtype_hint is not None and not isinstance(value, Tensor):
        with suppress(DtypeError):
            return tensor(value, dtype_hint)
    return tensor(value, dtype)


def cast(x: Any, dtype: Any, name: str | None = None) -> Tensor:
    """The same values in another dtype."""
    return Tensor(cast_value(value_of(x), dtype))


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """The same values in another dtype, its greatest or least one for those that do not fit."""
    given, wanted = value_of(value), as_dtype(dtype)
    found = dtype_of(given)
    if found.is_complex or wanted.is_complex or not (found.is_numeric and wanted.is_numeric):
        return Tensor(cast_value(given, wanted))
    least, most = max(found.min, wanted.min), min(found.max, wanted.max)
    if found.is_floating and wanted.is_integer:
        kind = found.storage.type
        top = kind(most)
        # The nearest float may lie above the greatest integer, which TensorFlow leaves out too.
        most = top if int(top) <= wanted.max else np.nextafter(top, kind(0))
    return Tensor(cast_value(as_value(np.clip(given, least, most)), wanted))


def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:
    """The same bytes as items of another dtype, which splits or joins the last dimension."""
    given, wanted = np.asarray(value_of(input)), as_dtype(type).storage
    if given.dtype.kind in "Ob" or wanted.kind in "Ob":
        raise DtypeError(f"no bitcast from {given.dtype.name} to {wanted.name}")
    before, after = given.dtype.itemsize, wanted.itemsize
    if before == after:
        return wrapped(np.ascontiguousarray(given).view(wanted).reshape(given.shape))
    if before > after:
        parts = np.ascontiguousarray(given[..., np.newaxis]).view(wanted)
        return wrapped(parts)
    if not given.ndim or given.shape[-1] * before != after:
        raise InvalidArgumentError(
            f"Cannot bitcast from {given.dtype.name} of shape {given.shape} to {wanted.name}: "
            f"the last dimension must be {after // before}"
        )
    return wrapped(np.ascontiguousarray(given).view(wanted)[..., 0])


def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """Complex numbers of their two parts."""
    one, two = value_of(real), value_of(imag)
    if one.dtype != two.dtype or one.dtype not in (np.float32, np.float64):
        raise DtypeError(
            f"tf.complex takes two of float32 or of float64, not {one.dtype.name} and "
            f"{two.dtype.name}; use tf.cast"
        )
    kind = np.complex64 if one.dtype == np.float32 else np.complex128
    return Tensor(one.astype(kind) + two.astype(kind) * kind(1j))


def identity(input: Any, name: str | None = None) -> Tensor:
    """The same as a tensor."""
    return Tensor(value_of(input))


def identity_n(input: Any, name: str | None = None) -> list[Tensor]:
    """The same as a list of tensors."""
    return [identity(each) for each in input]


def shape(input: Any, out_type: Any = None, name: str | None = None) -> Tensor:
    """The sizes of the dimensions."""
    return Tensor(np.array(np.shape(plain(value_of(input))), _whole(out_type)))


def shape_n(input: Any, out_type: Any = None, name: str | None = None) -> list[Tensor]:
    """The shape of each of several tensors."""
    return [shape(each, out_type) for each in input]


def size(input: Any, out_type: Any = None, name: str | None = None) -> Tensor:
    """The number of items."""
    return Tensor(_whole(out_type).type(np.size(plain(value_of(input)))))


def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of dimensions."""
    return Tensor(np.int32(np.ndim(plain(value_of(input)))))


def _whole(out_type: Any) -> np.dtype[Any]:
    return as_dtype("int32" if out_type is None else out_type).storage


def sizes_of(dims: Any) -> tuple[int, ...]:
    """The sizes of a tensor that is made, none of them negative."""
    found = ints_of(dims)
    if any(each < 0 for each in found):
        raise InvalidArgumentError(f"a dimension must be >= 0, not {min(found)} in {found}")
    return found


def filled(sizes: tuple[int, ...], value: Value) -> Tensor:
    """One value at all places."""
    if type(value) is bytes:
        return wrapped(string_array([value] * math.prod(sizes), sizes) if sizes else value)
    return wrapped(np.full(sizes, value, value.dtype))


def fill(dims: Any, value: Any, name: str | None = None, layout: Any = None) -> Tensor:
    """A tensor of a shape that holds one value."""
    given = value_of(value)
    if np.size(plain(given)) != 1:
        raise InvalidArgumentError(f"tf.fill takes one value, not {np.size(given)}")
    return filled(sizes_of(dims), np.ravel(given)[0] if np.ndim(given) else given)


def zeros(
    shape: Any, dtype: Any = "float32", name: str | None = None, layout: Any = None
) -> Tensor:
    """Zeros, or empty strings."""
    return filled(sizes_of(shape), _number(0, as_dtype(dtype)))


def ones(shape: Any, dtype: Any = "float32", name: str | None = None, layout: Any = None) -> Tensor:
    """Ones."""
    return filled(sizes_of(shape), _number(1, as_dtype(dtype)))


def _number(number: int, dtype: DType) -> Value:
    if dtype.name == "string":
        if number:
            raise DtypeError("there is no 1 of tf.string; use tf.fill")
        return b""
    return dtype.storage.type(number)


def zeros_like(
    input: Any, dtype: Any = None, name: str | None = None, layout: Any = None
) -> Tensor:
    """Zeros, or empty strings, in the shape and dtype of another tensor."""
    return _like(input, dtype, 0)


def ones_like(input: Any, dtype: Any = None, name: str | None = None, layout: Any = None) -> Tensor:
    """Ones in the shape and dtype of another tensor."""
    return _like(input, dtype, 1)


def _like(input: Any, dtype: Any, number: int) -> Tensor:
    given = value_of(input)
    wanted = dtype_of(given) if dtype is None else as_dtype(dtype)
    return filled(np.shape(plain(given)), _number(number, wanted))


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = "float32",
    name: str | None = None,
) -> Tensor:
    """Ones on the diagonal of a matrix, zeros elsewhere."""
    rows = int_of(num_rows)
    made = np.eye(rows, rows if num_columns is None else int_of(num_columns))
    sizes = () if batch_shape is None else sizes_of(batch_shape)
    whole = np.broadcast_to(made, (*sizes, *made.shape))
    return Tensor(whole.astype(as_dtype(dtype).storage))


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """A one where an index says, zeros elsewhere; an index outside gives zeros alone."""
    places = value_of(indices)
    check_dtype(places, frozenset({"uint8", "int8", "int32", "int64"}), one_hot)
    count = int_of(depth)
    along = -1 if axis is None else int_of(axis)
    if count < 0 or not -1 <= along <= np.ndim(places):
        raise InvalidArgumentError(
            f"depth {count} and axis {along}: depth is at least 0, and axis -1 or an axis of "
            "the result"
        )
    on, off = _on_and_off(on_value, off_value, dtype)
    is_here = np.asarray(places)[..., np.newaxis] == np.arange(count)
    return wrapped(np.moveaxis(np.where(is_here, on, off), -1, along))


def _on_and_off(on_value: Any, off_value: Any, dtype: Any) -> tuple[Any, Any]:
    kinds = [None if each is None else value_of(each) for each in (on_value, off_value)]
    if dtype is not None:
        wanted = as_dtype(dtype)
    else:
        found = [dtype_of(each) for each in kinds if each is not None]
        wanted = found[0] if found else _FLOAT32
        if len(found) == 2 and found[0] is not found[1]:
            raise DtypeError(
                f"on_value is of {found[0].name} and off_value of {found[1].name}; use one dtype"
            )
    on, off = (1 if on_value is None else on_value), (0 if off_value is None else off_value)
    return plain(value_of(on, wanted)), plain(value_of(off, wanted))


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = None
) -> Tensor:
    """Numbers from a start, 0 if one is not given, up to a limit, which is left out."""
    if limit is None:
        start, limit = 0, start
    if dtype is None:
        values = [value_of(each) for each in (start, limit, delta)]
        dtypes = [dtype_of(each) for each in values]
        if not all(each in _OF_RANGES for each in dtypes):
            raise DtypeError(
                "tf.range takes int32, int64 and floats, not "
                f"{', '.join(each.name for each in dtypes)}; use tf.cast"
            )
        wanted = max(dtypes, key=_OF_RANGES.index)
        values = [cast_value(each, wanted) for each in values]
    else:
        wanted = as_dtype(dtype)
        values = [
            cast_value(each._value, wanted) if isinstance(each, Holder) else value_of(each, wanted)
            for each in (start, limit, delta)
        ]
    first, last, step = (np.ravel(each)[0] for each in values)
    if step == 0 or (last - first) * step < 0:
        raise InvalidArgumentError(
            f"tf.range from {first} to {last} by {step}: the step must not be 0 and lead there"
        )
    return Tensor(_ranged(first, last, step, wanted.storage))


def _ranged(first: Any, last: Any, step: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "iu":
        return np.arange(first, last, step, dtype=dtype)
    count = math.ceil(abs((float(last) - float(first)) / float(step)))
    return run_quietly(lambda: (first + np.arange(count).astype(dtype) * step).astype(dtype))


def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0) -> Tensor:
    """Numbers at equal distances, the first and the last one among them."""
    first, count = value_of(start), int_of(num)
    last = value_of(stop, dtype_of(first))
    if first.dtype.kind in "iu":
        first, last = first.astype(np.float64), last.astype(np.float64)
    check_dtype(first, REAL, linspace)
    if count < 0:
        raise InvalidArgumentError(f"tf.linspace takes a num of at least 0, not {count}")
    return wrapped(np.linspace(first, last, count, dtype=first.dtype, axis=axis))


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """The same tensor, whose shape must fit."""
    given = Tensor(value_of(x))
    if not given.shape.is_compatible_with(shape):
        raise InvalidArgumentError(
            f"Shape of tensor input {given.shape} is not compatible with expected shape "
            f"{TensorShape(shape)}"
        )
    return given


def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = "bool", name: str | None = None
) -> Tensor:
    """For each length as many True as it says, then False, up to the greatest length."""
    counts = np.asarray(value_of(lengths))
    check_dtype(counts, REAL, sequence_mask)
    if maxlen is not None and np.ndim(value_of(maxlen)):
        raise InvalidArgumentError("maxlen must be scalar for sequence_mask")
    most = max(0, int(counts.max(initial=0))) if maxlen is None else int_of(maxlen)
    mask = np.arange(most) < counts[..., np.newaxis]
    return Tensor(cast_value(mask, dtype))


def is_tensor(x: Any) -> bool:
    """Whether it is a tensor."""
    return isinstance(x, Holder | RaggedTensor | SparseTensor)


install(globals())

__all__ = [
    "bitcast",
    "cast",
    "complex",
    "constant",
    "convert_to_tensor",
    "ensure_shape",
    "eye",
    "fill",
    "identity",
    "identity_n",
    "is_tensor",
    "linspace",
    "one_hot",
    "ones",
    "ones_like",
    "range",
    "rank",
    "saturate_cast",
    "sequence_mask",
    "shape",
    "shape_n",
    "size",
    "zeros",
    "zeros_like",
]
