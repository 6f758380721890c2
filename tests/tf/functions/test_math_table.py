"""Functions that are made of rows have TensorFlow's names, parameters and rules."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings

import numpy as np
import pytest

import keepset.tf as tf


def test_functions_have_the_names_and_parameters_of_tensorflow() -> None:
    assert tf.sin.__name__ == tf.sin.__qualname__ == "sin"
    assert list(inspect.signature(tf.math.real).parameters) == ["input", "name"]
    assert list(inspect.signature(tf.math.atan2).parameters) == ["y", "x", "name"]
    assert list(inspect.signature(tf.math.nextafter).parameters) == ["x1", "x2", "name"]
    assert tf.add(x=1, y=2, name="sum").numpy() == 3
    assert tf.nn.relu(features=[-1, 2]).numpy().tolist() == [0, 2]
    assert tf.math.floor.__doc__ == "As ``numpy.floor``, item by item."
    assert copy.deepcopy(tf.math.sin) is tf.math.sin


def test_names_are_where_tensorflow_has_them() -> None:
    assert tf.math.add is tf.add
    assert hasattr(tf.math, "ceil")
    assert not hasattr(tf, "ceil")
    assert not hasattr(tf.math, "relu")
    assert set(tf.bitwise.__all__) < set(dir(tf.bitwise))


@pytest.mark.parametrize(
    ("found", "value", "dtype"),
    [
        (lambda: tf.maximum(0, tf.constant(1.5)), 1.5, "float32"),
        (lambda: tf.truediv(3, 2), 1.5, "float64"),
        (lambda: tf.math.floordiv(-7, 2), -4, "int32"),
        (lambda: tf.math.floordiv(1.0, 0.1), 10.0, "float32"),
        (lambda: tf.truncatediv(-7, 2), -3, "int32"),
        (lambda: tf.round(2.5), 2.0, "float32"),
        (lambda: tf.math.divide_no_nan(1.0, 0.0), 0.0, "float32"),
        (lambda: tf.math.multiply_no_nan(np.inf, 0.0), 0.0, "float32"),
        (lambda: tf.abs(tf.constant(3 + 4j)), 5.0, "float64"),
        (lambda: tf.math.rsqrt(4.0), 0.5, "float32"),
        (lambda: tf.bitwise.left_shift(1, 4), 16, "int32"),
        (lambda: tf.constant(200, tf.uint8) + 100, 44, "uint8"),
    ],
)
def test_values_and_dtypes(found: object, value: float, dtype: str) -> None:
    made = found()  # type: ignore[operator]
    assert made.numpy() == value
    assert made.dtype.name == dtype


def test_overflows_and_divisions_by_zero_are_quiet() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tf.math.log(0.0).numpy() == -np.inf
        assert tf.math.xdivy([1.0, 0.0], 0.0).numpy().tolist() == [np.inf, 0.0]
        assert tf.square(tf.constant(200, tf.uint8)).numpy() == 64


def test_other_dtypes_say_which_there_are() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"sin is not there for int32.*cast"):
        tf.sin(1)
    with pytest.raises(TypeError, match=r"logical_not is not there for int32"):
        tf.logical_not(1)
    with pytest.raises(TypeError, match=r"use tf\.cast"):
        tf.add(tf.constant(1), tf.constant(1.0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes"):
        tf.add([1, 2], [1, 2, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        tf.math.floormod(1, 0)


def test_functions_are_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(tf.reshape)) is tf.reshape
