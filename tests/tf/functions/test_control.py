"""Control flow as functions."""

from __future__ import annotations

import pytest

import keepset.tf as tf


def test_branches() -> None:
    assert tf.cond(tf.constant(True), lambda: 1, lambda: 2) == 1
    assert tf.case([(tf.constant(False), lambda: 1)], default=lambda: 3) == 3
    assert tf.switch_case(tf.constant(7), [lambda: 1, lambda: 2]) == 2
    with pytest.raises(TypeError, match="must be callable"):
        tf.cond(True, 1, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="no default"):
        tf.case([(tf.constant(False), lambda: 1)])
    with pytest.raises(TypeError, match=r"use tf\.constant"):
        tf.case([(True, lambda: 1)])


def test_loops() -> None:
    count, total = tf.while_loop(
        lambda n, _: n < 3, lambda n, total: (n + 1, total * 2.0), (0, 1.0)
    )
    assert (count.numpy(), total.numpy()) == (3, 8)
    found = tf.while_loop(lambda n: True, lambda n: [n + 1], [0], maximum_iterations=2)
    assert found[0].numpy() == 2


def test_functions_on_each_element() -> None:
    x = tf.constant([1, 2, 3])
    assert tf.map_fn(lambda n: n * 2, x).numpy().tolist() == [2, 4, 6]
    halves = tf.map_fn(lambda n: n / 2, x, fn_output_signature=tf.float64)
    assert halves.numpy().tolist() == [0.5, 1, 1.5]
    one, two = tf.vectorized_map(lambda n: (n, n / 2), x)
    assert (one.dtype, two.dtype) == (tf.int32, tf.float64)
    assert tf.scan(lambda a, n: a + n, x, reverse=True).numpy().tolist() == [6, 5, 3]
    assert tf.foldl(lambda a, n: a * 2 + n, x, initializer=10).numpy() == 91
    assert tf.foldr(lambda a, n: a * 2 + n, x).numpy() == 17
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"fn_output_signature=tf\.float64"):
        tf.map_fn(lambda n: n / 2, x)
    with pytest.raises(ValueError, match=r"1\+ dimensional"):
        tf.map_fn(lambda n: n, 1)
    with pytest.raises(ValueError, match="differ in length"):
        tf.map_fn(lambda row: row[0], (x, x[:2]), fn_output_signature=tf.int32)


def test_map_fn_makes_ragged_rows_where_they_are_declared() -> None:
    made = tf.map_fn(
        tf.range, tf.constant([1, 2]), fn_output_signature=tf.RaggedTensorSpec([None], tf.int32)
    )
    assert made.to_list() == [[0], [0, 1]]
    assert made.row_splits.dtype == tf.int64


def test_map_fn_of_ragged_rows_makes_ragged_rows() -> None:
    digits = tf.ragged.constant([[3, 1, 4], [], [5]])
    assert tf.map_fn(tf.square, digits).to_list() == [[9, 1, 16], [], [25]]
    sums = tf.map_fn(tf.reduce_sum, digits, fn_output_signature=tf.int32)
    assert sums.numpy().tolist() == [8, 0, 5]
    assert tf.map_fn(tf.square, digits[:0]).to_list() == []
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"scalar.*signature=tf\.int32"):
        tf.map_fn(tf.reduce_sum, digits)
    with pytest.raises(ValueError, match=r"expected; pass fn_output_signature=tf\.float32"):
        tf.map_fn(lambda row: tf.cast(row, tf.float32), digits)
