"""Types of values: constructors, texts and comparisons, as TensorFlow 2.21 has them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import keepset.tf as tf


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            tf.TensorSpec([None, 3], tf.int64),
            "TensorSpec(shape=(None, 3), dtype=tf.int64, name=None)",
        ),
        (
            tf.TensorSpec(None, name="x"),
            "TensorSpec(shape=<unknown>, dtype=tf.float32, name='x')",
        ),
        (
            tf.RaggedTensorSpec([None, None], tf.int32),
            "RaggedTensorSpec(TensorShape([None, None]), tf.int32, 1, tf.int64)",
        ),
        (
            tf.RaggedTensorSpec([2, None], None, flat_values_spec=tf.TensorSpec([None], "string")),
            "RaggedTensorSpec(TensorShape([2, None]), tf.string, 1, tf.int64, "
            "TensorSpec(shape=(None,), dtype=tf.string, name=None))",
        ),
        (tf.SparseTensorSpec(), "SparseTensorSpec(TensorShape(None), tf.float32)"),
    ],
)
def test_the_text_of_a_type_is_that_of_tensorflow(spec: Any, text: str) -> None:
    assert repr(spec) == str(spec) == text
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_a_tensor_spec_has_a_shape_and_a_dtype_of_tensorflow() -> None:
    spec = tf.TensorSpec((None, 3), "int64")
    assert isinstance(spec.shape, tf.TensorShape)
    assert spec.shape.as_list() == [None, 3]
    assert spec.dtype is tf.int64
    assert spec.value_type is tf.Tensor
    assert isinstance(spec, tf.TypeSpec)


def test_specs_are_equal_with_their_names_and_of_one_hash_without() -> None:
    one, other = tf.TensorSpec([2]), tf.TensorSpec([2], name="x")
    assert one != other
    assert hash(one) == hash(other)
    assert one == tf.TensorSpec((2,), np.float32)
    assert one != tf.SparseTensorSpec([2])
    assert len({tf.SparseTensorSpec([2]), tf.SparseTensorSpec([2])}) == 1


def test_a_tensor_is_compatible_and_an_array_is_not() -> None:
    spec = tf.TensorSpec([None], tf.int32)
    assert spec.is_compatible_with(tf.constant([1, 2]))
    assert spec.is_compatible_with(tf.TensorSpec([2], tf.int32, "x"))
    assert not spec.is_compatible_with(tf.constant(1))
    assert not spec.is_compatible_with(np.array([1, 2], np.int32))


def test_ragged_and_sparse_tensors_are_compatible_with_their_types() -> None:
    rows = tf.ragged.constant([[1], [2, 3]])
    assert tf.RaggedTensorSpec([None, None], tf.int32).is_compatible_with(rows)
    assert not tf.RaggedTensorSpec([3, None], tf.int32).is_compatible_with(rows)
    assert not tf.RaggedTensorSpec([2, None], tf.int32).is_compatible_with(tf.constant([[1], [2]]))
    assert tf.RaggedTensorSpec([None, 1], tf.int32, 0).is_compatible_with(tf.constant([[1], [2]]))
    assert tf.SparseTensorSpec([None], tf.int32).is_compatible_with(tf.sparse.from_dense([1, 0]))


def test_the_common_supertype_is_the_narrowest() -> None:
    one = tf.TensorSpec([2, 3], tf.int32)
    assert one.most_specific_common_supertype(
        [tf.TensorSpec([2, 4], tf.int32)]
    ) == tf.TensorSpec([2, None], tf.int32)  # fmt: skip
    assert one.most_specific_common_supertype([tf.TensorSpec([2, 3], tf.int64)]) is None
    assert one.most_specific_common_supertype([tf.SparseTensorSpec([2, 3], tf.int32)]) is None
    with pytest.raises(ValueError, match="No TypeSpec is compatible with both"):
        one.most_specific_compatible_type(tf.TensorSpec([2, 3], tf.int64))


def test_a_subtype_knows_more() -> None:
    wide, narrow = tf.TensorSpec([None]), tf.TensorSpec([2])
    assert narrow.is_subtype_of(wide)
    assert not wide.is_subtype_of(narrow)
    assert not tf.TensorSpec([2], name="x").is_subtype_of(wide)
    assert tf.RaggedTensorSpec([2, None]).is_subtype_of(tf.RaggedTensorSpec([None, None]))


def test_a_ragged_spec_needs_a_rank() -> None:
    with pytest.raises(ValueError, match="Must specify ragged_rank or a shape"):
        tf.RaggedTensorSpec()
    with pytest.raises(ValueError, match="must be less than rank"):
        tf.RaggedTensorSpec([2, None], ragged_rank=2)
    with pytest.raises(TypeError, match="must be an int"):
        tf.RaggedTensorSpec([2, None], ragged_rank="1")  # type: ignore[arg-type]


def test_from_tensor_takes_tensors_only() -> None:
    assert tf.TensorSpec.from_tensor(tf.constant([1]), "x") == tf.TensorSpec([1], tf.int32, "x")
    with pytest.raises(ValueError, match="type_spec_from_value takes other values"):
        tf.TensorSpec.from_tensor(3)
