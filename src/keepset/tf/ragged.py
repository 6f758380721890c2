"""``tf.ragged``: ragged tensors of lists, ranges and masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.composites import ragged_operators  # noqa: F401  # it completes the class
from keepset.tf.composites.crossing import ragged_cross as cross
from keepset.tf.composites.ragged_functions import boolean_mask, elementwise
from keepset.tf.composites.ragged_shapes import stack
from keepset.tf.composites.ragged_tensor import RaggedTensor
from keepset.tf.composites.row_partition import (
    ranges,
    rowids_of,
    splits_of_lengths,
    splits_of_rowids,
)
from keepset.tf.not_covered import not_covered
from keepset.tf.tensors.conversion import cast_value, dtype_of, int_of, ints_of, value_of
from keepset.tf.tensors.dtype import as_dtype
from keepset.tf.tensors.tensor import Tensor, tensor

__all__ = [
    "boolean_mask",
    "constant",
    "cross",
    "map_flat_values",
    "range",
    "row_splits_to_segment_ids",
    "segment_ids_to_row_splits",
    "stack",
]

_range = range


def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = np.int64,
) -> Any:
    """A ragged tensor of nested lists; a tensor of what is not nested.

    Example:
        >>> constant([[1, 2], [], [3]])
        <tf.RaggedTensor [[1, 2], [], [3]]>
    """
    nested = _lists(pylist)
    depth = _depth(nested)
    inner = None if inner_shape is None else tuple(ints_of(inner_shape))
    if depth == 0:
        if ragged_rank or inner:
            raise ValueError(f"{pylist!r:.60} is a scalar, and ragged_rank or inner_shape is not 0")
        return tensor(pylist, dtype)
    rank = max(0, depth - 1 - len(inner or ())) if ragged_rank is None else int(ragged_rank)
    if ragged_rank is not None and ragged_rank >= max(depth, 1) + (0 if inner is None else 1):
        raise ValueError(f"pylist has a nesting of {depth}, too little for ragged_rank={rank}")
    splits: list[Any] = []
    rows = [nested]
    for _ in _range(rank):
        rows = [row for each in rows for row in each] if splits else list(nested)
        splits.append(
            splits_of_lengths([len(row) for row in rows], as_dtype(row_splits_dtype).storage)
        )
    items = [item for row in rows for item in row] if rank else list(nested)
    made: Any = _flat(items, dtype, inner, pylist)
    for each in reversed(splits):
        made = RaggedTensor.from_row_splits(made, each)
    return made


def _flat(items: list[Any], dtype: Any, inner: tuple[int, ...] | None, shown: Any) -> Tensor:
    """The innermost items, which must have one shape."""
    if not items:
        storage = as_dtype(np.float32 if dtype is None else dtype).storage
        return Tensor(np.zeros((0, *(inner or ())), storage))
    value = value_of(items, dtype)
    if inner is not None and np.shape(value)[1:] != inner:
        raise ValueError(f"inner_shape {inner} does not fit to {shown!r:.60}")
    return Tensor(value)


def _lists(given: Any) -> Any:
    if isinstance(given, RaggedTensor):
        raise TypeError("pylist may not be a RaggedTensor; it is one already")
    if isinstance(given, np.ndarray):
        return [_lists(each) for each in given] if given.ndim else given[()]
    if isinstance(given, list | tuple):
        return [_lists(each) for each in given]
    if isinstance(given, Tensor):
        raise TypeError("pylist may not hold tensors; use tf.ragged.stack")
    return given


def _depth(nested: Any) -> int:
    """How deep lists go, which must be the same for all items."""
    if not isinstance(nested, list):
        return 0
    depths = {(_depth(each), _has_items(each)) for each in nested}
    if not depths:
        return 1
    deepest = max(depth for depth, _ in depths)
    if any(depth != deepest and has_items for depth, has_items in depths):
        raise ValueError(f"all scalar values must have the same nesting depth in {nested!r:.60}")
    return 1 + deepest


def _has_items(nested: Any) -> bool:
    return any(map(_has_items, nested)) if isinstance(nested, list) else True


def range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = np.int64,
) -> RaggedTensor:
    """Rows of numbers, each from its start up to its limit.

    Example:
        >>> range([2, 0, 3])
        <tf.RaggedTensor [[0, 1], [], [0, 1, 2]]>
    """
    if limits is None:
        starts, limits = 0, starts
    given = [value_of(each) for each in (starts, limits, deltas)]
    if dtype is not None:
        given = [cast_value(each, dtype) for each in given]
    else:
        order = ["int32", "int64", "float32", "float64"]
        widest = max((dtype_of(each).name for each in given), key=order.index)
        given = [cast_value(each, widest) for each in given]
    start, limit, delta = np.broadcast_arrays(*(np.atleast_1d(each) for each in given))
    if not delta.all():
        raise InvalidArgumentError("Requires delta != 0")
    counts = np.maximum(np.ceil((limit.astype(float) - start) / delta), 0).astype(np.int64)
    splits = splits_of_lengths(counts, as_dtype(row_splits_dtype).storage)
    steps = ranges(np.zeros_like(counts), counts).astype(start.dtype)
    values = np.repeat(start, counts) + steps * np.repeat(delta, counts)
    return RaggedTensor(values.astype(start.dtype), splits)


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A function of the flat values of all that is ragged among the arguments."""
    if not any(isinstance(each, RaggedTensor) for each in (*args, *kwargs.values())):
        return op(*args, **kwargs)
    return elementwise(op, args, kwargs)


def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """The row of each value, for splits that say where rows begin."""
    given = np.asarray(value_of(splits))
    given = given.astype(np.int64) if not isinstance(splits, Tensor | np.ndarray) else given
    if given.dtype.kind != "i" or given.ndim != 1 or not len(given):
        raise ValueError("splits must be whole numbers in one dimension, at least [0]")
    dtype = given.dtype if out_type is None else as_dtype(out_type).storage
    return Tensor(rowids_of(given).astype(dtype))


def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: str | None = None
) -> Tensor:
    """Where rows begin, for the row of each value."""
    given = np.asarray(value_of(segment_ids))
    given = given.astype(np.int64) if not isinstance(segment_ids, Tensor | np.ndarray) else given
    count = None if num_segments is None else int_of(num_segments)
    dtype = given.dtype if out_type is None else as_dtype(out_type).storage
    return Tensor(splits_of_rowids(given, count).astype(dtype))


__getattr__ = not_covered("tf.ragged")
