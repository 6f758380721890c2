"""Items that are picked by conditions, bounds and rank."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.composites.ragged_functions import install
from keepset.tf.functions.reductions import axis_of
from keepset.tf.tensors.arithmetic import REAL, check_dtype
from keepset.tf.tensors.conversion import (
    dtype_of,
    int_of,
    ints_of,
    matching,
    plain,
    value_of,
)
from keepset.tf.tensors.dtype import as_dtype
from keepset.tf.tensors.tensor import Tensor, array_of, wrapped

_OF_INDICES: Final = frozenset({"int16", "int32", "int64"})


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Values of ``x`` where the condition holds and of ``y`` elsewhere; or where it holds."""
    if x is None and y is None:
        given = array_of(condition)
        if not np.ndim(given) or given.dtype == object:
            raise InvalidArgumentError("tf.where finds what is not 0 in at least 1 dimension")
        return wrapped(np.argwhere(given).astype(np.int64))
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    chosen, (one, two) = value_of(condition, "bool"), matching(x, y)
    try:
        return wrapped(np.where(chosen, plain(one), plain(two)))
    except ValueError as error:
        raise InvalidArgumentError(f"condition, x and y do not go together: {error}") from error


def sort(
    values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """In order along an axis."""
    given, along, is_down = _to_sort(values, axis, direction)
    found = np.sort(given, along)
    return wrapped(np.flip(found, along) if is_down else found)


def argsort(
    values: Any,
    axis: Any = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """Where the items of the sorted tensor are, the first of equal ones first."""
    given, along, is_down = _to_sort(values, axis, direction)
    found = _down(given, along) if is_down else np.argsort(given, along, kind="stable")
    return wrapped(found.astype(np.int32))


def _to_sort(values: Any, axis: Any, direction: str) -> tuple[Any, int, bool]:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"direction is ASCENDING or DESCENDING, not {direction!r}")
    given = value_of(values)
    check_dtype(given, REAL, sort)
    return given, axis_of(axis, np.ndim(given)), direction == "DESCENDING"


def _down(given: Any, axis: int) -> Any:
    """The order from the greatest down, the first of equal ones first."""
    flipped = np.argsort(np.flip(given, axis), axis, kind="stable")
    return given.shape[axis] - 1 - np.flip(flipped, axis)


class TopKV2(NamedTuple):
    """The greatest items, and where they are."""

    values: Tensor
    indices: Tensor


def top_k(
    input: Any,
    k: Any = 1,
    sorted: bool = True,
    index_type: Any = "int32",
    name: str | None = None,
) -> TopKV2:
    """The greatest items of each row, and where they are."""
    given, count = value_of(input), int_of(k)
    check_dtype(given, REAL, top_k)
    if not np.ndim(given) or not 0 <= count <= given.shape[-1]:
        raise InvalidArgumentError(
            f"tf.math.top_k with k={count} takes at least {count} columns, not {np.shape(given)}"
        )
    places = _down(given, np.ndim(given) - 1)[..., :count]
    found = np.take_along_axis(given, places, -1)
    return TopKV2(Tensor(found), Tensor(places.astype(as_dtype(index_type).storage)))


def in_top_k(targets: Any, predictions: Any, k: Any, name: str | None = None) -> Tensor:
    """Whether fewer than ``k`` numbers of each row are greater than that of its target.

    A row with numbers that are not finite has no greatest ones.
    """
    scores, places, count = value_of(predictions, "float32"), value_of(targets), int_of(k)
    check_dtype(places, frozenset({"int32", "int64"}), in_top_k)
    if np.ndim(scores) != 2 or np.shape(places) != scores.shape[:1]:
        raise InvalidArgumentError(
            f"predictions must be a row for each target, but have the shape {np.shape(scores)}, "
            f"and targets {np.shape(places)}"
        )
    is_there = (places >= 0) & (places < scores.shape[1]) & np.isfinite(scores).all(1)
    own = np.take_along_axis(scores, np.where(is_there, places, 0)[:, None], 1)
    return Tensor(is_there & ((scores > own).sum(1) < count))


class Unique(NamedTuple):
    """Each item once in the order in which they occur first, and where each item is in them."""

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    """As ``Unique``, and how often each occurs."""

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]  # TensorFlow's name, over that of tuples


def unique(x: Any, out_idx: Any = "int32", name: str | None = None) -> Unique:
    """Each item once."""
    return Unique(*unique_with_counts(x, out_idx)[:2])


def unique_with_counts(x: Any, out_idx: Any = "int32", name: str | None = None) -> UniqueWithCounts:
    """Each item once, and how often."""
    given, dtype = array_of(x), as_dtype(out_idx).storage
    if np.ndim(given) != 1:
        raise InvalidArgumentError(f"tf.unique takes 1 dimension, not {np.ndim(given)}")
    _, first, places, counts = np.unique(
        given, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    numbers = np.empty(len(order), dtype)
    numbers[order] = np.arange(len(order))
    found = given[first[order]], numbers[places.reshape(-1)], counts[order].astype(dtype)
    return UniqueWithCounts(*map(wrapped, found))


def searchsorted(
    sorted_sequence: Any,
    values: Any,
    side: str = "left",
    out_type: Any = "int32",
    name: str | None = None,
) -> Tensor:
    """Where values belong in a sorted sequence, or in each of several."""
    if side not in ("left", "right"):
        raise ValueError(f"side is left or right, not {side!r}")
    ordered, wanted = matching(sorted_sequence, values)
    check_dtype(ordered, REAL, searchsorted)
    if (
        not np.ndim(ordered)
        or not np.ndim(wanted)
        or np.shape(ordered)[:-1] != np.shape(wanted)[:-1]
    ):
        raise InvalidArgumentError(
            f"tf.searchsorted takes rows for rows, not {np.shape(ordered)} and {np.shape(wanted)}"
        )
    rows = zip(
        ordered.reshape(-1, ordered.shape[-1]), wanted.reshape(-1, wanted.shape[-1]), strict=True
    )
    found = [np.searchsorted(one, two, side) for one, two in rows]  # type: ignore[call-overload]
    return wrapped(np.reshape(found, wanted.shape).astype(as_dtype(out_type).storage))


def clip_by_value(
    t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None
) -> Tensor:
    """The nearest number between two bounds."""
    given = value_of(t)
    check_dtype(given, REAL, clip_by_value)
    dtype = dtype_of(given)
    low, high = value_of(clip_value_min, dtype), value_of(clip_value_max, dtype)
    try:
        found = np.maximum(np.minimum(given, high), low)
    except ValueError as error:
        raise InvalidArgumentError(f"Incompatible shapes: {error}") from error
    if np.shape(found) != np.shape(given):
        raise InvalidArgumentError(f"Shapes {np.shape(given)} and {found.shape} are incompatible")
    return wrapped(found)


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """What ``input_[begin:end:strides, ...]`` is; a bit of a mask stands for one of them."""
    starts, ends = ints_of(begin), ints_of(end)
    steps = (1,) * len(starts) if strides is None else ints_of(strides)
    keys: list[Any] = []
    for number, (start, stop, step) in enumerate(zip(starts, ends, steps, strict=True)):
        bit = 1 << number
        if ellipsis_mask & bit:
            keys.append(Ellipsis)
        elif new_axis_mask & bit:
            keys.append(None)
        elif shrink_axis_mask & bit:
            keys.append(start)
        else:
            bounds = None if begin_mask & bit else start, None if end_mask & bit else stop
            keys.append(slice(*bounds, step))
    return Tensor(value_of(input_))[tuple(keys)]


def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """For each number where it is in a permutation."""
    given = array_of(x)
    if np.ndim(given) != 1 or (np.sort(given) != np.arange(np.size(given))).any():
        raise InvalidArgumentError(f"{given.tolist()} is no permutation of 0, 1, 2 and so on")
    return wrapped(np.argsort(given).astype(given.dtype))


install(globals())

__all__ = [
    "argsort",
    "clip_by_value",
    "searchsorted",
    "sort",
    "strided_slice",
    "unique",
    "unique_with_counts",
    "where",
]
