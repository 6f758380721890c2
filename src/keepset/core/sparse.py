"""Sparse: the coordinates and values of the entries that are not zero."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from keepset.core.arrays import as_leaf_array
from keepset.core.dtypes import Array, DType, dtype_of, join_arrays, zero_of
from keepset.errors import ElementError


class Sparse:
    """Entries of a mostly empty array: ``values[k]`` stands at ``indices[k]`` in ``dense_shape``.

    Example:
        >>> Sparse([[0, 1], [2, 0]], [5, 7], dense_shape=(3, 2)).to_dense()
        array([[0, 5],
               [0, 0],
               [7, 0]])
    """

    __slots__ = ("dense_shape", "indices", "values")

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        # Its own, and not to be written to: the indices were checked against it.
        self.dense_shape: Array = np.array(dense_shape, np.int64).reshape(-1)
        self.dense_shape.flags.writeable = False
        self.values: Array = as_leaf_array(values)
        self.indices: Array = np.asarray(indices, np.int64).reshape(
            len(self.values), len(self.dense_shape)
        )
        outside = (self.indices < 0) | (self.indices >= self.dense_shape)
        if outside.any():
            row = int(outside.any(axis=1).argmax())
            raise ElementError(
                f"index {self.indices[row].tolist()} lies outside dense_shape "
                f"{self.dense_shape.tolist()}"
            )

    @classmethod
    def from_dense(cls, array: Any) -> Sparse:
        """Keep the entries of ``array`` that are not zero (not empty, for strings)."""
        dense = as_leaf_array(array)
        present = dense != _nothing(dense)
        return cls(np.argwhere(present), dense[present], dense.shape)

    @property
    def dtype(self) -> DType:
        return dtype_of(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.dense_shape.tolist())

    def __len__(self) -> int:
        return int(self.dense_shape[0])

    def to_dense(self) -> Array:
        """The whole array, zeros (or empty strings) where nothing stands."""
        dense = np.full(self.shape, _nothing(self.values), self.values.dtype)
        dense[tuple(self.indices.T)] = self.values
        return dense

    def rows(self) -> list[Sparse]:
        """Cut along the first dimension."""
        order = np.argsort(self.indices[:, 0], kind="stable")
        indices, values = self.indices[order], self.values[order]
        cuts = np.searchsorted(indices[:, 0], np.arange(len(self) + 1))
        return [
            Sparse(indices[a:b, 1:], values[a:b], self.dense_shape[1:]) for a, b in pairwise(cuts)
        ]

    @classmethod
    def stack(cls, rows: Sequence[Sparse]) -> Sparse:
        """Join along a new first dimension; the dense shape is the largest of all."""
        shape = np.max([row.dense_shape for row in rows], axis=0)
        indices = [
            np.concatenate([np.full((len(row.values), 1), i), row.indices], axis=1)
            for i, row in enumerate(rows)
        ]
        values = join_arrays([row.values for row in rows])
        return cls(np.concatenate(indices), values, [len(rows), *shape])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sparse):
            return NotImplemented
        return (
            self.dtype == other.dtype
            and np.array_equal(self.dense_shape, other.dense_shape)
            and np.array_equal(self.indices, other.indices)
            and np.array_equal(self.values, other.values)
        )

    __hash__ = None  # type: ignore[assignment]  # it holds arrays

    def __reduce__(self) -> tuple[type[Sparse], tuple[Array, Array, Array]]:
        return Sparse, (self.indices, self.values, self.dense_shape)

    def __repr__(self) -> str:
        return (
            f"Sparse({len(self.values)} of {int(np.prod(self.dense_shape))} entries, "
            f"shape={self.shape}, dtype={self.dtype.name})"
        )


def _nothing(values: Array) -> Any:
    """What stands where no entry is: 0, or an empty string."""
    return zero_of(dtype_of(values)) if values.dtype == object else 0
