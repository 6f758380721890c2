"""Checks are done at once."""

from __future__ import annotations

from typing import Any

import pytest

import keepset.tf as tf

d = tf.debugging


def test_what_holds_passes() -> None:
    d.assert_equal([1, 2], [1, 2])
    d.assert_near(1.0, 1.0000001)
    d.assert_rank_in([1], [1, 2])
    d.assert_shapes([(tf.zeros([2, 3]), ("N", 3)), (tf.zeros([2]), ("N",))])
    d.assert_type(1, tf.int32)
    tf.Assert(True, [1])
    assert d.check_numerics(1.0, "").numpy() == 1
    assert d.is_numeric_tensor(tf.constant(1))
    assert d.enable_check_numerics() is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tf.Assert(False, ["why"]), "Summarized data: why"),
        (lambda: d.assert_equal([1, 2], [1, 3], "hm"), r"hm\nCondition x == y .*\n.*\[2\] and"),
        (lambda: d.assert_none_equal([1], [1]), "!="),
        (lambda: d.assert_positive([1, 0]), "x > y"),
        (lambda: d.assert_near(1.0, 1.1), "tolerance"),
        (lambda: d.assert_all_finite([float("nan")], "bad"), "bad : Tensor had NaN"),
        (lambda: d.assert_rank(1, 1), "must have rank 1"),
        (lambda: d.assert_rank_at_least([1], 2), "at least 2"),
        (lambda: d.assert_scalar([1]), "scalar"),
        (lambda: d.assert_type(1, tf.float32), "must be of type tf.float32"),
        (lambda: d.assert_integer(1.0), "integer"),
        (lambda: d.assert_shapes([(tf.zeros([2]), ("N",)), (tf.zeros([3]), "N")]), "size 2, not 3"),
        (lambda: d.assert_proper_iterable(tf.zeros([1])), "list of tensors"),
        (lambda: d.assert_same_float_dtype([tf.zeros([]), tf.constant(1)]), "single floating"),
    ],
)
def test_what_does_not_hold_is_an_error(call: Any, message: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        call()
