"""Encoding: how the leaves of one spec lie in one Arrow column, there and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from keepset.core.column import Column
from keepset.core.dtypes import Array
from keepset.format.encodings.numbers import primitive

_LARGEST_OFFSET = 2**31 - 1
_WIDE = {type.id for type in (pa.large_binary(), pa.large_string(), pa.large_list(pa.null()))}


class Encoding(ABC):
    """Columns of leaves that fit the spec go in; exactly those leaves come out, read-only."""

    type: pa.DataType

    @abstractmethod
    def encode(self, column: Column) -> pa.Array:
        """The Arrow array of a column, which may be more uniform than the spec asks for."""

    @abstractmethod
    def decode(self, array: pa.Array) -> Column:
        """The column of an Arrow array; anything that does not fit is a ValueError."""

    def place(self, array: pa.Array) -> Place | None:
        """Where rows of different lengths lie, if each is nothing but a stretch of memory."""
        return None


class Place(NamedTuple):
    """Rows of different lengths, one behind the other.

    ``offsets`` says where each begins, and the end, in items from ``address`` on, which is None if
    there are none. An item is a number of ``dtype``, or a byte of a string if that is None. Strings
    that are text were found to be UTF-8.
    """

    offsets: Array
    address: int | None
    dtype: np.dtype[Any] | None
    is_text: bool = False


def list_of(values: pa.Array, lengths: Array, type: pa.DataType) -> pa.Array:
    """Lists of these lengths, cut from ``values``."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if pa.types.is_large_list(type):
        return pa.LargeListArray.from_arrays(pa.array(offsets), values, type=type)
    if offsets[-1] > _LARGEST_OFFSET:
        raise TooLargeError
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values, type=type)


class TooLargeError(Exception):
    """A chunk needs the types with wide offsets; the layout is made again with them."""


def offsets_of(array: pa.Array, limit: int) -> Array:
    """Where each list or string begins and ends; an error unless all lie within ``limit``."""
    if array.null_count:
        raise ValueError("there are missing values")
    wide = array.type.id in _WIDE
    data = array.buffers()[1]
    if data is None or not len(array):
        return np.zeros(1, np.int64)
    dtype = np.dtype(np.int64 if wide else np.int32)
    offsets = np.frombuffer(data, dtype, len(array) + 1, array.offset * dtype.itemsize)
    if offsets[0] < 0 or offsets[-1] > limit or (np.diff(offsets) < 0).any():
        raise ValueError("offsets lie outside their values")
    return offsets


def items_of(array: pa.Array) -> pa.Array:
    """The items of an array of lists, all of them."""
    return array.values


def int64s(array: pa.Array) -> Array:
    return primitive(array, np.dtype(np.int64))
