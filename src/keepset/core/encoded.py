"""Text as bytes, for formats and frameworks that know no ``str``."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.column import Column
from keepset.core.dtypes import Array, is_text, string, text
from keepset.core.jagged import Jagged
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.spec import LeafSpec, Spec, map_spec


def encoded_spec(spec: Spec) -> Spec:
    """The same spec with bytes in the place of text."""

    def encoded(leaf: LeafSpec) -> LeafSpec:
        return leaf.with_dtype(string) if leaf.dtype is text else leaf

    return map_spec(encoded, spec)


def encoded_chunk(chunk: Chunk) -> Chunk:
    """The same elements with UTF-8 in the place of text; the chunk itself if there is none."""
    columns = chunk.columns
    encoded = [encoded_column(column) for column in columns]
    if all(one is other for one, other in zip(columns, encoded, strict=True)):
        return chunk
    return Chunk.from_columns(chunk.structure, encoded, len(chunk))


def encoded_column(column: Column) -> Column:
    """The same leaves with UTF-8 in the place of text; the column itself if there is none."""
    if isinstance(column, np.ndarray):
        return _encoded_array(column) if is_text(column) else column
    if isinstance(column, Jagged):
        if not is_text(column.values):
            return column
        return Jagged.packed(_encoded_array(column.joined()), column.offsets())
    leaves = [encoded_leaf(leaf) for leaf in column]
    return column if all(a is b for a, b in zip(column, leaves, strict=True)) else leaves


def encoded_leaf(leaf: Any) -> Any:
    """A leaf with UTF-8 in the place of text; the leaf itself if it is none."""
    if isinstance(leaf, str):
        return leaf.encode()
    if isinstance(leaf, np.ndarray):
        return _encoded_array(leaf) if is_text(leaf) else leaf
    if isinstance(leaf, Ragged) and leaf.dtype is text:
        return Ragged.trusted(encoded_leaf(leaf.values), leaf.row_splits)
    if isinstance(leaf, Sparse) and leaf.dtype is text:
        return Sparse(leaf.indices, _encoded_array(leaf.values), leaf.dense_shape)
    return leaf


def _encoded_array(array: Array) -> Array:
    octets = np.empty(array.shape, object)
    octets.reshape(-1)[:] = list(map(str.encode, array.ravel().tolist()))
    return octets
