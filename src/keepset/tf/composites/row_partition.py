"""How values are cut into rows: splits made of lengths, starts, limits or row numbers, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.tensors.conversion import Value, value_of


def whole_numbers(given: Any, what: str) -> Any:
    """A list of whole numbers of 32 or 64 bits, as partitions are given."""
    numbers = np.asarray(value_of(given))
    if not numbers.size and not isinstance(given, np.ndarray | np.generic):
        numbers = numbers.astype(np.int64) if numbers.dtype == np.float32 else numbers
    if numbers.dtype not in (np.int32, np.int64):
        raise DtypeError(f"{what} must be int32 or int64, not {numbers.dtype.name}; use tf.cast")
    if numbers.ndim != 1:
        raise InvalidArgumentError(f"{what} must have one dimension, not {numbers.ndim}")
    is_list = isinstance(given, list | tuple | range)  # which TensorFlow takes for int64
    return numbers.astype(np.int64) if is_list else numbers


def checked_splits(given: Any, count: int) -> Any:
    """Splits that begin with 0, never fall and end with the number of values."""
    splits = whole_numbers(given, "row_splits")
    if not len(splits):
        raise InvalidArgumentError("row_splits may not be empty; pass [0] for no rows")
    if splits[0] != 0 or splits[-1] != count or (np.diff(splits) < 0).any():
        raise InvalidArgumentError(
            f"row_splits {splits[:8].tolist()} must begin with 0, never fall and end with the "
            f"number of values, {count}"
        )
    return splits


def splits_of_lengths(lengths: Any, dtype: Any = None) -> Any:
    """Where rows of these lengths begin, and the end."""
    splits = np.zeros(len(lengths) + 1, dtype or lengths.dtype)
    np.cumsum(lengths, out=splits[1:])
    return splits


def splits_of_rowids(rowids: Any, nrows: int | None) -> Any:
    """Where rows begin if each value says in which it is."""
    if (np.diff(rowids) < 0).any() or (rowids < 0).any():
        raise InvalidArgumentError("value_rowids may not fall and may not be negative; sort them")
    least = int(rowids[-1]) + 1 if len(rowids) else 0
    count = least if nrows is None else nrows
    if count < least:
        raise InvalidArgumentError(f"value_rowids reach row {least - 1}, and nrows is {count}")
    return np.searchsorted(rowids, np.arange(count + 1)).astype(rowids.dtype)


def rowids_of(splits: Any) -> Any:
    """The row of each value."""
    return np.repeat(np.arange(len(splits) - 1, dtype=splits.dtype), np.diff(splits))


def places_of(splits: Any) -> Any:
    """The place of each value in its row."""
    return np.arange(splits[-1], dtype=splits.dtype) - np.repeat(splits[:-1], np.diff(splits))


def ranges(starts: Any, counts: Any) -> Any:
    """The numbers from each start on, so many each, in one array."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - (ends - counts), counts)


def reduced_segments(function: Any, values: Value, splits: Any, empty: Any) -> Value:
    """A ufunc over each row of values; rows without any give ``empty``."""
    lengths = np.diff(splits)
    made = np.full((len(lengths), *values.shape[1:]), empty, values.dtype)
    full = lengths > 0
    if full.any():
        made[full] = function.reduceat(values, splits[:-1][full], axis=0, dtype=values.dtype)
    return made
