"""Functions that put the items along some axes together, one row each, and sums on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.composites.ragged_functions import install
from keepset.tf.functions.special import truncatediv
from keepset.tf.tensors.arithmetic import BOOL, COMPLEX, FLOATS, NUMBERS, REAL, check_dtype
from keepset.tf.tensors.conversion import Value, as_value, int_of, ints_of, value_of
from keepset.tf.tensors.dtype import as_dtype
from keepset.tf.tensors.quiet import run_quietly
from keepset.tf.tensors.tensor import Tensor

Axes = tuple[int, ...] | None
_ADD: Final[Any] = np.add.reduce


def axes_of(axis: Any, rank: int) -> Axes:
    """Axes however they were given, in order; None stands for all.

    Raises:
        InvalidArgumentError: There is no such axis.
    """
    if axis is None:
        return None
    given = ints_of(axis)
    for each in given:
        if not -rank <= each < rank:
            raise InvalidArgumentError(
                f"Invalid reduction dimension ({each} for input with {rank} dimension(s)); "
                f"use one of -{rank}..{rank - 1}"
            )
    found = {each % rank for each in given}
    if len(found) != len(given):
        raise InvalidArgumentError(f"Axes contains duplicate dimension: {axis}")
    return tuple(sorted(found))


def axis_of(axis: Any, rank: int) -> int:
    """A single axis as a number from 0 on."""
    found = int_of(axis)
    if not -rank <= found < rank:
        raise InvalidArgumentError(
            f"axis {found} is out of range for a tensor of {rank} dimension(s); "
            f"use one of -{rank}..{rank - 1}"
        )
    return found % rank


def _same(function: Any) -> Callable[[Value, Axes, bool], Value]:
    """A reduction that keeps the dtype, which NumPy widens."""

    def reduce(value: Value, axes: Axes, keepdims: bool) -> Value:
        return function.reduce(value, axes, value.dtype, None, keepdims)

    return reduce


def _extreme(function: Any, is_max: bool) -> Callable[[Value, Axes, bool], Value]:
    """The greatest or the least number, that of the dtype itself where there is none."""

    def reduce(value: Value, axes: Axes, keepdims: bool) -> Value:
        if value.size:
            return function.reduce(value, axes, None, None, keepdims)
        if value.dtype.kind in "iu":
            limits = np.iinfo(value.dtype)
            initial: Any = limits.min if is_max else limits.max
        else:
            initial = -np.inf if is_max else np.inf
        return function.reduce(value, axes, None, None, keepdims, value.dtype.type(initial))

    return reduce


def _mean(value: Value, axes: Axes, keepdims: bool) -> Value:
    count = value.size if axes is None else int(np.prod([np.shape(value)[each] for each in axes]))
    if not count and value.dtype.kind == "c":
        return _sum(value, axes, keepdims)
    if value.dtype.kind not in "iu":
        return np.true_divide(_sum(value, axes, keepdims), count).astype(value.dtype)
    total = _ADD(value, axes, np.int64, None, keepdims)
    return truncatediv(np.asarray(total), np.int64(count or 1)).astype(value.dtype)


def _squares(value: Value) -> Value:
    return (value * np.conj(value)).real if value.dtype.kind == "c" else value * value


def _variance(value: Value, axes: Axes, keepdims: bool) -> Value:
    return _mean(_squares(value - _mean(value, axes, True)), axes, keepdims)


def _std(value: Value, axes: Axes, keepdims: bool) -> Value:
    return np.sqrt(_variance(value, axes, keepdims))


def _norm(value: Value, axes: Axes, keepdims: bool) -> Value:
    return np.sqrt(_sum(_squares(value), axes, keepdims)).astype(value.dtype)


def _logsumexp(value: Value, axes: Axes, keepdims: bool) -> Value:
    top = reduce_greatest(value, axes, True)
    finite = np.where(np.isfinite(top), top, value.dtype.type(0))
    found = np.log(_sum(np.exp(value - finite), axes, True)) + finite
    return found if keepdims else np.squeeze(found, axes)


_sum = _same(np.add)
reduce_greatest = _extreme(np.maximum, is_max=True)
_INEXACT = FLOATS | COMPLEX
_ROWS: Final[dict[str, tuple[Callable[[Value, Axes, bool], Value], frozenset[str]]]] = {
    "reduce_all": (_same(np.logical_and), BOOL),
    "reduce_any": (_same(np.logical_or), BOOL),
    "reduce_euclidean_norm": (_norm, NUMBERS),
    "reduce_logsumexp": (_logsumexp, FLOATS),
    "reduce_max": (reduce_greatest, REAL),
    "reduce_mean": (_mean, NUMBERS),
    "reduce_min": (_extreme(np.minimum, is_max=False), REAL),
    "reduce_prod": (_same(np.multiply), NUMBERS),
    "reduce_std": (_std, _INEXACT),
    "reduce_sum": (_sum, NUMBERS),
    "reduce_variance": (_variance, _INEXACT),
}


def _reduction(
    name: str, function: Callable[[Value, Axes, bool], Value], allowed: frozenset[str]
) -> Callable[..., Tensor]:
    own = "bool" if allowed is BOOL else None

    def reduce(
        input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
    ) -> Tensor:
        value = value_of(input_tensor, own)
        check_dtype(value, allowed, reduce)
        axes = axes_of(axis, np.ndim(value))
        return Tensor(as_value(run_quietly(function, value, axes, bool(keepdims))))

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = f"As ``tf.{name}``, along one axis, several, or all (None)."
    return reduce


FUNCTIONS: Final = {name: _reduction(name, *row) for name, row in _ROWS.items()}
install(FUNCTIONS)
globals().update(FUNCTIONS)  # where pickle finds them
IN_TF: Final = frozenset(FUNCTIONS) - {"reduce_euclidean_norm", "reduce_std", "reduce_variance"}


def count_nonzero(
    input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: Any = "int64",
    name: str | None = None,
) -> Tensor:
    """How many items are not 0, or not empty."""
    value = value_of(input)
    is_there = np.asarray(value != (b"" if type(value) is bytes or value.dtype == object else 0))
    axes = axes_of(axis, is_there.ndim)
    found = _ADD(is_there, axes, as_dtype(dtype).storage, None, bool(keepdims))
    return Tensor(as_value(found))


def _position(name: str, function: Callable[..., Any], last: float) -> Callable[..., Tensor]:
    allowed = REAL | BOOL

    def find(
        input: Any, axis: Any = None, output_type: Any = "int64", name: str | None = None
    ) -> Tensor:
        value = value_of(input)
        check_dtype(value, allowed, find)
        along = axis_of(0 if axis is None else axis, np.ndim(value))
        if not value.shape[along]:
            raise InvalidArgumentError(f"Reduction axis {along} is empty in shape {value.shape}")
        kind = as_dtype(output_type)
        if kind.name not in ("int16", "uint16", "int32", "int64"):
            raise DtypeError(f"output_type is int64, int32, int16 or uint16, not {kind.name}")
        if value.dtype.kind not in "biu":
            value = np.where(np.isnan(value), value.dtype.type(last), value)  # found never
        return Tensor(as_value(function(value, along).astype(kind.storage)))

    find.__name__ = find.__qualname__ = name
    find.__doc__ = f"As ``numpy.{name}``, along the first axis unless another one is given."
    return find


argmax = _position("argmax", np.argmax, -np.inf)
argmin = _position("argmin", np.argmin, np.inf)


def _accumulation(name: str, function: Any, start: int) -> Callable[..., Tensor]:
    def accumulate(
        x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: Any = None
    ) -> Tensor:
        value = value_of(x)
        check_dtype(value, NUMBERS, accumulate)
        if not np.ndim(value):  # of which there is no axis, and TensorFlow minds only some
            raise InvalidArgumentError(
                f"tf.{accumulate.__name__} takes at least 1 dimension, not 0"
            )
        along = axis_of(axis, value.ndim)
        moved = np.moveaxis(value, along, 0)[:: -1 if reverse else 1]
        found = run_quietly(function.accumulate, moved, 0, value.dtype)
        if exclusive:
            first = np.full_like(found[:1], start)
            found = np.concatenate([first, found[:-1]])
        return Tensor(np.moveaxis(found[:: -1 if reverse else 1], 0, along))

    accumulate.__name__ = accumulate.__qualname__ = name
    accumulate.__doc__ = f"As ``numpy.{name}``, without the item itself if ``exclusive``."
    return accumulate


cumsum = _accumulation("cumsum", np.add, 0)
cumprod = _accumulation("cumprod", np.multiply, 1)


def cumulative_logsumexp(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The logarithm of the sum of powers of e so far; before the first there is -inf."""
    given = value_of(x)
    check_dtype(given, FLOATS, cumulative_logsumexp)
    rows = np.moveaxis(given, axis_of(axis, np.ndim(given)), 0)
    made = np.logaddexp.accumulate(rows[::-1] if reverse else rows)
    if exclusive:
        made = np.concatenate([np.full_like(made[:1], -np.inf), made[:-1]])
    made = made[::-1] if reverse else made
    return Tensor(np.moveaxis(made, 0, axis_of(axis, np.ndim(given))))


def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape and dtype."""
    if isinstance(inputs, Tensor):
        inputs = list(inputs)
    if not isinstance(inputs, list | tuple) or not inputs:
        raise DtypeError("tf.add_n takes a list of at least one tensor")
    values = [value_of(each) for each in inputs]
    for each in values:
        check_dtype(each, NUMBERS, add_n)
        if np.shape(each) != np.shape(values[0]) or each.dtype != values[0].dtype:
            raise DtypeError(
                "tf.add_n takes tensors of one shape and dtype, not "
                f"{values[0].dtype.name} {np.shape(values[0])} and {each.dtype.name} "
                f"{np.shape(each)}"
            )
    total = values[0]
    for each in values[1:]:
        total = run_quietly(np.add, total, each)
    return Tensor(as_value(total))


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """The part of the items that are 0, as float32."""
    given = np.asarray(value_of(value))
    with np.errstate(all="ignore"):
        return Tensor(np.float32(np.float32(np.count_nonzero(given == 0)) / np.float32(given.size)))
