"""Elements collected by key."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset import Dataset
from keepset.core.iterate import iterate
from keepset.core.node import INFINITE, UNKNOWN, Node
from keepset.errors import ElementError, InvalidArgumentError
from keepset.nodes.filter import Filter
from keepset.nodes.group_by_window import GroupByWindow
from keepset.nodes.range import Range
from keepset.nodes.repeat import Repeat
from keepset.testing import check_dataset


def numbers(count: int) -> Node:
    return Range(start=0, stop=count, dtype=np.dtype(np.int64))


def forward(count: int) -> Node:
    """The same without positions."""
    return Filter(parent=numbers(count), predicate=lambda x: True)


def batched(key: Any, window: Dataset) -> Dataset:
    return window.batch(100)


def grouped(parent: Node, key: Any, **how: Any) -> Node:
    return GroupByWindow(
        **{"parent": parent, "key_func": key, "reduce_func": batched, "wrap": Dataset, **how}
    )


def without_errors(node: Node) -> Dataset:
    # The map lets the spec be found behind the errors, not before them.
    return Dataset(node).ignore_errors().map(lambda batch: batch)


def plain(node: Node) -> list[list[int]]:
    return [batch.tolist() for batch in iterate(node)]


# What tf.data 2.21 gives.
@pytest.mark.parametrize(
    ("key", "how", "expected"),
    [
        (lambda x: x % 2, {"window_size": 2}, [[0, 2], [1, 3], [4, 6], [5]]),
        (lambda x: (5 - x) % 5, {"window_size": 9}, [[0, 5], [4], [3], [2], [1, 6]]),
        (lambda x: (3 - x) % 5 - 2, {"window_size": 9}, [[3], [2], [1, 6], [0, 5], [4]]),
        (lambda x: x % 2, {"window_size_func": lambda k: k + 1}, [[0], [2], [1, 3], [4], [6], [5]]),
    ],
)
def test_windows_are_those_of_tensorflow(key: Any, how: dict[str, Any], expected: Any) -> None:
    for parent in (numbers(7), forward(7)):
        assert plain(grouped(parent, key, **how)) == expected
        check_dataset(partial(Dataset, grouped(parent, key, **how)), expected=expected)


@given(keys=st.lists(st.integers(-2, 2), max_size=25), size=st.integers(1, 6))
def test_full_windows_come_first_and_the_rest_by_key(keys: list[int], size: int) -> None:
    groups: dict[int, list[int]] = {}
    expected = []
    for position, key in enumerate(keys):
        groups.setdefault(key, []).append(position)
        if len(groups[key]) == size:
            expected.append(groups.pop(key))
    expected += [groups[key] for key in sorted(groups)]
    node = grouped(numbers(len(keys)), lambda x: keys[int(x)], window_size=size)
    assert plain(node) == expected


def spread(key: Any, window: Dataset) -> Dataset:
    return window.map(lambda x: x + 100 * key).repeat(2)


def test_all_elements_of_the_result_follow_one_another() -> None:
    node = grouped(numbers(6), lambda x: x % 2, reduce_func=spread, window_size=2)
    expected = [0, 2, 0, 2, 101, 103, 101, 103, 4, 4, 105, 105]
    check_dataset(lambda: Dataset(node), expected=expected)
    rare = grouped(
        forward(60), lambda x: int(x == 0), reduce_func=lambda k, w: w.repeat(2), window_size=7
    )
    check_dataset(lambda: Dataset(rare))


def test_a_result_may_be_empty_or_random() -> None:
    node = grouped(
        numbers(12),
        lambda x: x % 3,
        reduce_func=lambda k, w: w.take(0) if k == 1 else w.shuffle(4),
        window_size=2,
    )
    check_dataset(lambda: Dataset(node), repeatable=False)


def test_tuples_are_unpacked_for_the_key() -> None:
    parent = Dataset.range(4).enumerate().__keepset_node__()
    node = grouped(parent, lambda i, x: x % 2, window_size=2)
    assert [tuple(leaf.tolist() for leaf in b) for b in iterate(node)] == [
        ([0, 2], [0, 2]),
        ([1, 3], [1, 3]),
    ]


def test_no_function_is_called_twice_for_one_element() -> None:
    calls: list[Any] = []

    def key(x: Any) -> Any:
        calls.append(int(x))
        return x % 3

    def reduce(key: Any, window: Dataset) -> Dataset:
        calls.append(("reduce", int(key)))
        return window

    list(iterate(grouped(numbers(20), key, reduce_func=reduce, window_size=4)))
    assert [c for c in calls if isinstance(c, int)] == list(range(20))
    assert len([c for c in calls if not isinstance(c, int)]) == 6


def test_a_window_is_given_as_soon_as_it_is_full() -> None:
    calls = []

    def key(x: Any) -> Any:
        calls.append(int(x))
        return 0

    next(iterate(grouped(numbers(50), key, window_size=3)))
    assert calls == [0, 1, 2]


def test_an_error_names_the_element_and_costs_only_it() -> None:
    def key(x: Any) -> Any:
        if x == 1:
            raise ValueError("bad")
        return 0

    it = iterate(grouped(numbers(6), key, window_size=3))
    with pytest.raises(ValueError, match="bad") as caught:
        next(it)
    assert "at element 1" in caught.value.__notes__[0]
    check_dataset(
        lambda: without_errors(grouped(numbers(6), key, window_size=3)),
        expected=[[0, 2, 3], [4, 5]],
    )


def test_upstream_errors_cost_only_the_failed_element() -> None:
    def check(x: Any) -> Any:
        if x in (2, 7):
            raise ValueError("bad")
        return x

    for parent in (numbers(11), forward(11)):
        source = Dataset(parent).map(check).__keepset_node__()
        node = grouped(source, lambda x: x % 2, window_size=3)
        expected = [[1, 3, 5], [0, 4, 6], [8, 10], [9]]
        check_dataset(partial(without_errors, node), expected=expected)


@pytest.mark.parametrize("value", [1.5, [1, 2], "a", None])
def test_a_key_is_one_integer(value: Any) -> None:
    with pytest.raises(ElementError, match="one integer"):
        list(iterate(grouped(numbers(3), lambda x: value, window_size=2)))


def test_the_reduce_function_must_return_a_data_set() -> None:
    node = grouped(numbers(3), lambda x: 0, reduce_func=lambda k, w: k, window_size=2)
    with pytest.raises(ElementError, match="must return a Dataset"):
        list(iterate(node))


@pytest.mark.parametrize(
    "how", [{}, {"window_size": 2, "window_size_func": lambda k: 2}, {"window_size": 0}]
)
def test_exactly_one_size_is_needed(how: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="window_size"):
        grouped(numbers(3), lambda x: x, **how)


def test_a_size_function_must_give_positive_sizes() -> None:
    with pytest.raises(ElementError, match="at least 1, not 0"):
        list(iterate(grouped(numbers(3), lambda x: 0, window_size_func=lambda k: 0)))


def test_the_cardinality() -> None:
    assert grouped(numbers(3), lambda x: 0, window_size=2).cardinality() == UNKNOWN
    endless = Repeat(parent=numbers(3))
    assert grouped(endless, lambda x: 0, window_size=2).cardinality() == INFINITE
