"""Elements grouped into data sets."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset import Dataset, TensorSpec
from keepset.core.iterate import iterate
from keepset.core.node import INFINITE, UNKNOWN, Node
from keepset.core.spec import DatasetSpec
from keepset.errors import InvalidArgumentError
from keepset.nodes.filter import Filter
from keepset.nodes.from_tensor_slices import FromTensorSlices
from keepset.nodes.map import Map
from keepset.nodes.range import Range
from keepset.nodes.repeat import Repeat
from keepset.nodes.rows import Rows
from keepset.nodes.window import Window
from keepset.testing import check_dataset


def numbers(count: int) -> Node:
    return Range(start=0, stop=count, dtype=np.dtype(np.int64))


def window(parent: Node, size: int, shift: int | None = None, *rest: Any) -> Window:
    stride, drop = (*rest, 1, False)[:2] if len(rest) != 1 else (rest[0], False)
    return Window(
        parent=parent,
        size=size,
        shift=size if shift is None else shift,
        stride=stride,
        drop_remainder=drop,
        wrap=Dataset,
    )


def plain(node: Node) -> list[list[int]]:
    return [[int(x) for x in part] for part in iterate(node)]


# What tf.data 2.21 gives.
@pytest.mark.parametrize(
    ("count", "arguments", "expected"),
    [
        (7, (3, 3, 1, False), [[0, 1, 2], [3, 4, 5], [6]]),
        (7, (3, 1, 2, False), [[0, 2, 4], [1, 3, 5], [2, 4, 6], [3, 5], [4, 6], [5], [6]]),
        (7, (3, 1, 2, True), [[0, 2, 4], [1, 3, 5], [2, 4, 6]]),
        (7, (2, 3, 1, False), [[0, 1], [3, 4], [6]]),
        (7, (2, 3, 1, True), [[0, 1], [3, 4]]),
        (7, (3, 5, 2, False), [[0, 2, 4], [5]]),
        (7, (3, 5, 2, True), [[0, 2, 4]]),
        (2, (3, 3, 1, True), []),
        (0, (3, 3, 1, False), []),
        (10, (2, 2, 5, False), [[0, 5], [2, 7], [4, 9], [6], [8]]),
    ],
)
def test_windows_are_those_of_tensorflow(count: int, arguments: Any, expected: Any) -> None:
    node = window(numbers(count), *arguments)
    assert plain(node) == expected
    assert node.cardinality() == len(expected)


@given(
    count=st.integers(0, 20),
    size=st.integers(1, 4),
    shift=st.integers(1, 5),
    stride=st.integers(1, 3),
    drop=st.booleans(),
)
def test_windows_are_slices_and_as_many_as_promised(count, size, shift, stride, drop) -> None:
    span = (size - 1) * stride + 1
    starts = [s for s in range(0, count, shift) if not drop or s + span <= count]
    expected = [list(range(count))[s : s + span : stride] for s in starts]
    for parent in (numbers(count), Map(parent=numbers(count), function=lambda x: x)):
        node = window(parent, size, shift, stride, drop)
        assert plain(node) == expected
        assert node.cardinality() == len(expected)


@pytest.mark.parametrize("arguments", [(3,), (3, 1), (2, 5), (2, 1, 3), (3, 2, 2, True)])
def test_the_contract(arguments: Any) -> None:
    check_dataset(lambda: Dataset(window(numbers(11), *arguments)))
    forward = Filter(parent=numbers(22), predicate=lambda x: x % 2 == 0)
    check_dataset(lambda: Dataset(window(forward, *arguments)))


def test_a_structure_gives_a_structure_of_data_sets() -> None:
    parent = FromTensorSlices(tensors={"a": [1, 2, 3], "b": ([1.5, 2, 3], ["x", "y", "z"])})
    node = window(parent, 2)
    first, second = iterate(node)
    assert [int(x) for x in first["a"]] == [1, 2]
    assert list(second["b"][1]) == [b"z"]
    assert first["a"].cardinality() == 2
    leaf = {"a": "int64", "b": ("float64", "string")}
    assert node.spec() == {
        "a": DatasetSpec(TensorSpec((), leaf["a"])),
        "b": tuple(DatasetSpec(TensorSpec((), dtype)) for dtype in leaf["b"]),
    }


def test_windows_of_windows() -> None:
    node = window(window(numbers(6), 2), 2)
    assert [[[int(x) for x in w] for w in ww] for ww in iterate(node)] == [
        [[0, 1], [2, 3]],
        [[4, 5]],
    ]


def test_windows_of_one_data_set_are_of_one_type() -> None:
    uneven = Map(
        parent=numbers(4),
        function=lambda x: np.ones(int(x) // 2),
        output_signature=TensorSpec([None], "float64"),
    )
    first, _ = iterate(window(uneven, 2))
    assert first.element_spec == TensorSpec([None], "float64")
    rows: Rows = first.__keepset_node__()
    assert rows.known_spec() == (TensorSpec([None], "float64"),)


def failing(bad: int, count: int = 6) -> Node:
    def check(x: Any) -> Any:
        if x == bad:
            raise ValueError("bad")
        return x

    return Map(parent=numbers(count), function=check)


def test_each_window_that_would_hold_a_failed_element_fails() -> None:
    def make(*arguments: Any) -> Dataset:
        windows = Dataset(window(failing(2), *arguments)).ignore_errors()
        return windows.flat_map(lambda w: w.batch(3))

    check_dataset(lambda: make(3, 1), expected=[[3, 4, 5], [4, 5], [5]])
    check_dataset(lambda: make(2, 3), expected=[[0, 1], [3, 4]])
    check_dataset(lambda: make(2, 1, 3), expected=[[0, 3], [1, 4], [3], [4], [5]])


def test_cardinality_of_endless_and_unknown_inputs() -> None:
    assert window(Repeat(parent=numbers(3)), 2).cardinality() == INFINITE
    assert window(Filter(parent=numbers(3), predicate=bool), 2).cardinality() == UNKNOWN


@pytest.mark.parametrize("arguments", [(0,), (2, 0), (2, 1, 0)])
def test_sizes_must_be_positive(arguments: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="at least 1"):
        window(numbers(3), *arguments)


def test_a_window_is_given_as_soon_as_it_is_full() -> None:
    calls = []

    def note(x: Any) -> Any:
        calls.append(int(x))
        return x

    next(iterate(window(Map(parent=numbers(50), function=note), 3, 1)))
    assert calls == [0, 1, 2]
