"""Chunk: a run of elements, held as columns, as rows, or both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from keepset.core.column import Column, column_concat, column_of, column_take
from keepset.core.dtypes import Array
from keepset.core.structure import Structure, structure_of
from keepset.errors import ElementError


class Chunk:
    """Up to a few thousand elements. Rows and columns are made from each other when asked for.

    Example:
        >>> chunk = Chunk.from_rows([{"x": np.int64(1)}, {"x": np.int64(2)}])
        >>> chunk.columns
        [array([1, 2])]
        >>> chunk[1:].rows
        [{'x': np.int64(2)}]
    """

    __slots__ = ("_columns", "_length", "_rows", "_structure")

    def __init__(
        self,
        length: int,
        rows: list[Any] | None,
        structure: Structure | None,
        columns: list[Column] | None,
    ) -> None:
        self._length, self._rows = length, rows
        self._structure, self._columns = structure, columns

    @classmethod
    def from_rows(cls, rows: list[Any]) -> Chunk:
        return cls(len(rows), rows, None, None)

    @classmethod
    def from_columns(cls, structure: Structure, columns: list[Column], length: int) -> Chunk:
        return cls(length, None, structure, columns)

    def __len__(self) -> int:
        return self._length

    @property
    def has_columns(self) -> bool:
        return self._columns is not None

    @property
    def rows(self) -> list[Any]:
        """The elements as a list. Do not change it: others may hold the same list."""
        if self._rows is None:
            assert self._structure is not None
            assert self._columns is not None
            self._rows = list(self._structure.rows(self._columns, self._length))
        return self._rows

    def iterate(self) -> tuple[Iterator[Any], Any]:
        """The elements, made one by one, and an iterator that knows how many are left."""
        if self._rows is None and self._columns and not self.structure.has_records:
            leaves = [_leaves_of(column) for column in self._columns]
            rows = iter(self.structure.rows(leaves, self._length))
            return rows, leaves[0] if type(leaves[0]) is not np.flatiter else _Left(leaves[0])
        rows = iter(self.rows)
        return rows, rows

    @property
    def structure(self) -> Structure:
        if self._structure is None:
            if not self._rows:
                raise ElementError("an empty chunk has no structure")
            self._structure = structure_of(self._rows[0])
        return self._structure

    @property
    def columns(self) -> list[Column]:
        """One column per leaf; an error if the elements are not of one structure."""
        if self._columns is None:
            leaves = self.structure.columns(self.rows)
            self._columns = [column_of(column) for column in leaves]
        return self._columns

    def __getitem__(self, rows: slice) -> Chunk:
        length = len(range(*rows.indices(self._length)))
        if length == self._length and (rows.step is None or rows.step == 1):
            return self
        return Chunk(
            length,
            None if self._rows is None else self._rows[rows],
            self._structure,
            None if self._columns is None else [column[rows] for column in self._columns],
        )

    def select(self, keys: Sequence[Any]) -> Chunk:
        """The same elements, which are dicts, with some of their keys only."""
        if self._columns is None:
            return Chunk.from_rows([{k: row[k] for k in row if k in keys} for row in self.rows])
        structure, places = self.structure.select(keys)
        return Chunk.from_columns(structure, [self._columns[i] for i in places], self._length)

    def take(self, indices: Array) -> Chunk:
        """The elements at these positions, in this order."""
        if self._columns is not None:
            columns = [column_take(column, indices) for column in self._columns]
            return Chunk(len(indices), None, self._structure, columns)
        return Chunk.from_rows(list(map(self.rows.__getitem__, indices.tolist())))

    @property
    def size_bytes(self) -> int:
        """About how much memory the elements take; rows are judged by the first one."""
        if self._columns is not None:
            return sum(getattr(column, "nbytes", 64 * len(column)) for column in self._columns)
        if not self._rows:
            return 0
        first = self._rows[0]
        leaves = structure_of(first).leaves(first)
        return len(self._rows) * sum(getattr(leaf, "nbytes", 64) for leaf in leaves)

    @property
    def own_bytes(self) -> int:
        """As ``size_bytes``, but views of something larger, which is in memory anyway, are free."""
        if self._columns is None:
            return self.size_bytes
        size = 0
        for column in self._columns:
            if isinstance(column, list):
                size += 64 * len(column)
            elif column.base is None or getattr(column.base, "nbytes", 0) == column.nbytes:
                size += column.nbytes
        return size

    def __reduce__(self) -> tuple[Any, ...]:
        # Columns travel between processes as a few large buffers, rows as many small objects.
        try:
            return Chunk.from_columns, (self.structure, self.columns, self._length)
        except ElementError:
            return Chunk.from_rows, (self.rows,)

    def __repr__(self) -> str:
        form = "columns" if self._columns is not None else "rows"
        return f"Chunk({self._length} {form})"


EMPTY = Chunk.from_rows([])


def _leaves_of(column: Column) -> Any:
    # A tenth faster than iterating over the array itself.
    return column.flat if isinstance(column, np.ndarray) and column.ndim == 1 else iter(column)


class _Left:
    """Knows how many items a flat iterator has yet to give."""

    __slots__ = ("_items",)

    def __init__(self, items: Any) -> None:
        self._items = items

    def __length_hint__(self) -> int:
        return len(self._items) - int(self._items.index)


def concat(parts: Sequence[Chunk]) -> Chunk:
    """Join chunks: as columns if all have them and agree, otherwise as rows."""
    filled = [part for part in parts if len(part)]
    if len(filled) < 2:
        return filled[0] if filled else EMPTY
    if all(part.has_columns for part in filled) and len({part.structure for part in filled}) == 1:
        columns = [column_concat(group) for group in zip(*(p.columns for p in filled), strict=True)]
        return Chunk.from_columns(filled[0].structure, columns, sum(map(len, filled)))
    return Chunk.from_rows([row for part in filled for row in part.rows])


def single(element: Any) -> Chunk:
    """A chunk of one element."""
    return Chunk.from_rows([element])


def indices_of(start: int, count: int) -> Array:
    return np.arange(start, start + count)
