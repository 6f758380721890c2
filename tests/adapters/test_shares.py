"""Shares: each element exactly once, whoever reads and from wherever they begin."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import pickle
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adapters.pipelines import PIPELINES, double

import keepset as ks
from keepset import Dataset
from keepset.adapters.shares import Shares
from keepset.errors import (
    ElementIndexError,
    InvalidArgumentError,
    StateError,
)
from keepset.testing import assert_elements_equal

names = st.sampled_from(sorted(PIPELINES))


def shares_of(ds: Dataset, *place: Any) -> Shares:
    return Shares(ds.__keepset_node__(), *place)


def elements(shares: Shares, number: int = 0, *where: int) -> list[Any]:
    return [row for chunk in shares.chunks(number, *where) for row in chunk.rows]


def in_turns(parts: list[list[Any]]) -> Iterator[Any]:
    """One of each, then another one of each, as a DataLoader takes them from its workers."""
    nothing = object()
    for turn in zip_longest(*parts, fillvalue=nothing):
        yield from (item for item in turn if item is not nothing)


@given(name=names, size=st.integers(0, 30), workers=st.integers(1, 4), number=st.integers(0, 2))
def test_workers_together_give_the_pass_in_its_order(
    name: str, size: int, workers: int, number: int
) -> None:
    ds = PIPELINES[name](size)
    shares = shares_of(ds)
    parts = [elements(shares, number, 0, worker, workers) for worker in range(workers)]
    beginning = iter(ds).state() | {"draws": shares.passes.draws(number)}
    assert_elements_equal(list(in_turns(parts)), list(ds.iterate(beginning)))


@given(name=names, size=st.integers(0, 20))
def test_the_passes_are_those_of_a_new_data_set(name: str, size: int) -> None:
    ds = PIPELINES[name](size)
    shares = shares_of(ds)
    copied = pickle.loads(pickle.dumps(ds))  # has been iterated over by nobody
    for number in range(3):
        assert_elements_equal(elements(shares, number), list(copied))


@given(
    name=names.filter(lambda name: name != "unseeded"),
    size=st.integers(0, 30),
    ranks=st.integers(1, 4),
    workers=st.integers(1, 3),
    taken=st.integers(0, 12),
)
def test_what_is_left_is_divided_among_ranks_and_workers_of_any_number(
    name: str, size: int, ranks: int, workers: int, taken: int
) -> None:
    ds = PIPELINES[name](size)
    whole = elements(shares_of(ds), 1)
    parts = [
        list(
            in_turns(
                [
                    elements(shares_of(ds, rank, ranks), 1, taken, worker, workers)
                    for worker in range(workers)
                ]
            )
        )
        for rank in range(ranks)
    ]
    assert_elements_equal(list(in_turns(parts)), whole[taken:])


@given(size=st.integers(0, 30), ranks=st.integers(1, 4), taken=st.integers(0, 9))
def test_drop_last_gives_every_rank_the_same_number(size: int, ranks: int, taken: int) -> None:
    ds = Dataset.range(size).map(double)
    parts = [elements(shares_of(ds, rank, ranks, True), 0, taken) for rank in range(ranks)]
    assert len(set(map(len, parts))) == 1
    left = max(0, size - taken)
    assert sum(map(len, parts)) == left - left % ranks
    lengths = {len(shares_of(ds, rank, ranks, True)) for rank in range(ranks)}
    assert lengths == {size // ranks}


@given(size=st.integers(1, 30), ranks=st.integers(1, 4), data=st.data())
def test_elements_by_position_are_those_of_the_pass(size: int, ranks: int, data: Any) -> None:
    ds = Dataset.range(size).shuffle(ks.GLOBAL, seed=3).map(double)
    for rank in range(ranks):
        shares = shares_of(ds, rank, ranks)
        for number in (0, 2):
            order = elements(shares, number)
            assert len(shares) == len(order)
            if order:
                wanted = data.draw(st.lists(st.integers(-len(order), len(order) - 1)))
                found = shares.at(wanted, number).rows if wanted else []
                assert_elements_equal(found, [order[i] for i in wanted])
        for outside in (len(shares), -len(shares) - 1):
            with pytest.raises(ElementIndexError, match=f"position {outside} is outside"):
                shares.at([outside], 0)


def test_only_the_elements_of_a_worker_are_computed() -> None:
    calls: list[int] = []

    def note(x: Any) -> Any:
        calls.append(int(x))
        return x

    for ds in (
        Dataset.range(24).map(note).batch(3),
        Dataset.range(24).shuffle(100, seed=1, reshuffle_each_iteration=False).map(note).batch(3),
        Dataset.from_generator(lambda: iter(range(24))).map(note).prefetch(1).batch(3),
        Dataset.from_generator(lambda: iter(range(24))).random_map(lambda x, rng: note(x)),
    ):
        calls.clear()
        given = elements(shares_of(ds), 0, 0, 1, 4)
        assert sorted(calls) == sorted(int(x) for batch in given for x in batch.reshape(-1))
        assert len(calls) == 6


def test_an_error_says_whose_elements_it_counts() -> None:
    def check(x: Any) -> Any:
        if x == 13:
            raise ValueError("thirteen is bad")
        return x

    ds = Dataset.range(20).map(check)
    with pytest.raises(ValueError, match="thirteen is bad") as caught:
        elements(shares_of(ds), 0, 1, 0, 3)
    assert caught.value.__notes__ == [
        "in map(check), at element 4",
        "where element 0 is the first that worker 0 of 3 on rank 0 of 1 gets, number 1 of the "
        "pipeline",
    ]
    with pytest.raises(ValueError, match="thirteen is bad") as caught:
        elements(shares_of(ds))
    assert caught.value.__notes__ == ["in map(check), at element 13"]


def test_a_state_goes_on_with_the_seeds_of_another_process() -> None:
    def make() -> Dataset:
        return Dataset.range(20).shuffle(5).batch(2)  # each draws a seed of its own

    first, second = shares_of(make()), shares_of(make())
    state = json.loads(json.dumps(first.state(3, 4)))
    before = [[batch.tolist() for batch in elements(each, 3)] for each in (first, second)]
    assert before[0] != before[1]
    number, taken = second.restore(state)
    assert (number, taken) == (3, 4)
    for later in (3, 4):
        assert_elements_equal(elements(second, later, taken), elements(first, later, taken))


def test_a_state_of_another_pipeline_is_refused() -> None:
    shares = shares_of(Dataset.range(9).shuffle(3))
    for state in (None, {}, {"epoch": 1}):
        with pytest.raises(StateError, match="not a state of a loader"):
            shares.restore(state)
    other = shares_of(Dataset.range(9).shuffle(3).batch(2)).state(0, 0)
    with pytest.raises(StateError, match="another pipeline"):
        shares.restore(other)
    with pytest.raises(StateError, match="random stages"):
        shares.restore(shares.state(0, 0) | {"draws": {}})


def test_a_state_may_have_numbers_of_numpy() -> None:
    shares = shares_of(Dataset.range(20).shuffle(5))
    state = shares.state(3, 4)
    state |= {"epoch": np.int64(3), "taken": np.array(4, np.int32)}
    place = shares.restore(state)
    assert place == (3, 4)
    assert list(map(type, place)) == [int, int]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("epoch", True), ("taken", np.True_), ("taken", np.float64(1)), ("epoch", np.int64(-1))),
        *(("epoch", "x"), ("epoch", -1), ("epoch", 2**63), ("epoch", 1.5), ("taken", None)),
        *(
            ("taken", float("inf")),
            ("taken", 10**30),
            ("draws", {"": 1}),
            ("draws", {"": ["x", 0]}),
        ),
        *(("snapshots", 7), ("snapshots", [1])),
    ],
)
def test_a_state_that_was_changed_is_refused(name: str, value: object) -> None:
    shares = shares_of(Dataset.range(9).shuffle(3))
    with pytest.raises(StateError, match="state"):
        shares.restore(shares.state(0, 1) | {name: value})


def test_ranks_need_a_seed_that_all_of_them_know() -> None:
    ds = Dataset.range(9).shuffle(3)
    with pytest.raises(InvalidArgumentError, match=r"shuffle\(3\).*pass seed=.*set_seed"):
        shares_of(ds, 0, 2)
    shares_of(ds)  # alone, it need not
    orders = []
    try:
        for rank in (0, 1):
            ks.set_seed(5)  # as every rank does
            orders.append(elements(shares_of(Dataset.range(9).shuffle(3), rank, 2)))
    finally:
        ks.set_seed(None)
    assert sorted(int(x) for order in orders for x in order) == list(range(9))


def test_ranks_agree_about_what_functions_open() -> None:
    def make() -> Dataset:  # as each rank builds it
        return Dataset.range(3).flat_map(lambda x: Dataset.range(4 * x, 4 * x + 4).shuffle(4))

    given = [int(x) for rank in (0, 1) for x in elements(shares_of(make(), rank, 2))]
    assert sorted(given) == list(range(12))


@pytest.mark.parametrize(
    ("place", "complaint"),
    [((2, 2), "rank must be from 0"), ((-1, 2), "rank must be from 0"), ((0, 0), "rank must be")],
)
def test_a_rank_that_does_not_exist_is_refused(place: tuple[int, int], complaint: str) -> None:
    with pytest.raises(InvalidArgumentError, match=complaint):
        shares_of(Dataset.range(3), *place)


def test_drop_last_needs_a_length() -> None:
    with pytest.raises(InvalidArgumentError, match="assert_cardinality"):
        shares_of(Dataset.range(9).filter(lambda x: x > 3), 0, 1, True)


def test_an_unknown_length_is_said() -> None:
    with pytest.raises(TypeError, match="unknown length"):
        len(shares_of(Dataset.range(9).filter(lambda x: x > 3)))
    with pytest.raises(TypeError, match="infinite"):
        len(shares_of(Dataset.range(9).repeat()))


def test_a_copy_in_another_process_reads_by_itself(tmp_path: Any) -> None:
    Dataset.range(100).map(double).save(tmp_path)
    shares = shares_of(ks.load(tmp_path).shuffle(10, seed=1))
    iterator = shares.chunks(0)
    next(iterator)  # files are open, and threads may be under way
    expected = [int(x) for x in elements(shares, 2, 1, 0, 2)]
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()

    def read() -> None:
        results.put([int(x) for x in elements(shares, 2, 1, 0, 2)])

    child = context.Process(target=read)
    child.start()
    assert results.get() == expected
    child.join()
    copied = pickle.loads(pickle.dumps(shares))
    assert [int(x) for x in elements(copied, 2, 1, 0, 2)] == expected


def test_reading_all_shares_to_their_ends_keeps_a_snapshot(tmp_path: Any) -> None:
    for drop_last in (True, False):
        ds = Dataset.range(11).map(double).snapshot(tmp_path, fingerprint=str(drop_last))
        for rank in range(3):
            elements(shares_of(ds.map(double), rank, 3, drop_last))
        found = ks.Snapshot(tmp_path, fingerprint=str(drop_last))
        assert found.is_complete
        assert found.num_elements == 11


def test_what_draws_anew_is_known() -> None:
    def draws_anew(ds: Dataset) -> bool:
        return shares_of(ds).draws_anew

    assert draws_anew(Dataset.range(3).shuffle(2))
    assert draws_anew(Dataset.range(3).random_map(lambda x, rng: x).batch(2))
    assert not draws_anew(Dataset.range(3).shuffle(2, reshuffle_each_iteration=False))
    assert not draws_anew(Dataset.range(3).flat_map(Dataset.range))


def test_a_change_between_beginning_and_the_first_element_counts(tmp_path: Any) -> None:
    config = argparse.Namespace(scale=1)
    ds = Dataset.range(4).map(lambda x: x * config.scale).snapshot(tmp_path)
    shares = Shares(ds._node)
    shares.begin()
    config.scale = 100
    assert [int(x) for chunk in shares.chunks(0) for x in chunk.rows] == [0, 100, 200, 300]
    config.scale = 1
    assert [int(x) for x in ds] == [0, 1, 2, 3]


def test_a_state_between_two_epochs_fits_any_function(tmp_path: Any) -> None:
    factor = 1
    ds = Dataset.range(4).map(lambda x: x * factor).snapshot(tmp_path)
    shares = Shares(ds._node)
    shares.begin()
    state = shares.state(1, 0)
    factor = 2
    assert Shares(ds._node).restore(state) == (1, 0)
    with pytest.raises(StateError, match="compute something else"):
        Shares(ds._node).restore(state | {"taken": 2})
