"""PlainRows: rows of mapped, uncompressed files by their places in memory, without decoding."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.column import Column
from keepset.core.dtypes import Array
from keepset.core.structure import Structure


_SMALL = (1, 2, 4, 8)


class _Column(NamedTuple):
    """A leaf of the elements; ``addresses`` says for each chunk where it begins."""

    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    row_bytes: int
    addresses: Array

    @property
    def is_small(self) -> bool:
        """Whether a row is as large as a number of NumPy's."""
        return self.row_bytes in _SMALL


class _Windows(NamedTuple):
    """All mapped memory as items of the size of a row, for each column.

    Items of a small column lie side by side; those of others overlap, one begins at every byte.
    """

    files: int
    first: int  # the lowest address
    items: list[Array]


class PlainRows:
    """Where the rows are of those chunks that were read before, and so were checked.

    A row of a column is so many bytes at some address. NumPy gathers them from any addresses in one
    go if memory, from the first file that is mapped to the end of the last one, is seen as items of
    that size. Only those are ever touched that begin where a row begins: what lies between the
    files need not be memory at all.

    Safe to use from many threads, without a lock that a fork could leave behind.
    """

    def __init__(self, chunks: int) -> None:
        self._files: dict[int, Array] = {}  # by their addresses
        self._made: dict[Structure, list[_Column]] = {}  # at most one
        self._is_known: Array = np.zeros(chunks, bool)
        self._are_known = False
        self._is_possible = True
        self._windows = _Windows(0, 0, [])

    def note(self, number: int, chunk: Chunk, file: memoryview) -> None:
        """Learn from a chunk that was decoded where its columns are: in the mapped ``file``."""
        if not self._is_possible or self._is_known[number]:
            return
        memory = np.frombuffer(file, np.uint8)
        arrays = [column for column in chunk.columns if _lies_in(column, memory)]
        if not arrays or len(arrays) < len(chunk.columns):
            self._is_possible = False
            return
        made = [_column_like(array, len(self._is_known)) for array in arrays]
        columns = self._made.setdefault(chunk.structure, made)
        for column, array in zip(columns, arrays, strict=True):
            if column[:2] != (array.dtype, array.shape[1:]) or len(self._made) > 1:
                self._is_possible = False
                return
            column.addresses[number] = array.ctypes.data
        self._files.setdefault(memory.ctypes.data, memory)
        # The last step: from now on somebody else may rely on all of the above.
        self._is_known[number] = True
        self._are_known = bool(self._is_known.all())

    def unknown(self, numbers: Array) -> Array | None:
        """Which of these chunks have to be read before; None if ``gather`` is of no use here."""
        if not self._is_possible:
            return None
        if self._are_known:
            return numbers[:0]
        return np.unique(numbers[~self._is_known[numbers]])

    def gather(self, numbers: Array, places: Array) -> Chunk:
        """The rows at these places of these chunks, in this order. All chunks must be known."""
        windows = self._windows
        if windows.files != len(self._files):
            windows = self._windows = self._open_windows()
        [(structure, columns)] = self._made.items()
        gathered: list[Column] = []
        for column, items in zip(columns, windows.items, strict=True):
            at = places * column.row_bytes
            at += column.addresses[numbers]
            at -= windows.first
            if column.is_small:
                at //= column.row_bytes
                found = items.take(at)
            else:
                found = items[at]
            rows: Array = found.view(column.dtype).reshape(len(at), *column.shape)
            rows.flags.writeable = False
            gathered.append(rows)
        return Chunk.from_columns(structure, gathered, len(numbers))

    def _open_windows(self) -> _Windows:
        files = list(self._files.items())
        first = min(address for address, _ in files)
        end = max(address + len(memory) for address, memory in files)
        memory: Any = (ctypes.c_uint8 * (end - first)).from_address(first)
        [columns] = self._made.values()
        items: list[Array] = []
        for column in columns:
            size = column.row_bytes
            if column.is_small:
                items.append(np.frombuffer(memory, f"u{size}", (end - first) // size))
            else:
                shape = (end - first - size + 1,)
                items.append(np.ndarray(shape, f"V{size}", memory, strides=(1,)))
        return _Windows(len(files), first, items)


def _column_like(column: Array, chunks: int) -> _Column:
    addresses = np.zeros(chunks, np.int64)
    return _Column(column.dtype, column.shape[1:], column.nbytes // len(column), addresses)


def _lies_in(column: Column, memory: Array) -> TypeGuard[Array]:
    """Whether a column is rows of one size, one behind the other, in this memory."""
    if not isinstance(column, np.ndarray) or column.dtype.hasobject or not column.nbytes:
        return False
    start, row_bytes = column.ctypes.data - memory.ctypes.data, column.nbytes // len(column)
    is_inside = 0 <= start <= len(memory) - column.nbytes
    is_aligned = row_bytes not in _SMALL or start % row_bytes == 0
    return bool(is_inside and is_aligned and column.flags.c_contiguous)
