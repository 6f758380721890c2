"""PlainRows: rows of mapped, uncompressed files by their places in memory, without decoding."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.column import Column
from keepset.core.dtypes import Array, text_array
from keepset.core.jagged import Jagged
from keepset.core.structure import Structure
from keepset.core.tally import tally
from keepset.errors import CorruptSnapshotError
from keepset.format.encodings.encoding import Place

_SMALL = (1, 2, 4, 8)


class _Column(NamedTuple):
    """A leaf of the elements; the arrays say for each chunk where it begins.

    Rows of one size begin at ``addresses``. For those of different sizes ``offsets`` are the
    addresses of the numbers that say where each begins, counted in items from ``addresses`` on.
    """

    dtype: np.dtype[Any] | None  # None for strings
    shape: tuple[int, ...]
    row_bytes: int  # or of an item
    addresses: Array
    offset_bytes: int = 0
    offsets: Array | None = None
    is_text: bool = False

    @property
    def kind(self) -> tuple[Any, ...]:
        """What is the same in every chunk."""
        return self.dtype, self.shape, self.row_bytes, self.offset_bytes, self.is_text

    @property
    def is_small(self) -> bool:
        """Whether a row is as large as a number of NumPy's."""
        return self.row_bytes in _SMALL


class _Windows:
    """All mapped memory, from the first file to the last, as items of any size.

    Small items lie side by side; larger ones overlap, one begins at every byte. Only what begins
    where a row begins is ever touched: what lies between the files need not be memory at all.
    """

    def __init__(self, files: list[tuple[int, Array]]) -> None:
        self.files = len(files)
        self.first = min(address for address, _ in files)
        self._size = max(address + len(memory) for address, memory in files) - self.first
        memory: Any = (ctypes.c_uint8 * self._size).from_address(self.first)
        memory.files = files  # they stay mapped as long as there is a view of this
        # The files are mapped to be read. Nothing that is made of this can be unlocked: a write
        # would end the process.
        self.octets = memoryview(memory).cast("B").toreadonly()
        self._bytes: Array = np.frombuffer(self.octets, np.uint8)
        self._items: dict[Any, Array] = {}

    def large(self, size: int) -> Array:
        """An item at every byte."""
        if size not in self._items:
            shape = (self._size - size + 1,)
            self._items[size] = np.ndarray(shape, f"V{size}", self._bytes, strides=(1,))
        return self._items[size]

    def numbers(self, dtype: np.dtype[Any]) -> Array:
        """Numbers side by side, read-only."""
        if dtype not in self._items:
            self._items[dtype] = np.frombuffer(self.octets, dtype, self._size // dtype.itemsize)
        return self._items[dtype]

    def array(self, dtype: np.dtype[Any], shape: tuple[int, ...], start: int) -> Array:
        """One array that begins at a byte, read-only."""
        return np.ndarray(shape, dtype, self._bytes, start)


class PlainRows:
    """Where the rows are of those chunks that were read before, and so were checked.

    A row of a column is so many bytes at some address, and NumPy gathers them from any addresses,
    of any files, in one go.

    Safe to use from many threads, without a lock that a fork could leave behind.
    """

    def __init__(self, chunks: int) -> None:
        self._files: dict[int, Array] = {}  # by their addresses
        self._made: dict[Structure, list[_Column]] = {}  # at most one
        self._is_known: Array = np.zeros(chunks, bool)
        self._are_known = False
        self._is_possible = True
        self._windows: _Windows | None = None

    @property
    def is_possible(self) -> bool:
        """Whether every chunk that was read can be gathered from."""
        return self._is_possible and bool(self._files)

    def wants(self, number: int) -> bool:
        """Whether there is something to learn from a chunk."""
        return self._is_possible and not self._is_known[number]

    def knows(self, number: int) -> bool:
        """Whether rows of a chunk can be gathered."""
        return self._is_possible and bool(self._is_known[number])

    def note(
        self, number: int, chunk: Chunk, places: Sequence[Place | None], file: memoryview
    ) -> None:
        """Learn from a chunk that was decoded where its columns are: in the mapped ``file``."""
        memory = np.frombuffer(file, np.uint8)
        pairs = zip(chunk.columns, places, strict=True)
        found = [_found(column, place, memory) for column, place in pairs]
        known = [each for each in found if each is not None]
        if not known or len(known) < len(found):
            self._is_possible = False
            return
        made = [each.for_chunks(len(self._is_known)) for each in known]
        columns = self._made.setdefault(chunk.structure, made)
        if len(self._made) > 1 or [c.kind for c in columns] != [c.kind for c in made]:
            self._is_possible = False
            return
        for column, each in zip(columns, known, strict=True):
            column.addresses[number] = each.address
            if column.offsets is not None:
                column.offsets[number] = each.offsets
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

    def columns(self, number: int, rows: int) -> list[Any]:
        """What gives the leaves of a chunk that is known, by their places; nothing is copied."""
        windows = self._opened()
        [columns] = self._made.values()
        return [_pickable(column, windows, number, rows) for column in columns]

    def _opened(self) -> _Windows:
        windows = self._windows
        if windows is None or windows.files != len(self._files):
            windows = self._windows = _Windows(list(self._files.items()))
        return windows

    def gather(self, numbers: Array, places: Array) -> Chunk:
        """The rows at these places of these chunks, in this order. All chunks must be known."""
        windows = self._opened()
        [(structure, columns)] = self._made.items()
        gathered: list[Column] = [_gathered(column, windows, numbers, places) for column in columns]
        return Chunk.from_columns(structure, gathered, len(numbers))


def _gathered(column: _Column, windows: _Windows, numbers: Array, places: Array) -> Column:
    tally("array_copy")
    begins = column.addresses[numbers]
    begins -= windows.first
    if column.offsets is not None:
        return _gathered_stretches(column, windows, column.offsets[numbers], places, begins)
    assert column.dtype is not None
    begins += places * column.row_bytes
    if column.is_small:
        begins //= column.row_bytes
        found = windows.numbers(np.dtype(f"u{column.row_bytes}")).take(begins)
    else:
        found = windows.large(column.row_bytes)[begins]
    rows: Array = found.view(column.dtype).reshape(len(places), *column.shape)
    rows.flags.writeable = False
    return rows


def _gathered_stretches(
    column: _Column, windows: _Windows, offsets: Array, places: Array, begins: Array
) -> Column:
    ends = windows.numbers(np.dtype(f"i{column.offset_bytes}"))
    at = (offsets - windows.first) // column.offset_bytes + places
    begins //= column.row_bytes
    starts, stops = begins + ends.take(at), begins + ends.take(at + 1)
    if column.dtype is not None:
        return Jagged(windows.numbers(column.dtype), starts, stops)
    octets = windows.octets
    pairs = zip(starts.tolist(), stops.tolist(), strict=True)
    if column.is_text:
        return text_array([_text(octets[start:stop]) for start, stop in pairs])
    strings = np.empty(len(places), object)
    strings[:] = [bytes(octets[start:stop]) for start, stop in pairs]
    return strings


class _Lists:
    """Lists by their places in a chunk."""

    __slots__ = ("_offsets", "_values")

    def __init__(self, offsets: Array, values: Any) -> None:
        # Numbers of a memoryview are Python's own at once.
        self._offsets, self._values = offsets.data, values

    def __getitem__(self, place: int) -> Any:
        return self._values[self._offsets[place] : self._offsets[place + 1]]


class _Strings(_Lists):
    """As lists, of bytes."""

    __slots__ = ()

    def __getitem__(self, place: int) -> bytes:
        return bytes(self._values[self._offsets[place] : self._offsets[place + 1]])


class _Texts(_Lists):
    """As lists, of text."""

    __slots__ = ()

    def __getitem__(self, place: int) -> str:
        return _text(self._values[self._offsets[place] : self._offsets[place + 1]])


def _text(octets: memoryview) -> str:
    try:
        return str(octets, "utf-8")
    except UnicodeDecodeError as error:
        # It was UTF-8 when the chunk was checked.
        raise CorruptSnapshotError(
            f"a text of a snapshot is not in UTF-8 any more ({error}): the file has changed while "
            "it was read; find out what writes to it with `keepset verify`"
        ) from error


def _pickable(column: _Column, windows: _Windows, number: int, rows: int) -> Any:
    begin = int(column.addresses[number]) - windows.first
    if column.offsets is None:
        assert column.dtype is not None
        return windows.array(column.dtype, (rows, *column.shape), begin)
    dtype = np.dtype(f"i{column.offset_bytes}")
    offsets = windows.array(dtype, (rows + 1,), int(column.offsets[number]) - windows.first)
    end = int(offsets[-1])
    if column.dtype is None:
        make = _Texts if column.is_text else _Strings
        return make(offsets, windows.octets[begin : begin + end])
    return _Lists(offsets, windows.array(column.dtype, (end,), begin))


class _Found(NamedTuple):
    """A column of one chunk."""

    dtype: np.dtype[Any] | None
    shape: tuple[int, ...]
    row_bytes: int
    address: int
    offset_bytes: int = 0
    offsets: int = 0
    is_text: bool = False

    def for_chunks(self, chunks: int) -> _Column:
        offsets = np.zeros(chunks, np.int64) if self.offset_bytes else None
        addresses = np.zeros(chunks, np.int64)
        return _Column(*self[:3], addresses, self.offset_bytes, offsets, self.is_text)


def _found(column: Column, place: Place | None, memory: Array) -> _Found | None:
    """Where a column is, if it lies in this memory, row behind row; otherwise None."""
    if place is not None:
        return _found_stretches(place, memory)
    if not isinstance(column, np.ndarray) or column.dtype.hasobject or not column.nbytes:
        return None
    row_bytes = column.nbytes // len(column)
    found = _Found(column.dtype, column.shape[1:], row_bytes, column.ctypes.data)
    aligned = row_bytes if row_bytes in _SMALL else 1
    if not column.flags.c_contiguous:
        return None
    return found if _lies_in(memory, found.address, column.nbytes, aligned) else None


def _found_stretches(place: Place, memory: Array) -> _Found | None:
    size = 1 if place.dtype is None else place.dtype.itemsize
    address = memory.ctypes.data if place.address is None else place.address
    offsets = place.offsets
    has_items = _lies_in(memory, address, int(offsets[-1]) * size, size)
    if not has_items or not _lies_in(memory, offsets.ctypes.data, offsets.nbytes, offsets.itemsize):
        return None
    where = offsets.itemsize, offsets.ctypes.data
    return _Found(place.dtype, (), size, address, *where, place.is_text)


def _lies_in(memory: Array, address: int, size: int, aligned: int) -> bool:
    start = address - memory.ctypes.data
    return 0 <= start <= len(memory) - size and start % aligned == 0
