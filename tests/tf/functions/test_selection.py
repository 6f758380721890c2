"""Items that are picked by conditions, bounds and rank."""

from __future__ import annotations

from typing import Any

import pytest

import keepset.tf as tf


def test_order() -> None:
    assert tf.argsort([1, 1, 2], direction="DESCENDING").numpy().tolist() == [2, 0, 1]
    values, places = tf.math.top_k([1, 3, 3], 2)
    assert (values.numpy().tolist(), places.numpy().tolist()) == ([3, 3], [1, 2])
    y, idx, count = tf.unique_with_counts(["b", "a", "b"])
    assert y.numpy().tolist() == [b"b", b"a"]
    assert (idx.numpy().tolist(), count.numpy().tolist()) == ([0, 1, 0], [2, 1])
    assert tf.searchsorted([1, 3, 5], [2, 3], side="right").numpy().tolist() == [1, 2]


def test_bounds() -> None:
    assert tf.clip_by_value([1.0, 5, 9], 2, 6).numpy().tolist() == [2, 5, 6]
    assert tf.where([True, False], 1, tf.constant(2.5)).dtype == tf.float32


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tf.math.top_k([1], 2), "at least 2 columns"),
        (lambda: tf.unique([[1]]), "1 dimension"),
        (lambda: tf.where("a"), "at least 1 dimension"),
        (lambda: tf.searchsorted([1], 1), "rows for rows"),
        (lambda: tf.math.invert_permutation([1, 1]), "no permutation"),
    ],
)
def test_what_does_not_fit_says_why(call: Any, message: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        call()
