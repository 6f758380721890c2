"""Columns: one leaf of many elements, in one array if that can be, otherwise in a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from keepset.core import jagged
from keepset.core.arrays import lent_view
from keepset.core.dtypes import Array, dtype_of, join_arrays, mixes_text, text_array
from keepset.core.jagged import Jagged
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.spec import common_supertype, mixing_advice, spec_of, stored_leaf_spec
from keepset.core.structure import LEAF, structure_of
from keepset.core.tally import tally
from keepset.core.untyped import typed_alike
from keepset.errors import ElementError

# An array holds leaves of one dtype and shape along its first axis (strings as objects), a Jagged
# those that differ in their lengths only. A list holds whatever fits into neither, such as Ragged,
# Sparse and data sets, and arrays that nobody has put together yet.
Column: TypeAlias = Array | Jagged | list[Any]


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
    if kind is str:
        return text_array(leaves)
    if issubclass(kind, tuple | dict):
        raise LEAF.difference(structure_of(leaves[0]), 0)
    return leaves


def _stack(leaves: list[Array]) -> Column:
    first = leaves[0]
    if len(leaves) == 1:
        return first[np.newaxis]
    shape, dtype = first.shape, first.dtype
    for leaf in leaves:
        if leaf.shape != shape or leaf.dtype != dtype:
            return leaves
    if mixes_text(leaves):
        return leaves
    if first.size == 0:
        return np.empty((len(leaves), *shape), dtype)
    tally("array_copy")
    # Joining along the existing axis and reshaping is three times as fast as np.stack.
    return join_arrays(leaves).reshape(len(leaves), *shape)


def column_rows(column: Column) -> list[Any]:
    """The leaves one by one."""
    if isinstance(column, Jagged):
        return column.leaves()
    return column if isinstance(column, list) else list(column)


def own_leaf(leaf: Any) -> Any:
    """The same leaf in memory that nobody else can reach."""
    if isinstance(leaf, np.ndarray):
        return leaf.copy()
    if isinstance(leaf, Ragged):
        return Ragged(own_leaf(leaf.values), leaf.row_splits.copy())
    if isinstance(leaf, Sparse):
        return Sparse(leaf.indices.copy(), leaf.values.copy(), leaf.dense_shape.copy())
    return leaf


def freeze_leaf(leaf: Any) -> None:
    """Make the arrays of a leaf read-only, which must be the caller's own objects."""
    if isinstance(leaf, np.ndarray):
        leaf.flags.writeable = False
    elif isinstance(leaf, Ragged):
        freeze_leaf(leaf.values)
        leaf.row_splits.flags.writeable = False
    elif isinstance(leaf, Sparse):
        for array in (leaf.indices, leaf.values, leaf.dense_shape):
            array.flags.writeable = False


def read_only_column(column: Column) -> Column:
    """The same leaves as views that cannot be written through."""
    if isinstance(column, np.ndarray):
        return lent_view(column)
    if isinstance(column, Jagged):
        return Jagged(lent_view(column.values), column.starts, column.stops)
    for leaf in column:
        freeze_leaf(leaf)
    return column


def column_take(column: Column, indices: Array) -> Column:
    if isinstance(column, list):
        return [column[i] for i in indices.tolist()]
    if isinstance(column, Jagged):
        return column.take(indices)
    tally("array_copy")
    return column.take(indices, axis=0)


def column_concat(parts: Sequence[Column]) -> Column:
    first = parts[0]
    if isinstance(first, np.ndarray):
        arrays = [p for p in parts if isinstance(p, np.ndarray) and are_alike(p, first)]
        if len(arrays) == len(parts):
            tally("array_copy")
            return join_arrays(arrays)
    if any(isinstance(part, Jagged) for part in parts):
        lists = [each for part in parts if (each := _as_jagged(part)) is not None]
        fit = all(are_alike(each.values, lists[0].values) for each in lists[1:])
        if fit and len(lists) == len(parts):
            return jagged.concat(lists)
    return [leaf for part in parts for leaf in column_rows(part)]


def _as_jagged(column: Column) -> Jagged | None:
    """The same leaves as lists, which rows of an array can be as well."""
    if isinstance(column, Jagged):
        return column
    if isinstance(column, list) or column.ndim < 2:
        return None
    count, size, *inner = column.shape
    return Jagged.packed(column.reshape(count * size, *inner), np.arange(count + 1) * size)


def are_alike(one: Array, other: Array) -> bool:
    """Whether the rows of both fit into one array."""
    return (
        one.dtype == other.dtype
        and one.shape[1:] == other.shape[1:]
        and not mixes_text((one, other))
    )


def column_batches(column: Column, size: int, name: str = "batch") -> Column:
    """Group ``k * size`` leaves into ``k`` batches."""
    if isinstance(column, np.ndarray):
        return column.reshape(len(column) // size, size, *column.shape[1:])
    starts = range(0, len(column), size)
    return [stack_leaves(column_rows(column[i : i + size]), name, i) for i in starts]


def stack_leaves(leaves: list[Any], name: str = "batch", first: int = 0) -> Any:
    """Join leaves along a new first axis; an error says how they differ.

    ``first`` is the row of the first of them, for that error.
    """
    column = column_of(leaves)
    if isinstance(column, list) and (alike := typed_alike(leaves)) is not leaves:
        leaves, column = alike, column_of(alike)
    if isinstance(column, np.ndarray):
        return column
    if all(isinstance(leaf, Ragged) for leaf in leaves):
        return Ragged.from_rows(leaves, leaves[0].row_splits.dtype)
    if (
        all(isinstance(leaf, Sparse) for leaf in leaves)
        and len({len(s.shape) for s in leaves}) == 1
    ):
        return Sparse.stack(leaves)
    specs = [spec_of(leaf) for leaf in leaves]
    odd = next((i for i, spec in enumerate(specs) if spec != specs[0]), 0)
    advice = mixing_advice(specs[0], specs[odd])
    advice = advice or _remedy(specs[0], specs[odd])
    raise ElementError(
        f"{name} needs elements of one dtype and shape, but this is {specs[odd]} and the first of "
        f"its batch {specs[0]}; {advice}",
        row=first + odd,
    )


def _remedy(one: Any, other: Any) -> str:
    if getattr(one, "dtype", None) != getattr(other, "dtype", None):
        return "bring them to one dtype with map, or promise one with output_signature="
    return "use padded_batch or ragged_batch for unequal shapes"


def column_unbatch(column: Column) -> tuple[Column, int | Array]:
    """Take batches apart: all rows in order, and how many rows each batch had, or all of them."""
    if isinstance(column, np.ndarray):
        if column.ndim < 2:
            raise ElementError("unbatch needs elements with at least one dimension, not scalars")
        count, size, *inner = column.shape
        return column.reshape(count * size, *inner), size
    if isinstance(column, Jagged):
        return column.joined(), column.lengths
    rows = [unstack_leaf(leaf) for leaf in column]
    return column_concat(rows) if rows else [], np.array([len(part) for part in rows], np.int64)


def unstack_leaf(leaf: Any) -> Column:
    """The rows of one batched leaf."""
    if isinstance(leaf, Sparse):
        return leaf.rows()
    if isinstance(leaf, Ragged):
        if isinstance(leaf.values, Ragged):
            return list(leaf)
        return Jagged.packed(leaf.values, leaf.row_splits)
    if isinstance(leaf, np.ndarray) and leaf.ndim:
        return leaf
    raise ElementError(f"unbatch needs elements with at least one dimension, not {spec_of(leaf)}")


def column_spec(column: Column) -> Any:
    """The spec of the leaves; None for a column without leaves."""
    if isinstance(column, np.ndarray):
        return spec_of(column).unbatched()
    if isinstance(column, Jagged):
        return _jagged_spec(column)
    return _common_spec(column) if column else None


def _common_spec(leaves: list[Any]) -> Any:
    examples = leaves
    if set(map(type, leaves)) == {np.ndarray}:
        # Most are alike, so that a look at one of each kind will do.
        examples = list({(dtype_of(leaf), leaf.shape): leaf for leaf in leaves}.values())
    try:
        return common_supertype([stored_leaf_spec(leaf) for leaf in examples])
    except ElementError as error:
        error.row = odd_row(leaves, stored_leaf_spec(leaves[0]))
        raise


def odd_row(column: Column, leaf: Any) -> int:
    """The row of the first leaf that has no type in common with ``leaf``; 0 if all have one."""
    for row, each in enumerate(column_rows(column)):
        try:
            common_supertype([leaf, stored_leaf_spec(each)])
        except ElementError:
            return row
    return 0


def _jagged_spec(column: Jagged) -> Any:
    if not len(column):
        return None
    spec = spec_of(column[0])
    if (column.lengths == len(column[0])).all():
        return spec
    return spec.with_shape((None, *column.values.shape[1:]))
