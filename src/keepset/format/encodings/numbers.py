"""Numbers of one dtype as Arrow keeps them: the same bytes, under a type that Arrow knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from keepset.core.arrays import lent_view
from keepset.core.dtypes import Array

# Arrow has these under the same name, bit for bit.
_SHARED = {
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
}  # fmt: skip
_TIME_UNITS = {"s", "ms", "us", "ns"}
_UNSIGNED: dict[int, np.dtype[Any]] = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16)}


class Numbers:
    """Goes between arrays of ``dtype`` and flat Arrow arrays of ``type``.

    One number is ``width`` items of the storage dtype: two for complex numbers, one for most.
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype
        self.storage, self.width = _storage_of(dtype)
        self.type: pa.DataType = pa.from_numpy_dtype(self.storage)

    @property
    def scalar_type(self) -> pa.DataType | None:
        """The type of a column of single numbers, if Arrow has one that says more than ``type``."""
        if self.dtype.kind == "b":
            return pa.bool8()
        if self.dtype.kind in "mM" and (unit := np.datetime_data(self.dtype)) in _whole_units():
            return pa.timestamp(unit[0]) if self.dtype.kind == "M" else pa.duration(unit[0])
        return None

    def to_arrow(self, array: Array, type: pa.DataType | None = None) -> pa.Array:
        """All numbers of an array, in order, without a copy if they lie in order."""
        flat = np.ascontiguousarray(array).reshape(-1).view(self.storage)
        buffers = [None, pa.py_buffer(flat.view(np.uint8))]
        return pa.Array.from_buffers(type or self.type, flat.size, buffers)

    def concat(self, leaves: Sequence[Array]) -> Array:
        """The numbers of several arrays of any shape, one after another."""
        if not leaves:
            return np.empty(0, self.dtype)
        return np.concatenate([leaf.reshape(-1) for leaf in leaves])

    def to_numpy(self, array: pa.Array) -> Array:
        """The numbers as they lie in memory, read-only."""
        return primitive(array, self.storage).view(self.dtype)


def primitive(array: pa.Array, dtype: np.dtype[Any]) -> Array:
    """The items of an Arrow array of fixed width, where they lie, read-only."""
    if array.null_count:
        raise ValueError("there are missing values")
    data = array.buffers()[1]
    if data is None or not len(array):
        return np.empty(0, dtype)
    # What was decompressed could be written to, by a consumer that unlocks its array: later reads
    # of the chunk would see that.
    return lent_view(np.frombuffer(data, dtype, len(array), array.offset * dtype.itemsize))


def _whole_units() -> set[tuple[str, int]]:
    return {(unit, 1) for unit in _TIME_UNITS}


def _storage_of(dtype: np.dtype[Any]) -> tuple[np.dtype[Any], int]:
    if dtype.name in _SHARED:
        return dtype, 1
    if dtype.kind == "b":
        return np.dtype(np.int8), 1
    if dtype.kind in "mM":
        return np.dtype(np.int64), 1
    if dtype.kind == "c" and dtype.itemsize in (8, 16):
        return np.dtype(f"f{dtype.itemsize // 2}"), 2
    if dtype.itemsize in _UNSIGNED:  # bfloat16, the float8 and int4 kinds
        return _UNSIGNED[dtype.itemsize], 1
    return np.dtype(np.uint8), dtype.itemsize  # long doubles of this machine
