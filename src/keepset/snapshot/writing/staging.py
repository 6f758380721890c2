"""Staging: elements on their way into a chunk, as copies that nobody else can reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from keepset.core.chunk import Chunk, concat
from keepset.core.column import Column, column_concat, own_leaf
from keepset.core.dtypes import mixes_text
from keepset.core.jagged import Jagged
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.structure import Structure

_MOST_PARTS = 256
# Rows of this size are better copied one by one to where they are wanted than first stacked.
_LARGE_ROW_BYTES = 4096

# NumPy lets other threads run while it copies, and then has to wait until they let it go on, which
# takes them up to 5 ms. Leaves of these sizes are copied in a fraction of that, without a pause.
_COPIED_AT_ONCE = range(_LARGE_ROW_BYTES, 4 << 20)

_LeafForm: TypeAlias = tuple[np.dtype[Any], tuple[int, ...]]


class Form(NamedTuple):
    """What elements have in common that fit into one block of memory: all but their values."""

    structure: Structure
    leaves: tuple[_LeafForm, ...]

    @classmethod
    def of(cls, structure: Structure, columns: Sequence[Column]) -> Self | None:
        """None if an element has leaves that vary in size, or are objects."""
        leaves = []
        for column in columns:
            leaf = _leaf_form(column)
            if leaf is None:
                return None
            leaves.append(leaf)
        return cls(structure, tuple(leaves)) if leaves else None


class Block:
    """Memory for the elements of one chunk, to be filled again and again.

    New memory costs as much as copying into it, because the system has to clear every page.
    """

    def __init__(self, form: Form, rows: int) -> None:
        self.form, self.used = form, 0
        self._columns = [np.empty((rows, *shape), dtype) for dtype, shape in form.leaves]
        self._bytes = [_bytes_of(column) for column in self._columns]

    @property
    def rows(self) -> int:
        return len(self._columns[0])

    @property
    def row_bytes(self) -> int:
        return sum(column.nbytes for column in self._columns) // self.rows

    def fill(self, columns: Sequence[Column], start: int) -> int:
        """Copy elements of the block's form, from ``start`` on; how many had room."""
        count = min(self.rows - self.used, len(columns[0]) - start)
        for own, data, column in zip(self._columns, self._bytes, columns, strict=True):
            if isinstance(column, list):
                for place, leaf in enumerate(column[start : start + count], self.used):
                    size = leaf.nbytes
                    if size in _COPIED_AT_ONCE and leaf.flags.c_contiguous:
                        data[place * size : (place + 1) * size] = _bytes_of(leaf)
                    else:
                        own[place] = leaf
            else:
                own[self.used : self.used + count] = column[start : start + count]
        self.used += count
        return count

    def chunk(self) -> Chunk:
        """What it was filled with."""
        columns: list[Column] = [column[: self.used] for column in self._columns]
        return Chunk.from_columns(self.form.structure, columns, self.used)


class Staging:
    """Collects elements of one shard until there are enough for a chunk."""

    def __init__(self) -> None:
        self._parts: list[Chunk] = []
        self._recent: list[Chunk] = []  # to be joined before there are too many: each takes memory
        self._block: Block | None = None  # its elements are the last ones
        self.rows = 0
        self.size_bytes = 0

    def add(self, chunk: Chunk) -> None:
        """Take in elements that nobody will change."""
        self._close_block()
        self._append(chunk)
        self.rows += len(chunk)
        self.size_bytes += chunk.size_bytes

    def fill(self, columns: Sequence[Column], start: int) -> int:
        """Copy elements from ``start`` on into the block that has room for them; how many had."""
        assert self._block is not None
        count = self._block.fill(columns, start)
        self.rows += count
        self.size_bytes += count * self._block.row_bytes
        return count

    def open_block(self, block: Block) -> None:
        """Copy what comes next into this one."""
        self._close_block()
        self._block = block

    def has_room_for(self, form: Form) -> bool:
        block = self._block
        return block is not None and block.used < block.rows and block.form == form

    def take(self, rows: int) -> tuple[Chunk, Block | None]:
        """Give the first ``rows`` elements, or all there are.

        If they are what a block holds, that is given too: it can be filled again once they are
        written.
        """
        block = self._block
        if block is not None and block.used == self.rows <= rows:
            self._block, self.rows, self.size_bytes = None, 0, 0
            return block.chunk(), block
        self._close_block()
        whole = concat([*self._parts, *self._recent])
        chunk, rest = whole[:rows], whole[rows:]
        self._parts, self._recent, self.rows, self.size_bytes = [], [], 0, 0
        if len(rest):
            self.add(rest)
        return chunk, None

    def _close_block(self) -> None:
        """Make what the block holds a part like the others."""
        if self._block is not None and self._block.used:
            self._append(self._block.chunk())
        self._block = None

    def _append(self, chunk: Chunk) -> None:
        self._recent.append(chunk)
        if len(self._recent) == _MOST_PARTS:
            self._parts.append(concat(self._recent))
            self._recent = []


def loose_columns(chunk: Chunk) -> list[Column]:
    """The columns as they are; those of large rows as lists, if nobody has stacked them yet."""
    if chunk.has_columns:
        return chunk.columns
    if chunk.size_bytes < _LARGE_ROW_BYTES * len(chunk):
        return chunk.columns
    return list(chunk.structure.columns(chunk.rows))


def copied(chunk: Chunk) -> Chunk:
    """The elements in memory of their own, as columns."""
    pieces = chunk.pieces
    if len(pieces) > 1:
        # Joining them is a copy already, of all but leaves that stay apart.
        whole = [column_concat(parts) for parts in zip(*(p.columns for p in pieces), strict=True)]
        columns = [_own(column, False) for column in whole]
    else:
        had_columns = chunk.has_columns
        columns = [_own(column, had_columns) for column in chunk.columns]
    return Chunk.from_columns(chunk.structure, columns, len(chunk))


def is_read_only(chunk: Chunk) -> bool:
    """Whether the elements are columns, none of which can be written to."""
    return chunk.has_columns and all(map(_is_read_only, chunk.columns))


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


def _bytes_of(array: Any) -> memoryview:
    """The memory of an array that lies in order."""
    return memoryview(array.reshape(-1).view(np.uint8))


def _leaf_form(column: Column) -> _LeafForm | None:
    if isinstance(column, np.ndarray):
        return None if column.dtype.hasobject else (column.dtype, column.shape[1:])
    if not isinstance(column, list) or not isinstance(column[0], np.ndarray | np.generic):
        return None
    first: Any = column[0]
    dtype, shape, kind = first.dtype, first.shape, type(first)
    for leaf in column:
        if type(leaf) is not kind or leaf.shape != shape or leaf.dtype != dtype:
            return None
    return None if dtype.hasobject else (dtype, shape)


def _own(column: Column, is_shared: bool) -> Column:
    if isinstance(column, list):
        return Jagged.of(column) if _are_lists(column) else [own_leaf(leaf) for leaf in column]
    if isinstance(column, Jagged):
        return column.copy() if is_shared else column
    # Columns that were made of rows just now are a copy already, but for a single row.
    return column.copy() if is_shared or len(column) == 1 else column


def _are_lists(leaves: list[Any]) -> bool:
    """Whether leaves differ in their lengths only, so that one copy of all of them will do."""
    dtype = getattr(leaves[0], "dtype", None)
    are_of_one_dtype = all(
        type(leaf) is np.ndarray and leaf.ndim == 1 and leaf.dtype == dtype for leaf in leaves
    )
    return are_of_one_dtype and not mixes_text(leaves)


def _is_read_only(column: Column) -> bool:
    if isinstance(column, Jagged):
        return not column.values.flags.writeable
    return isinstance(column, np.ndarray) and not column.flags.writeable


def _frozen_column(column: Column) -> Column:
    if isinstance(column, list):
        for leaf in column:
            _freeze(leaf)
        return column
    if isinstance(column, Jagged):
        values = column.values.view()
        values.flags.writeable = False
        return Jagged(values, column.starts, column.stops)
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
