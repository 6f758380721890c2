"""parse_example: Examples to elements, as their feature descriptions say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keepset.core.column import Column
from keepset.core.dtypes import Array, storage_dtype, zero_of
from keepset.core.jagged import Jagged
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.spec import (
    LeafSpec,
    RaggedTensorSpec,
    SparseTensorSpec,
    Spec,
    TensorSpec,
)
from keepset.errors import ElementError, InvalidArgumentError
from keepset.exchange.tensorflow.example_columns import lists_of
from keepset.exchange.tensorflow.example_lists import Lists
from keepset.exchange.tensorflow.features import (
    FeatureDescription,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    RowLengths,
    RowLimits,
    RowSplits,
    RowStarts,
    SparseFeature,
    UniformRowLength,
    ValueRowIds,
    VarLenFeature,
    check_features,
    wanted_keys,
)


def parse_single_example(serialized: Any, features: Mapping[str, Any]) -> dict[str, Any]:
    """The element that one Example stands for.

    Args:
        serialized: The bytes of the Example.
        features: What to read of it: ``{"x": FixedLenFeature([2], "float32"), ...}``.

    Raises:
        ElementError: The Example is damaged, or is not as described.

    Example:
        >>> from keepset import Example, Feature, Features, Int64List
        >>> one = Example(Features({"a": Feature(int64_list=Int64List([7]))}))
        >>> parse_single_example(one.SerializeToString(), {"a": FixedLenFeature([], "int64")})
        {'a': np.int64(7)}
    """
    data = _as_bytes(serialized)
    if not isinstance(data, bytes):
        raise ElementError("parse_single_example takes the bytes of one Example; for many, use "
                           "parse_example")  # fmt: skip
    columns = example_columns([data], check_features(features))
    return {name: _first(column) for name, column in columns.items()}


def _first(column: Column) -> Any:
    leaf = column[0]
    return leaf[()] if isinstance(leaf, np.ndarray) and not leaf.ndim else leaf


def parse_example(serialized: Any, features: Mapping[str, Any]) -> dict[str, Any]:
    """The batch that several Examples stand for.

    Args:
        serialized: An array or a list of the bytes of Examples.
        features: As of :func:`parse_single_example`.

    Example:
        >>> from keepset import Example, Feature, Features, Int64List
        >>> made = [Example(Features({"a": Feature(int64_list=Int64List([n]))})) for n in (7, 8)]
        >>> batch = [one.SerializeToString() for one in made]
        >>> parse_example(batch, {"a": FixedLenFeature([], "int64")})
        {'a': array([7, 8])}
    """
    data = _as_bytes(serialized)
    if isinstance(data, bytes):
        raise ElementError("parse_example takes many Examples; for one, use parse_single_example")
    described = check_features(features)
    lists = lists_of(data, wanted_keys(described))
    return {name: _batch(name, feature, lists) for name, feature in described.items()}


def _as_bytes(serialized: Any) -> bytes | list[bytes]:
    if isinstance(serialized, bytes):
        return serialized
    if hasattr(serialized, "numpy"):
        serialized = serialized.numpy()
    if isinstance(serialized, np.ndarray) and serialized.ndim == 0:
        serialized = serialized[()]
    if isinstance(serialized, bytes | bytearray | memoryview):
        return bytes(serialized)
    if isinstance(serialized, np.ndarray) and serialized.ndim > 1:
        raise ElementError(f"Examples come in one dimension, not in {serialized.ndim}")
    items = serialized.tolist() if isinstance(serialized, np.ndarray) else list(serialized)
    for item in items:
        if not isinstance(item, bytes):
            raise ElementError(f"an Example comes as bytes, not as {type(item).__name__}")
    return items


def example_columns(
    examples: Sequence[bytes], features: Mapping[str, FeatureDescription]
) -> dict[str, Column]:
    """The elements of many Examples, each by itself, as columns."""
    lists = lists_of(examples, wanted_keys(features))
    return {name: _column(name, feature, lists) for name, feature in features.items()}


def features_spec(features: Mapping[str, FeatureDescription]) -> Spec:
    """The spec of the elements that single Examples become."""
    return {name: _leaf_spec(feature) for name, feature in features.items()}


def _leaf_spec(feature: FeatureDescription) -> LeafSpec:
    match feature:
        case FixedLenFeature(shape=shape, dtype=dtype):
            return TensorSpec(shape, dtype)
        case FixedLenSequenceFeature(shape=shape, dtype=dtype):
            return TensorSpec((None, *shape), dtype)
        case VarLenFeature(dtype=dtype):
            return SparseTensorSpec([None], dtype)
        case SparseFeature(size=size, dtype=dtype):
            return SparseTensorSpec(size, dtype)
        case RaggedFeature(partitions=()):
            return TensorSpec([None], feature.dtype)
        case RaggedFeature(partitions=parts):
            inner = feature.inner_shape
            depth = len(parts) - len(inner)
            shape = [*[None] * (depth + 1), *inner]
            if not depth:
                return TensorSpec(shape, feature.dtype)
            return RaggedTensorSpec(shape, feature.dtype, depth, feature.row_splits_dtype)
    raise InvalidArgumentError(f"{feature!r} is no feature")


def _column(name: str, feature: FeatureDescription, lists: Mapping[str, Lists]) -> Column:
    match feature:
        case FixedLenFeature():
            return _fixed(name, feature, lists[name])
        case FixedLenSequenceFeature():
            return _sequences(name, feature, lists[name])
        case VarLenFeature():
            return [_sparse_row(row) for row in _rows(lists[name])]
        case SparseFeature():
            return _sparse_rows(name, feature, lists)
        case RaggedFeature(partitions=()):
            found = lists[feature.value_key or name]
            return Jagged.packed(found.values, found.offsets)
    return _ragged_rows(name, feature, lists)


def _batch(name: str, feature: FeatureDescription, lists: Mapping[str, Lists]) -> Any:
    match feature:
        case FixedLenFeature():
            return _fixed(name, feature, lists[name])
        case FixedLenSequenceFeature():
            return _padded(feature, _sequences(name, feature, lists[name]))
        case VarLenFeature():
            return _sparse_batch(lists[name])
        case SparseFeature():
            rows = _sparse_rows(name, feature, lists)
            return Sparse.stack(rows) if rows else _no_sparse(feature)
        case RaggedFeature(partitions=()):
            found = lists[feature.value_key or name]
            return Ragged.trusted(found.values, found.offsets.astype(feature.row_splits_dtype))
    return Ragged.from_rows(_ragged_rows(name, feature, lists), feature.row_splits_dtype)


def _rows(lists: Lists) -> list[Array]:
    return Jagged.packed(lists.values, lists.offsets).leaves()


def _fixed(name: str, feature: FixedLenFeature, lists: Lists) -> Array:
    size, lengths = int(np.prod(feature.shape, dtype=np.int64)), lists.lengths
    fits = lists.is_there & (lengths == size)
    if fits.all():
        return lists.values.reshape(len(lengths), *feature.shape)
    missing = ~lists.is_there
    wrong = np.flatnonzero(~fits & ~missing)
    if len(wrong):
        row = int(wrong[0])
        raise ElementError(
            f"the feature {name!r} of Example {row} has {int(lengths[row])} values, and the shape "
            f"{feature.shape} takes {size}; change its description, or use VarLenFeature"
        )
    if feature.default_value is None:
        raise ElementError(
            f"the feature {name!r} is required but could not be found in Example "
            f"{int(np.flatnonzero(missing)[0])}; give its description a default_value"
        )
    found = np.empty((len(lengths), *feature.shape), storage_dtype(feature.dtype))
    found[~missing] = lists.values.reshape(-1, *feature.shape)
    found[missing] = feature.default_value
    return found


def _sequences(name: str, feature: FixedLenSequenceFeature, lists: Lists) -> Jagged:
    if not feature.allow_missing:
        raise InvalidArgumentError(
            f"the feature {name!r}: outside of a SequenceExample, FixedLenSequenceFeature needs "
            "allow_missing=True"
        )
    size = int(np.prod(feature.shape, dtype=np.int64))
    wrong = np.flatnonzero(lists.lengths % size if size else lists.lengths)
    if len(wrong):
        row = int(wrong[0])
        raise ElementError(
            f"the feature {name!r} of Example {row} has {int(lists.lengths[row])} values, which "
            f"are no whole number of rows of the shape {feature.shape}"
        )
    values = lists.values.reshape(-1, *feature.shape)
    return Jagged.packed(values, lists.offsets // max(size, 1))


def _padded(feature: FixedLenSequenceFeature, rows: Jagged) -> Array:
    longest = int(rows.lengths.max(initial=0))
    dtype = storage_dtype(feature.dtype)
    filler = zero_of(feature.dtype) if feature.default_value is None else feature.default_value
    if isinstance(filler, str):
        filler = filler.encode()
    found = np.full((len(rows), longest, *feature.shape), filler, dtype)
    found[np.arange(longest) < rows.lengths[:, np.newaxis]] = rows.joined()
    return found


def _sparse_row(values: Array) -> Sparse:
    return Sparse(np.arange(len(values))[:, np.newaxis], values, [len(values)])


def _sparse_batch(lists: Lists) -> Sparse:
    lengths = lists.lengths
    rows = np.repeat(np.arange(len(lengths)), lengths)
    columns = np.arange(len(rows)) - np.repeat(lists.offsets[:-1], lengths)
    shape = [len(lengths), int(lengths.max(initial=0))]
    return Sparse(np.stack([rows, columns], axis=1), lists.values, shape)


def _sparse_rows(name: str, feature: SparseFeature, lists: Mapping[str, Lists]) -> list[Sparse]:
    indices = [_rows(lists[key]) for key in feature.index_key]
    made = []
    for row, values in enumerate(_rows(lists[feature.value_key])):
        places = [each[row] for each in indices]
        if any(len(each) != len(values) for each in places):
            raise ElementError(
                f"the feature {name!r} of Example {row} has {len(values)} values, and another "
                "number of places for them"
            )
        table = np.stack(places, axis=1)
        if not feature.already_sorted and len(table) > 1:
            order = np.lexsort(table.T[::-1])
            table, values = table[order], values[order]
        made.append(Sparse(table, values, feature.size))
    return made


def _no_sparse(feature: SparseFeature) -> Sparse:
    shape = (0, *feature.size)
    values = np.zeros(0, storage_dtype(feature.dtype))
    return Sparse(np.zeros((0, len(shape)), np.int64), values, shape)


def _ragged_rows(name: str, feature: RaggedFeature, lists: Mapping[str, Lists]) -> list[Any]:
    """Each with its partitions around it, the last one of them innermost."""
    made = []
    for row, values in enumerate(_rows(lists[feature.value_key or name])):
        try:
            inner: Any = _uniform_rows(values, feature.inner_shape)
            for part in feature.partitions[::-1][len(feature.inner_shape) :]:
                keyed = None if isinstance(part, UniformRowLength) else _row(lists[part.key], row)
                splits = _splits(part, keyed, len(inner)).astype(feature.row_splits_dtype)
                inner = Ragged(inner, splits)
        except ElementError as error:
            raise ElementError(
                f"the feature {name!r} of Example {row} does not fit together: {error}"
            ) from error
        made.append(inner)
    return made


def _uniform_rows(values: Array, sizes: tuple[int, ...]) -> Array:
    """Values in rows of one length, which is no raggedness."""
    size = int(np.prod(sizes, dtype=np.int64))
    if size <= 0 or len(values) % size:
        raise ElementError(f"{len(values)} values are no rows of {' x '.join(map(str, sizes))}")
    return values.reshape(-1, *sizes)


def _row(lists: Lists, row: int) -> Array:
    return lists.values[int(lists.offsets[row]) : int(lists.offsets[row + 1])]


def _splits(part: Any, numbers: Array | None, count: int) -> Array:
    """Where rows begin, and the end."""
    if numbers is None:
        if part.length <= 0 or count % part.length:
            raise ElementError(f"{count} values are no rows of {part.length}")
        return np.arange(0, count + 1, part.length)
    match part:
        case RowSplits():
            return numbers if len(numbers) else np.zeros(1, np.int64)
        case RowLengths():
            return np.concatenate([[0], np.cumsum(numbers)])
        case RowStarts():
            return np.append(numbers, count)
        case RowLimits():
            return np.concatenate([[0], numbers])
        case ValueRowIds():
            rows = int(numbers[-1]) + 1 if len(numbers) else 0
            return np.searchsorted(numbers, np.arange(rows + 1))
    raise InvalidArgumentError(f"{part!r} is no partition")
