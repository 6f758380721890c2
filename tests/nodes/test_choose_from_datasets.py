"""Elements from the inputs that a data set names."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset import Dataset, TensorSpec
from keepset.core.iterate import iterate
from keepset.core.node import INFINITE, UNKNOWN, Node
from keepset.errors import ElementError, InvalidArgumentError
from keepset.nodes.choose_from_datasets import ChooseFromDatasets
from keepset.nodes.counter import Counter
from keepset.nodes.filter import Filter
from keepset.nodes.from_tensor_slices import FromTensorSlices
from keepset.nodes.map import Map
from keepset.nodes.range import Range
from keepset.nodes.repeat import Repeat
from keepset.testing import check_dataset


def numbers(start: int, stop: int) -> Node:
    return Range(start=start, stop=stop, dtype=np.dtype(np.int64))


def inputs() -> tuple[Node, ...]:
    """Two, one and three elements; one input has no positions."""
    middle = Filter(parent=numbers(10, 11), predicate=lambda x: True)
    return numbers(0, 2), middle, numbers(20, 23)


def choices(*values: int) -> Node:
    return FromTensorSlices(tensors=np.array(values, np.int64))


def choose(choice: Node, stop: bool = True, parents: Any = None) -> ChooseFromDatasets:
    return ChooseFromDatasets(
        parents=inputs() if parents is None else parents, choice=choice, stop_on_empty_dataset=stop
    )


# What tf.data 2.21 gives.
@pytest.mark.parametrize(
    ("given_choices", "stop", "expected"),
    [
        ((0, 1, 2, 1, 0, 2), True, [0, 10, 20]),
        ((0, 1, 2, 1, 0, 2, 0, 2), False, [0, 10, 20, 1, 21, 22]),
        ((0, 1), True, [0, 10]),
        ((0, 1), False, [0, 10]),
        ((), True, []),
        ((1, 1, 1, 0, 0, 0, 2), False, [10, 0, 1, 20]),
    ],
)
def test_elements_follow_the_choices(given_choices: Any, stop: bool, expected: Any) -> None:
    check_dataset(lambda: Dataset(choose(choices(*given_choices), stop)), expected=expected)
    rows = Map(parent=choices(*given_choices), function=lambda x: x)
    check_dataset(lambda: Dataset(choose(rows, stop)), expected=expected)


def test_it_ends_when_all_inputs_are_empty() -> None:
    endless = Repeat(parent=numbers(0, 3))
    assert [int(x) for x in iterate(choose(endless, False))] == [0, 10, 20, 1, 21, 22]


def model(lengths: list[int], chosen: list[int], stop: bool) -> list[tuple[int, int]]:
    given_ = [0] * len(lengths)
    out = []
    for choice in chosen:
        if given_[choice] < lengths[choice]:
            out.append((choice, given_[choice]))
            given_[choice] += 1
        elif stop:
            break
    return out


@given(
    lengths=st.lists(st.integers(0, 6), min_size=3, max_size=3),
    chosen=st.lists(st.integers(0, 2), max_size=25),
    stop=st.booleans(),
)
def test_choices_by_a_model(lengths: list[int], chosen: list[int], stop: bool) -> None:
    parents = tuple(numbers(100 * i, 100 * i + n) for i, n in enumerate(lengths))
    node = choose(choices(*chosen), stop, parents)
    assert [divmod(int(x), 100) for x in iterate(node)] == model(lengths, chosen, stop)


def failing(start: int, stop: int, *bad: int) -> Node:
    def check(x: Any) -> Any:
        if x in bad:
            raise ValueError(f"{x} is bad")
        return x

    number = TensorSpec((), "int64")
    return Map(parent=numbers(start, stop), function=check, output_signature=number)


@pytest.mark.parametrize("stop", [True, False])
def test_a_failed_element_uses_up_its_choice(stop: bool) -> None:
    parents = (failing(0, 9, 1, 2), failing(10, 19, 10, 13))
    node = choose(choices(0, 0, 1, 1, 0, 0, 1, 1, 0), stop, parents)
    it = iterate(node)
    assert next(it) == 0
    with pytest.raises(ValueError, match="1 is bad"):
        next(it)
    check_dataset(lambda: Dataset(node).ignore_errors(), expected=[0, 11, 3, 12, 4])


def test_a_choice_that_is_no_input_is_an_error_with_the_number() -> None:
    it = iterate(choose(choices(0, 3, 1)))
    assert next(it) == 0
    with pytest.raises(ElementError, match="3 data sets, but the choice was 3"):
        next(it)
    check_dataset(lambda: Dataset(choose(choices(0, -1, 1, 7))).ignore_errors(), expected=[0, 10])


def test_choices_are_integers() -> None:
    with pytest.raises(ElementError, match="integers"):
        choose(FromTensorSlices(tensors=[0.5]))
    with pytest.raises(ElementError, match="integers"):
        list(iterate(choose(Map(parent=numbers(0, 2), function=lambda x: (x, x)))))


def test_inputs_must_be_of_one_type() -> None:
    with pytest.raises(InvalidArgumentError, match="at least one"):
        choose(choices(0), parents=())
    with pytest.raises(ElementError, match="one type"):
        choose(choices(0), parents=(numbers(0, 1), FromTensorSlices(tensors=[0.5])))


def test_shapes_are_relaxed_to_what_all_inputs_have() -> None:
    parents = tuple(FromTensorSlices(tensors=np.ones((1, n))) for n in (2, 3))
    assert choose(choices(0), parents=parents).spec() == TensorSpec([None], "float64")


def test_it_is_endless_only_if_choices_and_inputs_are() -> None:
    endless = Repeat(parent=numbers(0, 2))
    both, one = (Counter(), Counter()), (Counter(), numbers(0, 1))
    assert choose(endless, True, both).cardinality() == INFINITE
    assert choose(endless, False, one).cardinality() == INFINITE
    assert choose(endless, True, one).cardinality() == UNKNOWN
    assert choose(numbers(0, 2), True, both).cardinality() == UNKNOWN


def test_inputs_are_not_read_ahead() -> None:
    calls = []

    def note(x: Any) -> Any:
        calls.append(int(x))
        return x

    parents = (Map(parent=numbers(0, 9), function=note), Map(parent=numbers(10, 19), function=note))
    next(iterate(choose(choices(1, 0, 1, 0), parents=parents)))
    assert calls == [10]
