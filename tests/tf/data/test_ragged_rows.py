"""Rows of ragged tensors come out as arrays, and go into batches as ragged tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import keepset.tf as tf
from keepset.errors import ElementError

ROWS = tf.ragged.constant([[1, 2], [], [3]])
DS = tf.data.Dataset


@pytest.mark.parametrize(
    "ds",
    [
        DS.from_tensor_slices(ROWS),
        DS.from_tensors(ROWS).unbatch(),
        DS.from_tensor_slices(ROWS).batch(2).unbatch(),
        DS.from_tensor_slices(ROWS).take(3).cache().prefetch(1).filter(lambda row: True),
        DS.from_tensor_slices(ROWS).take(1).concatenate(DS.from_tensor_slices(ROWS).skip(1)),
    ],
)
def test_rows_are_batched_to_ragged_tensors(ds: Any) -> None:
    assert [row.numpy().tolist() for row in ds] == [[1, 2], [], [3]]
    batched = ds.batch(2)
    assert [batch.to_list() for batch in batched] == [[[1, 2], []], [[3]]]
    assert batched.element_spec.ragged_rank == 1


def test_other_leaves_stay_arrays() -> None:
    ds = DS.zip(DS.from_tensor_slices({"row": ROWS}), DS.range(3)).batch(3, drop_remainder=True)
    [(batch, number)] = list(ds)
    assert batch["row"].to_list() == [[1, 2], [], [3]]
    assert number.numpy().tolist() == [0, 1, 2]
    assert ds.element_spec[0]["row"].shape[0] == 3


def test_inner_dimensions_stay_as_they_are() -> None:
    pairs = tf.RaggedTensor.from_row_lengths(np.arange(6).reshape(3, 2), [1, 0, 2])
    batch = next(iter(DS.from_tensor_slices(pairs).batch(3)))
    assert batch.to_list() == [[[0, 1]], [], [[2, 3], [4, 5]]]
    assert batch.ragged_rank == 1


def test_what_a_function_returns_is_an_array_again() -> None:
    # As in TensorFlow, where the type of a function's result is that of a tensor.
    with pytest.raises(ElementError, match="use padded_batch or ragged_batch"):
        list(DS.from_tensor_slices(ROWS).map(lambda row: row).batch(2))
