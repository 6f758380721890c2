"""Values: ragged and sparse leaves between TensorFlow and us; others are arrays on both sides."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from keepset.core.encoded import encoded_leaf
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.errors import ElementError


def tf_value(leaf: Any) -> Any:
    """A leaf as TensorFlow takes it; text is bytes there."""
    leaf = encoded_leaf(leaf)
    if isinstance(leaf, Ragged):
        splits, values = [], leaf
        while isinstance(values, Ragged):
            splits.append(values.row_splits)
            values = values.values  # type: ignore[assignment]
        return tf.RaggedTensor.from_nested_row_splits(values, splits, validate=False)
    if isinstance(leaf, Sparse):
        return tf.SparseTensor(leaf.indices, leaf.values, leaf.dense_shape)
    return leaf


def leaf_of_tf(value: Any) -> Any:
    """What TensorFlow gives as a leaf of ours."""
    if isinstance(value, tf.RaggedTensor):
        return _ragged(value)
    if isinstance(value, tf.SparseTensor):
        indices, values = value.indices.numpy(), value.values.numpy()
        return Sparse(indices, values, value.dense_shape.numpy())
    if not hasattr(value, "numpy"):
        raise ElementError(
            f"a {type(value).__name__} cannot be taken from TensorFlow; use its map to bring "
            "elements to tensors"
        )
    return value.numpy()


def _ragged(value: Any) -> Ragged:
    inner = value.values
    values = _ragged(inner) if isinstance(inner, tf.RaggedTensor) else np.asarray(inner.numpy())
    return Ragged(values, value.row_splits.numpy())
