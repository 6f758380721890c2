"""Items counted, and put together by segments."""

from __future__ import annotations

import pytest

import keepset.tf as tf


def test_counts() -> None:
    assert tf.math.bincount([1, 1, 3]).numpy().tolist() == [0, 2, 0, 1]
    assert tf.math.bincount([1, 1, 3], weights=[0.5, 0.5, 1.0], maxlength=2).dtype == tf.float32
    assert tf.math.bincount([[1, 1], [0, 2]], axis=-1).numpy().tolist() == [[0, 2, 0], [1, 0, 1]]
    assert tf.histogram_fixed_width([0.0, 0.5, 2.0], [0.0, 1.0], 4).numpy().tolist() == [1, 0, 1, 1]
    assert tf.math.confusion_matrix([0, 1], [1, 1]).numpy().tolist() == [[0, 1], [0, 1]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="no negative numbers"):
        tf.math.bincount([-1])


def test_segments() -> None:
    assert tf.math.segment_sum([1, 2, 3], [0, 0, 2]).numpy().tolist() == [3, 0, 3]
    assert tf.math.segment_prod([1, 2, 3], [0, 0, 2]).numpy().tolist() == [2, 1, 3]
    assert tf.math.segment_mean([1, 2, 4], [0, 0, 2]).numpy().tolist() == [1, 0, 4]
    found = tf.math.unsorted_segment_max([1, 2, 3], [2, 0, -1], 3)
    assert found.numpy().tolist() == [2, -(2**31), 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="unsorted_segment_sum"):
        tf.math.segment_sum([1, 2], [1, 0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
        tf.math.unsorted_segment_sum([1, 2], [1, 5], 3)
