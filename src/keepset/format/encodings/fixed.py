"""Leaves of one shape: single numbers, and Arrow's own tensors."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from keepset.core.column import Column
from keepset.core.dtypes import Array
from keepset.core.jagged import Jagged
from keepset.errors import ElementError
from keepset.format.encodings.encoding import Encoding
from keepset.format.encodings.numbers import Numbers

_MOST_ITEMS = (1 << 31) - 1


class Scalars(Encoding):
    """One number per element."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers
        self._logical = numbers.scalar_type
        self.type = self._logical or numbers.type

    def encode(self, column: Column) -> pa.Array:
        array = np.asarray(column, self._numbers.dtype)
        if isinstance(self._logical, pa.BaseExtensionType):
            stored = self._numbers.to_arrow(array)
            return pa.ExtensionArray.from_storage(self._logical, stored)
        return self._numbers.to_arrow(array, self._logical)

    def decode(self, array: pa.Array) -> Column:
        stored = array.storage if isinstance(array, pa.ExtensionArray) else array
        return self._numbers.to_numpy(stored)


class Tensors(Encoding):
    """Arrays of one shape, in one block of memory.

    Numbers that take several items have them as a last dimension.
    """

    def __init__(self, numbers: Numbers, shape: tuple[int, ...]) -> None:
        self._numbers, self._shape = numbers, shape
        stored = shape if numbers.width == 1 else (*shape, numbers.width)
        self._size = math.prod(stored)
        if self._size > _MOST_ITEMS:
            raise ElementError(
                f"an array of the shape {shape} has {self._size:,} items, and Arrow takes no more "
                f"than {_MOST_ITEMS:,} in one; split it into several"
            )
        self.type = pa.fixed_shape_tensor(numbers.type, stored)

    def encode(self, column: Column) -> pa.Array:
        array = _uniform(column, self._shape, self._numbers)
        items = self._numbers.to_arrow(array)
        lists = pa.FixedSizeListArray.from_arrays(items, self._size)
        return pa.ExtensionArray.from_storage(self.type, lists)

    def decode(self, array: pa.Array) -> Column:
        lists = array.storage if isinstance(array, pa.ExtensionArray) else array
        if lists.null_count:
            raise ValueError("there are missing values")
        items = lists.values.slice(lists.offset * self._size, len(lists) * self._size)
        return self._numbers.to_numpy(items).reshape(len(lists), *self._shape)


class Nothing(Encoding):
    """Arrays of a shape with a zero in it: only their number is kept."""

    type = pa.null()

    def __init__(self, numbers: Numbers, shape: tuple[int, ...]) -> None:
        self._numbers, self._shape = numbers, shape

    def encode(self, column: Column) -> pa.Array:
        return pa.nulls(len(column))

    def decode(self, array: pa.Array) -> Column:
        return np.empty((len(array), *self._shape), self._numbers.dtype)


def _uniform(column: Column, shape: tuple[int, ...], numbers: Numbers) -> Array:
    if isinstance(column, Jagged):
        return column.joined().reshape(len(column), *shape)
    if isinstance(column, list):
        column = numbers.concat(column).reshape(len(column), *shape)
    return column
