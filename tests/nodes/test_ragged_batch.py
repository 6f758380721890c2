"""Batches of unequal elements without padding."""

from typing import Any

import numpy as np
import pytest

from keepset import Dataset, Ragged, RaggedTensorSpec, Sparse, TensorSpec
from keepset.core.iterate import iterate
from keepset.core.node import Node
from keepset.errors import ElementError, InvalidArgumentError
from keepset.nodes.map import Map
from keepset.nodes.ragged_batch import RaggedBatch
from keepset.nodes.range import Range
from keepset.testing import check_dataset


def mapped(function: Any, count: int = 4, signature: Any = None) -> Node:
    numbers = Range(start=1, stop=count + 1, dtype=np.dtype(np.int64))
    return Map(parent=numbers, function=function, output_signature=signature)


def uneven(x: Any) -> Any:
    return np.full(int(x), x)


def batches(parent: Node, size: int, **how: Any) -> list[Any]:
    return list(iterate(RaggedBatch(parent=parent, batch_size=size, **how)))


def test_vectors_become_rows_of_unequal_length() -> None:
    first, second = batches(mapped(uneven), 2)
    assert first.to_list() == [[1], [2, 2]]
    assert second.to_list() == [[3, 3, 3], [4, 4, 4, 4]]
    assert first.ragged_rank == 1
    check_dataset(lambda: Dataset(RaggedBatch(parent=mapped(uneven, 7), batch_size=2)))


def test_scalars_become_arrays() -> None:
    assert [b.tolist() for b in batches(mapped(lambda x: (x, str(x))), 3)[0]] == [
        [1, 2, 3],
        [b"1", b"2", b"3"],
    ]


def test_unknown_shapes_are_ragged_in_every_dimension() -> None:
    (batch,) = batches(mapped(lambda x: np.ones((int(x), 2), int), 3), 3)
    assert batch.ragged_rank == 2
    assert batch.to_list() == [[[1, 1]], [[1, 1]] * 2, [[1, 1]] * 3]


def test_known_dimensions_behind_the_last_unknown_one_stay_uniform() -> None:
    parent = mapped(lambda x: np.ones((int(x), 2), int), 3, TensorSpec([None, 2], "int64"))
    (batch,) = batches(parent, 3)
    assert batch.ragged_rank == 1
    assert batch.shape == (3, None, 2)


def test_known_dimensions_before_the_last_unknown_one_are_ragged() -> None:
    parent = mapped(lambda x: np.ones((2, int(x)), int), 2, TensorSpec([2, None], "int64"))
    (batch,) = batches(parent, 2)
    assert batch.to_list() == [[[1], [1]], [[1, 1], [1, 1]]]
    assert batch.ragged_rank == 2


def test_fully_known_shapes_stay_arrays() -> None:
    parent = mapped(lambda x: np.full(2, x), 2, TensorSpec([2], "int64"))
    (batch,) = batches(parent, 2)
    assert isinstance(batch, np.ndarray)
    assert RaggedBatch(parent=parent, batch_size=2).spec() == TensorSpec([None, 2], "int64")


def test_empty_rows_and_empty_dimensions() -> None:
    (batch,) = batches(mapped(lambda x: np.ones((int(x) % 2, 0), int), 3), 3)
    assert batch.to_list() == [[[]], [], [[]]]


def test_ragged_and_sparse_elements_are_stacked() -> None:
    parent = mapped(lambda x: (Ragged.from_rows([uneven(x), []]), Sparse.from_dense(uneven(x))), 2)
    ((ragged, sparse),) = batches(parent, 2)
    assert ragged.to_list() == [[[1], []], [[2, 2], []]]
    assert sparse.shape == (2, 2)


def test_strings() -> None:
    (batch,) = batches(mapped(lambda x: np.full(int(x), "a"), 2), 2)
    assert batch.to_list() == [[b"a"], [b"a", b"a"]]


def test_row_splits_take_the_dtype_asked_for() -> None:
    node = RaggedBatch(
        parent=mapped(uneven),
        batch_size=2,
        row_splits_dtype=np.dtype(np.int32),
        drop_remainder=True,
    )
    assert next(iterate(node)).row_splits.dtype == np.int32
    assert node.spec() == RaggedTensorSpec([2, None], "int64", 1, np.int32)
    with pytest.raises(InvalidArgumentError, match="int32 or int64"):
        RaggedBatch(parent=mapped(uneven), batch_size=2, row_splits_dtype=np.dtype(np.float32))


def test_elements_of_two_ranks_are_refused() -> None:
    with pytest.raises(ElementError, match="one dtype and rank"):
        batches(mapped(lambda x: np.ones((1,) * int(x))), 2)


@pytest.mark.parametrize(
    ("signature", "spec"),
    [
        (TensorSpec([None], "int64"), RaggedTensorSpec([None, None], "int64")),
        (TensorSpec(None, "int64"), RaggedTensorSpec([2, None], "int64")),
        (None, RaggedTensorSpec([None, None], "int64")),
    ],
)
def test_the_spec_says_what_is_known(signature: Any, spec: Any) -> None:
    assert RaggedBatch(parent=mapped(uneven, 4, signature), batch_size=2).spec() == spec
