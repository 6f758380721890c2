"""Elements from inputs drawn at random."""

import json
from itertools import islice
from typing import Any

import numpy as np
import pytest

from keepset import Dataset
from keepset.core.iterate import iterate
from keepset.core.node import INFINITE, UNKNOWN, Node
from keepset.core.random import Randomness
from keepset.errors import ElementError, InvalidArgumentError
from keepset.nodes.counter import Counter
from keepset.nodes.filter import Filter
from keepset.nodes.from_tensor_slices import FromTensorSlices
from keepset.nodes.map import Map
from keepset.nodes.range import Range
from keepset.nodes.repeat import Repeat
from keepset.nodes.sample_from_datasets import SampleFromDatasets
from keepset.testing import check_dataset

# Never change this: people's runs depend on it.
GOLDEN = [0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0]


def numbers(start: int, stop: int) -> Node:
    return Range(start=start, stop=stop, dtype=np.dtype(np.int64))


def fill(value: int) -> Node:
    return Counter(start=value, step=0)


def sample(parents: Any, weights: Any = None, seed: int = 1, **how: Any) -> SampleFromDatasets:
    rerandomize = how.pop("rerandomize", False)
    source = Randomness(seed, rerandomize)
    return SampleFromDatasets(parents=tuple(parents), weights=weights, source=source, **how)


def first(node: Node, count: int) -> list[int]:
    return [int(x) for x in islice(iterate(node), count)]


def test_the_draws_of_a_seed_never_change() -> None:
    assert first(sample([fill(0), fill(1)], seed=3), 12) == GOLDEN


def test_inputs_are_drawn_as_often_as_their_weights_say() -> None:
    drawn = first(sample([fill(0), fill(1), fill(2)], [3, 0, 1]), 8000)
    assert drawn.count(1) == 0
    assert 0.73 < drawn.count(0) / 8000 < 0.77


@pytest.mark.parametrize("weights", [None, [0.5, 0.3, 0.2], [1, 1, 1000]])
@pytest.mark.parametrize("stop", [False, True])
def test_the_contract(weights: Any, stop: bool) -> None:
    def make() -> Dataset:
        forward = Filter(parent=numbers(100, 104), predicate=lambda x: True)
        parents = [numbers(0, 5), forward, numbers(200, 206)]
        return Dataset(sample(parents, weights, stop_on_empty_dataset=stop))

    check_dataset(make)
    if not stop:
        expected = {*range(5), *range(100, 104), *range(200, 206)}
        assert {int(x) for x in make()} == expected


def test_each_input_keeps_its_order() -> None:
    drawn = first(sample([numbers(0, 50), numbers(100, 150)]), 100)
    assert [x for x in drawn if x < 100] == list(range(50))
    assert [x for x in drawn if x >= 100] == list(range(100, 150))


def test_passes_differ_only_on_request() -> None:
    fixed, anew = (sample([fill(0), fill(1)], rerandomize=r) for r in (False, True))
    assert first(fixed, 40) == first(fixed, 40)
    assert first(anew, 40) != first(anew, 40)
    assert first(fixed, 40) != first(sample([fill(0), fill(1)], seed=2), 40)


def test_a_rare_input_is_drawn_once_the_others_are_empty() -> None:
    assert first(sample([numbers(0, 3), numbers(5, 8)], [1, 1e-7], 4), 9) == [0, 1, 2, 5, 6, 7]


def test_inputs_without_weight_are_never_read() -> None:
    def fail(x: Any) -> Any:
        raise AssertionError("this was read")

    bad = Map(parent=numbers(0, 3), function=fail)
    assert first(sample([bad, numbers(0, 3)], [0, 1]), 9) == [0, 1, 2]
    assert first(sample([numbers(0, 3), numbers(0, 3)], [0, 0]), 9) == []


def test_weights_may_come_from_a_data_set() -> None:
    weights = FromTensorSlices(tensors=np.array([[1.0, 0], [0, 1], [0, 1], [1, 0]]))
    make = lambda: Dataset(sample([numbers(0, 5), numbers(10, 15)], weights))  # noqa: E731
    check_dataset(make, expected=[0, 10, 11, 1])
    tuples = FromTensorSlices(tensors=(np.array([1.0, 0]), np.array([0.0, 1])))
    assert first(sample([numbers(0, 5), numbers(10, 15)], tuples), 9) == [0, 10]


def test_weights_of_a_data_set_are_checked_as_they_come() -> None:
    weights = FromTensorSlices(tensors=np.array([[1.0, 0], [0, 0], [0, 1], [1, -1]]))
    node = sample([numbers(0, 5), numbers(10, 15)], weights)
    it = iterate(node)
    assert next(it) == 0
    with pytest.raises(ElementError, match="weights of draw 1 are all 0"):
        next(it)
    check_dataset(lambda: Dataset(node).ignore_errors(), expected=[0, 10])


@pytest.mark.parametrize("weights", [[1], [1, -1], [1, float("nan")], ["a", "b"], 3])
def test_weights_are_checked_at_once(weights: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="weights"):
        sample([fill(0), fill(1)], weights)


def test_at_least_one_input_is_needed() -> None:
    with pytest.raises(InvalidArgumentError, match="at least one"):
        sample([])


def test_the_cardinality() -> None:
    two = [numbers(0, 3), numbers(0, 4)]
    mixed = [fill(0), numbers(0, 4)]
    assert sample(two).cardinality() == UNKNOWN
    assert sample(two, [0, 1]).cardinality() == 4
    assert sample(two, [0, 0]).cardinality() == 0
    assert sample(mixed).cardinality() == INFINITE
    assert sample(mixed, stop_on_empty_dataset=True).cardinality() == UNKNOWN
    assert sample([fill(0), fill(1)], stop_on_empty_dataset=True).cardinality() == INFINITE
    assert sample(two, Repeat(parent=FromTensorSlices(tensors=[[1.0, 1]]))).cardinality() == UNKNOWN


def test_a_state_far_into_an_endless_sample_is_small() -> None:
    node = sample([fill(0), fill(1)])
    it = iterate(node)
    head = [int(next(it)) for _ in range(5000)]
    state = json.dumps(it.state())
    assert len(state) < 1000
    rest = [int(next(it)) for _ in range(50)]
    resumed = iterate(node, json.loads(state))
    assert [int(next(resumed)) for _ in range(50)] == rest
    assert head + rest == first(node, 5050)
