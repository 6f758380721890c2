"""Tensors put together and taken apart."""

from __future__ import annotations

from typing import Any

import pytest

import keepset.tf as tf


def test_the_first_says_the_dtype() -> None:
    assert tf.stack([1, 2.0]).dtype == tf.float32
    assert tf.concat([[1], tf.constant([2.0])], 0).dtype == tf.float32
    with pytest.raises(TypeError):
        tf.stack([tf.constant(1), 2.5])


def test_parts() -> None:
    assert [each.shape.as_list() for each in tf.split([1, 2, 3], [1, -1])] == [[1], [2]]
    assert tf.repeat([1, 2], [1, 2]).numpy().tolist() == [1, 2, 2]
    assert tf.roll([1, 2, 3], 1, 0).numpy().tolist() == [3, 1, 2]
    assert tf.reverse([1, 2], [0]).numpy().tolist() == [2, 1]
    assert tf.slice([1, 2, 3], [1], [-1]).numpy().tolist() == [2, 3]
    assert tf.boolean_mask([1, 2, 3], [True, False, True]).numpy().tolist() == [1, 3]
    assert tf.pad(["a"], [[1, 0]]).numpy().tolist() == [b"", b"a"]
    assert tf.broadcast_static_shape(tf.TensorShape([1, 2]), tf.TensorShape([3, 1])) == [3, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tf.reshape([1, 2, 3], [2, 2]), r"has no shape \(2, 2\)"),
        (lambda: tf.concat([1, 2], 0), r"use tf\.stack"),
        (lambda: tf.stack([[1], [1, 2]]), "Shapes of all inputs must match"),
        (lambda: tf.split([1, 2, 3], 2), "does not split into 2 equal parts"),
        (lambda: tf.split([1, 2, 3], [1, 1]), "do not add up to 3"),
        (lambda: tf.squeeze([[1, 2]], axis=1), "expected a dimension of 1, got 2"),
        (lambda: tf.transpose([[1]], [0, 0]), "is no order of the 2 axes"),
        (lambda: tf.tile([1], 2), "takes a list of 1 multiples"),
        (lambda: tf.repeat([1, 2], [1, 2, 3]), "3 repeats"),
        (lambda: tf.pad([1], [[1, 1]], "REFLECT"), "mirrors at most"),
        (lambda: tf.pad([1], [1, 1]), "a pair of at least 0 for each"),
        (lambda: tf.reverse([1], 0), r"write \[0\]"),
        (lambda: tf.broadcast_to([1, 2], [3]), "Incompatible shapes"),
        (lambda: tf.slice([1], [0], [5]), "lies outside"),
        (lambda: tf.slice([1], 0, 1), "a number for each of 1 dimensions"),
        (lambda: tf.expand_dims([1], 5), r"use one of -2\.\.1"),
    ],
)
def test_what_does_not_fit_says_why(call: Any, message: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        call()
