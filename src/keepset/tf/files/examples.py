"""``tf.io.parse_...``: Examples to tensors, ragged and sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.errors import ElementError, InvalidArgumentError
from keepset.exchange.tensorflow.features import FixedLenSequenceFeature
from keepset.exchange.tensorflow.parse_example import parse_example as _parse_many
from keepset.exchange.tensorflow.parse_example import parse_single_example as _parse_one
from keepset.exchange.tensorflow.parse_sequence import (
    parse_single_sequence_example as _parse_sequence,
)
from keepset.tf.tensors.conversion import value_of
from keepset.tf.tensors.elements import tensored


def _told(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a parser gives, as tensors; wrong data is an error of TensorFlow's kind."""
    try:
        return tensored(function(*arguments))
    except ElementError as error:
        raise InvalidArgumentError(str(error)) from error


def _one(serialized: Any) -> bytes:
    value = value_of(serialized, "string")
    if type(value) is not bytes:
        raise ValueError("Input serialized must be a scalar; use parse_example for many")
    return value


def parse_single_example(
    serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> Any:
    """The features of one Example, as tensors."""
    return _told(_parse_one, _one(serialized), features)


def parse_example(
    serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> Any:
    """The features of a batch of Examples, or of a single one."""
    value = value_of(serialized, "string")
    if type(value) is bytes:
        return _told(_parse_one, value, features)
    return _told(_parse_many, value, features)


def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> Any:
    """The context and the sequences of one SequenceExample."""
    return _told(_parse_sequence, _one(serialized), context_features, sequence_features)


def parse_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,
    name: str | None = None,
) -> Any:
    """The contexts and sequences of a batch, and how long the sequences of fixed items are.

    Sequences of fixed items are filled up with zeros to the longest one.
    """
    value = value_of(serialized, "string")
    if type(value) is bytes or value.ndim != 1:
        raise InvalidArgumentError("serialized must have one dimension; use the single parser")
    try:
        rows = [_parse_sequence(each, context_features, sequence_features) for each in value]
    except ElementError as error:
        raise InvalidArgumentError(str(error)) from error
    contexts = {key: _batch([row[0][key] for row in rows]) for key in context_features or {}}
    sequences, lengths = {}, {}
    for key, feature in (sequence_features or {}).items():
        items = [row[1][key] for row in rows]
        if isinstance(feature, FixedLenSequenceFeature):
            lengths[key] = np.array([len(item) for item in items], np.int64)
        sequences[key] = _batch(items)
    return tensored((contexts, sequences, lengths))


def _batch(items: list[Any]) -> Any:
    """Leaves of several elements as one, filled up if they are of different lengths."""
    first = items[0]
    if isinstance(first, Sparse):
        return Sparse.stack(items)
    if isinstance(first, Ragged):
        return Ragged.from_rows(items, first.row_splits.dtype)
    if isinstance(first, bytes):
        return np.array(items, object)
    arrays = [np.asarray(item) for item in items]
    if len({each.shape for each in arrays}) == 1:
        return np.stack(arrays)
    longest = max(len(each) for each in arrays)
    filler = b"" if arrays[0].dtype == object else 0
    made = np.full((len(arrays), longest, *arrays[0].shape[1:]), filler, arrays[0].dtype)
    for row, each in zip(made, arrays, strict=True):
        row[: len(each)] = each
    return made
