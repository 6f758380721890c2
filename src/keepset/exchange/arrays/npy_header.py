"""The head of a ``.npy`` file: the shape and type of its array, and where the numbers begin."""

from __future__ import annotations

import ast
import math
import struct
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np

from keepset.errors import CorruptRecordError
from keepset.exchange.files.row_file import Place

# A header that is longer than this is not of an array that anybody saved.
MOST_HEADER_BYTES: Final = 1 << 20
_READERS: Final[dict[tuple[int, int], Any]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class ArrayPlace(NamedTuple):
    """Where an array is: a file, or one of several in it."""

    place: Place
    member: str | None = None

    @property
    def title(self) -> str:
        return self.place.name if self.member is None else f"{self.place.name}: {self.member!r}"

    def damaged(self, what: object, *, record: int = 0, byte: int = 0) -> CorruptRecordError:
        """The error for contents that cannot be read."""
        it = "it" if self.member is None else repr(self.member)
        return self.place.damaged(f"{it} {what}", record=record, byte=byte)


class Header(NamedTuple):
    """What a file says of its array, and where its numbers begin."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]
    start: int

    @property
    def size_bytes(self) -> int:
        """How long the file has to be."""
        return self.start + self.dtype.itemsize * math.prod(self.shape)

    @property
    def has_rows_together(self) -> bool:
        """Whether a row is in one place, and not spread over the file."""
        return not self.is_fortran or len(self.shape) < 2

    @property
    def problem(self) -> str | None:
        """What the file holds, if that is nothing with rows that can be read."""
        if self.dtype.hasobject:
            return "Python objects, which are pickled: to read them would run code"
        return None if self.shape else "a single value, which has no rows"


def header_bytes(start: bytes | memoryview) -> int:
    """How many bytes precede the numbers, as the first twelve of them say; a million at most."""
    if bytes(start[6:7]) <= b"\x01":
        size = 10 + int.from_bytes(start[8:10], "little")
    else:
        size = 12 + int.from_bytes(start[8:12], "little")
    return min(size, MOST_HEADER_BYTES)


def read_header(file: BinaryIO, where: ArrayPlace) -> Header:
    """Read what precedes the numbers, at the beginning of which the file is."""
    try:
        shape, is_fortran, dtype = _facts(file)
        if min(shape, default=0) < 0 or bool in map(type, shape):
            raise ValueError(f"its shape is {shape}")
    except Exception as error:
        where.place.raise_shortage(error)
        raise where.damaged(f"is no .npy file ({error})") from error
    return Header(shape, is_fortran, dtype, file.tell())


def _facts(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    if version in _READERS:
        found: tuple[Any, ...] = _READERS[version](file, max_header_size=MOST_HEADER_BYTES)
        return found[0], found[1], found[2]
    if version != (3, 0):
        raise ValueError(f"its version is {version}; 1, 2 and 3 are known")
    # NumPy has no function for those with names of fields in letters of all kinds.
    [size] = struct.unpack("<I", file.read(4))
    text = file.read(min(size, MOST_HEADER_BYTES))
    if len(text) != size:
        raise ValueError(f"its header of {size} bytes is cut off")
    facts = ast.literal_eval(text.decode())
    shape = tuple(int(length) for length in facts["shape"])
    return shape, bool(facts["fortran_order"]), np.lib.format.descr_to_dtype(facts["descr"])
