"""Reductions keep their dtype and know their axes."""

from __future__ import annotations

import numpy as np
import pytest

import keepset.tf as tf


def test_sums_and_means_keep_their_dtype() -> None:
    assert tf.reduce_sum(tf.constant([200, 100], tf.uint8)).numpy() == 44
    assert tf.reduce_mean([-1, -2]).numpy() == -1
    assert tf.reduce_mean(tf.constant([200, 200], tf.uint8)).numpy() == 200
    assert tf.reduce_max(tf.constant([], tf.int32)).numpy() == -(2**31)
    assert tf.reduce_max([]).numpy() == -np.inf
    assert tf.math.reduce_std([1.0, 3.0]).numpy() == 1
    assert tf.math.reduce_euclidean_norm([3, 4]).numpy() == 5
    assert tf.reduce_logsumexp([-np.inf]).numpy() == -np.inf


def test_axes() -> None:
    x = tf.constant([[1, 2], [3, 4]])
    assert tf.reduce_sum(x, 0).numpy().tolist() == [4, 6]
    assert tf.reduce_sum(x, [0, -1], keepdims=True).numpy().tolist() == [[10]]
    assert tf.reduce_sum(x, tf.constant(1)).numpy().tolist() == [3, 7]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"use one of -2\.\.1"):
        tf.reduce_sum(x, 5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="duplicate"):
        tf.reduce_sum(x, [0, 0])
    with pytest.raises(TypeError, match="whole numbers are needed"):
        tf.reduce_sum(x, 0.5)


def test_positions_and_sums_on_the_way() -> None:
    assert tf.argmax([1.0, np.nan, 3.0]).numpy() == 2
    assert tf.argmin([[1, 5], [7, 2]], axis=1, output_type=tf.int32).numpy().tolist() == [0, 1]
    assert tf.cumsum([1, 2, 3], exclusive=True, reverse=True).numpy().tolist() == [5, 3, 0]
    assert tf.math.count_nonzero(["", "a"]).numpy() == 1
    assert tf.add_n([[1, 2], [3, 4]]).numpy().tolist() == [4, 6]
    with pytest.raises(tf.errors.InvalidArgumentError, match="one shape and dtype"):
        tf.add_n([1, 2.5])
    with pytest.raises(TypeError, match="list of at least one"):
        tf.add_n(5)
