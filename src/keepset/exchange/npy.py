"""NumPy's ``.npy`` files: the rows of one array, where they lie on the disk."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np

from keepset.core.arrays import as_array
from keepset.core.chunk import Chunk, chunk_of_columns
from keepset.core.column import Column, column_take
from keepset.core.dtypes import Array, is_numeric
from keepset.core.node import stage
from keepset.core.spec import Shape, Spec, TensorSpec, spec_of
from keepset.errors import InvalidArgumentError
from keepset.exchange.exporting import RowWriter, unfit
from keepset.exchange.file_rows import FileRows
from keepset.exchange.row_file import Place, RowFile, selected_columns

CHUNK_BYTES: Final = 1 << 20
_MOST_ROWS: Final = 4096
_MAGIC: Final = b"\x93NUMPY"
# A header that is longer than this is not of an array that anybody saved.
_MOST_HEADER_BYTES: Final = 1 << 20
# Room for the digits of any number of rows: the header is written again when that is known.
_GROWTH: Final = 21
_OF_OTHERS: Final = 2  # dtypes that another package adds


@stage
class ReadNpy(FileRows):
    """The rows of the array in each file."""

    knows_length = True
    is_addressable = True

    def open_file(self, place: Place) -> RowFile:
        view = place.store.view(place.file)
        if view is not None:
            return ArrayRows(array_in(view, place), self.columns, place.name)
        return _RemoteNpy(place, self.columns)


class ArrayRows(RowFile):
    """The rows of an array: dicts, if it is a structured one."""

    def __init__(self, array: Array, columns: tuple[Any, ...] | None, where: str) -> None:
        self._array = array
        self.length = len(array)
        self._names = _field_names(array.dtype, columns, where)
        first = self._elements(np.zeros((1, *array.shape[1:]), array.dtype))
        self.spec: Spec = spec_of(first.rows[0])

    def _elements(self, rows: Array) -> Chunk:
        return elements_of(rows, self._names)

    def chunks(self, start: int) -> Iterator[Chunk]:
        step = rows_at_once(self._array.nbytes // max(1, len(self._array)))
        for at in range(start, len(self._array), step):
            yield self._elements(self._array[at : at + step])

    def gather(self, rows: Array) -> Chunk:
        return self._elements(column_take(self._array, rows))  # type: ignore[arg-type]


class _RemoteNpy(RowFile):
    """The rows of an array in a bucket, of which only what is wanted is fetched."""

    def __init__(self, place: Place, columns: tuple[Any, ...] | None) -> None:
        self._place = place
        start = place.store.read_range(place.file, 0, min(_MOST_HEADER_BYTES, self._size()))
        self._header = read_header(io.BytesIO(start), place)
        if self._header.is_fortran and len(self._header.shape) > 1:
            raise InvalidArgumentError(
                f"{place.name} has its columns together (Fortran order), so that no row could be "
                "fetched without all of them; copy it to a disk, or save it with "
                "np.ascontiguousarray"
            )
        shape, dtype = self._header.shape, self._header.dtype
        self._row_bytes = dtype.itemsize * math.prod(shape[1:])
        self._check_size()
        self.length = shape[0]
        self._names = _field_names(dtype, columns, place.name)
        self.spec: Spec = spec_of(
            elements_of(np.zeros((1, *shape[1:]), dtype), self._names).rows[0]
        )

    def _size(self) -> int:
        return self._place.store.size(self._place.file)

    def _check_size(self) -> None:
        needed = self._header.start + self._row_bytes * self._header.shape[0]
        if self._size() < needed:
            raise self._place.damaged(f"it has {self._size()} bytes, and {needed} are needed")

    def chunks(self, start: int) -> Iterator[Chunk]:
        assert self.length is not None
        step = rows_at_once(self._row_bytes)
        for at in range(start, self.length, step):
            yield self._rows(at, min(step, self.length - at))

    def _rows(self, start: int, count: int) -> Chunk:
        offset = self._header.start + start * self._row_bytes
        size = count * self._row_bytes
        data = self._place.store.read_range(self._place.file, offset, size)
        return elements_of(self._array(data, count), self._names)

    def _array(self, data: Any, count: int) -> Array:
        shape, dtype = self._header.shape, self._header.dtype
        return np.frombuffer(data, dtype, count * math.prod(shape[1:])).reshape(count, *shape[1:])

    def gather(self, rows: Array) -> Chunk:
        starts = (self._header.start + rows * self._row_bytes).tolist()
        ranges = [(start, self._row_bytes) for start in starts]
        found = self._place.store.read_ranges(self._place.file, ranges)
        return elements_of(self._array(b"".join(found), len(rows)), self._names)


class Header(NamedTuple):
    """What a file says of its array, and where its numbers begin."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]
    start: int


def read_header(file: BinaryIO, place: Place) -> Header:
    """Read what precedes the numbers; what would run code is refused."""
    try:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            found = np.lib.format.read_array_header_1_0(file)
        else:
            found = np.lib.format.read_array_header_2_0(file)
    except Exception as error:
        raise place.damaged(f"it is no .npy file ({error})") from error
    shape, is_fortran, dtype = found
    if dtype.hasobject:
        raise InvalidArgumentError(
            f"{place.name} holds Python objects, which are pickled: to read them would run code; "
            "save arrays of numbers or strings"
        )
    if not shape:
        raise InvalidArgumentError(f"{place.name} holds a single value, which has no rows")
    return Header(shape, is_fortran, dtype, file.tell())


def array_in(view: memoryview, place: Place) -> Array:
    """The array of a file that is in memory, where it lies."""
    header = read_header(io.BytesIO(view[:_MOST_HEADER_BYTES]), place)
    needed = header.start + header.dtype.itemsize * math.prod(header.shape)
    if len(view) < needed:
        raise place.damaged(f"it has {len(view)} bytes, and {needed} are needed")
    flat = np.frombuffer(view, header.dtype, math.prod(header.shape), header.start)
    flat.flags.writeable = False
    return flat.reshape(header.shape, order="F" if header.is_fortran else "C")


def rows_at_once(row_bytes: int) -> int:
    """How many rows make about a megabyte."""
    return max(1, min(_MOST_ROWS, CHUNK_BYTES // max(1, row_bytes)))


def elements_of(rows: Array, names: list[str] | None) -> Chunk:
    """The elements of some rows: dicts of the fields, if there are any."""
    return chunk_of_columns(_columns_of(rows, names), len(rows))


def _columns_of(rows: Array, names: list[str] | None) -> Any:
    if names is None:
        return as_array(rows)
    fields = {name: rows[name] for name in names}
    # A field may have fields again.
    return {name: _columns_of(f, list(f.dtype.names or ()) or None) for name, f in fields.items()}


def _field_names(
    dtype: np.dtype[Any], columns: tuple[Any, ...] | None, where: str
) -> list[str] | None:
    if dtype.names is None:
        if columns is not None:
            raise InvalidArgumentError(
                f"{where} has one array without named fields; leave out columns={columns!r}"
            )
        return None
    return selected_columns(list(dtype.names), columns, where)


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
        [column] = chunk.columns
        self.add(column, len(chunk))

    def add(self, column: Column, rows: int) -> None:
        """Add one column of elements."""
        if isinstance(column, np.ndarray) and not self._head_bytes:
            self._begin(column.shape[1:])
        fits = isinstance(column, np.ndarray) and column.dtype == self._dtype
        if not fits or column.shape[1:] != self._shape:  # type: ignore[union-attr]
            raise unfit(
                self._path,
                f"its shape or dtype varies, and all rows of an array have one ({self._shape}, "
                f"{self._dtype}); use padded_batch, or a format with lists, such as Parquet",
            )
        assert isinstance(column, np.ndarray)
        self._file.write(np.ascontiguousarray(column).reshape(-1).view(np.uint8).data)
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
    if not isinstance(spec, TensorSpec):
        raise unfit(path, f"{spec} is not an array of one shape; write_npz takes dicts of them")
    if not isinstance(spec.dtype, np.dtype) or not is_numeric(spec.dtype):
        raise unfit(path, "NumPy's strings lose zeros at their end; use Parquet or HDF5")
    if spec.dtype.isbuiltin == _OF_OTHERS:
        raise unfit(path, f"NumPy does not know {spec.dtype} in its files; cast it with map")
    return spec.dtype, spec.shape
