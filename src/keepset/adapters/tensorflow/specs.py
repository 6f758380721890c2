"""Specs: the types of elements, in TensorFlow's words and in ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from keepset.core.dtypes import DType, StringType, string
from keepset.core.spec import (
    DatasetSpec,
    LeafSpec,
    RaggedTensorSpec,
    SparseTensorSpec,
    Spec,
    TensorSpec,
)
from keepset.core.structure import structure_of
from keepset.errors import ElementError


def tf_spec(leaf: LeafSpec) -> Any:
    """The spec of a leaf as TensorFlow writes it."""
    if isinstance(leaf, DatasetSpec):
        raise ElementError(
            "elements that are data sets, as window gives them, cannot be handed to TensorFlow; "
            "use flat_map"
        )
    dtype = tf_dtype(leaf.dtype)
    if isinstance(leaf, RaggedTensorSpec):
        splits = tf.as_dtype(leaf.row_splits_dtype)
        return tf.RaggedTensorSpec(leaf.open_shape, dtype, leaf.ragged_rank, splits)
    if isinstance(leaf, SparseTensorSpec):
        return tf.SparseTensorSpec(leaf.shape, dtype)
    return tf.TensorSpec(leaf.shape, dtype)


def tf_dtype(dtype: DType) -> Any:
    if isinstance(dtype, StringType):
        return tf.string
    if dtype.kind in "mM":
        raise ElementError(
            f"TensorFlow has no dtype {dtype.name}; count its units with "
            'map(lambda x: x.astype("int64")), or leave it out with select'
        )
    try:
        return tf.as_dtype(dtype)
    except TypeError as error:
        raise ElementError(
            f"TensorFlow has no dtype {dtype.name}; bring it to another one with map"
        ) from error


def spec_of_tf(element_spec: Any) -> Spec:
    """A nested spec of TensorFlow's as ours."""
    structure = structure_of(element_spec)
    leaves = [_leaf_spec(leaf) for leaf in structure.leaves(element_spec)]
    inner = iter([structure_of(leaf) for leaf in leaves])
    return structure.nest(inner).build([leaf for leaf in leaves if leaf is not None])


def _leaf_spec(leaf: Any) -> LeafSpec | None:
    if isinstance(leaf, tf.NoneTensorSpec):
        return None
    kinds = tf.TensorSpec | tf.RaggedTensorSpec | tf.SparseTensorSpec
    if not isinstance(leaf, kinds):
        raise ElementError(
            f"elements of {leaf} cannot be taken from TensorFlow; use its map to bring them to "
            "tensors"
        )
    shape = None if leaf.shape.rank is None else leaf.shape.as_list()
    dtype = string if leaf.dtype == tf.string else np.dtype(leaf.dtype.as_numpy_dtype)
    if isinstance(leaf, tf.SparseTensorSpec):
        return SparseTensorSpec(shape, dtype)
    if isinstance(leaf, tf.RaggedTensorSpec) and leaf.ragged_rank:
        splits = leaf.row_splits_dtype.as_numpy_dtype
        return RaggedTensorSpec(shape, dtype, leaf.ragged_rank, splits)
    return TensorSpec(shape, dtype)
