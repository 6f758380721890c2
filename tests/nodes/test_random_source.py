"""Endless random integers."""

from itertools import islice

import numpy as np

from keepset import Dataset, TensorSpec
from keepset.core.iterate import iterate
from keepset.core.node import INFINITE
from keepset.core.random import Randomness
from keepset.core.run import look
from keepset.nodes.random_source import RandomSource, random_words
from keepset.testing import check_dataset

# Never change this: people's runs depend on it.
GOLDEN = [115293432, 273729036, 2271006647]


def source(seed: int | None = 4, rerandomize: bool = False) -> RandomSource:
    return RandomSource(source=Randomness(seed, rerandomize))


def first(node: RandomSource, count: int) -> list[int]:
    return [int(x) for x in islice(iterate(node), count)]


def test_the_numbers_of_a_seed_never_change() -> None:
    assert first(source(), 3) == GOLDEN


def test_the_contract() -> None:
    check_dataset(lambda: Dataset(source()).take(30))


def test_numbers_are_spread_evenly_over_32_bits() -> None:
    numbers = np.array(first(source(), 20000))
    assert numbers.min() >= 0
    assert numbers.max() < 2**32
    assert numbers.dtype == np.int64
    counts = np.bincount(numbers >> 28, minlength=16)
    assert abs(counts - 1250).max() < 200
    bits = (numbers[:, np.newaxis] >> np.arange(32)) & 1
    assert abs(bits.mean(axis=0) - 0.5).max() < 0.02
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.03


def test_keys_give_unrelated_words() -> None:
    a, b = (random_words((seed,))(np.arange(5000)) for seed in (1, 2))
    assert len({*a.tolist(), *b.tolist()}) == 10000


def test_passes_differ_only_on_request() -> None:
    fixed, anew = source(), source(rerandomize=True)
    assert first(fixed, 5) == first(fixed, 5)
    assert first(anew, 5) != first(anew, 5)
    assert first(source(None), 5) != first(source(None), 5)


def test_any_position_can_be_had_at_once() -> None:
    node = source()
    numbers = first(node, 50)
    assert node.gather(np.array([49, 3, 3]), look(node)).rows == [numbers[i] for i in (49, 3, 3)]
    assert node.cardinality() == INFINITE
    assert node.spec() == TensorSpec((), "int64")
