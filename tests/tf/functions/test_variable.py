"""Variables are tensors that can be set."""

from __future__ import annotations

import pickle

import pytest

import keepset.tf as tf


def test_values_are_set() -> None:
    count = tf.Variable(0, dtype=tf.int64, name="count")
    before = count.value()
    count.assign_add(3).assign_sub(1)
    assert (int(count), before.numpy(), count.dtype) == (2, 0, tf.int64)
    assert repr(count) == "<tf.Variable 'count:0' shape=() dtype=int64, numpy=np.int64(2)>"
    assert isinstance(count + 1, tf.Tensor)
    assert not isinstance(count + 1, tf.Variable)
    assert tf.math.maximum(count, 5).numpy() == 5
    assert (1 + count).numpy() == 3
    assert pickle.loads(pickle.dumps(count)).name == "count:0"


def test_shape_and_dtype_stay() -> None:
    table = tf.Variable([1, 2])
    with pytest.raises(ValueError, match="the shape of Variable:0"):
        table.assign([1])
    with pytest.raises(TypeError):
        table.assign([1.5, 2])
    with pytest.raises(ValueError, match="initial_value"):
        tf.Variable()
