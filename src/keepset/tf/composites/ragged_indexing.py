"""Indexing of ragged tensors: rows by number, and slices of any dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.composites.ragged_tensor import RaggedTensor, taken
from keepset.tf.composites.row_partition import ranges, splits_of_lengths
from keepset.tf.tensors.conversion import Holder
from keepset.tf.tensors.indexing import item_of as item_of_array


def item_of(ragged: RaggedTensor, key: Any) -> Any:
    """The part of a ragged tensor that a key stands for: an array, or ragged again.

    Raises:
        ValueError: A number for an inner ragged dimension, whose rows may lack that item.
    """
    keys = tuple(key) if isinstance(key, list | tuple) else (key,)
    return _item(ragged, _without_ellipsis(keys, len(ragged.shape)))


def _without_ellipsis(keys: tuple[Any, ...], rank: int) -> tuple[Any, ...]:
    places = [place for place, key in enumerate(keys) if key is Ellipsis]
    used = sum(key is not None and key is not Ellipsis for key in keys)
    if used > rank:
        raise InvalidArgumentError(f"{used} indices for a ragged tensor of {rank} dimensions")
    if not places:
        return keys
    (place,) = places
    return (*keys[:place], *[slice(None)] * (rank - used), *keys[place + 1 :])


def _item(part: Any, keys: tuple[Any, ...]) -> Any:
    """As ``item_of``, for what may be an array by now."""
    if not keys:
        return part
    if not isinstance(part, RaggedTensor):
        return item_of_array(part, keys)
    first, rest = keys[0], keys[1:]
    if first is None:
        inner = _item(part, rest)
        if not isinstance(inner, RaggedTensor):
            return np.asarray(inner)[np.newaxis]
        return RaggedTensor(inner, np.array([0, len(inner)], inner._splits.dtype), len(inner))
    if not isinstance(first, slice):
        return _item(part.row(_number(first)), rest)
    rows = _sliced_rows(part, first)
    return _inside(rows, rest) if rest else rows


def _sliced_rows(part: RaggedTensor, key: slice) -> RaggedTensor:
    places = np.arange(len(part))[_plain_slice(key)]
    found = taken(part, places)
    assert isinstance(found, RaggedTensor)
    return found


def _inside(part: RaggedTensor, keys: tuple[Any, ...]) -> Any:
    """The keys for the dimensions within rows."""
    first, rest = keys[0], keys[1:]
    if first is None:
        count = len(part)
        dtype = part._splits.dtype
        inner = _inside(part, rest) if rest else part
        return RaggedTensor(inner, np.arange(count + 1, dtype=dtype), 1)
    splits = part._splits
    lengths = np.diff(splits)
    if not isinstance(first, slice):
        return _one_of_each(part, _number(first), rest)
    starts, counts, step = _bounds(_plain_slice(first), lengths)
    places = np.repeat(splits[:-1] + starts, counts) + step * ranges(np.zeros_like(counts), counts)
    inner = taken(part._part, places)
    if rest:
        whole = (slice(None), *rest)
        inner = _inside(inner, rest) if isinstance(inner, RaggedTensor) else inner[
            tuple(_plain_key(key) for key in whole)
        ]  # fmt: skip
    same = part._length if first == slice(None) else None
    return RaggedTensor(inner, splits_of_lengths(counts, splits.dtype), same)


def _one_of_each(part: RaggedTensor, index: int, rest: tuple[Any, ...]) -> Any:
    length = part._length
    if length is None:
        raise ValueError("Cannot index into an inner ragged dimension; use a slice, or to_tensor")
    if not -length <= index < length:
        raise InvalidArgumentError(f"the index {index} is out of bounds of rows of {length}")
    found = taken(part._part, part._splits[:-1] + index % length)
    if not rest:
        return found
    if isinstance(found, RaggedTensor):
        return _inside(found, rest)
    return found[tuple(_plain_key(key) for key in (slice(None), *rest))]


def _bounds(key: slice, lengths: Any) -> tuple[Any, Any, int]:
    """Where a slice begins in rows of these lengths, and how many items it has there."""
    step = 1 if key.step is None else key.step
    lowest, highest = (-1, lengths - 1) if step < 0 else (0, lengths)
    start = _bound(key.start, lengths, lowest, highest, highest if step < 0 else lowest)
    stop = _bound(key.stop, lengths, lowest, highest, lowest if step < 0 else highest)
    counts = np.maximum((stop - start + step - (1 if step > 0 else -1)) // step, 0)
    return start, counts.astype(lengths.dtype), step


def _bound(given: int | None, lengths: Any, lowest: Any, highest: Any, default: Any) -> Any:
    if given is None:
        return default + np.zeros_like(lengths)
    return np.clip(given + (lengths if given < 0 else 0), lowest, highest)


def _plain_slice(key: slice) -> slice:
    parts = (key.start, key.stop, key.step)
    return slice(*(None if each is None else _number(each) for each in parts))


def _plain_key(key: Any) -> Any:
    if key is None or key is Ellipsis:
        return key
    return _plain_slice(key) if isinstance(key, slice) else _number(key)


def _number(key: Any) -> int:
    found = key._value if isinstance(key, Holder) else key
    if isinstance(found, bool) or not isinstance(found, int | np.integer):
        raise DtypeError(f"rows are found by whole numbers and slices, not by {key!r:.60}")
    return int(found)
