"""TensorArray: what encoders of targets write to and stack."""

from __future__ import annotations

import pytest

import keepset.tf as tf


def test_what_is_written_is_stacked() -> None:
    made = tf.TensorArray(tf.float32, size=3, dynamic_size=True)
    made = made.write(0, [1.0, 2.0]).write(1, [3.0, 4.0])
    assert made.stack().numpy().tolist() == [[1, 2], [3, 4], [0, 0]]
    assert made.concat().numpy().tolist() == [1, 2, 3, 4, 0, 0]
    assert made.gather([1]).numpy().tolist() == [[3, 4]]
    assert made.write(4, [5.0, 6.0]).size().numpy() == 5
    assert made.element_shape == [2]
    assert made.dtype is tf.float32


def test_a_tensor_is_taken_apart() -> None:
    made = tf.TensorArray(tf.int32, size=3)
    assert made.unstack([1, 2, 3]).read(2).numpy() == 3
    assert made.scatter([1, 0], [7, 8]).stack().numpy().tolist() == [8, 7, 0]
    assert made.split([1, 2, 3], [1, 2]).read(1).numpy().tolist() == [2, 3]


def test_a_map_can_use_one() -> None:
    def encode(x: tf.Tensor) -> tf.Tensor:
        found = tf.TensorArray(tf.int64, size=0, dynamic_size=True)
        for i in tf.range(2):
            found = found.write(i, x + tf.cast(i, tf.int64))
        return found.stack()

    got = tf.data.Dataset.range(2).map(encode)
    assert [each.numpy().tolist() for each in got] == [[0, 1], [1, 2]]


def test_errors_say_what_to_pass() -> None:
    made = tf.TensorArray(tf.float32, size=1)
    with pytest.raises(tf.errors.OutOfRangeError, match="pass dynamic_size=True"):
        made.write(1, 1.0)
    with pytest.raises(tf.errors.OutOfRangeError, match="size is: 1"):
        made.read(1)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"dtype int32; use tf\.cast"):
        made.write(0, tf.constant(1))
    with pytest.raises(ValueError, match="pass element_shape"):
        made.stack()
    made.write(0, 1.0).read(0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="pass clear_after_read=False"):
        made.read(0)
    with pytest.raises(ValueError, match="pass infer_shape=False"):
        made.write(0, [1.0])
    with pytest.raises(ValueError, match="pass size=0, dynamic_size=True"):
        tf.TensorArray(tf.float32)
