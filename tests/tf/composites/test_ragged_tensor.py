from __future__ import annotations

import pickle

import numpy as np
import pytest

import keepset as ks
import keepset.tf as tf
from keepset.errors import DtypeError, InvalidArgumentError

ROWS = tf.ragged.constant([[1, 2], [], [3, 4, 5]])


def test_rows_are_shown_as_tensorflow_shows_them() -> None:
    assert repr(ROWS) == "<tf.RaggedTensor [[1, 2], [], [3, 4, 5]]>"
    assert repr(tf.ragged.constant([["a"], []])) == "<tf.RaggedTensor [[b'a'], []]>"


def test_functions_in_pipelines_see_ragged_tensors() -> None:
    seen = []

    def look(rows: tf.RaggedTensor) -> tf.Tensor:
        seen.append(type(rows))
        return rows.to_tensor(-1)

    (found,) = tf.data.Dataset.from_tensors(ROWS).map(look)
    assert seen[0] is tf.RaggedTensor
    assert found.numpy().tolist() == [[1, 2, -1], [-1, -1, -1], [3, 4, 5]]


def test_pipelines_hold_them_as_the_library_does() -> None:
    (found,) = tf.data.Dataset.from_tensors(ROWS).as_numpy_iterator()
    assert found == ks.Ragged(np.array([1, 2, 3, 4, 5], np.int32), [0, 2, 2, 5])


def test_slices_of_inner_dimensions() -> None:
    assert ROWS[:, :1].to_list() == [[1], [], [3]]
    assert ROWS[:, -1:].to_list() == [[2], [], [5]]
    assert ROWS[::-1, ::-1].to_list() == [[5, 4, 3], [], [2, 1]]


def test_a_number_for_an_inner_ragged_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match="use a slice, or to_tensor"):
        ROWS[:, 0]


def test_operators_keep_the_rows() -> None:
    assert (ROWS * 2 + 1).to_list() == [[3, 5], [], [7, 9, 11]]
    assert (10 - ROWS).to_list() == [[9, 8], [], [7, 6, 5]]
    assert (ROWS + tf.constant([[10], [20], [30]])).to_list() == [[11, 12], [], [33, 34, 35]]
    assert (tf.constant([[10], [20], [30]]) + ROWS).to_list() == [[11, 12], [], [33, 34, 35]]


def test_other_rows_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="rows of the same lengths"):
        ROWS + tf.ragged.constant([[1], [2], [3]])


def test_functions_for_tensors_take_them() -> None:
    assert tf.reduce_sum(ROWS, axis=1).numpy().tolist() == [3, 0, 12]
    assert tf.reduce_sum(ROWS, axis=0).numpy().tolist() == [4, 6, 5]
    assert tf.concat([ROWS, ROWS], axis=1).to_list() == [[1, 2, 1, 2], [], [3, 4, 5, 3, 4, 5]]
    assert tf.expand_dims(ROWS, 1).shape.as_list() == [3, 1, None]
    assert tf.cast(ROWS, tf.float32).dtype == tf.float32
    assert tf.strings.as_string(ROWS).to_list() == [[b"1", b"2"], [], [b"3", b"4", b"5"]]


def test_what_no_ragged_tensor_can_be_stays_an_error() -> None:
    with pytest.raises(ValueError, match="unsupported type"):
        tf.reshape(ROWS, [-1])


def test_row_splits_must_fit() -> None:
    with pytest.raises(InvalidArgumentError, match="end with the number of values, 3"):
        tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 2])
    with pytest.raises(DtypeError, match=r"use tf\.cast"):
        tf.RaggedTensor.from_row_splits([1, 2, 3], [0.0, 3.0])


def test_they_are_pickled() -> None:
    found = pickle.loads(pickle.dumps(ROWS))
    assert found.to_list() == ROWS.to_list()
    assert found.dtype == tf.int32


def test_uniform_dimensions_have_a_size() -> None:
    made = tf.RaggedTensor.from_uniform_row_length(tf.ragged.constant([[1], [2, 3]]), 2)
    assert made.shape.as_list() == [1, 2, None]
    assert made[:, 1].to_list() == [[2, 3]]
