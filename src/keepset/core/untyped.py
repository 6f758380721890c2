"""Arrays without items, such as an empty list, whose dtype is that of the elements beside them.

NumPy makes floats of an empty list, which says nothing of what would have been in it. An array of
float64 without items therefore goes with any dtype, and so does a Ragged whose values are one. All
others have the dtype that they have.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.core.dtypes import Array, storage_dtype
from keepset.core.jagged import Jagged
from keepset.core.ragged import Ragged
from keepset.core.spec import LeafSpec, RaggedTensorSpec, TensorSpec, spec_of

_UNTYPED = np.dtype(np.float64)


def is_untyped_leaf(leaf: Any) -> bool:
    """Whether a leaf is an array without items that has no dtype of its own."""
    values = leaf.flat_values if type(leaf) is Ragged else leaf
    return type(values) is np.ndarray and not values.size and values.dtype == _UNTYPED


def gives_dtype(leaf: LeafSpec) -> bool:
    """Whether arrays without a dtype of their own become others beside a leaf of this spec."""
    return isinstance(leaf, TensorSpec | RaggedTensorSpec) and leaf.dtype != _UNTYPED


def typed_column(column: Any, leaf: LeafSpec) -> Any:
    """The column, in which arrays without a dtype of their own have that of ``leaf``.

    It is ``column`` itself if there are none.
    """
    if not gives_dtype(leaf):
        return column
    dtype = storage_dtype(leaf.dtype)
    if isinstance(column, list):
        if not any(map(is_untyped_leaf, column)):
            return column
        return [_without_items(x, dtype) if is_untyped_leaf(x) else x for x in column]
    values: Array = column.values if isinstance(column, Jagged) else column
    if values.dtype != _UNTYPED:
        return column
    if isinstance(column, Jagged):
        if 0 not in values.shape[1:] and column.lengths.any():
            return column
        offsets = column.offsets()
        return Jagged.packed(np.empty((int(offsets[-1]), *values.shape[1:]), dtype), offsets)
    return np.empty(column.shape, dtype) if 0 in column.shape[1:] else column


def _without_items(leaf: Array | Ragged, dtype: np.dtype[Any]) -> Array | Ragged:
    """The same with another dtype."""
    if isinstance(leaf, Ragged):
        return Ragged.trusted(_without_items(leaf.values, dtype), leaf.row_splits)
    return np.empty(leaf.shape, dtype)


def typed_alike(leaves: list[Any]) -> list[Any]:
    """The leaves of a batch, in which arrays without a dtype of their own have that of the others.

    It is ``leaves`` itself if there are none, or nothing else.
    """
    if not any(map(is_untyped_leaf, leaves)):
        return leaves
    others = (leaf for leaf in leaves if not is_untyped_leaf(leaf))
    example = next((leaf for leaf in others if isinstance(leaf, np.ndarray | Ragged)), None)
    typed: list[Any] = leaves if example is None else typed_column(leaves, spec_of(example))
    return typed
