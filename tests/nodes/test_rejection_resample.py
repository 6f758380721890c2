"""Elements left out until the classes are as frequent as asked."""

from itertools import islice
from typing import Any

import numpy as np
import pytest

from keepset import Dataset, TensorSpec
from keepset.core.iterate import iterate
from keepset.core.node import UNKNOWN, Node
from keepset.core.random import Randomness
from keepset.errors import ElementError, InvalidArgumentError
from keepset.nodes.filter import Filter
from keepset.nodes.range import Range
from keepset.nodes.rejection_resample import RejectionResample
from keepset.testing import check_dataset


def numbers(count: int) -> Node:
    return Range(start=0, stop=count, dtype=np.dtype(np.int64))


def odd(x: Any) -> Any:
    return x % 2


def resample(parent: Node, target: Any, initial: Any = None, function: Any = odd) -> Node:
    return RejectionResample(
        parent=parent,
        class_func=function,
        target_dist=target,
        initial_dist=initial,
        source=Randomness(7, False),
    )


@pytest.mark.parametrize("initial", [None, [0.5, 0.5]])
def test_the_classes_become_as_frequent_as_asked(initial: Any) -> None:
    got = [(int(c), int(x)) for c, x in iterate(resample(numbers(8000), [0.8, 0.2], initial))]
    assert all(c == x % 2 for c, x in got)
    assert 0.77 < sum(c == 0 for c, _ in got) / len(got) < 0.83
    assert len(set(got)) == len(got)
    # Of the class that is wanted most, nothing is lost.
    assert sum(c == 0 for c, _ in got) > 3950


def test_skewed_data_can_be_evened_out() -> None:
    node = resample(numbers(9000), [1, 1], None, lambda x: int(x % 10 == 0))
    classes = [int(c) for c, _ in iterate(node)]
    assert 0.45 < np.mean(classes) < 0.55


def test_equal_distributions_keep_everything() -> None:
    assert len(list(iterate(resample(numbers(100), [0.5, 0.5], [0.5, 0.5])))) == 100


def test_a_class_that_is_not_wanted_never_comes() -> None:
    assert {int(c) for c, _ in iterate(resample(numbers(100), [1, 0]))} == {0}


@pytest.mark.parametrize("initial", [None, [0.5, 0.5]])
def test_the_contract(initial: Any) -> None:
    check_dataset(lambda: Dataset(resample(numbers(60), [0.7, 0.3], initial)))
    forward = Filter(parent=numbers(60), predicate=lambda x: True)
    check_dataset(lambda: Dataset(resample(forward, [0.7, 0.3], initial)))


def test_whether_an_element_is_kept_depends_on_its_position_alone() -> None:
    whole = [int(x) for _, x in iterate(resample(numbers(100), [0.7, 0.3], [0.5, 0.5]))]
    part = [int(x) for _, x in iterate(resample(numbers(40), [0.7, 0.3], [0.5, 0.5]))]
    assert part == [x for x in whole if x < 40]


def test_each_element_is_classified_once() -> None:
    calls = []

    def classify(x: Any) -> Any:
        calls.append(int(x))
        return 0

    list(iterate(resample(numbers(50), [1], None, classify)))
    assert calls == list(range(50))


def test_an_error_names_the_element_and_costs_only_it() -> None:
    def classify(x: Any) -> Any:
        if x in (2, 3):
            raise ValueError("bad")
        return 0

    it = iterate(resample(numbers(6), [1], None, classify))
    assert [int(x) for _, x in islice(it, 2)] == [0, 1]
    with pytest.raises(ValueError, match="bad") as caught:
        next(it)
    assert "at element 2" in caught.value.__notes__[0]
    make = lambda: Dataset(resample(numbers(6), [1], None, classify)).ignore_errors()  # noqa: E731
    check_dataset(make, expected=[(0, x) for x in (0, 1, 4, 5)])


@pytest.mark.parametrize("value", [2, -1, 0.5, "a"])
def test_a_class_is_a_number_of_the_target(value: Any) -> None:
    with pytest.raises(ElementError, match="class_func"):
        list(iterate(resample(numbers(3), [0.5, 0.5], None, lambda x: value)))


@pytest.mark.parametrize(
    ("target", "initial"),
    [([], None), ([0, 0], None), ([-1, 2], None), (0.5, None), ([1, 1], [1]), ([1, 1], [1, 0])],
)
def test_distributions_are_checked_at_once(target: Any, initial: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="dist"):
        resample(numbers(3), target, initial)


def test_tuples_and_the_spec() -> None:
    parent = Dataset.range(10).enumerate().__keepset_node__()
    node = resample(parent, [1], None, lambda i, x: np.int32(0))
    assert next(iterate(node)) == (0, (0, 0))
    number = TensorSpec((), "int64")
    assert node.spec() == (TensorSpec((), "int32"), (number, number))
    assert node.cardinality() == UNKNOWN
