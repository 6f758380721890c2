from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple

import pytest

import keepset.tf as tf

Pair = namedtuple("Pair", "a b")


def test_lists_are_structures() -> None:
    assert tf.nest.map_structure(lambda x: x * 2, [24, 76, "ab"]) == [48, 152, "abab"]
    assert tf.nest.flatten([1, [2, {"b": 3, "a": 4}], (5,)]) == [1, 2, 4, 3, 5]


def test_structures_keep_their_types() -> None:
    def plus_one(structure: object) -> object:
        return tf.nest.map_structure(lambda x: x + 1, structure)

    assert plus_one(Pair(1, 2)) == Pair(2, 3)
    assert plus_one(OrderedDict([("b", 1), ("a", 2)])) == OrderedDict([("b", 2), ("a", 3)])
    assert plus_one(defaultdict(int, {"b": 1})) == {"b": 2}


def test_structures_that_are_not_alike() -> None:
    with pytest.raises(ValueError, match="other elements"):
        tf.nest.assert_same_structure([1, 2], [3])
    with pytest.raises(ValueError, match="other keys"):
        tf.nest.assert_same_structure({"a": 1}, {"b": 1})
    with pytest.raises(TypeError, match="different types"):
        tf.nest.map_structure(lambda x, y: x, [1], (2,))


def test_leaves_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="Structure had 2 atoms"):
        tf.nest.pack_sequence_as([1, 2], [3])


def test_ragged_tensors_are_taken_apart_if_asked() -> None:
    rows = tf.ragged.constant([[1], [2, 3]])
    assert tf.nest.flatten(rows)[0] is rows
    values, splits = tf.nest.flatten(rows, expand_composites=True)
    assert values.numpy().tolist() == [1, 2, 3]
    assert splits.numpy().tolist() == [0, 1, 3]
