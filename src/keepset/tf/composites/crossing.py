"""cross: features put together, each item of a row with each of the same row in others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.composites.ragged_tensor import RaggedTensor
from keepset.tf.composites.row_partition import splits_of_lengths
from keepset.tf.composites.sparse_tensor import SparseTensor
from keepset.tf.tensors.conversion import string_array
from keepset.tf.tensors.tensor import array_of

_SEPARATOR = "_X_"


def ragged_cross(inputs: Any, name: str | None = None) -> RaggedTensor:
    """The crosses of ragged, dense or sparse features, as texts, by row.

    Example:
        >>> import keepset.tf as tf
        >>> tf.ragged.cross([tf.ragged.constant([["a", "b"], ["c"]]), [["x"], ["y"]]])
        <tf.RaggedTensor [[b'a_X_x', b'b_X_x'], [b'c_X_y']]>
    """
    if not isinstance(inputs, list | tuple):
        raise TypeError("Inputs must be a list")
    rows = _crossed(inputs, _SEPARATOR)
    splits = splits_of_lengths(np.array([len(row) for row in rows], np.int64))
    return RaggedTensor(string_array([item for row in rows for item in row]), splits)


def sparse_cross(inputs: Any, name: str | None = None, separator: Any = None) -> SparseTensor:
    """The crosses of dense or sparse features, as texts, at the left of their rows."""
    if not isinstance(inputs, list | tuple) or any(isinstance(each, list) for each in inputs):
        raise TypeError("All inputs must be Tensor or SparseTensor.")
    rows = _crossed(inputs, _SEPARATOR if separator is None else str(separator))
    places = [(number, place) for number, row in enumerate(rows) for place in range(len(row))]
    indices = np.array(places, np.int64).reshape(-1, 2)
    shape = np.array([len(rows), max(map(len, rows), default=0)], np.int64)
    return SparseTensor(indices, string_array([item for row in rows for item in row]), shape)


def _crossed(inputs: Sequence[Any], separator: str) -> list[list[bytes]]:
    features = [_rows(each) for each in inputs]
    counts = sorted({len(rows) for rows in features})
    if len(counts) != 1:
        raise InvalidArgumentError(f"crossed features have different numbers of rows: {counts}")
    between = separator.encode()
    return [
        [between.join(items) for items in product(*parts)] for parts in zip(*features, strict=True)
    ]


def _rows(feature: Any) -> list[list[bytes]]:
    """The items of each row as texts."""
    if isinstance(feature, RaggedTensor):
        rows = feature.to_list()
    elif isinstance(feature, SparseTensor):
        rows = [[] for _ in range(int(feature.dense_shape.numpy()[0]))]
        values = np.asarray(feature.values.numpy()).tolist()
        for row, value in zip(feature.indices.numpy()[:, 0].tolist(), values, strict=True):
            rows[row].append(value)
    else:
        array = array_of(feature)
        if np.ndim(array) != 2:
            raise InvalidArgumentError(f"a feature has two dimensions, not {np.ndim(array)}")
        rows = array.tolist()
    return [[_text(item) for item in row] for row in rows]


def _text(item: Any) -> bytes:
    return item if isinstance(item, bytes) else str(int(item)).encode()


__all__ = ["ragged_cross", "sparse_cross"]
