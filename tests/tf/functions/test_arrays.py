"""Tensors that are made, and their dtypes."""

from __future__ import annotations

import pytest

import keepset.tf as tf


def test_ranges() -> None:
    assert tf.range(0, 1, 0.5).dtype == tf.float32
    assert tf.range(0, 10, tf.constant(3, tf.int64)).numpy().tolist() == [0, 3, 6, 9]
    assert tf.range(3, 0, -1).numpy().tolist() == [3, 2, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="step"):
        tf.range(3, 0)
    with pytest.raises(TypeError, match="int32, int64 and floats, not int32, uint8"):
        tf.range(tf.constant(3, tf.uint8))


def test_strings_are_filled_with_empty_ones() -> None:
    assert tf.zeros([2], tf.string).numpy().tolist() == [b"", b""]
    assert tf.zeros_like("a").numpy() == b""
    assert tf.fill([], "a").numpy() == b"a"
    with pytest.raises(TypeError, match=r"tf\.fill"):
        tf.ones([1], tf.string)


def test_sizes_are_checked() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be >= 0"):
        tf.zeros([-1])
    with pytest.raises(TypeError, match="whole numbers are needed"):
        tf.zeros([2.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="not compatible"):
        tf.ensure_shape([1, 2], [3])


def test_one_hot_takes_the_dtype_of_its_values() -> None:
    assert tf.one_hot([0, 5], 2).numpy().tolist() == [[1, 0], [0, 0]]
    assert tf.one_hot([0], 2, on_value=5).dtype == tf.int32
    with pytest.raises(TypeError, match="use one dtype"):
        tf.one_hot([0], 2, on_value=5, off_value=1.0)


def test_values_that_do_not_fit_are_cut() -> None:
    assert tf.saturate_cast([300, -5], tf.uint8).numpy().tolist() == [255, 0]
    assert tf.saturate_cast([1e20], tf.int32).numpy().tolist() == [2147483520]


def test_bytes_are_seen_as_other_dtypes() -> None:
    assert tf.bitcast(1.0, tf.int32).numpy() == 1065353216
    assert tf.bitcast(tf.constant([1, 2], tf.uint8), tf.uint16).numpy() == 513
    with pytest.raises(tf.errors.InvalidArgumentError, match="last dimension must be 2"):
        tf.bitcast(tf.constant([1], tf.uint8), tf.uint16)


def test_masks_of_lengths() -> None:
    assert tf.sequence_mask([1, 2], dtype=tf.int32).numpy().tolist() == [[1, 0], [1, 1]]
