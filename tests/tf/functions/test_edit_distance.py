from __future__ import annotations

import pytest

import keepset.tf as tf
from keepset.errors import DtypeError


def test_distances_are_those_of_tensorflow() -> None:
    found = tf.SparseTensor([[0, 0, 0], [1, 0, 0]], ["a", "b"], [2, 1, 1])
    wanted = tf.SparseTensor(
        [[0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0]], ["a", "b", "c", "a"], [2, 2, 2]
    )
    distances = tf.edit_distance(found, wanted)
    assert distances.numpy().tolist() == [[float("inf"), 1.0], [0.5, 1.0]]
    assert tf.edit_distance(found, wanted, normalize=False).numpy().tolist() == [[1, 1], [1, 1]]


def test_wrong_arguments() -> None:
    numbers = tf.sparse.from_dense([[1, 2]])
    with pytest.raises(TypeError, match="Hypothesis must be a SparseTensor"):
        tf.edit_distance([[1]], numbers)
    with pytest.raises(DtypeError, match="sequences of int32 and string cannot be compared"):
        tf.edit_distance(numbers, tf.sparse.from_dense([["a"]]))
