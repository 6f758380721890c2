"""Staging: elements on their way into a chunk, as copies that nobody else can reach."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.core.chunk import Chunk, concat
from keepset.core.column import Column
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse

_MOST_PARTS = 256


class Staging:
    """Collects elements of one shard until there are enough for a chunk."""

    def __init__(self) -> None:
        self._parts: list[Chunk] = []
        self._recent: list[Chunk] = []  # to be joined before there are too many: each takes memory
        self.rows = 0
        self.size_bytes = 0

    def add(self, chunk: Chunk) -> None:
        """Take in elements that are already copies."""
        self._recent.append(chunk)
        if len(self._recent) == _MOST_PARTS:
            self._parts.append(concat(self._recent))
            self._recent = []
        self.rows += len(chunk)
        self.size_bytes += chunk.size_bytes

    def take(self, rows: int) -> Chunk:
        """Give the first ``rows`` elements, or all there are."""
        whole = concat([*self._parts, *self._recent])
        chunk, rest = whole[:rows], whole[rows:]
        self._parts, self._recent, self.rows, self.size_bytes = [], [], 0, 0
        if len(rest):
            self.add(rest)
        return chunk


def copied(chunk: Chunk) -> Chunk:
    """The elements in memory of their own, as columns."""
    had_columns = chunk.has_columns
    columns = [_own(column, had_columns) for column in chunk.columns]
    return Chunk.from_columns(chunk.structure, columns, len(chunk))


def frozen(chunk: Chunk) -> Chunk:
    """The same elements, which whoever gets them cannot write to."""
    if not len(chunk):
        return chunk
    if chunk.has_columns:
        columns = [_frozen_column(column) for column in chunk.columns]
        return Chunk.from_columns(chunk.structure, columns, len(chunk))
    structure = chunk.structure
    for column in structure.columns(chunk.rows):
        for leaf in column:
            _freeze(leaf)
    return chunk


def _own(column: Column, is_shared: bool) -> Column:
    if isinstance(column, list):
        return [_own_leaf(leaf) for leaf in column]
    # Columns that were made of rows just now are a copy already, but for a single row.
    return column.copy() if is_shared or len(column) == 1 else column


def _own_leaf(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray):
        return leaf.copy()
    if isinstance(leaf, Ragged):
        return Ragged(_own_leaf(leaf.values), leaf.row_splits.copy())
    if isinstance(leaf, Sparse):
        return Sparse(leaf.indices.copy(), leaf.values.copy(), leaf.dense_shape.copy())
    return leaf


def _frozen_column(column: Column) -> Column:
    if isinstance(column, list):
        for leaf in column:
            _freeze(leaf)
        return column
    view = column.view()
    view.flags.writeable = False
    return view


def _freeze(leaf: Any) -> None:
    if isinstance(leaf, np.ndarray):
        leaf.flags.writeable = False
    elif isinstance(leaf, Ragged):
        _freeze(leaf.values)
        _freeze(leaf.row_splits)
    elif isinstance(leaf, Sparse):
        for part in (leaf.indices, leaf.values, leaf.dense_shape):
            _freeze(part)
