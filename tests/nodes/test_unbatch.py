"""Batches taken apart."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset import Dataset, Sparse, TensorSpec
from keepset.core.iterate import iterate
from keepset.core.node import INFINITE, UNKNOWN, Node
from keepset.core.run import look
from keepset.errors import ElementError
from keepset.nodes.batch import Batch
from keepset.nodes.from_tensor_slices import FromTensorSlices
from keepset.nodes.map import Map
from keepset.nodes.range import Range
from keepset.nodes.repeat import Repeat
from keepset.nodes.unbatch import Unbatch
from keepset.testing import check_dataset


def numbers(count: int) -> Node:
    return Range(start=0, stop=count, dtype=np.dtype(np.int64))


def parts(sizes: list[int]) -> Node:
    """Batches of these sizes, numbered through."""
    starts = np.cumsum([0, *sizes])

    def batch(i: Any) -> Any:
        return np.arange(starts[i], starts[i + 1])

    return Map(parent=numbers(len(sizes)), function=batch)


@given(count=st.integers(0, 20), size=st.integers(1, 7))
def test_unbatch_undoes_batch(count: int, size: int) -> None:
    node = Unbatch(parent=Batch(parent=numbers(count), batch_size=size))
    assert [int(x) for x in iterate(node)] == list(range(count))


@pytest.mark.parametrize("sizes", [[2, 0, 3, 1], [0, 0], [], [1], [5, 1, 1, 1, 0]])
def test_batches_of_any_size_and_empty_ones(sizes: list[int]) -> None:
    check_dataset(lambda: Dataset(Unbatch(parent=parts(sizes))), expected=list(range(sum(sizes))))


def test_structures_sparse_and_strings() -> None:
    tensors = {"s": Sparse.from_dense(np.eye(4).reshape(2, 2, 4)), "t": np.array([["a", "b"]] * 2)}
    node = Unbatch(parent=FromTensorSlices(tensors=tensors))
    rows = list(iterate(node))
    assert [row["t"] for row in rows] == [b"a", b"b"] * 2
    assert np.array([row["s"].to_dense() for row in rows]).tolist() == np.eye(4).tolist()


def test_leaves_of_different_sizes_are_an_error_with_both_sizes() -> None:
    def pair(x: Any) -> Any:
        return np.arange(2), np.arange(3 if x == 1 else 2)

    it = iterate(Unbatch(parent=Map(parent=numbers(3), function=pair)))
    assert len([next(it) for _ in range(2)]) == 2
    with pytest.raises(ElementError, match=r"element 1: .*'0' has 2, '1' has 3"):
        next(it)
    known = (TensorSpec([2], "int64"), TensorSpec([3], "int64"))
    parent = Map(parent=numbers(3), function=pair, output_signature=known)
    with pytest.raises(ElementError, match="'0' has 2, '1' has 3"):
        Unbatch(parent=parent)


def test_scalars_cannot_be_taken_apart() -> None:
    with pytest.raises(ElementError, match="use batch first"):
        Unbatch(parent=numbers(3))
    with pytest.raises(ElementError, match="at least one dimension"):
        list(iterate(Unbatch(parent=Map(parent=numbers(3), function=lambda x: x))))


def test_after_an_error_the_next_batch_follows() -> None:
    def batch(x: Any) -> Any:
        if x == 1:
            raise ValueError("bad")
        return np.full(2, x)

    make = lambda: Dataset(Unbatch(parent=Map(parent=numbers(4), function=batch))).ignore_errors()  # noqa: E731
    check_dataset(make, expected=[0, 0, 2, 2, 3, 3])


def test_the_number_of_elements_is_known_where_the_batch_size_is() -> None:
    whole = Batch(parent=numbers(7), batch_size=3, drop_remainder=True)
    assert Unbatch(parent=whole).cardinality() == 6
    assert Unbatch(parent=Batch(parent=numbers(7), batch_size=3)).cardinality() == UNKNOWN
    assert Unbatch(parent=Repeat(parent=Batch(parent=numbers(7), batch_size=3))).cardinality() == (
        INFINITE
    )
    assert Unbatch(parent=Batch(parent=numbers(0), batch_size=3)).cardinality() == 0


def test_elements_of_equal_batches_can_be_addressed() -> None:
    whole = Batch(parent=numbers(20), batch_size=3, drop_remainder=True)
    node = Unbatch(parent=whole)
    assert node.obstacle() is None
    assert node.gather(np.array([17, 0, 4, 4, 3]), look(node)).rows == [17, 0, 4, 4, 3]
    check_dataset(lambda: Dataset(node), expected=list(range(18)))
    assert "drop_remainder" in (
        Unbatch(parent=Batch(parent=numbers(7), batch_size=3)).obstacle() or ""
    )


def test_skipping_goes_by_whole_batches() -> None:
    calls = []

    def batch(x: Any) -> Any:
        calls.append(int(x))
        return np.full(2, x)

    parent = Map(parent=numbers(50), function=batch, output_signature=TensorSpec([2], "int64"))
    node = Dataset(Unbatch(parent=parent)).skip(90)
    assert [int(x) for x in node] == [45, 45, 46, 46, 47, 47, 48, 48, 49, 49]


def test_an_expensive_input_is_not_read_ahead() -> None:
    calls = []

    def batch(x: Any) -> Any:
        calls.append(int(x))
        return np.full(3, x)

    it = iterate(Unbatch(parent=Map(parent=numbers(50), function=batch)))
    next(it)
    assert calls == [0]
