"""ColumnSource: one column of a file, read as elements need it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from keepset.core.arrays import as_array
from keepset.core.dtypes import Array, as_dtype
from keepset.core.spec import Spec, TensorSpec
from keepset.errors import ElementError
from keepset.exchange.arrays.npy_header import ArrayPlace
from keepset.exchange.arrays.raw_rows import RawRows

CHUNK_BYTES: Final = 1 << 20
_MOST_ROWS: Final = 4096

# The fields of a structured type that are wanted, each with its own; None for one without fields.
Fields: TypeAlias = "Mapping[str, Fields] | None"


class ColumnSource(ABC):
    """One column of a file: of arrays, or of dicts of them.

    Attributes:
        spec: The spec of what it adds to an element.
        length: How many rows it has.
        row_bytes: About how many bytes a row takes.
        obstacle: Why rows cannot be had by position, if they cannot.
    """

    spec: Spec
    length: int
    row_bytes: int
    obstacle: str | None = None

    @abstractmethod
    def read(self, start: int, stop: int) -> Any:
        """The columns of these rows, nested as ``spec`` is."""

    @abstractmethod
    def gather(self, rows: Array) -> Any:
        """The columns of the rows at these positions, in this order."""

    def stop(self, start: int) -> int:
        """Up to where a read that begins at ``start`` should go at most."""
        return self.length

    def close(self) -> None:
        """Let go of what is open."""


class ArrayColumn(ColumnSource):
    """The rows of an array, or of some fields of it."""

    def __init__(self, raw: RawRows, fields: Fields, where: ArrayPlace) -> None:
        self._raw, self._fields, self._where = raw, fields, where
        self.spec = rows_spec(raw.dtype, raw.shape[1:], fields)
        self.length, self.row_bytes = raw.shape[0], raw.row_bytes
        self.obstacle = raw.obstacle

    def read(self, start: int, stop: int) -> Any:
        return self._columns(self._raw.read(start, stop), start)

    def gather(self, rows: Array) -> Any:
        return self._columns(self._raw.gather(rows), int(rows[0]) if len(rows) else 0)

    def _columns(self, rows: Array, first: int) -> Any:
        try:
            return columns_of(rows, self._fields)
        except (ElementError, ValueError) as error:
            # Text may be written that is none.
            raise self._where.damaged(f"holds other text ({error})", record=first) from error

    def close(self) -> None:
        self._raw.close()


def rows_spec(dtype: np.dtype[Any], shape: tuple[int, ...], fields: Fields) -> Spec:
    """The spec of rows of this shape; an InvalidArgumentError for types that no leaf can have."""
    if dtype.subdtype is not None:
        inner, more = dtype.subdtype
        return rows_spec(inner, (*shape, *more), fields)
    if fields is None:
        return TensorSpec(shape, as_dtype(dtype))
    return {name: rows_spec(dtype[name], shape, inner) for name, inner in fields.items()}


def columns_of(rows: Array, fields: Fields) -> Any:
    """The columns of some rows: dicts of the fields, if there are any."""
    if fields is None:
        return usable(as_array(rows))
    return {name: columns_of(rows[name], inner) for name, inner in fields.items()}


def usable(rows: Array) -> Array:
    """Rows that all programs can work with: where their types want them, one behind the other."""
    if rows.flags.c_contiguous and rows.flags.aligned:
        return rows
    copy = rows.copy()
    copy.flags.writeable = rows.flags.writeable
    return copy


def rows_at_once(row_bytes: int) -> int:
    """How many rows make about a megabyte."""
    return max(1, min(_MOST_ROWS, CHUNK_BYTES // max(1, row_bytes)))
