"""SequenceExamples to elements: a context, and sequences whose steps are features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from keepset.core.dtypes import Array, DType, StringType, storage_dtype
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.errors import ElementError, InvalidArgumentError
from keepset.exchange.tensorflow.example_columns import feature_values
from keepset.exchange.tensorflow.features import (
    FixedLenSequenceFeature,
    RaggedFeature,
    VarLenFeature,
    check_features,
)
from keepset.exchange.tensorflow.parse_example import parse_single_example
from keepset.exchange.tensorflow.wire import BYTES, bytes_field, fields

_KIND_OF = {"string": 1, "float32": 2, "int64": 3}


def parse_single_sequence_example(
    serialized: Any,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The context and the sequences of one SequenceExample.

    Args:
        serialized: The bytes of the SequenceExample.
        context_features: As of :func:`parse_single_example`.
        sequence_features: FixedLenSequenceFeature, VarLenFeature or RaggedFeature by name.
    """
    if hasattr(serialized, "numpy"):
        serialized = serialized.numpy()
    data = bytes(serialized)
    try:
        context, lists = _parts(data)
    except (ValueError, UnicodeDecodeError) as error:
        raise ElementError(f"the SequenceExample is damaged: {error}") from error
    found = {}
    if context_features:
        found = parse_single_example(bytes_field(1, context), context_features)
    sequences = check_features(sequence_features) if sequence_features else {}
    return found, {name: _sequence(name, lists, each) for name, each in sequences.items()}


def _parts(data: bytes) -> tuple[bytes, dict[str, list[tuple[int, Any]]]]:
    """The bytes of the context, and the lists of each step by name."""
    context, lists = b"", {}
    for number, kind, value in fields(data):
        if kind != BYTES:
            continue
        if number == 1:
            context += value
        elif number == 2:
            for field, form, entry in fields(value):
                if field == 1 and form == BYTES:
                    key, steps = _entry(entry)
                    lists[key] = steps
    return context, lists


def _entry(data: bytes) -> tuple[str, list[tuple[int, Any]]]:
    key, steps = "", []
    for number, kind, value in fields(data):
        if number == 1 and kind == BYTES:
            key = value.decode()
        elif number == 2 and kind == BYTES:
            steps = [feature_values(v) for n, form, v in fields(value) if (n, form) == (1, BYTES)]
    return key, steps


def _sequence(name: str, lists: Mapping[str, list[tuple[int, Any]]], feature: Any) -> Any:
    if isinstance(feature, RaggedFeature) and feature.partitions:
        raise InvalidArgumentError(
            f"the sequence {name!r}: partitions within the steps of a sequence are not supported; "
            "read its values and its partitions as features of their own"
        )
    if not isinstance(feature, FixedLenSequenceFeature | VarLenFeature | RaggedFeature):
        raise InvalidArgumentError(
            f"the sequence {name!r} is a FixedLenSequenceFeature, a VarLenFeature or a "
            f"RaggedFeature, not {feature!r}"
        )
    key = getattr(feature, "value_key", None) or name
    if key not in lists and isinstance(feature, FixedLenSequenceFeature):
        if not feature.allow_missing:
            raise ElementError(
                f"the sequence {name!r} is required but could not be found; pass "
                "allow_missing=True if it may be left out"
            )
        return np.zeros((0, *feature.shape), storage_dtype(feature.dtype))
    steps = [
        _step(name, number, each, feature.dtype) for number, each in enumerate(lists.get(key, []))
    ]
    if isinstance(feature, FixedLenSequenceFeature):
        return _fixed(name, steps, feature)
    lengths = np.array([len(step) for step in steps], np.int64)
    values = np.concatenate([_empty(feature.dtype), *steps])
    if isinstance(feature, RaggedFeature):
        splits = np.concatenate([[0], np.cumsum(lengths)]).astype(feature.row_splits_dtype)
        return Ragged(values, splits)
    rows = np.repeat(np.arange(len(steps)), lengths)
    columns = np.concatenate([np.zeros(0, np.int64), *(np.arange(n) for n in lengths)])
    shape = [len(steps), int(lengths.max(initial=0))]
    return Sparse(np.stack([rows, columns], axis=1), values, shape)


def _empty(dtype: DType) -> Array:
    return np.zeros(0, storage_dtype(dtype))


def _step(name: str, number: int, found: tuple[int, Any], dtype: DType) -> Array:
    kind, values = found
    if kind not in (0, _KIND_OF[dtype.name]):
        raise ElementError(
            f"step {number} of the sequence {name!r} is of another kind than {dtype.name}"
        )
    if not kind:
        return _empty(dtype)
    if isinstance(dtype, StringType):
        array = np.empty(len(values), object)
        array[:] = values
        return array
    return np.asarray(values)


def _fixed(name: str, steps: list[Array], feature: FixedLenSequenceFeature) -> Array:
    size = int(np.prod(feature.shape, dtype=np.int64))
    for number, step in enumerate(steps):
        if len(step) != size:
            raise ElementError(
                f"step {number} of the sequence {name!r} has {len(step)} values, and the shape "
                f"{feature.shape} takes {size}"
            )
    joined = np.concatenate([_empty(feature.dtype), *steps])
    return joined.reshape(len(steps), *feature.shape)
