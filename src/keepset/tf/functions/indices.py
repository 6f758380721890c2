"""Items that are taken from and put to places, which indices say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.composites.ragged_functions import install
from keepset.tf.functions.arrays import sizes_of
from keepset.tf.functions.reductions import axis_of
from keepset.tf.tensors.arithmetic import check_dtype
from keepset.tf.tensors.conversion import Value, int_of, ints_of, matching, plain, value_of
from keepset.tf.tensors.tensor import Tensor, array_of, wrapped

_OF_INDICES: Final = frozenset({"int16", "int32", "int64"})


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


install(globals())

__all__ = [
    "dynamic_partition",
    "dynamic_stitch",
    "gather",
    "gather_nd",
    "reverse_sequence",
    "scatter_nd",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "unravel_index",
]
