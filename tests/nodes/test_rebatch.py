"""Batches cut into other sizes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset import Dataset, Sparse, TensorSpec
from keepset.core.iterate import iterate
from keepset.core.node import UNKNOWN, Node
from keepset.errors import ElementError, InvalidArgumentError
from keepset.nodes.batch import Batch
from keepset.nodes.from_tensor_slices import FromTensorSlices
from keepset.nodes.map import Map
from keepset.nodes.ragged_batch import RaggedBatch
from keepset.nodes.range import Range
from keepset.nodes.rebatch import Rebatch
from keepset.testing import check_dataset


def numbers(count: int) -> Node:
    return Range(start=0, stop=count, dtype=np.dtype(np.int64))


def parts(sizes: list[int]) -> Node:
    """Batches of these sizes, numbered through."""
    starts = np.cumsum([0, *sizes])

    def batch(i: Any) -> Any:
        return np.arange(starts[i], starts[i + 1])

    return Map(parent=numbers(len(sizes)), function=batch)


def model(total: int, sizes: list[int], drop: bool) -> list[list[int]]:
    out: list[list[int]] = []
    start = 0
    while start < total:
        size = sizes[len(out) % len(sizes)]
        out.append(list(range(start, min(start + size, total))))
        start += size
    if out and drop and len(out[-1]) < sizes[(len(out) - 1) % len(sizes)]:
        out.pop()
    return out


@given(
    given_sizes=st.lists(st.integers(0, 5), max_size=8),
    wanted=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    drop=st.booleans(),
)
def test_rows_come_in_the_sizes_asked_for(given_sizes, wanted, drop) -> None:
    node = Rebatch(parent=parts(given_sizes), batch_size=tuple(wanted), drop_remainder=drop)
    assert [b.tolist() for b in iterate(node)] == model(sum(given_sizes), wanted, drop)


@pytest.mark.parametrize("sizes", [1, 2, 7, (2, 3), (1, 4, 1)])
@pytest.mark.parametrize("drop", [False, True])
def test_the_contract(sizes: Any, drop: bool) -> None:
    turns = list(sizes) if isinstance(sizes, tuple) else [sizes]
    check_dataset(
        lambda: Dataset(
            Rebatch(parent=parts([3, 0, 1, 4, 3]), batch_size=sizes, drop_remainder=drop)
        ),
        expected=model(11, turns, drop),
    )


def test_ragged_batches_stay_ragged() -> None:
    uneven = Map(parent=numbers(5), function=lambda x: np.full(int(x), x))
    node = Rebatch(parent=RaggedBatch(parent=uneven, batch_size=3), batch_size=2)
    assert [b.to_list() for b in iterate(node)] == [[[], [1]], [[2, 2], [3, 3, 3]], [[4, 4, 4, 4]]]
    check_dataset(lambda: Dataset(node))


def test_structures_sparse_and_strings() -> None:
    tensors = {"s": Sparse.from_dense(np.eye(4).reshape(2, 2, 4)), "t": np.array([["a", "b"]] * 2)}
    node = Rebatch(parent=FromTensorSlices(tensors=tensors), batch_size=3)
    first, second = iterate(node)
    assert first["t"].tolist() == [b"a", b"b", b"a"]
    assert first["s"].to_dense().tolist() == np.eye(4)[:3].tolist()
    assert second["s"].shape == (1, 4)


def test_rows_of_other_shapes_do_not_share_a_batch() -> None:
    widths = Map(parent=numbers(3), function=lambda x: np.ones((2, 2 if x < 2 else 3)))
    assert len(list(iterate(Rebatch(parent=widths, batch_size=2)))) == 3
    it = iterate(Rebatch(parent=widths, batch_size=3))
    assert next(it).shape == (3, 2)
    with pytest.raises(ElementError, match="one dtype and shape"):
        next(it)


def test_an_error_takes_the_unfinished_batch_with_it() -> None:
    def batch(x: Any) -> Any:
        if x == 1:
            raise ValueError("bad")
        return np.array([x])

    make = lambda: Dataset(  # noqa: E731
        Rebatch(parent=Map(parent=numbers(6), function=batch), batch_size=2)
    )
    check_dataset(lambda: make().ignore_errors(), expected=[[2, 3], [4, 5]])


def test_leaves_of_different_sizes_are_an_error() -> None:
    pair = Map(parent=numbers(2), function=lambda x: (np.arange(2), np.arange(3)))
    with pytest.raises(ElementError, match=r"element 0: .*'0' has 2, '1' has 3"):
        list(iterate(Rebatch(parent=pair, batch_size=2)))


@pytest.mark.parametrize("sizes", [0, -1, (), (0, 0), (2, -1)])
def test_sizes_must_be_positive(sizes: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="at least 1"):
        Rebatch(parent=parts([2]), batch_size=sizes)


def test_scalars_are_refused() -> None:
    with pytest.raises(ElementError, match="use batch first"):
        Rebatch(parent=numbers(3), batch_size=2)


def test_the_spec_and_the_cardinality() -> None:
    parent = Batch(parent=numbers(7), batch_size=3, drop_remainder=True)
    assert Rebatch(parent=parent, batch_size=2).spec() == TensorSpec([None], "int64")
    equal = Rebatch(parent=parent, batch_size=(2, 2), drop_remainder=True)
    assert equal.spec() == TensorSpec([2], "int64")
    unequal = Rebatch(parent=parent, batch_size=(2, 3), drop_remainder=True)
    assert unequal.spec() == TensorSpec([None], "int64")
    assert equal.cardinality() == UNKNOWN


def test_an_expensive_input_is_not_read_ahead() -> None:
    calls = []

    def batch(x: Any) -> Any:
        calls.append(int(x))
        return np.full(2, x)

    next(iterate(Rebatch(parent=Map(parent=numbers(50), function=batch), batch_size=3)))
    assert calls == [0, 1]


@pytest.mark.parametrize(
    ("count", "sizes", "wanted"),
    [
        (6, (2, 0, 1), [[0, 1], [], [2], [3, 4], [], [5]]),
        (4, (2, 0), [[0, 1], [], [2, 3], []]),
        (4, (0, 0, 3), [[], [], [0, 1, 2], [], [], [3]]),
        (4, (3, 0), [[0, 1, 2], [], [3]]),
        (0, (0, 2), []),
    ],
)
def test_a_size_of_zero_makes_batches_without_rows(
    count: int, sizes: tuple[int, ...], wanted: list[list[int]]
) -> None:
    # As TensorFlow 2.21 gives them.
    ds = Dataset.range(count).batch(2).rebatch(list(sizes))
    assert [batch.tolist() for batch in ds] == wanted
    check_dataset(lambda: Dataset.range(count).batch(2).rebatch(list(sizes)))
