"""Leaves whose shape differs from element to element, and arrays of strings: lists, and shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from keepset.core.column import Column
from keepset.core.dtypes import TEXT_OBJECTS, Array
from keepset.core.jagged import Jagged
from keepset.core.spec import Shape
from keepset.format.encodings.encoding import Encoding, Place, int64s, items_of, list_of, offsets_of
from keepset.format.encodings.strings import Strings

_INT64 = pa.int64()


class Items(Protocol):
    """What the lists hold: numbers or strings."""

    type: pa.DataType
    width: int  # items of the Arrow array for each item of a leaf

    def concat(self, leaves: Sequence[Array]) -> Array: ...
    def to_arrow(self, array: Array) -> pa.Array: ...
    def to_numpy(self, array: pa.Array) -> Array: ...


class Arrays(Encoding):
    """A list of items for each leaf, and its shape unless the spec tells it from the length."""

    def __init__(self, items: Items, shape: Shape, wide: bool) -> None:
        self._items, self._shape = items, shape
        make: Any = pa.large_list if wide else pa.list_
        self._lists: pa.DataType = make(items.type)
        self._keeps_shapes = shape is None or (len(shape) > 1 and None in shape)
        self.type = self._lists
        if self._keeps_shapes:
            shapes = pa.list_(_INT64) if shape is None else pa.list_(_INT64, len(shape))
            self.type = pa.struct([("data", self._lists), ("shape", shapes)])

    def encode(self, column: Column) -> pa.Array:
        if isinstance(column, Jagged):
            if not self._keeps_shapes and column.values.ndim == 1:
                items = self._items.to_arrow(column.joined())
                return list_of(items, column.lengths * self._items.width, self._lists)
            column = column.leaves()
        if isinstance(column, list):
            arrays = [_array(leaf) for leaf in column] if self._shape is None else column
            flat = self._items.concat(arrays)
            shapes = [leaf.shape for leaf in arrays]
        else:
            flat = column.reshape(-1)
            shapes = [column.shape[1:]] * len(column)
        sizes = np.fromiter((math.prod(shape) for shape in shapes), np.int64, len(shapes))
        lists = list_of(self._items.to_arrow(flat), sizes * self._items.width, self._lists)
        if not self._keeps_shapes:
            return lists
        dimensions = pa.array([size for shape in shapes for size in shape], _INT64)
        if self._shape is None:
            ranks = np.fromiter(map(len, shapes), np.int64, len(shapes))
            kept = list_of(dimensions, ranks, pa.list_(_INT64))
        else:
            kept = pa.FixedSizeListArray.from_arrays(dimensions, len(self._shape))
        return pa.StructArray.from_arrays([lists, kept], fields=list(self.type))

    def decode(self, array: pa.Array) -> Column:
        if self._keeps_shapes and array.null_count:
            raise ValueError("there are missing values")
        lists = array.field("data") if self._keeps_shapes else array
        items = items_of(lists)
        offsets = offsets_of(lists, len(items))
        width = self._items.width
        if width > 1 and (offsets % width).any():
            raise ValueError("a number is cut in two")
        flat = self._items.to_numpy(items)
        if not self._keeps_shapes and self._shape == (None,):
            return Jagged.packed(flat, offsets if width == 1 else offsets // width)
        bounds = (offsets // width).tolist()
        parts = [flat[start:stop] for start, stop in pairwise(bounds)]
        if self._keeps_shapes:
            shapes = self._stored_shapes(array.field("shape"))
            # A shape of no dimensions is that of a number or a string by itself.
            return [
                part.reshape(shape) if shape else part.reshape(())[()]
                for part, shape in zip(parts, shapes, strict=True)
            ]
        assert self._shape is not None
        return [part.reshape(self._shape) for part in parts]

    def place(self, array: pa.Array) -> Place | None:
        if self._keeps_shapes or self._shape != (None,) or self._items.width != 1:
            return None
        items = items_of(array)
        if isinstance(self._items, Strings):
            return None
        flat = self._items.to_numpy(items)
        return Place(offsets_of(array, len(items)), flat.ctypes.data, flat.dtype)

    def _stored_shapes(self, array: pa.Array) -> list[list[int]]:
        if array.null_count:
            raise ValueError("there are missing values")
        if self._shape is None:
            dimensions = int64s(items_of(array))
            ends = offsets_of(array, len(dimensions)).tolist()
            shapes = [dimensions[start:stop].tolist() for start, stop in pairwise(ends)]
        else:
            rank = len(self._shape)
            dimensions = int64s(array.values.slice(array.offset * rank, len(array) * rank))
            shapes = dimensions.reshape(len(array), rank).tolist()
        if (dimensions < 0).any():
            raise ValueError("a shape is negative")
        return shapes


def _array(leaf: Any) -> Array:
    if isinstance(leaf, bytes | str):
        array = np.empty((), TEXT_OBJECTS if isinstance(leaf, str) else object)
        array[()] = leaf
        return array
    return np.asarray(leaf)
