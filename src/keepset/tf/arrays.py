"""The functions of ``tf`` itself that input pipelines use, on NumPy."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from keepset.core.arrays import as_array
from keepset.core.dtypes import StringType, as_dtype, storage_dtype
from keepset.errors import DtypeError
from keepset.tf.conversion import cast_value, ints_of, value_of
from keepset.tf.elements import untensored
from keepset.tf.ragged_functions import install
from keepset.tf.ragged_tensor import RaggedTensor
from keepset.tf.sparse_tensor import SparseTensor
from keepset.tf.tensor import Tensor, array_of, tensor, wrapped


def _array(value: Any) -> Any:
    return array_of(value)


def _wrapped(array: Any) -> Tensor:
    return wrapped(array)


def _storage(dtype: Any) -> np.dtype[Any]:
    return storage_dtype(as_dtype(dtype))


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


def identity(input: Any, name: str | None = None) -> Tensor:
    return _wrapped(_array(input))


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    return _wrapped(_array(tensor).reshape(_sizes(shape)))


def _sizes(shape: Any) -> tuple[int, ...]:
    if isinstance(shape, list | tuple):
        return tuple(int(size) for size in shape)
    given = np.asarray(shape)
    return tuple(int(size) for size in np.atleast_1d(given)) if given.size else ()


def stack(values: Any, axis: int = 0, name: str | None = None) -> Tensor:
    # An array of text and numbers is no tensor.
    return _wrapped(as_array(np.stack([_array(value) for value in values], axis=axis)))


def unstack(
    value: Any, num: int | None = None, axis: int = 0, name: str | None = None
) -> list[Any]:
    return [_wrapped(part) for part in np.moveaxis(_array(value), axis, 0)]


def concat(values: Any, axis: Any, name: str | None = None) -> Tensor:
    arrays = [_array(value) for value in values]
    return _wrapped(as_array(np.concatenate(arrays, axis=int(axis))))


def shape(input: Any, out_type: Any = np.int32, name: str | None = None) -> Tensor:
    return _wrapped(np.array(np.shape(_array(input)), _storage(out_type)))


def size(input: Any, out_type: Any = np.int32, name: str | None = None) -> Tensor:
    return _wrapped(np.array(_array(input).size, _storage(out_type)))


def rank(input: Any, name: str | None = None) -> Tensor:
    return _wrapped(np.array(_array(input).ndim, np.int32))


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Tensor:
    return _wrapped(np.expand_dims(_array(input), int(axis)))


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Tensor:
    places = None if axis is None else tuple(np.atleast_1d(axis).tolist())
    return _wrapped(np.squeeze(_array(input), places))


def transpose(a: Any, perm: Any = None, name: str | None = None) -> Tensor:
    return _wrapped(np.transpose(_array(a), None if perm is None else _sizes(perm)))


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
    places = _array(indices)
    kind = np.dtype(np.float32) if dtype is None else storage_dtype(as_dtype(dtype))
    on = 1 if on_value is None else _array(on_value)
    off = 0 if off_value is None else _array(off_value)
    is_here = places[..., np.newaxis] == np.arange(int(depth))
    made = np.where(is_here, on, off).astype(kind)
    return _wrapped(made if axis in (None, -1) else np.moveaxis(made, -1, int(axis)))


def _reduced(function: Callable[..., Any]) -> Callable[..., Tensor]:
    def reduce(
        input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
    ) -> Tensor:
        array = _array(input_tensor)
        places = None if axis is None else tuple(np.atleast_1d(np.asarray(axis)).tolist())
        made = function(array, axis=places, keepdims=keepdims)
        # Sums and means keep their dtype, which NumPy widens.
        keeps = array.dtype.kind in "iuf" and function is not np.any and function is not np.all
        return _wrapped(np.asarray(made).astype(array.dtype) if keeps else made)

    return reduce


reduce_sum = _reduced(np.sum)
reduce_mean = _reduced(np.mean)
reduce_max = _reduced(np.max)
reduce_min = _reduced(np.min)
reduce_prod = _reduced(np.prod)
reduce_any = _reduced(np.any)
reduce_all = _reduced(np.all)


def range(*bounds: Any, delta: Any = 1, dtype: Any = None, name: str | None = None) -> Tensor:
    """Numbers from a start up to a limit."""
    if len(bounds) == 3:
        *bounds, delta = bounds  # type: ignore[assignment]
    start, limit = (0, bounds[0]) if len(bounds) == 1 else bounds
    numbers = [value_of(value) for value in (start, limit, delta)]
    kind = np.result_type(*numbers) if dtype is None else _storage(dtype)
    bounded: Any = [np.asarray(number)[()] for number in numbers]
    return _wrapped(np.arange(*bounded, dtype=kind))


def zeros(shape: Any, dtype: Any = np.float32, name: str | None = None) -> Tensor:
    wanted = as_dtype(dtype)
    if isinstance(wanted, StringType):
        return _wrapped(np.full(_sizes(shape), b"", object))
    return _wrapped(np.zeros(_sizes(shape), wanted))


def ones(shape: Any, dtype: Any = np.float32, name: str | None = None) -> Tensor:
    return _wrapped(np.ones(_sizes(shape), storage_dtype(as_dtype(dtype))))


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    filler = value_of(value)
    return _wrapped(np.full(_sizes(dims), filler, np.asarray(filler).dtype))


def zeros_like(input: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    array = _array(input)
    return zeros(array.shape, array.dtype if dtype is None else dtype)


def ones_like(input: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    array = _array(input)
    return ones(array.shape, array.dtype if dtype is None else dtype)


def _compared(function: Callable[..., Any]) -> Callable[..., Tensor]:
    def compare(x: Any, y: Any, name: str | None = None) -> Tensor:
        return _wrapped(np.asarray(function(_array(x), _array(y))).astype(bool))

    return compare


equal = _compared(lambda x, y: x == y)
not_equal = _compared(lambda x, y: x != y)
greater = _compared(lambda x, y: x > y)
greater_equal = _compared(lambda x, y: x >= y)
less = _compared(lambda x, y: x < y)
less_equal = _compared(lambda x, y: x <= y)
logical_and = _compared(np.logical_and)
logical_or = _compared(np.logical_or)


def logical_not(x: Any, name: str | None = None) -> Tensor:
    return _wrapped(np.logical_not(_array(x)))


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Values of ``x`` where the condition holds and of ``y`` elsewhere; or where it holds."""
    if x is None and y is None:
        return _wrapped(np.argwhere(_array(condition)).astype(np.int64))
    return _wrapped(np.where(_array(condition), _array(x), _array(y)))


def argmax(
    input: Any, axis: int = 0, output_type: Any = np.int64, name: str | None = None
) -> Tensor:
    return _wrapped(np.argmax(_array(input), axis=axis).astype(_storage(output_type)))


def argmin(
    input: Any, axis: int = 0, output_type: Any = np.int64, name: str | None = None
) -> Tensor:
    return _wrapped(np.argmin(_array(input), axis=axis).astype(_storage(output_type)))


def minimum(x: Any, y: Any, name: str | None = None) -> Tensor:
    return _wrapped(np.minimum(_array(x), _array(y)))


def maximum(x: Any, y: Any, name: str | None = None) -> Tensor:
    return _wrapped(np.maximum(_array(x), _array(y)))


def abs(x: Any, name: str | None = None) -> Tensor:
    return _wrapped(np.abs(_array(x)))


def square(x: Any, name: str | None = None) -> Tensor:
    return _wrapped(np.square(_array(x)))


def gather(params: Any, indices: Any, axis: int = 0, name: str | None = None) -> Tensor:
    return _wrapped(np.take(_array(params), _array(indices), axis=axis))


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    return _wrapped(np.tile(_array(input), _sizes(multiples)))


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    constant_values: Any = 0,
    name: str | None = None,
) -> Tensor:
    widths = [tuple(int(each) for each in pair) for pair in np.asarray(paddings)]
    if mode.upper() == "CONSTANT":
        filler = untensored(constant_values)
        return _wrapped(np.pad(_array(tensor), widths, constant_values=filler))
    return _wrapped(np.pad(_array(tensor), widths, mode=mode.lower()))  # type: ignore[call-overload]


def py_function(
    func: Callable[..., Any],
    inp: Any,
    Tout: Any,  # noqa: N803
    name: str | None = None,
) -> Any:
    """Call a Python function with tensors; what it gives is cast to ``Tout``."""
    return _called(func(*(_wrapped(_array(value)) for value in inp)), Tout)


def numpy_function(
    func: Callable[..., Any],
    inp: Any,
    Tout: Any,  # noqa: N803
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Call a Python function with plain NumPy; what it gives must be of ``Tout``."""
    return _called(func(*(untensored(_wrapped(_array(value))) for value in inp)), Tout)


def _called(result: Any, types: Any) -> Any:
    if isinstance(types, list | tuple):
        given = [result] if not isinstance(result, list | tuple) else list(result)
        if len(given) != len(types):
            raise ValueError(f"the function gave {len(given)} values, and Tout has {len(types)}")
        return [_typed(value, kind) for value, kind in zip(given, types, strict=True)]
    return _typed(result, types)


def _typed(value: Any, dtype: Any) -> Tensor:
    return Tensor(cast_value(value_of(value), getattr(dtype, "dtype", dtype)))


def function(func: Any = None, **ignored: Any) -> Any:
    """Nothing: functions are called as they are."""
    return func if func is not None else lambda given: given


def print(*values: Any, **options: Any) -> None:
    """Print tensors as their values."""
    shown = [untensored(value) if isinstance(value, Tensor) else value for value in values]
    options.pop("output_stream", None)
    options.pop("summarize", None)
    builtins.print(*shown, **options)


def is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor | RaggedTensor | SparseTensor)


install(globals())
