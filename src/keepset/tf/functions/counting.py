"""Items counted, and put together by the segments that they belong to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.composites.ragged_functions import install
from keepset.tf.functions.special import truncatediv
from keepset.tf.tensors.arithmetic import FLOATS, NUMBERS, REAL, check_dtype
from keepset.tf.tensors.conversion import Value, int_of, matching, value_of
from keepset.tf.tensors.dtype import as_dtype
from keepset.tf.tensors.quiet import run_quietly
from keepset.tf.tensors.tensor import Tensor, array_of, wrapped

_WHOLE: Final = frozenset({"int32", "int64"})


def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = "int32",
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Tensor:
    """How often each number from 0 on occurs, or the sum of the weights of those that are it."""
    given = array_of(arr)
    check_dtype(given, _WHOLE, bincount)
    if given.min(initial=0) < 0:
        raise InvalidArgumentError(f"tf.math.bincount takes no negative numbers: {given.min()}")
    heavy = None if weights is None else array_of(weights)
    if heavy is not None and heavy.shape != given.shape:
        raise InvalidArgumentError(f"weights {heavy.shape} for numbers {given.shape}")
    length = int(given.max(initial=-1)) + 1
    length = length if minlength is None else max(length, int_of(minlength))
    length = length if maxlength is None else min(length, int_of(maxlength))
    rows = given.reshape(-1) if axis in (None, 0) else given.reshape(-1, given.shape[-1])
    rows = np.atleast_2d(rows)
    made = np.zeros((len(rows), length), as_dtype(dtype).storage if heavy is None else heavy.dtype)
    inside = rows < length
    places = np.nonzero(inside)[0], rows[inside]
    if binary_output:
        made[places] = 1
    else:
        np.add.at(made, places, 1 if heavy is None else heavy.reshape(rows.shape)[inside])
    return wrapped(made[0] if axis in (None, 0) or given.ndim == 1 else made)


def histogram_fixed_width_bins(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = "int32", name: str | None = None
) -> Tensor:
    """Into which of equal parts of a range each value falls; outside, into the nearest."""
    given, (low, high) = value_of(values), value_of(value_range)
    check_dtype(given, FLOATS, histogram_fixed_width_bins)
    return wrapped(_bins(given, low, high, int_of(nbins)).astype(as_dtype(dtype).storage))


def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = "int32", name: str | None = None
) -> Tensor:
    """How many values fall into each of equal parts of a range."""
    given, bounds = matching(values, value_range)
    check_dtype(given, REAL, histogram_fixed_width)
    count = int_of(nbins)
    if count < 1 or not bounds[0] < bounds[1]:
        raise InvalidArgumentError(
            f"nbins is at least 1 and value_range goes up, not {count} and {bounds.tolist()}"
        )
    found = np.bincount(np.ravel(_bins(given, bounds[0], bounds[1], count)), minlength=count)
    return wrapped(found.astype(as_dtype(dtype).storage))


def _bins(given: Value, low: Any, high: Any, count: int) -> Any:
    scaled = np.true_divide(given - low, high - low)
    return np.clip(np.floor(scaled * count), 0, count - 1).astype(np.int64)


# By name: the function of NumPy, the item that changes nothing, and the dtypes. A mean is a sum
# that is divided by the number of items or its root.
_SEGMENTS: Final[dict[str, tuple[Any, Any, frozenset[str]]]] = {
    "max": (np.maximum, "min", REAL),
    "mean": (np.add, 0, NUMBERS),
    "min": (np.minimum, "max", REAL),
    "prod": (np.multiply, 1, NUMBERS),
    "sqrt_n": (np.add, 0, NUMBERS),
    "sum": (np.add, 0, NUMBERS),
}


def _summary(kind: str, given: Any, numbers: Any, count: int, is_sorted: bool) -> Any:
    function, start, _ = _SEGMENTS[kind]
    initial = getattr(as_dtype(given.dtype), start) if isinstance(start, str) else start
    made = np.full((count, *given.shape[1:]), initial, given.dtype)
    run_quietly(function.at, made, numbers, given)
    counts = np.bincount(numbers, minlength=count).reshape(-1, *(1,) * (given.ndim - 1))
    if is_sorted and isinstance(start, str):  # of which an empty segment gives 0
        made = np.where(counts, made, given.dtype.type(0))
    if kind not in ("mean", "sqrt_n"):
        return made
    parts = np.maximum(counts, 1)
    if kind == "sqrt_n":
        return (made / np.sqrt(parts)).astype(given.dtype)
    if given.dtype.kind in "iu":
        return truncatediv(made, parts.astype(given.dtype))
    return (made / parts).astype(given.dtype)


def _sorted_segment(kind: str) -> Callable[..., Tensor]:
    def segment(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
        given, numbers = array_of(data), array_of(segment_ids)
        check_dtype(given, _SEGMENTS[kind][2], segment)
        check_dtype(numbers, _WHOLE, segment)
        if numbers.shape != given.shape[:1]:
            raise InvalidArgumentError(
                "segment_ids should be the same size as dimension 0 of input"
            )
        if (np.diff(numbers) < 0).any() or numbers.min(initial=0) < 0:
            raise InvalidArgumentError(
                "segment ids are not increasing; use tf.math.unsorted_" + segment.__name__
            )
        count = int(numbers.max(initial=-1)) + 1
        return wrapped(_summary(kind, given, numbers, count, True))

    return _called(segment, f"segment_{kind}")


def _unsorted_segment(kind: str) -> Callable[..., Tensor]:
    def segment(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
        given, numbers = array_of(data), array_of(segment_ids)
        check_dtype(given, _SEGMENTS[kind][2], segment)
        check_dtype(numbers, _WHOLE, segment)
        count = int_of(num_segments)
        if given.shape[: numbers.ndim] != numbers.shape:
            raise InvalidArgumentError(
                f"data {given.shape} must begin with the shape of segment_ids {numbers.shape}"
            )
        if numbers.max(initial=-1) >= count:
            raise InvalidArgumentError(f"segment id {numbers.max()} is out of range [0, {count})")
        rows = given.reshape(-1, *given.shape[numbers.ndim :])
        flat = numbers.reshape(-1)
        return wrapped(_summary(kind, rows[flat >= 0], flat[flat >= 0], count, False))

    return _called(segment, f"unsorted_segment_{kind}")


def _called(function: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The items of each segment in one; as ``tf.math.{name}``."
    return function


SEGMENTS: Final = {
    each.__name__: each
    for each in [
        *(_sorted_segment(kind) for kind in _SEGMENTS if kind != "sqrt_n"),
        *map(_unsorted_segment, _SEGMENTS),
    ]
}
globals().update(SEGMENTS)  # where pickle finds them


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    weights: Any = None,
    dtype: Any = "int32",
    name: str | None = None,
) -> Tensor:
    """How often each prediction was made for each label, which are the rows."""
    rows, columns = (array_of(each).astype(np.int64) for each in (labels, predictions))
    if rows.shape != columns.shape or rows.ndim != 1:
        raise InvalidArgumentError(f"labels {rows.shape} and predictions {columns.shape} differ")
    most = int(max(rows.max(initial=-1), columns.max(initial=-1)))
    count = most + 1 if num_classes is None else int_of(num_classes)
    if min(rows.min(initial=0), columns.min(initial=0)) < 0 or most >= count:
        raise InvalidArgumentError(f"a class is at least 0 and below {count}")
    made = np.zeros((count, count), as_dtype(dtype).storage)
    heavy = 1 if weights is None else array_of(weights).astype(made.dtype)
    np.add.at(made, (rows, columns), heavy)
    return wrapped(made)


install(globals())

__all__ = ["histogram_fixed_width", "histogram_fixed_width_bins"]
