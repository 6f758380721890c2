"""Each element only the first time."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset import Dataset
from keepset.core.iterate import iterate
from keepset.core.node import UNKNOWN, Node
from keepset.errors import ElementError
from keepset.nodes.from_tensor_slices import FromTensorSlices
from keepset.nodes.map import Map
from keepset.nodes.range import Range
from keepset.nodes.unique import Unique
from keepset.testing import check_dataset


def slices(values: Any) -> Node:
    return FromTensorSlices(tensors=np.asarray(values))


@given(values=st.lists(st.integers(-3, 3), max_size=30))
def test_the_first_of_equal_elements_is_kept(values: list[int]) -> None:
    array = np.array(values, np.int64)
    assert [int(x) for x in iterate(Unique(parent=slices(array)))] == list(dict.fromkeys(values))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, 1, 3, 2], [1, 2, 3]),
        (np.array([b"a", b"b", b"a", b"a\0"], object), [b"a", b"b", b"a\0"]),
        ([[1, 2], [1, 2], [2, 1]], [[1, 2], [2, 1]]),
        ([["a", "b"], ["a", "c"], ["a", "b"]], [["a", "b"], ["a", "c"]]),
    ],
)
def test_the_contract(values: Any, expected: Any) -> None:
    check_dataset(lambda: Dataset(Unique(parent=slices(values))), expected=expected)
    rows = Map(parent=slices(values), function=lambda x: x)
    check_dataset(lambda: Dataset(Unique(parent=rows)), expected=expected)


def test_shapes_tell_elements_apart() -> None:
    shapes = [(2, 3), (3, 2), (6,), (2, 3)]
    numbers = Range(start=0, stop=4, dtype=np.dtype(np.int64))
    node = Unique(parent=Map(parent=numbers, function=lambda i: np.zeros(shapes[i], np.int32)))
    assert [x.shape for x in iterate(node)] == shapes[:3]


def test_only_integers_and_strings_are_compared() -> None:
    with pytest.raises(ElementError, match="integers and strings"):
        Unique(parent=slices([1.5]))
    with pytest.raises(ElementError, match="integers and strings"):
        Unique(parent=FromTensorSlices(tensors=([1], [2])))


def test_elements_before_and_behind_an_odd_one_come_through() -> None:
    values: list[Any] = [1, 1, 2.5, 2, 1]
    numbers = Range(start=0, stop=5, dtype=np.dtype(np.int64))
    make = lambda: Dataset(  # noqa: E731
        Unique(parent=Map(parent=numbers, function=lambda i: values[int(i)]))
    ).ignore_errors()
    check_dataset(make, expected=[1, 2])


def test_the_cardinality_is_unknown() -> None:
    assert Unique(parent=slices([1])).cardinality() == UNKNOWN
