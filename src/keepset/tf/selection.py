"""Items that are picked: by indices, by conditions, by rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.arithmetic import REAL, check_dtype
from keepset.tf.arrays import sizes_of
from keepset.tf.conversion import (
    Value,
    dtype_of,
    int_of,
    ints_of,
    matching,
    plain,
    value_of,
)
from keepset.tf.dtype import as_dtype
from keepset.tf.reductions import axis_of
from keepset.tf.tensor import Tensor, array_of, wrapped

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


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """The parts of a tensor along an axis in the order of indices.

    The first ``batch_dims`` axes of both go together, and the axis is the one behind them unless
    another one is given.
    """
    given, places = array_of(params), plain(value_of(indices))
    check_dtype(places, _OF_INDICES, gather)
    batches = int_of(batch_dims)
    batches += np.ndim(places) if batches < 0 else 0
    along = axis_of(batches if axis is None else axis, np.ndim(given))
    _check_inside(places, given.shape[along])
    if not batches:
        return wrapped(np.take(given, places, along))
    if given.shape[:batches] != places.shape[:batches] or along < batches:
        raise InvalidArgumentError(
            f"the first {batches} sizes of {given.shape} and {places.shape} must be equal"
        )
    return wrapped(_gathered(given, places, along, batches))


def _gathered(given: Any, places: Any, axis: int, batches: int) -> Any:
    """Each batch's own indices, spread over the axes of the rest."""
    moved = np.moveaxis(given, axis, batches)
    numbers = np.ogrid[tuple(np.s_[:size] for size in places.shape[:batches])] if batches else []
    spread = [each.reshape(each.shape + (1,) * (places.ndim - batches)) for each in numbers]
    found = moved[(*spread, places)]
    # The axes of the indices go where the axis was.
    count = places.ndim - batches
    between = list(np.arange(axis - batches) + batches + count)
    order = [
        *np.arange(batches),
        *between,
        *(np.arange(count) + batches),
        *np.arange(axis + count, found.ndim),
    ]
    return np.transpose(found, order)


def _check_inside(places: Any, length: int) -> None:
    bad = (places < 0) | (places >= length)
    if np.any(bad):
        first = np.ravel(places)[np.ravel(bad)][0]
        raise InvalidArgumentError(f"the index {first} is not in [0, {length})")


def gather_nd(
    params: Any, indices: Any, batch_dims: int = 0, name: str | None = None, **ignored: Any
) -> Tensor:
    """The parts at places, each of which is a row of indices."""
    given, places = array_of(params), np.asarray(value_of(indices))
    check_dtype(places, _OF_INDICES, gather_nd)
    if batch_dims:
        numbers = np.indices(places.shape[:-1])[: int_of(batch_dims)]
        places = np.concatenate([np.moveaxis(numbers, 0, -1), places], -1)
    return wrapped(given[_keys(places, np.shape(given))])


def _keys(places: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Rows of indices as what NumPy takes."""
    if not places.ndim or places.shape[-1] > len(shape):
        raise InvalidArgumentError(
            f"indices of shape {places.shape} do not index into shape {shape}: the last "
            "dimension is at most the number of dimensions"
        )
    for number, length in enumerate(shape[: places.shape[-1]]):
        _check_inside(places[..., number], length)
    return tuple(np.moveaxis(places, -1, 0))


def scatter_nd(
    indices: Any, updates: Any, shape: Any, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """Zeros with values at places, added where a place occurs twice."""
    values = array_of(updates)
    sizes = sizes_of(shape)
    start = np.full(sizes, b"", object) if values.dtype == object else np.zeros(sizes, values.dtype)
    return _scattered(start, indices, values, np.add)


def _scatter(name: str, function: Any) -> Callable[..., Tensor]:
    def scatter(
        tensor: Any,
        indices: Any,
        updates: Any,
        bad_indices_policy: str = "",
        name: str | None = None,
    ) -> Tensor:
        one, two = matching(tensor, updates)
        return _scattered(np.array(plain(one)), indices, plain(two), function)

    scatter.__name__ = scatter.__qualname__ = name
    scatter.__doc__ = f"A tensor with values at places; as ``tf.{name}``."
    return scatter


def _scattered(start: Any, indices: Any, values: Any, function: Any) -> Tensor:
    places = np.asarray(value_of(indices))
    check_dtype(places, _OF_INDICES, scatter_nd)
    keys = _keys(places, start.shape)
    needed = places.shape[:-1] + start.shape[places.shape[-1] :]
    if np.shape(values) != needed:
        raise InvalidArgumentError(
            f"updates have shape {np.shape(values)}; indices of shape {places.shape} need {needed}"
        )
    if function is None:
        start[keys] = values
    else:
        function.at(start, keys, values)
    return wrapped(start)


tensor_scatter_nd_update = _scatter("tensor_scatter_nd_update", None)
tensor_scatter_nd_add = _scatter("tensor_scatter_nd_add", np.add)
tensor_scatter_nd_sub = _scatter("tensor_scatter_nd_sub", np.subtract)
tensor_scatter_nd_max = _scatter("tensor_scatter_nd_max", np.maximum)
tensor_scatter_nd_min = _scatter("tensor_scatter_nd_min", np.minimum)


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


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """The items that belong to each of several partitions."""
    given, numbers = array_of(data), array_of(partitions)
    if given.shape[: numbers.ndim] != numbers.shape:
        raise InvalidArgumentError(f"data {given.shape} must begin with {numbers.shape}")
    _check_inside(numbers, num_partitions)
    return [wrapped(given[numbers == each]) for each in np.arange(num_partitions)]


def dynamic_stitch(indices: Any, data: Any, name: str | None = None) -> Tensor:
    """Items put where indices say, those of the last list first in rank."""
    places = [array_of(each) for each in indices]
    values: list[Value] = [plain(each) for each in matching(*data)]
    length = max((int(each.max(initial=-1)) for each in places), default=-1) + 1
    rest = values[0].shape[places[0].ndim :]
    made = np.zeros((length, *rest), values[0].dtype)
    for where_to, what in zip(places, values, strict=True):
        made[where_to] = what
    return wrapped(made)


def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Tensor:
    """The coordinates of the items with some numbers."""
    given = array_of(indices)
    try:
        return wrapped(np.array(np.unravel_index(given, ints_of(dims))).astype(given.dtype))
    except ValueError as error:
        raise InvalidArgumentError(str(error)) from error


def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: Any = None,
    batch_axis: Any = None,
    name: str | None = None,
) -> Tensor:
    """Backwards as far as the length of each sequence."""
    if seq_axis is None:
        raise DtypeError("tf.reverse_sequence needs seq_axis")
    given, lengths = array_of(input), array_of(seq_lengths)
    along, batch = axis_of(seq_axis, given.ndim), axis_of(batch_axis or 0, given.ndim)
    if (
        along == batch
        or lengths.shape != (given.shape[batch],)
        or lengths.max(initial=0) > given.shape[along]
    ):
        raise InvalidArgumentError(
            f"seq_lengths {lengths.tolist()} do not fit the shape {given.shape} along axis "
            f"{along} for the items of axis {batch}"
        )
    moved = np.moveaxis(given, (batch, along), (0, 1))
    numbers = np.arange(moved.shape[1])
    ends = lengths[:, np.newaxis]
    places = np.where(numbers < ends, ends - 1 - numbers, numbers)
    found = moved[np.arange(len(lengths))[:, np.newaxis], places]
    return wrapped(np.moveaxis(found, (0, 1), (batch, along)))


def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """For each number where it is in a permutation."""
    given = array_of(x)
    if np.ndim(given) != 1 or (np.sort(given) != np.arange(np.size(given))).any():
        raise InvalidArgumentError(f"{given.tolist()} is no permutation of 0, 1, 2 and so on")
    return wrapped(np.argsort(given).astype(given.dtype))


__all__ = [
    "argsort",
    "clip_by_value",
    "dynamic_partition",
    "dynamic_stitch",
    "gather",
    "gather_nd",
    "reverse_sequence",
    "scatter_nd",
    "searchsorted",
    "sort",
    "strided_slice",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "unique",
    "unique_with_counts",
    "unravel_index",
    "where",
]
