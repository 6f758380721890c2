"""Items that are taken from and put to places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import keepset.tf as tf


def test_gather_in_batches() -> None:
    x = tf.reshape(tf.range(24), [2, 3, 4])
    places = tf.constant([[0, 2], [1, 1]])
    found = tf.gather(x, places, axis=2, batch_dims=1).numpy()
    expected = np.stack([np.take(x.numpy()[n], places.numpy()[n], 1) for n in range(2)])
    np.testing.assert_array_equal(found, expected)
    assert tf.gather_nd([[1, 2], [3, 4]], [[0], [1]], batch_dims=1).numpy().tolist() == [1, 4]


def test_scatter() -> None:
    assert tf.scatter_nd([[1], [1]], [9, 8], [3]).numpy().tolist() == [0, 17, 0]
    start = tf.constant([1, 2, 3])
    assert tf.tensor_scatter_nd_update(start, [[1]], [9]).numpy().tolist() == [1, 9, 3]
    assert start.numpy().tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tf.gather([1, 2], [5]), r"5 is not in \[0, 2\)"),
        (lambda: tf.gather([1, 2], [0.5]), "gather is not there for float32"),
        (lambda: tf.gather_nd([1], [[0, 0]]), "do not index into shape"),
        (lambda: tf.scatter_nd([[0]], [1, 2], [2]), "need"),
        (lambda: tf.dynamic_partition([1], [3], 2), "is not in"),
    ],
)
def test_what_does_not_fit_says_why(call: Any, message: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        call()
