"""Tensors put together, taken apart and arranged anew."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.composites.ragged_functions import install
from keepset.tf.functions.reductions import axis_of
from keepset.tf.tensors.conversion import (
    Holder,
    Value,
    dtype_of,
    int_of,
    ints_of,
    matching,
    plain,
    value_of,
    zero_of,
)
from keepset.tf.tensors.dtype import DType
from keepset.tf.tensors.shapes import TensorShape
from keepset.tf.tensors.tensor import Tensor, array_of, wrapped


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The same items in another shape, of which one size may be -1."""
    given, sizes = array_of(tensor), ints_of(shape)
    try:
        if any(each < -1 for each in sizes):
            raise ValueError(f"a size is at least 0, or -1, not {min(sizes)}")
        if -1 in sizes and not given.size:
            sizes = _without_items(sizes)
        return wrapped(np.reshape(given, sizes))
    except ValueError as error:
        raise InvalidArgumentError(
            f"a tensor of shape {np.shape(given)} has no shape {sizes}: {error}"
        ) from error


def _without_items(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Of a tensor without items, -1 stands for 0 unless another size is 0 already."""
    known = math.prod(each for each in sizes if each != -1)
    return tuple((0 if known else 1) if each == -1 else each for each in sizes)


def stack(values: Any, axis: Any = 0, name: str | None = None) -> Tensor:
    """Tensors of one shape along a new axis."""
    if isinstance(values, Holder):
        return _stacked(plain(values._value), axis)
    if int_of(axis) == 0:
        with suppress(InvalidArgumentError):
            return wrapped(array_of(list(values)))  # all items together say the dtype
    return _stacked(matching(*values), axis)


def _stacked(values: Any, axis: Any) -> Tensor:
    parts = [array_of(each) for each in values]
    shapes = {np.shape(each) for each in parts}
    if len(shapes) > 1:
        raise InvalidArgumentError(f"Shapes of all inputs must match: {sorted(shapes)}")
    if not parts:
        return wrapped(np.zeros(np.shape(values), getattr(values, "dtype", np.float32)))
    return wrapped(np.stack(parts, axis_of(axis, np.ndim(parts[0]) + 1)))


def unstack(
    value: Any, num: int | None = None, axis: Any = 0, name: str | None = None
) -> list[Tensor]:
    """The parts of a tensor along an axis."""
    given = array_of(value)
    along = axis_of(axis, np.ndim(given))
    if num not in (None, given.shape[along]):
        raise InvalidArgumentError(f"axis {along} must equal {num}, got shape {given.shape}")
    return [wrapped(part) for part in np.moveaxis(given, along, 0)]


def concat(values: Any, axis: Any, name: str | None = None) -> Tensor:
    """Tensors one behind the other along an axis."""
    if not isinstance(values, list | tuple):
        values = [values]
    if not values:
        raise InvalidArgumentError("tf.concat takes at least one tensor")
    if len(values) == 1:  # whose axis TensorFlow does not look at
        return wrapped(array_of(values[0]))
    parts = [plain(each) for each in matching(*values)]
    if not np.ndim(parts[0]):
        raise InvalidArgumentError("tf.concat takes no scalars; use tf.stack")
    try:
        return wrapped(np.concatenate(parts, axis_of(axis, np.ndim(parts[0]))))
    except ValueError as error:
        raise InvalidArgumentError(f"tf.concat: {error}") from error


def split(
    value: Any,
    num_or_size_splits: Any,
    axis: Any = 0,
    num: int | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """The parts of a tensor: so many of one size, or of sizes of which one may be -1."""
    given = array_of(value)
    along = axis_of(axis, np.ndim(given))
    length, splits = given.shape[along], array_of(num_or_size_splits)
    if not np.ndim(splits):
        count = int_of(num_or_size_splits)
        if count < 1 or length % count:
            raise InvalidArgumentError(
                f"the dimension {along} of size {length} does not split into {count} equal parts"
            )
        sizes = [length // count] * count
    else:
        sizes = list(ints_of(num_or_size_splits))
        if sizes.count(-1) == 1:
            sizes[sizes.index(-1)] = length - (sum(sizes) + 1)
        if sum(sizes) != length or min(sizes, default=0) < 0:
            raise InvalidArgumentError(
                f"sizes {sizes} do not add up to {length}, that of the dimension {along}"
            )
    parts = np.split(given, np.cumsum(sizes)[:-1], along)
    return [wrapped(part) for part in parts]


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Tensor:
    """With a dimension of size 1 more, at an axis."""
    given = array_of(input)
    return wrapped(np.expand_dims(given, axis_of(axis, np.ndim(given) + 1)))


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """Without dimensions of size 1: all of them, or those that are given."""
    given = array_of(input)
    axes = () if axis is None else tuple(axis_of(each, np.ndim(given)) for each in ints_of(axis))
    for each in axes:
        if given.shape[each] != 1:
            raise InvalidArgumentError(
                f"Can not squeeze dim[{each}], expected a dimension of 1, got {given.shape[each]}"
            )
    return wrapped(np.squeeze(given, axes or None))


def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str | None = None) -> Tensor:
    """With the axes in another order, or in the opposite one."""
    given = array_of(a)
    axes = None if perm is None else ints_of(perm)
    try:
        found = np.transpose(given, axes)
    except ValueError as error:
        raise InvalidArgumentError(
            f"perm {axes} is no order of the {np.ndim(given)} axes: {error}"
        ) from error
    return wrapped(np.conj(found) if conjugate and given.dtype.kind == "c" else found)


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """The same again and again, so many times along each axis."""
    given, times = array_of(input), ints_of(multiples)
    is_list = np.ndim(array_of(multiples)) == 1
    if not is_list or len(times) != np.ndim(given) or min(times, default=0) < 0:
        raise InvalidArgumentError(
            f"tf.tile takes a list of {np.ndim(given)} multiples of at least 0, not {multiples!r}"
        )
    return wrapped(np.tile(given, times) if times else given)


def repeat(input: Any, repeats: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """Each item so many times; of a flat tensor unless there is an axis."""
    given = array_of(input)
    times = list(ints_of(repeats))
    if min(times, default=0) < 0:
        raise InvalidArgumentError(f"repeats must be >= 0, not {min(times)}")
    along = None if axis is None else axis_of(axis, np.ndim(given))
    try:
        return wrapped(np.repeat(given, times, along))
    except ValueError as error:
        raise InvalidArgumentError(
            f"{len(times)} repeats for a tensor of shape {np.shape(given)}: {error}"
        ) from error


_MODES = {"CONSTANT": "constant", "REFLECT": "reflect", "SYMMETRIC": "symmetric"}


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    constant_values: Any = 0,
    name: str | None = None,
) -> Tensor:
    """With more items before and behind along each axis."""
    if mode.upper() not in _MODES:
        raise ValueError(f"mode is CONSTANT, REFLECT or SYMMETRIC, not {mode!r}")
    given, widths = array_of(tensor), array_of(paddings)
    if widths.ndim != 2 or widths.shape != (np.ndim(given), 2) or widths.min(initial=0) < 0:
        raise InvalidArgumentError(
            f"paddings are a pair of at least 0 for each of {np.ndim(given)} dimensions, "
            f"not {widths.tolist()}"
        )
    if mode.upper() == "CONSTANT":
        filler = _filler(constant_values, dtype_of(given))
        return wrapped(np.pad(given, widths, constant_values=plain(filler)))
    room = np.array(np.shape(given)) - (mode.upper() == "REFLECT")
    if (widths.max(1, initial=0) > room).any():
        raise InvalidArgumentError(
            f"{mode} mirrors at most {room.tolist()} items, not {widths.tolist()}"
        )
    return wrapped(np.pad(given, widths, _MODES[mode.upper()]))  # type: ignore[call-overload]


def _filler(given: Any, dtype: DType) -> Value:
    """What is put around a tensor: 0 stands for that of each dtype."""
    if type(given) is int and not given:
        return zero_of(dtype)
    return value_of(given, dtype)


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """Backwards along axes."""
    given = array_of(tensor)
    if not np.ndim(array_of(axis)):
        raise InvalidArgumentError(f"'dims' must be 1-dimensional: write [{axis}]")
    axes = [axis_of(each, np.ndim(given)) for each in ints_of(axis)]
    if len(set(axes)) != len(axes):
        raise InvalidArgumentError(f"an axis occurs twice in {axes}")
    return wrapped(np.flip(given, tuple(axes)))


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """Moved along axes; what leaves at the end comes in at the start."""
    given = array_of(input)
    axes = tuple(axis_of(each, np.ndim(given)) for each in ints_of(axis))
    shifts = ints_of(shift)
    if len(axes) != len(shifts):
        raise InvalidArgumentError(f"{len(shifts)} shifts for {len(axes)} axes")
    return wrapped(np.roll(given, shifts, axes))


def meshgrid(*args: Any, indexing: str = "xy", name: str | None = None) -> list[Tensor]:
    """The coordinates of all points of a grid."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is 'xy' or 'ij', not {indexing!r}")
    arrays = [array_of(each) for each in args]
    if any(each.dtype != arrays[0].dtype for each in arrays):
        raise DtypeError("tf.meshgrid takes tensors of one dtype; use tf.cast")
    grid: Any = np.meshgrid
    return [wrapped(each) for each in grid(*arrays, indexing=indexing)]


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """Repeated along dimensions of size 1."""
    given, sizes = array_of(input), ints_of(shape)
    try:
        return wrapped(np.broadcast_to(given, sizes))
    except ValueError as error:
        raise InvalidArgumentError(
            f"Incompatible shapes: {np.shape(given)} and {sizes}: {error}"
        ) from error


def broadcast_static_shape(shape_x: TensorShape, shape_y: TensorShape) -> TensorShape:
    """The shape of the result of an operator on tensors of two shapes."""
    return TensorShape(_broadcast(tuple(shape_x.as_list()), tuple(shape_y.as_list())))


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """As ``broadcast_static_shape``, on tensors of sizes."""
    one, _ = matching(shape_x, shape_y)
    return Tensor(np.array(_broadcast(ints_of(shape_x), ints_of(shape_y)), one.dtype))


def _broadcast(one: tuple[Any, ...], two: tuple[Any, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(one, two)
    except ValueError as error:
        raise InvalidArgumentError(f"Incompatible shapes: {one} and {two}") from error


def boolean_mask(tensor: Any, mask: Any, axis: Any = None, name: str = "boolean_mask") -> Tensor:
    """The items where a mask is True."""
    given, chosen = array_of(tensor), plain(value_of(mask))
    if not np.ndim(chosen):
        raise ValueError("mask cannot be scalar.")
    chosen = chosen != 0
    start = 0 if axis is None else axis_of(axis, np.ndim(given))
    if np.shape(given)[start : start + chosen.ndim] != chosen.shape:
        raise ValueError(f"Shapes {np.shape(given)} and {chosen.shape} are incompatible")
    return wrapped(given[(np.s_[:],) * start + (chosen,)])


def _sliced(given: Value, begin: tuple[int, ...], size: tuple[int, ...]) -> Any:
    stops = [
        length if many == -1 else start + many
        for start, many, length in zip(begin, size, np.shape(given), strict=True)
    ]
    for start, stop, length in zip(begin, stops, np.shape(given), strict=True):
        if not 0 <= start <= stop <= length:
            raise InvalidArgumentError(
                f"a slice from {list(begin)} of size {list(size)} lies outside {np.shape(given)}"
            )
    return given[tuple(map(_PART, begin, stops))]


_PART: Callable[[int, int], Any] = slice


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """A part from a place on, of a size; -1 stands for all that is left."""
    given = array_of(input_)
    starts, sizes = ints_of(begin), ints_of(size)
    are_lists = np.ndim(array_of(begin)) == 1 == np.ndim(array_of(size))
    if not (are_lists and len(starts) == len(sizes) == np.ndim(given)):
        raise InvalidArgumentError(
            f"begin and size have a number for each of {np.ndim(given)} dimensions, "
            f"not {len(starts)} and {len(sizes)}"
        )
    return wrapped(_sliced(given, starts, sizes))


install(globals())

__all__ = [
    "boolean_mask",
    "broadcast_dynamic_shape",
    "broadcast_static_shape",
    "broadcast_to",
    "concat",
    "expand_dims",
    "meshgrid",
    "pad",
    "repeat",
    "reshape",
    "reverse",
    "roll",
    "slice",
    "split",
    "squeeze",
    "stack",
    "tile",
    "transpose",
    "unstack",
]
