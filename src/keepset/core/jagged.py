"""Jagged: a column of arrays that differ in their lengths only, cut from one array of values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, SupportsIndex, overload

import numpy as np

from keepset.core.dtypes import Array, join_arrays
from keepset.core.tally import tally


class Jagged:
    """Leaf ``i`` is ``values[starts[i]:stops[i]]``. Nothing is copied until somebody asks for it.

    The leaves may lie anywhere among the values, in any order, so that to cut, to choose or to
    shuffle them moves two numbers for each. Treat all three arrays as read-only.

    Example:
        >>> column = Jagged.packed(np.array([3, 1, 4, 1, 5]), np.array([0, 2, 2, 5]))
        >>> column[2], len(column.take(np.array([2, 0])).joined())
        (array([4, 1, 5]), 5)
    """

    __slots__ = ("starts", "stops", "values")

    def __init__(self, values: Array, starts: Array, stops: Array) -> None:
        self.values, self.starts, self.stops = values, starts, stops

    @classmethod
    def packed(cls, values: Array, offsets: Array) -> Jagged:
        """Leaves one behind the other: each begins where the one before it ends."""
        return cls(values, offsets[:-1], offsets[1:])

    @classmethod
    def of(cls, leaves: Sequence[Array]) -> Jagged:
        """Copies of leaves of one dtype, and of one shape but for the first dimension."""
        lengths = np.fromiter(map(len, leaves), np.int64, len(leaves))
        return cls.packed(join_arrays(leaves), _offsets(lengths))

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Array: ...
    @overload
    def __getitem__(self, index: slice) -> Jagged: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Array | Jagged:
        if isinstance(index, slice):
            return Jagged(self.values, self.starts[index], self.stops[index])
        found: Array = self.values[int(self.starts[index]) : int(self.stops[index])]
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self.leaves())

    def leaves(self) -> list[Array]:
        values = self.values
        pairs = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        return [values[start:stop] for start, stop in pairs]

    def take(self, indices: Array) -> Jagged:
        return Jagged(self.values, self.starts.take(indices), self.stops.take(indices))

    @property
    def lengths(self) -> Array:
        found: Array = self.stops - self.starts
        return found

    @property
    def is_packed(self) -> bool:
        """Whether the leaves lie one behind the other."""
        return bool((self.starts[1:] == self.stops[:-1]).all())

    def joined(self) -> Array:
        """The values of all leaves in their order: a view if they lie so, otherwise a copy."""
        if not len(self):
            return self.values[:0]
        if self.is_packed:
            return self.values[int(self.starts[0]) : int(self.stops[-1])]
        tally("array_copy")
        return join_arrays(self.leaves())

    def offsets(self) -> Array:
        """Where each leaf begins among the joined values, and the end."""
        return _offsets(self.lengths)

    def copy(self) -> Jagged:
        """The leaves in memory of their own, one behind the other."""
        values = self.joined()
        # What was joined of several pieces is a copy already.
        if values.base is not None or values is self.values:
            tally("array_copy")
            values = values.copy()
        return Jagged.packed(values, self.offsets())

    @property
    def nbytes(self) -> int:
        row = self.values[:0]
        size = row.itemsize * int(np.prod(row.shape[1:], dtype=np.int64))
        return int(self.lengths.sum()) * size + 16 * len(self)

    def __reduce__(self) -> tuple[Any, ...]:
        # The values may be those of a whole file: others get what the leaves need.
        return Jagged.packed, (self.joined(), self.offsets())

    def __repr__(self) -> str:
        return f"Jagged({len(self)} of {self.values.dtype})"


def concat(parts: Sequence[Jagged]) -> Jagged:
    """The leaves of several columns of one dtype and inner shape."""
    values = parts[0].values
    if all(part.values is values for part in parts):
        starts = np.concatenate([part.starts for part in parts])
        return Jagged(values, starts, np.concatenate([part.stops for part in parts]))
    tally("array_copy")
    lengths = np.concatenate([part.lengths for part in parts])
    return Jagged.packed(join_arrays([part.joined() for part in parts]), _offsets(lengths))


def _offsets(lengths: Array) -> Array:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
