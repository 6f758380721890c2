"""NumPy's ``.npy`` files: the rows of one array, where they lie on the disk."""

from __future__ import annotations

import io
import math
from typing import Any, BinaryIO, Final

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.column import Column, column_rows
from keepset.core.dtypes import is_numeric
from keepset.core.node import stage
from keepset.core.spec import LeafSpec, Shape, Spec, TensorSpec
from keepset.core.structure import LEAF
from keepset.errors import InvalidArgumentError
from keepset.exchange.arrays.column_paths import chosen_members, field_paths
from keepset.exchange.arrays.column_source import ArrayColumn, Fields
from keepset.exchange.arrays.columns_file import ColumnFiles, ColumnsFile
from keepset.exchange.arrays.npy_header import ArrayPlace, Header, header_bytes, read_header
from keepset.exchange.arrays.raw_rows import MappedRows, RawRows, RemoteRows, array_in, check_size
from keepset.exchange.arrays.stacked import first_unlike, stacked
from keepset.exchange.files.exporting import RowWriter, unfit
from keepset.exchange.files.row_file import Place, RowFile

_MAGIC: Final = b"\x93NUMPY"
# Room for the digits of any number of rows: the header is written again when that is known.
_GROWTH: Final = 21
# What one request fetches as quickly as less.
_USUAL_HEADER_BYTES: Final = 1 << 16
_OF_OTHERS: Final = 2  # dtypes that another package adds


@stage
class ReadNpy(ColumnFiles):
    """The rows of the array in each file."""

    def open_file(self, place: Place) -> RowFile:
        where = ArrayPlace(place)
        raw = _rows_of(where)
        fields = _chosen_fields(raw.dtype, self.columns, place.name)
        try:
            return ColumnsFile(ArrayColumn(raw, fields, where))
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"{place.name}: {error}") from error


def _rows_of(where: ArrayPlace) -> RawRows:
    place = where.place
    view = place.store.view(place.file)
    if view is not None:
        header = _header(view[: header_bytes(view)], where)
        return MappedRows(array_in(view, header, where))
    size = place.store.size(place.file)
    header = _header(_remote_start(place, size), where)
    check_size(size, header, where)
    return RemoteRows(where, header, 0)


def _header(start: memoryview | bytes, where: ArrayPlace) -> Header:
    header = read_header(io.BytesIO(start), where)
    if header.problem is not None:
        raise InvalidArgumentError(
            f"{where.title} holds {header.problem}; save arrays of numbers or strings"
        )
    return header


def _remote_start(place: Place, size: int) -> memoryview | bytes:
    """What precedes the numbers of an array in a bucket."""
    start = place.store.read_range(place.file, 0, min(size, _USUAL_HEADER_BYTES))
    needed = min(size, header_bytes(start))
    return start if needed <= len(start) else place.store.read_range(place.file, 0, needed)


def _chosen_fields(dtype: np.dtype[Any], columns: tuple[Any, ...] | None, where: str) -> Fields:
    """Those of a type's fields that are wanted."""
    if columns is not None and field_paths(dtype) == [()]:
        raise InvalidArgumentError(
            f"{where} has one array without named fields; leave out columns={columns!r}"
        )
    [(_, fields)] = chosen_members([()], lambda _: field_paths(dtype), columns, where)
    return fields


class NpyWriter(RowWriter):
    """Writes elements that are arrays of one shape, one behind the other."""

    def __init__(self, file: BinaryIO, spec: Spec, path: str = "") -> None:
        self._file, self._path = file, path
        self._dtype, self._shape = array_type(spec, path)
        self._rows = self._head_bytes = 0

    def _begin(self, shape: tuple[int, ...]) -> None:
        """Leave room for the header, now that the shape of a row is known."""
        self._shape = shape
        longest = len(repr(np.lib.format.dtype_to_descr(self._dtype))) + len(repr(shape)) + 100
        self._head_bytes = 64 * math.ceil((longest + _GROWTH) / 64)
        self._file.write(bytes(self._head_bytes))

    def _header(self) -> bytes:
        facts = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self._rows, *(self._shape or ())),
        }
        text = repr(facts).encode()
        length = self._head_bytes
        padding = length - len(_MAGIC) - 4 - len(text) - 1
        size = (length - len(_MAGIC) - 4).to_bytes(2, "little")
        return _MAGIC + b"\x01\x00" + size + text + b" " * padding + b"\n"

    def write(self, chunk: Chunk) -> None:
        if not chunk.structure.is_leaf:
            raise LEAF.difference(chunk.structure, 0)
        [column] = chunk.columns
        self.add(column, len(chunk))

    def add(self, column: Column, rows: int) -> None:
        """Add one column of elements."""
        array = stacked(column)
        if not self._head_bytes:
            self._begin(np.shape(column_rows(column)[0]) if array is None else array.shape[1:])
        if array is None or array.dtype != self._dtype or array.shape[1:] != self._shape:
            row, found = first_unlike(column, TensorSpec(self._shape, self._dtype))
            raise unfit(
                self._path,
                f"this has the shape {found.shape} and the dtype {found.dtype}, and all rows of an "
                f"array have one ({self._shape}, {self._dtype}); use padded_batch, cast it with "
                "map, or use a format with lists, such as Parquet",
                row,
            )
        self._file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        self._rows += rows

    def finish(self) -> None:
        if not self._head_bytes:
            self._begin(tuple(size or 0 for size in self._shape or ()))
        self._file.flush()
        self._file.seek(0)
        self._file.write(self._header())
        self._file.flush()


def array_type(spec: Spec, path: str) -> tuple[np.dtype[Any], Shape]:
    """The dtype and shape of rows that become an array; sizes may be found out later."""
    if not isinstance(spec, LeafSpec):
        raise unfit(path, f"{spec} is not one array; write_npz takes dicts and tuples of them")
    if not isinstance(spec, TensorSpec):
        raise unfit(path, f"{spec} is not an array; make it one with map, or use Parquet")
    if not isinstance(spec.dtype, np.dtype) or not is_numeric(spec.dtype):
        raise unfit(path, "NumPy's strings lose zeros at their end; use Parquet or HDF5")
    if spec.dtype.isbuiltin == _OF_OTHERS:
        raise unfit(path, f"NumPy does not know {spec.dtype} in its files; cast it with map")
    return spec.dtype, spec.shape
