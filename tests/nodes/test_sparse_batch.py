"""Batches of dense rows as one sparse array."""

from typing import Any

import numpy as np
import pytest

from keepset import Dataset, SparseTensorSpec, TensorSpec
from keepset.core.iterate import iterate
from keepset.core.node import Node
from keepset.errors import ElementError, InvalidArgumentError
from keepset.nodes.map import Map
from keepset.nodes.range import Range
from keepset.nodes.sparse_batch import SparseBatch
from keepset.testing import check_dataset


def mapped(function: Any, signature: Any = None) -> Node:
    numbers = Range(start=1, stop=5, dtype=np.dtype(np.int64))
    return Map(parent=numbers, function=function, output_signature=signature)


def uneven(x: Any) -> Any:
    return np.full(int(x), x)


def test_rows_become_one_sparse_array() -> None:
    first, second = iterate(SparseBatch(parent=mapped(uneven), batch_size=3, row_shape=[5]))
    assert first.indices.tolist() == [[0, 0], [1, 0], [1, 1], [2, 0], [2, 1], [2, 2]]
    assert first.values.tolist() == [1, 2, 2, 3, 3, 3]
    assert first.shape == (3, 5)
    assert second.shape == (1, 5)
    check_dataset(lambda: Dataset(SparseBatch(parent=mapped(uneven), batch_size=3, row_shape=(5,))))


def test_zeros_are_kept_as_in_tensorflow() -> None:
    (batch,) = iterate(
        SparseBatch(parent=mapped(lambda x: np.array([0, 1])), batch_size=4, row_shape=2)
    )
    assert batch.values.tolist() == [0, 1] * 4


def test_scalars_and_strings() -> None:
    node = SparseBatch(parent=mapped(lambda x: f"{x}\0"), batch_size=4, row_shape=[])
    (batch,) = iterate(node)
    assert batch.indices.tolist() == [[0], [1], [2], [3]]
    assert batch.values.tolist() == [b"1\0", b"2\0", b"3\0", b"4\0"]


@pytest.mark.parametrize("shape", [[3], [5, 5]])
def test_a_row_that_does_not_fit_is_named(shape: Any) -> None:
    with pytest.raises(ElementError, match=r"element \d: this has shape \(\d,\)"):
        list(iterate(SparseBatch(parent=mapped(uneven), batch_size=4, row_shape=shape)))


@pytest.mark.parametrize("shape", [None, [-1], [None], "x"])
def test_the_row_shape_must_be_known(shape: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        SparseBatch(parent=mapped(uneven), batch_size=4, row_shape=shape)


def test_an_element_is_one_array() -> None:
    with pytest.raises(ElementError, match="one array"):
        list(iterate(SparseBatch(parent=mapped(lambda x: (x, x)), batch_size=2, row_shape=[])))
    spec = (TensorSpec([], "int64"), TensorSpec([], "int64"))
    with pytest.raises(ElementError, match="one array"):
        SparseBatch(parent=mapped(lambda x: (x, x), spec), batch_size=2, row_shape=[])


def test_the_spec_and_the_number_of_batches() -> None:
    node = SparseBatch(parent=mapped(uneven), batch_size=3, row_shape=[5])
    assert node.spec() == SparseTensorSpec([None, 5], "int64")
    assert node.cardinality() == 2
    node = SparseBatch(parent=mapped(uneven), batch_size=3, row_shape=[5], drop_remainder=True)
    assert node.spec() == SparseTensorSpec([3, 5], "int64")
    assert node.cardinality() == len(list(iterate(node))) == 1
