"""Ragged tensors put together and taken apart: concat, stack, expand_dims and gather."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.composites.ragged_constructors import Part
from keepset.tf.composites.ragged_tensor import RaggedTensor, as_tensor, part_of, taken
from keepset.tf.composites.row_partition import splits_of_lengths
from keepset.tf.composites.sparse_tensor import SparseTensor
from keepset.tf.tensors.conversion import int_of, matching, plain, value_of
from keepset.tf.tensors.tensor import Tensor


def concat(values: Any, axis: Any, name: str | None = None) -> Any:
    """Rows of several tensors one after another, or each row of one behind that of another."""
    if isinstance(values, RaggedTensor):
        return values
    parts = _alike(values)
    return as_tensor(_joined(parts, _axis(axis, _rank(parts[0]))))


def stack(values: Any, axis: Any = 0, name: str | None = None) -> Any:
    """Tensors of different lengths as the rows of one.

    Example:
        >>> import keepset.tf as tf
        >>> tf.ragged.stack([[1, 2], [3]])
        <tf.RaggedTensor [[1, 2], [3]]>
    """
    if isinstance(values, RaggedTensor | Tensor):
        values = list(values)
    if any(isinstance(each, SparseTensor) for each in values):
        raise TypeError("tf.stack takes no sparse tensors; use tf.sparse.concat")
    parts = [_scalar_or_part(each) for each in values]
    if not any(isinstance(part, RaggedTensor) or np.ndim(part) for part in parts):
        row = np.stack([np.asarray(plain(each)) for each in matching(*map(as_tensor, parts))])
        return Tensor(row)
    parts = _alike(parts)
    rank = _rank(parts[0])
    place = _axis(axis, rank + 1)
    if any(isinstance(part, RaggedTensor) for part in parts) or (place, rank) == (0, 1):
        return _stacked(parts, place)
    if place >= rank - 1:
        return Tensor(np.stack(parts, axis=place))
    return _stacked(parts, place)


def _stacked(parts: list[Part], axis: int) -> Any:
    if axis == 0:
        # As TensorFlow, where all are simple rows.
        dtype = np.int32 if all(_rank(part) == 1 for part in parts) else np.int64
        lengths = np.array([len(part) for part in parts], dtype)
        return RaggedTensor(_joined(parts, 0), splits_of_lengths(lengths))
    if axis == 1:
        together = _in_turns(parts)
        splits = np.arange(len(parts[0]) + 1, dtype=np.int64) * len(parts)
        return RaggedTensor(together, splits)
    ragged = _ragged(parts)
    return ragged[0].with_values(_stacked([part_of(each._part) for each in ragged], axis - 1))


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Any:
    """The same with one more dimension, of size 1."""
    if isinstance(input, SparseTensor):
        raise ValueError("tf.expand_dims takes no sparse tensor; use tf.sparse.expand_dims")
    place = _axis(axis, len(input.shape) + 1)
    if not isinstance(input, RaggedTensor):
        return Tensor(np.expand_dims(input._value, place))
    dtype = input._splits.dtype
    if place == 0:
        return RaggedTensor(input, np.array([0, len(input)], dtype), len(input))
    if place == 1:
        return RaggedTensor(input, np.arange(len(input) + 1, dtype=dtype), 1)
    return input.with_values(expand_dims(as_tensor(input._part), place - 1))


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: Any = 0,
    name: str | None = None,
) -> Any:
    """Rows by number, also where the numbers come in rows."""
    depth = 0 if batch_dims is None else int_of(batch_dims)
    place = depth if axis is None else int_of(axis)
    if isinstance(indices, RaggedTensor) and not depth:
        return indices.with_flat_values(gather(params, indices.flat_values, axis=axis))
    if depth:
        return _batch_gather(params, indices, depth, place)
    part = part_of(params)
    if place:
        if not isinstance(part, RaggedTensor):
            return Tensor(np.take(part, value_of(indices), axis=place))
        rows = [gather(row, indices, axis=place - 1) for row in part]
        return stack(rows)
    numbers = np.asarray(value_of(indices))
    outside = (numbers < 0) | (numbers >= len(part))
    if outside.any():
        raise InvalidArgumentError(
            f"indices = {numbers[outside].reshape(-1)[0]} is not in [0, {len(part)})"
        )
    if not numbers.ndim:
        return as_tensor(part.row(int(numbers))) if isinstance(part, RaggedTensor) else as_tensor(
            part[int(numbers)]
        )  # fmt: skip
    found = as_tensor(taken(part, numbers.reshape(-1)))
    for size in numbers.shape[:0:-1]:
        found = RaggedTensor.from_uniform_row_length(found, size)
    return found


def _batch_gather(params: Any, indices: Any, depth: int, axis: int) -> Any:
    """Row by row: numbers within each row."""
    rows = [
        gather(row, numbers, axis=axis - 1, batch_dims=depth - 1)
        for row, numbers in zip(_rows(params), _rows(indices), strict=True)
    ]
    return stack(rows)


def _rows(given: Any) -> Any:
    return given if isinstance(given, RaggedTensor) else Tensor(np.asarray(value_of(given)))


def _scalar_or_part(given: Any) -> Any:
    if isinstance(given, RaggedTensor):
        return given
    value = plain(value_of(given))
    return part_of(value) if np.ndim(value) else value


def _alike(values: Sequence[Any]) -> list[Part]:
    """Parts of one rank, dtype and raggedness."""
    given = list(values)
    if any(isinstance(each, SparseTensor) for each in given):
        raise TypeError("use tf.sparse.concat for sparse tensors")
    flats = [each.flat_values if isinstance(each, RaggedTensor) else each for each in given]
    made: list[Part] = []
    for each, flat in zip(given, matching(*flats), strict=True):
        made.append(each if isinstance(each, RaggedTensor) else part_of(flat))
    ranks = {_rank(each) for each in made}
    if len(ranks) > 1:
        raise ValueError(f"tensors of different ranks do not go together: {sorted(ranks)}")
    depth = max(_depth(each) for each in made)
    return [_at_depth(each, depth) for each in made]


def _at_depth(part: Part, depth: int) -> Part:
    if _depth(part) == depth or depth == 0:
        return part
    if not isinstance(part, RaggedTensor):
        return RaggedTensor.from_tensor(Tensor(part), ragged_rank=depth)
    return RaggedTensor(_at_depth(part._part, depth - 1), part._splits)


def _depth(part: Part) -> int:
    return part.ragged_rank if isinstance(part, RaggedTensor) else 0


def _rank(part: Part) -> int:
    return len(part.shape)


def _axis(axis: Any, rank: int) -> int:
    place = int_of(axis)
    if not -rank <= place < rank:
        raise ValueError(f"axis={place} is out of bounds: expected {-rank}<=axis<{rank}")
    return place % rank


def _ragged(parts: list[Part]) -> list[RaggedTensor]:
    """Parts whose rows have the same lengths."""
    made = [
        part if isinstance(part, RaggedTensor) else RaggedTensor.from_tensor(Tensor(part))
        for part in parts
    ]
    if any(not np.array_equal(each._splits, made[0]._splits) for each in made[1:]):
        raise InvalidArgumentError("Input tensors have incompatible shapes: rows of other lengths")
    return made


def _joined(parts: list[Part], axis: int) -> Part:
    if not any(isinstance(part, RaggedTensor) for part in parts):
        try:
            return np.concatenate(parts, axis=axis)
        except ValueError as error:
            if axis or parts[0].ndim < 2:
                raise InvalidArgumentError(f"shapes do not go together: {error}") from error
            # Rows of other lengths, which is what ragged tensors are for.
            parts = [RaggedTensor.from_tensor(Tensor(part)) for part in parts]
    if axis == 0:
        lengths = np.concatenate([np.diff(part._splits) for part in parts])
        inner = _joined([part._part for part in parts], 0)
        same = {part._length for part in parts}
        splits = splits_of_lengths(lengths, parts[0]._splits.dtype)
        return RaggedTensor(inner, splits, same.pop() if len(same) == 1 else None)
    if axis == 1:
        together = _in_turns(parts)
        assert isinstance(together, RaggedTensor)
        return RaggedTensor(together._part, together._splits[:: len(parts)])
    ragged = _ragged(parts)
    return RaggedTensor(_joined([each._part for each in ragged], axis - 1), ragged[0]._splits)


def _in_turns(parts: list[Part]) -> Part:
    """The first row of each part, then the second of each, and so on."""
    counts = {len(part) for part in parts}
    if len(counts) > 1:
        raise InvalidArgumentError(
            f"Input tensors have incompatible shapes: {sorted(counts)} rows; give all as many"
        )
    count = counts.pop()
    order = np.arange(count * len(parts)).reshape(len(parts), count).T.reshape(-1)
    return taken(_joined(parts, 0), order)
