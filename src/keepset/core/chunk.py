"""Chunk: a run of elements, held as columns, as rows, or both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import length_hint
from typing import Any

import numpy as np

from keepset.core.column import (
    Column,
    column_concat,
    column_of,
    column_take,
    freeze_leaf,
    read_only_column,
)
from keepset.core.dtypes import PLAIN_SCALARS, Array
from keepset.core.jagged import Jagged
from keepset.core.structure import Structure, structure_of
from keepset.core.tally import tally
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

    __slots__ = ("_columns", "_length", "_rows", "_rows_bytes", "_structure")

    def __init__(
        self,
        length: int,
        rows: list[Any] | None,
        structure: Structure | None,
        columns: list[Column] | None,
    ) -> None:
        self._length, self._rows = length, rows
        self._structure, self._columns = structure, columns
        self._rows_bytes: int | None = None

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
            tally("rows_made")
            self._rows = list(self._structure.rows(self._columns, self._length))
        return self._rows

    def iterate(self, shared: bool = False) -> tuple[Iterator[Any], Any]:
        """The elements, made one by one, and an iterator that knows how many are left.

        The elements are safe for several threads if ``shared`` says that they have to be.
        """
        if self._rows is None and self._columns and not self.structure.has_records:
            leaves = [leaves_of(column) for column in self._columns]
            make = self.structure.shared_rows if shared else self.structure.rows
            rows = iter(make(leaves, self._length))
            return rows, leaves[0] if type(leaves[0]) is not np.flatiter else _Left(leaves[0])
        rows = iter(self.rows)
        return rows, rows

    @property
    def pieces(self) -> Sequence[Chunk]:
        """Chunks of columns that can be had without joining any."""
        return [self]

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
            tally("columns_made")
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

    def read_only(self) -> Chunk:
        """The same elements with read-only arrays, for stages that yield them more than once."""
        if self._columns is not None:
            columns = [read_only_column(column) for column in self.columns]
            return Chunk.from_columns(self.structure, columns, self._length)
        for row in self.rows:
            freeze(row)
        return self

    def apart(self) -> Chunk:
        """The same leaves, in dicts and other containers that no other reader holds."""
        if self._columns is not None:
            return Chunk.from_columns(self.structure, self._columns, self._length)
        if not self._rows or structure_of(self._rows[0]).is_leaf:
            return self
        return Chunk.from_rows(list(map(apart, self._rows)))

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
            return sum(map(_size_of, self._columns))
        if not self._rows:
            return 0
        if self._rows_bytes is None:
            leaves = self.structure.leaves(self._rows[0])
            self._rows_bytes = len(self._rows) * sum(map(_leaf_size, leaves))
        return self._rows_bytes

    @property
    def own_bytes(self) -> int:
        """As ``size_bytes``, but views of something larger, which is in memory anyway, are free."""
        if self._columns is None:
            return self.size_bytes
        size = 0
        for column in self._columns:
            if isinstance(column, list):
                size += 64 * len(column)
            elif isinstance(column, Jagged):
                size += column.nbytes if _is_own(column.values, column.values.nbytes) else 0
            elif _is_own(column, column.nbytes):
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


def _leaf_size(leaf: Any) -> int:
    return len(leaf) if isinstance(leaf, bytes | str) else getattr(leaf, "nbytes", 64)


def _size_of(column: Column) -> int:
    if isinstance(column, list):
        return 64 * len(column)
    if isinstance(column, np.ndarray) and column.dtype.hasobject:
        return column.nbytes + sum(map(len, column.ravel().tolist()))
    return column.nbytes


def _is_own(array: Array, size_bytes: int) -> bool:
    """Whether all the memory that an array keeps alive is its own, and NumPy's."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.base is None and array.nbytes == size_bytes


EMPTY = Chunk.from_rows([])


def leaves_of(column: Column) -> Any:
    """An iterator over the leaves; ``left_of`` tells how many it has yet to give."""
    # A tenth faster than iterating over the array itself.
    return column.flat if isinstance(column, np.ndarray) and column.ndim == 1 else iter(column)


class _Left:
    """Knows how many items a flat iterator has yet to give."""

    __slots__ = ("_items",)

    def __init__(self, items: Any) -> None:
        self._items = items

    def __length_hint__(self) -> int:
        return left_of(self._items)


def left_of(leaves: Any) -> int:
    """How many leaves an iterator has yet to give."""
    if type(leaves) is np.flatiter:
        return len(leaves) - int(leaves.index)
    return length_hint(leaves)


def concat(parts: Sequence[Chunk]) -> Chunk:
    """Join chunks: as columns if all have them and agree, otherwise as rows."""
    filled = [part for part in parts if len(part)]
    if len(filled) < 2:
        return filled[0] if filled else EMPTY
    filled = [piece for part in filled for piece in part.pieces]
    if all(part.has_columns for part in filled) and len({part.structure for part in filled}) == 1:
        columns = [column_concat(group) for group in zip(*(p.columns for p in filled), strict=True)]
        return Chunk.from_columns(filled[0].structure, columns, sum(map(len, filled)))
    return Chunk.from_rows([row for part in filled for row in part.rows])


def chunk_of_columns(columns: Any, length: int) -> Chunk:
    """A chunk of the elements that have these columns, nested as the elements are."""
    structure = structure_of(columns)
    return Chunk.from_columns(structure, structure.leaves(columns), length)


def freeze(element: Any) -> None:
    """Make the arrays of an element read-only, which must be the caller's own objects."""
    kind = type(element)
    if kind is np.ndarray:
        element.flags.writeable = False
    elif kind not in PLAIN_SCALARS:
        for leaf in structure_of(element).leaves(element):
            freeze_leaf(leaf)


def apart(element: Any) -> Any:
    """The same leaves in containers of their own."""
    structure = structure_of(element)
    return element if structure.is_leaf else structure.build(structure.leaves(element))


def single(element: Any) -> Chunk:
    """A chunk of one element."""
    return Chunk.from_rows([element])


def indices_of(start: int, count: int) -> Array:
    return np.arange(start, start + count)
