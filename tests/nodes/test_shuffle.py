"""Shuffle: every element once, TensorFlow's buffer, orders that repeat where they should."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepset as ks

# Never change these: people's runs depend on them.
GOLDEN_BUFFER = [0, 2, 3, 1, 6, 7, 9, 8, 5, 4]
GOLDEN_GLOBAL = [7, 0, 5, 3, 1, 8, 2, 9, 6, 4]
GOLDEN_LARGE = [770689, 876525, 667435, 159638, 412577]


def order(ds: ks.Dataset) -> list[int]:
    return [int(x) for x in ds]


@given(size=st.integers(0, 200), buffer=st.integers(1, 250), seed=st.integers(0, 5))
def test_every_element_comes_once_and_none_too_early(size: int, buffer: int, seed: int) -> None:
    got = order(ks.Dataset.range(size).shuffle(buffer, seed=seed))
    assert sorted(got) == list(range(size))
    # With a buffer of b, element i cannot come before b - 1 elements behind it could have.
    assert all(x < place + buffer for place, x in enumerate(got))


@given(size=st.integers(0, 100), buffer=st.integers(1, 30))
def test_rows_and_columns_are_shuffled_alike(size: int, buffer: int) -> None:
    columns = ks.Dataset.range(size).shuffle(buffer, seed=1)
    rows = ks.Dataset.range(size).map(lambda x: x).shuffle(buffer, seed=1)
    assert order(columns) == order(rows)


def test_the_order_of_a_seed_is_fixed_for_ever() -> None:
    assert order(ks.Dataset.range(10).shuffle(4, seed=42)) == GOLDEN_BUFFER
    assert order(ks.Dataset.range(10).shuffle(ks.GLOBAL, seed=42)) == GOLDEN_GLOBAL
    large = ks.Dataset.range(1_000_000).shuffle(ks.GLOBAL, seed=42)
    assert [int(x) for x in large.take(5)] == GOLDEN_LARGE


@pytest.mark.parametrize("buffer", [50, ks.GLOBAL])
def test_passes_differ_and_repeat_when_the_data_set_is_built_again(buffer: int) -> None:
    def build() -> ks.Dataset:
        return ks.Dataset.range(50).shuffle(buffer, seed=3)

    one, other = build(), build()
    first, second = order(one), order(one)
    assert first != second
    assert (first, second) == (order(other), order(other))
    through_repeat = order(build().repeat(2))
    assert sorted(through_repeat[:50]) == list(range(50))
    assert through_repeat[:50] != through_repeat[50:]


@pytest.mark.parametrize("buffer", [50, ks.GLOBAL])
def test_the_order_can_be_held_fast(buffer: int) -> None:
    ds = ks.Dataset.range(50).shuffle(buffer, seed=3, reshuffle_each_iteration=False)
    assert order(ds) == order(ds)
    assert order(ds.repeat(2)) == 2 * order(ds)


def test_a_stage_on_top_does_not_start_the_passes_anew() -> None:
    ds = ks.Dataset.range(50).shuffle(50, seed=3)
    assert order(ds.take(50)) != order(ds.take(50))


def test_unseeded_orders_differ_unless_a_global_seed_is_set() -> None:
    def build() -> ks.Dataset:
        return ks.Dataset.range(100).shuffle(100)

    assert order(build()) != order(build())
    ks.set_seed(5)
    first = order(build())
    ks.set_seed(5)
    assert order(build()) == first
    ks.set_seed(None)
    assert order(build()) != first


def test_pickling_keeps_the_drawn_seed() -> None:
    ds = ks.Dataset.range(100).shuffle(100)
    assert order(pickle.loads(pickle.dumps(ds))) == order(ds)


def test_a_resumed_epoch_is_followed_by_the_next_one() -> None:
    def build() -> ks.Dataset:
        return ks.Dataset.range(40).shuffle(40, seed=9)

    whole = build()
    epochs = [order(whole) for _ in range(3)]
    broken = build()
    assert order(broken) == epochs[0]
    it = iter(broken)
    part = [int(next(it)) for _ in range(10)]
    state = json.loads(json.dumps(it.state()))
    resumed = build()
    assert part + order_of(resumed.iterate(state)) == epochs[1]
    assert order(resumed) == epochs[2]


def order_of(it: ks.DatasetIterator) -> list[int]:
    return [int(x) for x in it]


def test_the_state_is_small_for_addressable_pipelines() -> None:
    ds = ks.Dataset.range(10_000_000).map(lambda x: x + 1).shuffle(1000, seed=1).batch(32).repeat()
    it = iter(ds)
    for _ in range(500):
        next(it)
    assert len(json.dumps(it.state())) < 1024
    expected = next(it)
    assert (next(ds.iterate(it.state())) != expected).any()


def test_a_buffer_mixes_as_far_as_it_reaches_and_global_everywhere() -> None:
    places = np.arange(20_000)
    near = np.array(order(ks.Dataset.range(20_000).shuffle(100, seed=1)))
    far = np.array(order(ks.Dataset.range(20_000).shuffle(ks.GLOBAL, seed=1)))
    assert np.corrcoef(places, near)[0, 1] > 0.99
    assert abs(np.corrcoef(places, far)[0, 1]) < 0.03


def test_variable_shapes_and_strings_are_shuffled_too() -> None:
    ds = ks.Dataset.range(20).map(lambda n: {"a": np.full(n, n), "b": str(n)}).shuffle(7, seed=1)
    assert sorted(len(e["a"]) for e in ds) == list(range(20))
    assert all(e["b"] == str(len(e["a"])).encode() for e in ds)


@pytest.mark.parametrize("size", [0, -5])
def test_a_bad_buffer_size_is_refused(size: int) -> None:
    with pytest.raises(ks.InvalidArgumentError, match=r"GLOBAL"):
        ks.Dataset.range(3).shuffle(size)


def test_the_whole_input_can_be_the_buffer() -> None:
    got = order(ks.Dataset.range(30).shuffle(ks.UNKNOWN_CARDINALITY, seed=1))
    assert sorted(got) == list(range(30))
    assert got != list(range(30))


def test_global_needs_positions_and_an_end() -> None:
    with pytest.raises(ks.NotAddressableError, match="filter"):
        ks.Dataset.range(3).filter(bool).shuffle(ks.GLOBAL)
    with pytest.raises(ks.InvalidArgumentError, match="shuffle before repeat"):
        ks.Dataset.range(3).repeat().shuffle(ks.GLOBAL)


def test_an_element_that_fails_comes_in_its_place_and_the_others_all_the_same() -> None:
    def fails(x: np.int64) -> np.int64:
        if x in (3, 700):
            raise ValueError("no")
        return x

    how: dict[str, Any] = {"seed": 1, "reshuffle_each_iteration": False}
    whole = order(ks.Dataset.range(1000).shuffle(ks.GLOBAL, **how))
    ds = ks.Dataset.range(1000).map(fails).shuffle(ks.GLOBAL, **how)
    first = min(whole.index(3), whole.index(700))
    assert order(ds.take(first)) == whole[:first]
    with pytest.raises(ValueError, match="no"):
        order(ds.take(first + 1))
    assert order(ds.ignore_errors()) == [x for x in whole if x not in (3, 700)]
