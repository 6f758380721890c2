"""RaggedTensor's ``from_...``: made of values and of what says where rows begin and end."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.composites.row_partition import (
    checked_splits,
    places_of,
    ranges,
    splits_of_lengths,
    splits_of_rowids,
    whole_numbers,
)
from keepset.tf.tensors.conversion import Value, int_of, matching, plain, value_of
from keepset.tf.tensors.dtype import as_dtype
from keepset.tf.tensors.tensor import Tensor

Part = Any  # an array of at least one dimension, or a RaggedTensor


class RaggedConstructors:
    """The base of :class:`keepset.tf.RaggedTensor`, with the ways to make one."""

    __slots__ = ()

    def __init__(self, part: Part, splits: Any, length: int | None = None) -> None:
        raise NotImplementedError

    @staticmethod
    def _part_of(given: Any) -> Part:
        """What rows can be cut of: an array of at least one dimension, or what is ragged."""
        raise NotImplementedError

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> Self:
        """Rows that begin at these places; the last number is how many values there are."""
        part = cls._part_of(values)
        return cls(part, checked_splits(row_splits, len(part)))

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> Self:
        """Rows of these lengths."""
        lengths = whole_numbers(row_lengths, "row_lengths")
        if (lengths < 0).any():
            raise InvalidArgumentError(f"row_lengths {lengths[:8].tolist()} has a negative number")
        return cls.from_row_splits(values, splits_of_lengths(lengths))

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> Self:
        """Rows that begin at these places and end where the next one begins."""
        part, starts = cls._part_of(values), whole_numbers(row_starts, "row_starts")
        return cls.from_row_splits(part, np.append(starts, starts.dtype.type(len(part))))

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> Self:
        """Rows that end at these places and begin where the one before ends."""
        limits = whole_numbers(row_limits, "row_limits")
        return cls.from_row_splits(
            values, np.concatenate([limits[:0], [0], limits]).astype(limits.dtype)
        )

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Self:
        """Rows of values that say to which they belong, in order."""
        part, rowids = cls._part_of(values), whole_numbers(value_rowids, "value_rowids")
        if len(rowids) != len(part):
            raise InvalidArgumentError(f"{len(rowids)} value_rowids for {len(part)} values")
        return cls(part, splits_of_rowids(rowids, None if nrows is None else int_of(nrows)))

    @classmethod
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: Any,
        nrows: Any = None,
        validate: bool = True,
        name: str | None = None,
    ) -> Self:
        """Rows of one length."""
        part, length = cls._part_of(values), int_of(uniform_row_length)
        if length < 0 or (length and len(part) % length) or (not length and len(part)):
            raise InvalidArgumentError(f"{len(part)} values are no rows of {length}")
        count = len(part) // length if length else int_of(0 if nrows is None else nrows)
        if nrows is not None and int_of(nrows) != count:
            raise InvalidArgumentError(
                f"{len(part)} values are not {int_of(nrows)} rows of {length}"
            )
        return cls(part, np.arange(count + 1, dtype=np.int64) * length, length)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Any,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Splits of each ragged dimension, the outermost first."""
        made: Any = flat_values
        for splits in reversed(list(nested_row_splits)):
            made = cls.from_row_splits(made, splits)
        return made

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Any,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Row lengths of each ragged dimension, the outermost first."""
        made: Any = flat_values
        for lengths in reversed(list(nested_row_lengths)):
            made = cls.from_row_lengths(made, lengths)
        return made

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: Any,
        nested_value_rowids: Any,
        nested_nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Row numbers of each ragged dimension, the outermost first."""
        rowids = list(nested_value_rowids)
        counts = [None] * len(rowids) if nested_nrows is None else list(nested_nrows)
        made: Any = flat_values
        for each, count in zip(reversed(rowids), reversed(counts), strict=True):
            made = cls.from_value_rowids(made, each, count)
        return made

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = np.int64,
    ) -> Any:
        """The rows of a tensor, without their padding at the end if one is named."""
        value, dtype = np.asarray(plain(value_of(tensor))), as_dtype(row_splits_dtype).storage
        if value.ndim <= ragged_rank or ragged_rank < 1:
            raise ValueError(
                f"a tensor of {value.ndim} dimensions has no ragged_rank of {ragged_rank}; it is "
                "from 1 to one less than the number of dimensions"
            )
        if lengths is not None and padding is not None:
            raise ValueError("Specify lengths or padding, but not both")
        if (
            lengths is not None
            and isinstance(lengths, list | tuple)
            and lengths
            and (isinstance(lengths[0], list | tuple | Tensor | np.ndarray))
        ):
            return _from_nested_lengths(cls, value, lengths, dtype)
        part = _rows_of(cls, value, ragged_rank, dtype)
        if lengths is None and padding is None:
            return part
        flat = value.reshape(-1, *value.shape[ragged_rank:])
        kept = _kept_lengths(flat, lengths, padding)
        return _cut(cls, value, kept, ragged_rank, dtype)

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = np.int64
    ) -> Self:
        """The rows of a sparse matrix whose entries stand at the left, without holes."""
        indices, values = st_input.indices.numpy(), plain(st_input.values._value)
        shape = st_input.dense_shape.numpy()
        if len(shape) != 2:
            raise ValueError("from_sparse takes a sparse tensor of rank 2")
        splits = splits_of_rowids(indices[:, 0], int(shape[0]))
        splits = splits.astype(as_dtype(row_splits_dtype).storage)
        if (places_of(splits) != indices[:, 1]).any():
            raise InvalidArgumentError(
                "SparseTensor is not right-ragged: the entries of each row must come in order, "
                "from column 0 on; use tf.sparse.reorder and fill the holes"
            )
        return cls(values, splits)


def _rows_of(kind: Any, value: Value, ragged_rank: int, dtype: Any) -> Any:
    """A tensor as rows that all have one length."""
    made: Any = value.reshape(-1, *value.shape[ragged_rank + 1 :])
    count = int(np.prod(value.shape[:ragged_rank]))
    for axis in range(ragged_rank, 0, -1):
        size = value.shape[axis]
        made = kind(made, np.arange(count + 1, dtype=dtype) * dtype.type(size), size)
        count = count // max(value.shape[axis - 1], 1)
    return made


def _kept_lengths(flat: Value, lengths: Any, padding: Any) -> Any:
    """How much of each row is kept."""
    size = flat.shape[1]
    if lengths is not None:
        given = np.asarray(value_of(lengths)).reshape(-1)
        return np.clip(given, 0, size)
    same = flat == matching(Tensor(flat), padding)[1]
    padded = same.reshape(len(flat), size, -1).all(axis=2) if same.ndim > 2 else same
    return size - np.cumprod(padded[:, ::-1], axis=1).sum(axis=1)


def _cut(kind: Any, value: Value, kept: Any, ragged_rank: int, dtype: Any) -> Any:
    """Rows of the dimension ``ragged_rank``, of these lengths."""
    size = value.shape[ragged_rank]
    flat = value.reshape(-1, *value.shape[ragged_rank + 1 :])
    starts = np.arange(len(kept)) * size
    made = kind(flat[ranges(starts, kept)], splits_of_lengths(kept, dtype))
    if ragged_rank == 1:
        return made
    outer = _rows_of(kind, np.zeros(value.shape[:ragged_rank], bool), ragged_rank - 1, dtype)
    return outer.with_flat_values(made)


def _from_nested_lengths(kind: Any, value: Value, nested: Any, dtype: Any) -> Any:
    """Rows of several dimensions, the lengths of each given."""
    outer = np.asarray(value_of(nested[0]))
    made = _cut(kind, value, np.clip(outer, 0, value.shape[1]), 1, dtype)
    if len(nested) == 1:
        return made
    inner = _from_nested_lengths(kind, made.flat, nested[1:], dtype)
    return kind(inner, made._splits)
