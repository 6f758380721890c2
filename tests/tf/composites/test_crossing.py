from __future__ import annotations

import pytest

import keepset.tf as tf
from keepset.errors import InvalidArgumentError

WORDS = tf.ragged.constant([["a", "b"], ["c"]])


def test_each_item_is_put_together_with_each() -> None:
    crossed = tf.ragged.cross([WORDS, tf.constant([[1], [2]])])
    assert crossed.to_list() == [[b"a_X_1", b"b_X_1"], [b"c_X_2"]]
    sparse = tf.sparse.cross([tf.constant([["a", "b"]]), tf.constant([[1]])], separator="-")
    assert sparse.values.numpy().tolist() == [b"a-1", b"b-1"]
    assert sparse.dense_shape.numpy().tolist() == [1, 2]


def test_rows_must_be_as_many() -> None:
    with pytest.raises(InvalidArgumentError, match="different numbers of rows"):
        tf.ragged.cross([WORDS, [["x"]]])
    with pytest.raises(TypeError, match="must be a list"):
        tf.ragged.cross("a")
