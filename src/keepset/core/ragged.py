"""Ragged: rows of unequal length, kept as one values array and the points where rows begin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from keepset.core.arrays import as_leaf_array
from keepset.core.dtypes import Array, DType, dtype_of, join_arrays
from keepset.errors import ElementError


class Ragged:
    """Rows of unequal length: row ``i`` is ``values[row_splits[i]:row_splits[i + 1]]``.

    ``values`` may be a Ragged again, for raggedness in more than one dimension. The arrays are
    not copied; treat a Ragged as read-only.

    Example:
        >>> words = Ragged([3, 1, 4, 1, 5], row_splits=[0, 2, 2, 5])
        >>> len(words), words[2], words.to_list()
        (3, array([4, 1, 5]), [[3, 1], [], [4, 1, 5]])
    """

    __slots__ = ("row_splits", "values")

    def __init__(self, values: Any, row_splits: Any) -> None:
        splits = np.asarray(row_splits)
        if splits.size == 0 or splits.ndim != 1:
            raise ElementError("row_splits must be one-dimensional and begin with 0")
        if splits.dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
            splits = splits.astype(np.int64)
        self.values: Array | Ragged = (
            values if isinstance(values, Ragged) else as_leaf_array(values)
        )
        self.row_splits: Array = splits
        if splits[0] != 0 or splits[-1] != len(self.values) or (np.diff(splits) < 0).any():
            raise ElementError(
                f"row_splits {splits[:8].tolist()} must begin with 0, never fall and end with the "
                f"number of values, {len(self.values)}"
            )

    @classmethod
    def from_rows(cls, rows: Sequence[Any], row_splits_dtype: Any = np.int64) -> Ragged:
        """Join rows (arrays, or Ragged for a deeper one) of unequal length.

        Example:
            >>> Ragged.from_rows([[1, 2], [], [3]]).to_list()
            [[1, 2], [], [3]]
        """
        parts = [row if isinstance(row, Ragged) else as_leaf_array(row) for row in rows]
        splits = np.zeros(len(parts) + 1, row_splits_dtype)
        np.cumsum([len(part) for part in parts], out=splits[1:])
        if not parts:
            return cls(np.zeros(0), splits)  # as an empty list, which says nothing of its items
        return cls(_concatenate(parts), splits)

    @classmethod
    def trusted(cls, values: Array | Ragged, row_splits: Array) -> Ragged:
        """As the constructor, for arrays that are known to fit: nothing is looked at."""
        ragged = object.__new__(cls)
        ragged.values, ragged.row_splits = values, row_splits
        return ragged

    @property
    def dtype(self) -> DType:
        return dtype_of(self.flat_values)

    @property
    def flat_values(self) -> Array:
        """The innermost values, with no raggedness left."""
        return self.values.flat_values if isinstance(self.values, Ragged) else self.values

    @property
    def ragged_rank(self) -> int:
        return 1 + (self.values.ragged_rank if isinstance(self.values, Ragged) else 0)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The number of rows, None for each ragged dimension, then the uniform ones."""
        return (len(self), None, *self.values.shape[1:])

    def __len__(self) -> int:
        return len(self.row_splits) - 1

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._rows(index)
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"row {index} of a Ragged with {count} rows")
        index %= count
        return self.values[int(self.row_splits[index]) : int(self.row_splits[index + 1])]

    def _rows(self, rows: slice) -> Ragged:
        start, stop, step = rows.indices(len(self))
        if step != 1:
            return Ragged.from_rows([self[i] for i in range(start, stop, step)])
        splits = self.row_splits[start : max(start, stop) + 1]
        return Ragged(self.values[int(splits[0]) : int(splits[-1])], splits - splits[0])

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def to_list(self) -> list[Any]:
        """The rows as nested Python lists."""
        return [row.to_list() if isinstance(row, Ragged) else row.tolist() for row in self]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ragged):
            return NotImplemented
        return (
            np.array_equal(self.row_splits, other.row_splits)
            and isinstance(self.values, Ragged) == isinstance(other.values, Ragged)
            and self.dtype == other.dtype
            and (
                self.values == other.values
                if isinstance(self.values, Ragged)
                else np.array_equal(self.values, other.flat_values)
            )
        )

    __hash__ = None  # type: ignore[assignment]  # it holds arrays

    def __reduce__(self) -> tuple[type[Ragged], tuple[Any, Any]]:
        return Ragged, (self.values, self.row_splits)

    def __repr__(self) -> str:
        if len(self.flat_values) <= 50 and self.flat_values.ndim == 1:
            return f"Ragged({self.to_list()}, dtype={self.dtype.name})"
        return f"Ragged(shape={self.shape}, dtype={self.dtype.name})"


def _concatenate(parts: Sequence[Array | Ragged]) -> Array | Ragged:
    ragged = [part for part in parts if isinstance(part, Ragged)]
    if not ragged:
        arrays = [part for part in parts if not isinstance(part, Ragged)]
        # An empty list says nothing about the dtype of its row.
        return join_arrays([part for part in arrays if len(part)] or arrays[:1])
    if len(ragged) != len(parts):
        raise ElementError("rows of a Ragged must be all arrays or all Ragged")
    lengths = np.concatenate([np.diff(part.row_splits) for part in ragged])
    splits = np.zeros(len(lengths) + 1, ragged[0].row_splits.dtype)
    np.cumsum(lengths, out=splits[1:])
    return Ragged(_concatenate([part.values for part in ragged]), splits)
