"""Randomness: permutations that are permutations, streams that stay what they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset.core.random import Permutation, below, element_generators, philox, unit_interval

# Never change these: people's runs depend on them.
GOLDEN_RAW = [16822815991410042160, 8809298134585544112]
GOLDEN_BELOW = [9, 4, 4, 5, 3, 2, 0, 3]
GOLDEN_ELEMENT = [6961617775658997160, 6259330799664098047]


@given(st.integers(0, 3000), st.integers(-5, 2**70))
def test_small_permutations_are_bijections(length: int, seed: int) -> None:
    order = Permutation(length, (seed,))(np.arange(length))
    assert np.array_equal(np.sort(order), np.arange(length))


@pytest.mark.parametrize("length", [65535, 65536, 65537, 65538, 100_003, 2**17, 2**17 + 1, 2**20])
def test_large_permutations_are_bijections_and_well_mixed(length: int) -> None:
    places = np.arange(length)
    order = Permutation(length, (3,))(places)
    assert np.array_equal(np.sort(order), places)
    assert abs(np.corrcoef(places, order)[0, 1]) < 5 / np.sqrt(length)
    # Neighbours end up far apart, and steps between them are as good as evenly spread.
    steps = np.diff(order) % length
    counts = np.histogram(steps, bins=64, range=(0, length))[0]
    expected = len(steps) / 64
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    assert chi_square < 64 + 6 * np.sqrt(2 * 64)


def test_different_seeds_give_unrelated_permutations() -> None:
    places = np.arange(2**17)
    one, other = (Permutation(2**17, (seed,))(places) for seed in (1, 2))
    assert (one == other).mean() < 1e-3
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.02


def test_a_permutation_does_not_depend_on_how_it_is_asked() -> None:
    order = Permutation(200_000, (9,))
    whole = order(np.arange(200_000))
    picks = np.array([5, 199_999, 0, 5])
    assert np.array_equal(order(picks), whole[picks])


def test_every_order_of_few_elements_is_equally_likely() -> None:
    seen = [tuple(Permutation(3, (seed,))(np.arange(3)).tolist()) for seed in range(6000)]
    _, counts = np.unique(seen, axis=0, return_counts=True)
    assert len(counts) == 6
    assert counts.min() > 850


def test_streams_depend_on_the_whole_key() -> None:
    keys = [(1,), (1, 0), (0, 1), (-1,), (1, 1), (2**64 + 1,)]
    firsts = {int(philox(*key).random_raw()) for key in keys}
    assert len(firsts) == len(keys)


def test_streams_never_change() -> None:
    assert philox(42, 7).random_raw(2).tolist() == GOLDEN_RAW
    assert below(philox(42, 7), 10, 8).tolist() == GOLDEN_BELOW
    generator = element_generators((42, 7))(5)
    assert generator.bit_generator.random_raw(2).tolist() == GOLDEN_ELEMENT


@given(st.integers(1, 1000))
def test_bounded_numbers_stay_below_their_bound(bound: int) -> None:
    numbers = below(philox(1), bound, 500)
    assert numbers.min() >= 0
    assert numbers.max() < bound
    unit = unit_interval(philox(1), 500)
    assert unit.min() >= 0
    assert unit.max() < 1


def test_generators_of_neighbouring_elements_are_independent() -> None:
    at = element_generators((1,))
    draws = np.array([at(i).random(2) for i in range(2000)])
    assert abs(np.corrcoef(draws[:-1, 0], draws[1:, 0])[0, 1]) < 0.1
    assert abs(draws.mean() - 0.5) < 0.05
    assert at(3).random() == at(3).random()
