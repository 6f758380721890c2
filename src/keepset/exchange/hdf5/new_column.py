"""Data sets of a new HDF5 file, which grow as elements come."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from keepset.core.column import Column, column_rows
from keepset.core.dtypes import Array, StringType, is_numeric, string
from keepset.core.spec import LeafSpec, TensorSpec, is_untyped, spec_of
from keepset.core.untyped import is_untyped_leaf, typed_column
from keepset.exchange.arrays.stacked import first_unlike, stacked
from keepset.exchange.files.exporting import unfit
from keepset.exchange.hdf5.library import h5py

# What is stored together: large enough to be packed well, and small enough for the library to
# keep it in memory.
_CHUNK_BYTES: Final = 512 << 10
_MOST_CHUNK_ROWS: Final = 1 << 16
_MOST_CHUNK_BYTES: Final = 1 << 32
# Of texts and lists, a chunk holds only where they are.
_LIST_CHUNK_ROWS: Final = 1024
_OF_OTHERS: Final = 2  # dtypes that another package adds

# Makes a data set: its name, dtype, the shape of a row and how many rows are stored together.
Make: TypeAlias = Callable[[str, Any, tuple[int, ...], int], Any]


def new_column(spec: LeafSpec, name: str, make: Make, chunk_rows: int | None) -> NewColumn:
    """The data set for a leaf; an error if HDF5 has none for it."""
    if not isinstance(spec, TensorSpec):
        raise unfit(name, f"{spec} is not an array; make it one with map, or use Parquet")
    dtype = spec.dtype
    if isinstance(dtype, StringType):
        return _Texts(name, make, spec)
    if not is_numeric(dtype) or dtype.isbuiltin == _OF_OTHERS:
        raise unfit(name, f"HDF5 does not know {dtype}; cast it with map")
    if spec.shape == (None,):
        return _Lists(name, make, dtype)
    return _Arrays(name, make, spec, chunk_rows)


class NewColumn(ABC):
    """A data set that grows.

    Attributes:
        leaves_space: Whether it took the place of another one, whose space is left in the file.
    """

    leaves_space = False

    def __init__(self, name: str, make: Make) -> None:
        self._name, self._make = name, make
        self._data: Any = None

    @abstractmethod
    def add(self, column: Column, rows: int) -> NewColumn:
        """Add rows; the column that takes the next ones."""

    @abstractmethod
    def finish(self) -> None:
        """Write what waits; at least an empty data set."""

    def _append(self, rows: Array) -> None:
        start = self._data.shape[0]
        self._data.resize(start + len(rows), axis=0)
        if not rows.size:
            return
        # The library itself, for h5py makes tables of lists that happen to be of one length.
        room = self._data.id.get_space()
        room.select_hyperslab((start, *(0,) * (rows.ndim - 1)), rows.shape)
        given = h5py().h5s.create_simple(rows.shape)
        kind = h5py().h5t.py_create(self._data.dtype)
        self._data.id.write(given, room, np.ascontiguousarray(rows, self._data.dtype), kind)


class _Arrays(NewColumn):
    """Arrays of one shape. They wait until they fill what is stored together."""

    def __init__(self, name: str, make: Make, spec: TensorSpec, chunk_rows: int | None) -> None:
        super().__init__(name, make)
        self._dtype: Any = spec.dtype
        self._spec_shape = spec.shape
        self._shape: tuple[int, ...] | None = None
        self._waiting: list[Array] = []
        self._count = 0
        self._chunk_rows = chunk_rows

    def add(self, column: Column, rows: int) -> NewColumn:
        column = self._typed(column)
        array = stacked(column)
        if self._shape is None and array is not None:
            self._shape = array.shape[1:]
        if array is None or array.dtype != self._dtype or array.shape[1:] != self._shape:
            return self._as_lists(column).add(column, rows)
        self._waiting.append(array)
        self._count += rows
        if self._count >= self._rows_together:
            self._write(self._count - self._count % self._rows_together)
        return self

    def _typed(self, column: Column) -> Column:
        """The rows, in which empty lists have the dtype of others; so have those before them."""
        if self._shape is not None and is_untyped(TensorSpec(self._shape, self._dtype)):
            others = (leaf for leaf in column_rows(column) if not is_untyped_leaf(leaf))
            dtype = getattr(next(others, None), "dtype", self._dtype)
            self._dtype = dtype if is_numeric(dtype) else self._dtype
            found = TensorSpec(None, self._dtype)
            self._waiting = [typed_column(rows, found) for rows in self._waiting]
        typed: Column = typed_column(column, TensorSpec(None, self._dtype))
        return typed

    @property
    def _rows_together(self) -> int:
        if self._chunk_rows is not None:
            return self._chunk_rows
        row_bytes: int = self._dtype.itemsize * math.prod(self._shape or ())
        return max(1, min(_MOST_CHUNK_ROWS, _CHUNK_BYTES // max(1, row_bytes)))

    def _as_lists(self, column: Column) -> NewColumn:
        """Lengths differ after all: what is there becomes lists as well."""
        shape = self._shape
        for row, leaf in enumerate(column_rows(column)):
            array = np.asarray(leaf)
            is_list = array.ndim == 1 and (shape is None or len(shape) == 1)
            if array.dtype != self._dtype or (array.shape != shape and not is_list):
                raise unfit(
                    self._name,
                    f"this has the shape {array.shape} and the dtype {array.dtype}, and all rows "
                    f"of a data set have one ({shape}, {self._dtype}); use padded_batch, cast it "
                    "with map, or use Parquet",
                    row,
                )
        written, self._data = self._data, None
        if written is not None:
            del written.parent[written.name.rpartition("/")[2]]
        # The library copies lists of one chunk at once, so large ones are stored by the few.
        step = self._rows_together
        lists = _Lists(self._name, self._make, self._dtype, min(step, _LIST_CHUNK_ROWS))
        if written is not None:
            lists.leaves_space = True
            for start in range(0, len(written), step):
                rows = written[start : start + step]
                lists.add(rows, len(rows))
        for waiting in self._waiting:
            lists.add(waiting, len(waiting))
        return lists

    def _write(self, rows: int) -> None:
        joint = np.concatenate(self._waiting)
        if self._data is None:
            dtype = h5py().opaque_dtype(self._dtype) if self._dtype.kind in "mM" else self._dtype
            together = min(self._rows_together, max(1, self._count))
            if together * joint[:1].nbytes >= _MOST_CHUNK_BYTES:
                raise unfit(
                    self._name,
                    f"HDF5 stores less than 4 GB together, and {together} rows have more; pass a "
                    "smaller chunk_rows, or write smaller elements",
                )
            self._data = self._make(self._name, dtype, joint.shape[1:], together)
        self._append(joint[:rows])
        self._count -= rows
        self._waiting = [joint[rows:].copy()]

    def finish(self) -> None:
        if self._shape is None:
            shape = tuple(size or 0 for size in self._spec_shape or ())
            self._waiting = [np.empty((0, *shape), self._dtype)]
        self._write(self._count)


class _Lists(NewColumn):
    """Arrays of one dimension and of any length."""

    def __init__(
        self, name: str, make: Make, dtype: np.dtype[Any], chunk_rows: int = _LIST_CHUNK_ROWS
    ) -> None:
        super().__init__(name, make)
        if dtype.kind in "mM":
            raise unfit(name, f"HDF5 has no lists of {dtype}; make numbers of them with map")
        self._items = dtype
        self._data = make(name, h5py().vlen_dtype(dtype), (), chunk_rows)

    def add(self, column: Column, rows: int) -> NewColumn:
        lists = np.empty(rows, self._data.dtype)
        column = typed_column(column, TensorSpec(None, self._items))
        for place, leaf in enumerate(column_rows(column)):
            fits = isinstance(leaf, np.ndarray) and leaf.ndim == 1 and leaf.dtype == self._items
            if not fits:
                raise unfit(
                    self._name,
                    f"this is {spec_of(leaf)}, and the data set holds arrays of {self._items} with "
                    "one dimension; use padded_batch, cast it with map, or use a format with lists "
                    "of all kinds, such as Parquet",
                    place,
                )
            lists[place] = leaf
        self._append(lists)
        return self

    def finish(self) -> None:
        pass


class _Texts(NewColumn):
    """Strings, or arrays of them that have one shape."""

    def __init__(self, name: str, make: Make, spec: TensorSpec) -> None:
        super().__init__(name, make)
        self._shape = spec.shape

    def add(self, column: Column, rows: int) -> NewColumn:
        array = stacked(column)
        shape = np.shape(column_rows(column)[0]) if self._data is None else self._data.shape[1:]
        if array is None or array.dtype != object or array.shape[1:] != shape:
            row, found = first_unlike(column, TensorSpec(shape, string))
            raise unfit(
                self._name,
                f"this is {found}, and all rows of a data set of texts have one shape, {shape}; "
                "use padded_batch, or a format with lists of all kinds, such as Parquet",
                row,
            )
        if any(b"\0" in text for text in array.ravel().tolist()):
            raise unfit(
                self._name,
                "a string of HDF5 ends at a zero byte, which some of these have within; make "
                "arrays of them with np.frombuffer(x, np.uint8), or use Parquet",
            )
        self._begin(array.shape[1:])
        self._append(array)
        return self

    def _begin(self, shape: tuple[int, ...]) -> None:
        if self._data is None:
            self._data = self._make(self._name, h5py().string_dtype(), shape, _LIST_CHUNK_ROWS)

    def finish(self) -> None:
        self._begin(tuple(size or 0 for size in self._shape or ()))
