"""RawRows: the rows of one array in a file, as they are stored there."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np

from keepset.core.column import column_take
from keepset.core.dtypes import Array
from keepset.errors import InvalidArgumentError
from keepset.exchange.arrays.npy_header import ArrayPlace, Header


class RawRows(ABC):
    """The rows of an array.

    Attributes:
        shape: That of the whole array.
        dtype: As it is stored; maybe of another byte order, or with fields.
        obstacle: Why rows cannot be had by position, if they cannot.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    obstacle: str | None = None

    @property
    def row_bytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape[1:])

    @abstractmethod
    def read(self, start: int, stop: int) -> Array:
        """The rows from ``start`` up to ``stop``."""

    def gather(self, rows: Array) -> Array:
        """Copies of the rows at these positions, in this order."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what is open."""


class MappedRows(RawRows):
    """Rows where they lie in memory, or on a disk that is mapped into it."""

    def __init__(self, array: Array) -> None:
        self.shape, self.dtype, self._array = array.shape, array.dtype, array

    def read(self, start: int, stop: int) -> Array:
        return self._array[start:stop]

    def gather(self, rows: Array) -> Array:
        if self._array.flags.c_contiguous and self._array.flags.aligned:
            return column_take(self._array, rows)  # type: ignore[return-value]
        # NumPy would copy the whole array first to take rows of one that lies otherwise.
        found: Array = self._array[rows]
        return found


class RemoteRows(RawRows):
    """Rows in a bucket, of which only what is wanted is fetched."""

    def __init__(self, where: ArrayPlace, header: Header, offset: int) -> None:
        if not header.has_rows_together:
            raise InvalidArgumentError(
                f"{where.title} has its columns together (Fortran order), so that no row could be "
                "fetched without all of them; copy it to a disk, or save it with "
                "np.ascontiguousarray"
            )
        self.shape, self.dtype = header.shape, header.dtype
        self._place, self._start = where.place, offset + header.start

    def read(self, start: int, stop: int) -> Array:
        size = self.row_bytes
        offset = self._start + start * size
        data = self._place.store.read_range(self._place.file, offset, (stop - start) * size)
        return self._array(data, stop - start)

    def gather(self, rows: Array) -> Array:
        size = self.row_bytes
        ranges = [(start, size) for start in (self._start + rows * size).tolist()]
        found = self._place.store.read_ranges(self._place.file, ranges)
        return self._array(b"".join(found), len(rows))

    def _array(self, data: Any, count: int) -> Array:
        return np.ndarray((count, *self.shape[1:]), self.dtype, data)


def check_size(size: int, header: Header, where: ArrayPlace) -> None:
    """An error if a file of this size lacks its end."""
    if size < header.size_bytes:
        raise where.damaged(f"has {size} bytes, and {header.size_bytes} are needed", byte=size)


def array_in(view: memoryview, header: Header, where: ArrayPlace) -> Array:
    """The array of a file that is in memory, where it lies."""
    check_size(len(view), header, where)
    order: Literal["F", "C"] = "F" if header.is_fortran else "C"
    try:
        return np.ndarray(header.shape, header.dtype, view, header.start, order=order)
    except ValueError as error:
        raise where.damaged(f"has the shape {header.shape} ({error})") from error
