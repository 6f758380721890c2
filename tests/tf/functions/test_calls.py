"""tf.function, and Python's own functions among those of tensors."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import keepset.tf as tf


@tf.function
def doubled(x: Any) -> Any:
    """Twice as much."""
    return x * 2


class Scale:
    factor = 3

    @tf.function(reduce_retracing=True)
    def __call__(self, x: Any) -> Any:
        return {"scaled": x * self.factor, "none": None}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def checked(self, x: Any) -> Any:
        return x


def test_functions_return_tensors() -> None:
    assert isinstance(doubled(1), tf.Tensor)
    assert doubled(x=np.arange(3)).numpy().tolist() == [0, 2, 4]
    assert Scale()(2)["scaled"].numpy() == 6
    assert Scale()(2)["none"] is None
    assert [each.dtype for each in tf.function(lambda: [1, 2.5])()] == [tf.int32, tf.float32]
    assert tf.function(lambda x: type(x).__name__)(1).numpy() == b"int"


def test_functions_are_still_functions() -> None:
    assert (doubled.__name__, doubled.__doc__) == ("doubled", "Twice as much.")
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    assert doubled.python_function(2) == 4
    assert [int(x) for x in tf.data.Dataset.range(3).map(doubled)] == [0, 2, 4]


def test_errors_of_a_function_pass_through() -> None:
    with pytest.raises(ZeroDivisionError):
        tf.function(lambda x: 1 / 0)(1)
    with pytest.raises(TypeError, match="return tensors"):
        tf.function(object)()
    with pytest.raises(tf.errors.OpError, match="call the function"):
        doubled.get_concrete_function(1)


def test_signatures_are_checked() -> None:
    assert Scale().checked([1, 2]).dtype == tf.float32
    with pytest.raises(TypeError, match=r"has shape \(\), not"):
        Scale().checked(1.0)
    with pytest.raises(TypeError, match=r"use tf\.cast"):
        Scale().checked(tf.constant([1]))
    with pytest.raises(TypeError, match="takes 1 arguments"):
        Scale().checked()


def test_functions_of_python() -> None:
    assert tf.py_function(lambda: None, [], ()) == []
    assert tf.py_function(lambda: 1, [], tf.float32).dtype == tf.float32
    assert tf.py_function(lambda: (1, 2), [], [tf.int32])[0].numpy() == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Tout says tf\.int32"):
        tf.py_function(lambda: 1.5, [], tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="returned 0 values"):
        tf.py_function(lambda: None, [], tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Tout has no dtypes"):
        tf.py_function(lambda: 1, [], [])
    with pytest.raises(ZeroDivisionError):
        tf.py_function(lambda: 1 / 0, [], tf.int32)


def test_functions_of_numpy_say_their_dtype() -> None:
    assert tf.numpy_function(lambda x: x.decode() + "b", ["a"], tf.string).numpy() == b"ab"
    assert tf.numpy_function(lambda x: x + 1, [np.int32(1)], tf.int32).numpy() == 2
    assert tf.compat.v1.py_func(lambda: 1, [], [tf.int64])[0].numpy() == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"np\.asarray\(x, 'int32'\)"):
        tf.numpy_function(lambda: 1, [], tf.int32)


def test_decorators() -> None:
    @tf.py_function(Tout=tf.int32)
    def length(text: Any) -> int:
        return len(text.numpy())

    @tf.numpy_function(Tout=[tf.int64])
    def total(x: Any) -> Any:
        return np.sum(x)

    assert length("abc").numpy() == 3
    assert total(np.arange(3))[0].numpy() == 3
    with pytest.raises(TypeError, match="needs 'Tout'"):
        tf.py_function(len)
    with pytest.raises(TypeError, match="needs 'inp'"):
        tf.py_function(len, Tout=tf.int32)


def test_signatures_may_be_nested_and_ragged() -> None:
    pair = tf.function(lambda x: x["a"], input_signature=[{"a": tf.TensorSpec([None])}])
    assert pair({"a": [1.0]}).numpy().tolist() == [1.0]
    with pytest.raises(TypeError, match="is not nested as in"):
        pair({"b": [1.0]})
    rows = tf.function(lambda x: x, input_signature=[tf.RaggedTensorSpec([None, None])])
    assert rows(tf.ragged.constant([[1.0], []])).to_list() == [[1.0], []]
    with pytest.raises(TypeError, match=r"an argument of <lambda> is not of RaggedTensorSpec"):
        rows(tf.constant([[1.0]]))


def test_py_function_returns_ragged_tensors_where_they_are_declared() -> None:
    spec = tf.RaggedTensorSpec([None, None], tf.int32)
    made = tf.py_function(lambda: tf.ragged.constant([[1], []]), [], spec)
    assert made.to_list() == [[1], []]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"returned is not of Ragged"):
        tf.py_function(lambda: tf.constant([[1]]), [], spec)
