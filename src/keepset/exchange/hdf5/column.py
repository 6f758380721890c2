"""One data set of an HDF5 file as a column: read chunk by chunk, each unpacked once."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any, Final

import numpy as np

from keepset.core.chunk import Chunk, chunk_of_columns, concat
from keepset.core.dtypes import Array
from keepset.core.structure import structure_of
from keepset.errors import InvalidArgumentError
from keepset.exchange.arrays.column_source import ArrayColumn, ColumnSource, Fields, rows_at_once
from keepset.exchange.arrays.npy_header import ArrayPlace, Header
from keepset.exchange.arrays.raw_rows import MappedRows, RawRows, RemoteRows, array_in
from keepset.exchange.files.row_file import Place
from keepset.exchange.hdf5.library import damage_of, h5py
from keepset.exchange.hdf5.types import hdf5_columns, hdf5_spec

# A chunk of a file that is larger than this is unpacked more than once rather than kept.
_MOST_BLOCK_BYTES: Final = 128 << 20
# Unpacked chunks that are kept for those who read here and there.
_KEPT_BYTES: Final = 32 << 20
# Rows of texts and lists may be of any size. The first few tell.
_FIRST_ROWS: Final = 16


def problem_of(found: Any) -> str | None:
    """Why a data set has no rows to read, if it has none."""
    library = h5py()
    made = found.id.get_create_plist()
    # First of all, for even to ask for the shape may open other files.
    if made.get_layout() == library.h5d.VIRTUAL:
        return "put together of other data sets, maybe of other files, which are not opened"
    if made.get_external_count():
        return "kept in other files, which are not opened"
    if not found.shape:
        return "a single value, which has no rows" if found.shape == () else "nothing at all"
    for number in range(made.get_nfilters()):
        code, _, _, name = made.get_filter(number)
        if not library.h5z.filter_avail(code):
            shown = name.decode(errors="replace") or code
            return f"packed by {shown}, which is not installed; hdf5plugin may have it"
    try:
        found.dtype  # noqa: B018  # not every type has one
    except TypeError as error:
        return f"of a type that NumPy does not have ({error})"
    return None


def type_problem_of(found: Any, fields: Fields) -> str | None:
    """Why the rows of a data set cannot be elements, if they cannot."""
    try:
        hdf5_spec(found.dtype, found.shape[1:], fields)
    except InvalidArgumentError as error:
        return str(error)
    return None


def hdf5_column(found: Any, fields: Fields, place: Place, name: str) -> ColumnSource:
    """The rows of a data set: where they lie in the file, if they lie there as they are."""
    where = ArrayPlace(place, name)
    raw = _plain_rows(found, where)
    if raw is not None:
        return ArrayColumn(raw, fields, where)
    return Hdf5Column(found, fields, place, name)


def _plain_rows(found: Any, where: ArrayPlace) -> RawRows | None:
    dtype, size = found.dtype, found.dtype.itemsize * math.prod(found.shape)
    offset = found.id.get_offset()
    if dtype.kind not in "biufcmM" or not size or offset is None or found.chunks is not None:
        return None
    # An array that nobody wrote to has no room in the file, though it may have an offset.
    if found.id.get_storage_size() != size or not _is_stored_so(found, dtype):
        return None
    store, file = where.place.store, where.place.file
    if store.size(file) < offset + size:
        return None
    header = Header(found.shape, False, np.dtype(dtype.str), offset)
    view = store.view(file)
    if view is None:
        return RemoteRows(where, header, 0)
    return MappedRows(array_in(view, header, where))


def _is_stored_so(found: Any, dtype: np.dtype[Any]) -> bool:
    """Whether numbers are in the file as they are in memory."""
    try:
        ours = h5py().h5t.py_create(dtype, logical=True)
    except TypeError:
        return False
    return bool(found.id.get_type().equal(ours))


class Hdf5Column(ColumnSource):
    """The rows of a data set, through the library."""

    def __init__(self, found: Any, fields: Fields, place: Place, name: str) -> None:
        self._place, self._name, self._fields = place, name, fields
        self.spec = hdf5_spec(found.dtype, found.shape[1:], fields)
        self._structure = structure_of(self.spec)
        self.length = int(found.shape[0])
        self.row_bytes = found.dtype.itemsize * math.prod(found.shape[1:])
        self._rows = found
        if fields is not None and list(fields) != list(found.dtype.names):
            self._rows = found.fields(list(fields))
        chunks = found.chunks
        self._chunk_rows = 1 if chunks is None else int(chunks[0])
        block_bytes = self._chunk_rows * self.row_bytes
        is_packed = chunks is not None and found.id.get_create_plist().get_nfilters() > 0
        self._holds_objects = bool(found.dtype.hasobject)
        # Of texts and lists, a chunk holds only where they are.
        self._keeps_blocks = (
            is_packed and not self._holds_objects and block_bytes <= _MOST_BLOCK_BYTES
        )
        self._at_once = _FIRST_ROWS if self._holds_objects else rows_at_once(self.row_bytes)
        self._block, self._block_start = chunk_of_columns(self._load(0, 0), 0), 0
        self._kept: OrderedDict[int, Chunk] = OrderedDict()
        self._kept_bytes = 0

    def stop(self, start: int) -> int:
        end = self._block_start + len(self._block)
        return end if self._block_start <= start < end else self._block_end(start)

    def _block_end(self, start: int) -> int:
        """Up to where to read from a row on: whole chunks, if they are not too large."""
        size = self._chunk_rows
        end = start + self._at_once
        if not self._holds_objects:
            # Down to where a chunk begins, or up to the next if there is none.
            end = max(end - end % size, start - start % size + size)
            end = min(end, start + max(1, _MOST_BLOCK_BYTES // max(1, self.row_bytes)))
        return min(end, self.length)

    def read(self, start: int, stop: int) -> Any:
        end = self._block_start + len(self._block)
        if not self._block_start <= start < end or stop > end:
            end = max(stop, self._block_end(start))
            self._block = chunk_of_columns(self._load(start, end), end - start)
            self._block_start = start
            self._adapt()
        first = start - self._block_start
        return self._structure.build(self._block[first : first + stop - start].columns)

    def _adapt(self) -> None:
        if self._holds_objects:
            row_bytes = self._block.size_bytes // max(1, len(self._block))
            self._at_once = min(rows_at_once(row_bytes), 4 * self._at_once)

    def gather(self, rows: Array) -> Any:
        if not len(rows):
            return self._load(0, 0)
        wanted, back = np.unique(rows, return_inverse=True)
        parts = self._from_blocks(wanted) if self._keeps_blocks else self._from_runs(wanted)
        return self._structure.build(concat(parts).take(back).columns)

    def _from_blocks(self, rows: Array) -> list[Chunk]:
        """Rows, which are sorted, out of whole chunks."""
        numbers = rows // self._chunk_rows
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        groups = np.split(rows, starts[1:])
        return [
            self._kept_block(number).take(group - number * self._chunk_rows)
            for number, group in zip(numbers[starts].tolist(), groups, strict=True)
        ]

    def _kept_block(self, number: int) -> Chunk:
        block = self._kept.pop(number, None)
        if block is None:
            start = number * self._chunk_rows
            stop = min(start + self._chunk_rows, self.length)
            block = chunk_of_columns(self._load(start, stop), stop - start)
            self._kept_bytes += block.size_bytes
        self._kept[number] = block
        while self._kept_bytes > _KEPT_BYTES and len(self._kept) > 1:
            self._kept_bytes -= self._kept.popitem(last=False)[1].size_bytes
        return block

    def _from_runs(self, rows: Array) -> list[Chunk]:
        """Rows, which are sorted, each run of neighbours at once."""
        runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)
        return [
            chunk_of_columns(self._load(int(run[0]), int(run[-1]) + 1), len(run)) for run in runs
        ]

    def _load(self, start: int, stop: int) -> Any:
        with damage_of(self._place, repr(self._name), start):
            return hdf5_columns(self._rows[start:stop], self._fields)
