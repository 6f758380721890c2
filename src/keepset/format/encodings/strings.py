"""Strings: bytes, and text in UTF-8."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from keepset.core.column import Column, column_rows
from keepset.core.dtypes import TEXT_OBJECTS, Array
from keepset.errors import ElementError
from keepset.format.encodings.encoding import Encoding, Place, TooLargeError, offsets_of

_LARGEST_OFFSET = 2**31 - 1


class Strings(Encoding):
    """One string per element, or the strings of arrays of them one after another."""

    width = 1
    objects = np.dtype(object)
    is_text = False

    def __init__(self, wide: bool) -> None:
        self.wide = wide
        self.type = pa.large_binary() if wide else pa.binary()

    def encode(self, column: Column) -> pa.Array:
        strings = self.bytes_of(
            column.tolist() if isinstance(column, np.ndarray) else column_rows(column)
        )
        lengths = np.fromiter(map(len, strings), np.int64, len(strings))
        offsets = np.zeros(len(strings) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        if not self.wide:
            if offsets[-1] > _LARGEST_OFFSET:
                raise TooLargeError
            offsets = offsets.astype(np.int32)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(strings))]
        return pa.Array.from_buffers(self.type, len(strings), buffers)

    def bytes_of(self, strings: list[Any]) -> list[bytes]:
        """The bytes under which strings are kept."""
        return strings

    def decode(self, array: pa.Array) -> Column:
        self._checked(array)
        column: Array = array.to_numpy(zero_copy_only=False)
        return column

    def place(self, array: pa.Array) -> Place:
        offsets, data = self._checked(array), array.buffers()[2]
        return Place(offsets, None if data is None else data.address, None, self.is_text)

    def _checked(self, array: pa.Array) -> Array:
        """Where the strings are, after a check that this is within the data."""
        data = array.buffers()[2]
        return offsets_of(array, 0 if data is None else data.size)

    # As items of lists:

    def concat(self, leaves: Sequence[Array]) -> Array:
        flat = np.empty(sum(leaf.size for leaf in leaves), self.objects)
        flat[:] = list(chain.from_iterable(leaf.ravel().tolist() for leaf in leaves))
        return flat

    def to_arrow(self, array: Array) -> pa.Array:
        return self.encode(array)

    def to_numpy(self, array: pa.Array) -> Array:
        strings = self.decode(array)
        assert isinstance(strings, np.ndarray)
        strings.flags.writeable = False
        return strings


class Texts(Strings):
    """As their parent, for ``str``, which other readers see as text."""

    objects = TEXT_OBJECTS
    is_text = True

    def __init__(self, wide: bool) -> None:
        super().__init__(wide)
        self.type = pa.large_string() if wide else pa.string()

    def bytes_of(self, strings: list[Any]) -> list[bytes]:
        try:
            return list(map(str.encode, strings))
        except UnicodeEncodeError as error:
            raise ElementError(
                f"a text cannot be kept in UTF-8: {error}; it has half a surrogate pair, which "
                "stands for no character"
            ) from error

    def decode(self, array: pa.Array) -> Column:
        self._checked(array)
        try:
            column: Array = array.to_numpy(zero_copy_only=False)
        except (UnicodeDecodeError, pa.ArrowException) as error:
            raise ValueError(f"a text is not in UTF-8 ({error})") from error
        return column.astype(object, copy=False).view(TEXT_OBJECTS)
