"""Deal: blocks of elements for one of several readers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepset as ks
from keepset import Dataset
from keepset.core.run import start
from keepset.nodes.deal import Deal
from keepset.testing import check_dataset

PARENTS: dict[str, Callable[[int], Dataset]] = {
    "addressable": lambda n: Dataset.range(n),
    "forward": lambda n: Dataset.range(n).filter(lambda x: True),
    "jumping": lambda n: Dataset.range(n).shuffle(ks.GLOBAL, 1, reshuffle_each_iteration=False),
}


def deal(ds: Dataset, first: int, step: int, size: int) -> Dataset:
    return Dataset(Deal(parent=ds.__keepset_node__(), first=first, step=step, size=size))


def dealt(items: list[Any], first: int, step: int, size: int) -> list[Any]:
    blocks = [items[start : start + size] for start in range(0, len(items), size)]
    return [item for block in blocks[first::step] for item in block]


@given(
    name=st.sampled_from(sorted(PARENTS)),
    length=st.integers(0, 40),
    first=st.integers(0, 5),
    step=st.integers(1, 5),
    size=st.integers(1, 5),
)
def test_blocks_are_those_of_a_list(
    name: str, length: int, first: int, step: int, size: int
) -> None:
    items = [int(x) for x in PARENTS[name](length)]
    ds = deal(PARENTS[name](length), first, step, size)
    expected = dealt(items, first, step, size)
    assert [int(x) for x in ds] == expected
    assert ds.cardinality() in (len(expected), ks.UNKNOWN_CARDINALITY)
    node = ds.__keepset_node__()
    cursor = node.cursor(start(node))
    given = len(cursor.read(2))
    skipped = cursor.skip(3)
    assert skipped == min(3, len(expected) - given)
    assert [int(x) for x in cursor.read(1).rows] == expected[given + 3 :][:1]


@pytest.mark.parametrize("name", PARENTS)
@pytest.mark.parametrize(("first", "step", "size"), [(1, 2, 3), (0, 3, 1), (2, 1, 4)])
def test_it_keeps_the_promises_of_every_stage(name: str, first: int, step: int, size: int) -> None:
    expected = dealt([int(x) for x in PARENTS[name](23)], first, step, size)
    check_dataset(lambda: deal(PARENTS[name](23), first, step, size), expected=expected)


def test_an_element_that_fails_counts_as_one() -> None:
    def check(x: Any) -> Any:
        if x in (2, 7):
            raise ValueError(f"{x} is bad")
        return x

    ds = deal(Dataset.range(14).filter(lambda x: True).map(check), 0, 2, 3)
    assert [int(x) for x in ds.ignore_errors()] == [0, 1, 6, 8, 12, 13]


def test_blocks_that_cannot_be_are_refused() -> None:
    for first, step, size in ((-1, 1, 1), (0, 0, 1), (0, 1, 0)):
        with pytest.raises(ks.InvalidArgumentError, match="at least 1"):
            deal(Dataset.range(3), first, step, size)
