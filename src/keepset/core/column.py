"""Columns: one leaf of many elements. Uniform ones are a single array, all others a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from keepset.core.dtypes import Array
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.spec import common_supertype, spec_of
from keepset.errors import ElementError

# An array holds leaves of one dtype and shape along its first axis (strings as objects); a list
# holds whatever does not fit into one array: shapes that vary, Ragged, Sparse, data sets.
Column: TypeAlias = Array | list[Any]


def column_of(leaves: list[Any]) -> Column:
    """The column that holds ``leaves``, as one array if they are alike."""
    kinds = set(map(type, leaves))
    if len(kinds) != 1:
        return leaves
    kind = kinds.pop()
    if kind is np.ndarray:
        return _stack(leaves)
    if issubclass(kind, np.generic):
        first = leaves[0].dtype
        if first.kind in "mM" and len({leaf.dtype for leaf in leaves}) > 1:
            return leaves  # times of different units share one Python type
        return np.array(leaves, dtype=first)
    if kind is bytes:
        column = np.empty(len(leaves), dtype=object)
        column[:] = leaves
        return column
    if issubclass(kind, tuple | dict):
        raise ElementError(
            "elements must all have one structure; a leaf and a container were mixed"
        )
    return leaves


def _stack(leaves: list[Array]) -> Column:
    first = leaves[0]
    if len(leaves) == 1:
        return first[np.newaxis]
    shape, dtype = first.shape, first.dtype
    for leaf in leaves:
        if leaf.shape != shape or leaf.dtype != dtype:
            return leaves
    if first.size == 0:
        return np.empty((len(leaves), *shape), dtype)
    # Joining along the existing axis and reshaping is three times as fast as np.stack.
    return np.concatenate(leaves).reshape(len(leaves), *shape)


def column_rows(column: Column) -> list[Any]:
    """The leaves one by one."""
    return column if isinstance(column, list) else list(column)


def column_take(column: Column, indices: Array) -> Column:
    if isinstance(column, list):
        return [column[i] for i in indices.tolist()]
    return column.take(indices, axis=0)


def column_concat(parts: Sequence[Column]) -> Column:
    first = parts[0]
    if isinstance(first, np.ndarray) and all(
        isinstance(p, np.ndarray) and p.dtype == first.dtype and p.shape[1:] == first.shape[1:]
        for p in parts
    ):
        return np.concatenate(parts)
    return [leaf for part in parts for leaf in column_rows(part)]


def column_batches(column: Column, size: int, name: str = "batch") -> Column:
    """Group ``k * size`` leaves into ``k`` batches."""
    if isinstance(column, np.ndarray):
        return column.reshape(len(column) // size, size, *column.shape[1:])
    return [stack_leaves(column[i : i + size], name) for i in range(0, len(column), size)]


def stack_leaves(leaves: list[Any], name: str = "batch") -> Any:
    """Join leaves along a new first axis; an error says how they differ."""
    column = column_of(leaves)
    if isinstance(column, np.ndarray):
        return column
    if all(isinstance(leaf, Ragged) for leaf in column):
        return Ragged.from_rows(column, column[0].row_splits.dtype)
    if (
        all(isinstance(leaf, Sparse) for leaf in column)
        and len({len(s.shape) for s in column}) == 1
    ):
        return Sparse.stack(column)
    specs = [spec_of(leaf) for leaf in column]
    odd = next((i for i, spec in enumerate(specs) if spec != specs[0]), 0)
    raise ElementError(
        f"{name} needs elements of one dtype and shape, but element 0 of the batch is {specs[0]} "
        f"and element {odd} is {specs[odd]}; use padded_batch or ragged_batch for unequal shapes"
    )


def column_unbatch(column: Column) -> tuple[Column, int | Array]:
    """Take batches apart: all rows in order, and how many rows each batch had, or all of them."""
    if isinstance(column, np.ndarray):
        if column.ndim < 2:
            raise ElementError("unbatch needs elements with at least one dimension, not scalars")
        count, size, *inner = column.shape
        return column.reshape(count * size, *inner), size
    rows = [unstack_leaf(leaf) for leaf in column]
    return column_concat(rows) if rows else [], np.array([len(part) for part in rows], np.int64)


def unstack_leaf(leaf: Any) -> Column:
    """The rows of one batched leaf."""
    if isinstance(leaf, Sparse):
        return leaf.rows()
    if isinstance(leaf, Ragged):
        return list(leaf)
    if isinstance(leaf, np.ndarray) and leaf.ndim:
        return leaf
    raise ElementError(f"unbatch needs elements with at least one dimension, not {spec_of(leaf)}")


def column_spec(column: Column) -> Any:
    """The spec of the leaves; None for a column without leaves."""
    if isinstance(column, np.ndarray):
        return spec_of(column).unbatched()
    return common_supertype([spec_of(leaf) for leaf in column]) if column else None
