"""tf.random draws TensorFlow's numbers, which were written down from TensorFlow 2.21 on a CPU."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import keepset.tf as tf
from keepset.errors import DtypeError, InvalidArgumentError, NotCoveredError

SEED = (1, 2)
Draw = Callable[[], Any]
GOLDEN: dict[str, tuple[Draw, list[Any]]] = {
    "uniform": (
        lambda: tf.random.stateless_uniform([5], SEED),
        [0.8440604, 0.1920453, 0.9962232, 0.1603874, 0.2719902],
    ),
    "whole": (lambda: tf.random.stateless_uniform([3], SEED, -5, 5, tf.int64), [-1, 3, 2]),
    "bits": (
        lambda: tf.random.stateless_uniform([2], SEED, None, None, tf.uint32),
        [1105988140, 1738052849],
    ),
    "normal": (
        lambda: tf.random.stateless_normal([4], SEED),
        [0.5441101, 0.2073803, 0.0735643, 0.0464346],
    ),
    "truncated": (
        lambda: tf.random.stateless_truncated_normal([5], SEED),
        [0.5441101, 0.2073803, 0.0735643, 0.0464346, 0.1682059],
    ),
    "gamma": (
        lambda: tf.random.stateless_gamma([3], SEED, 0.5),
        [0.0669536, 0.6282355, 0.1813673],
    ),
    "exponential": (
        lambda: tf.random.stateless_gamma([3], SEED, 1.0),
        [3.4994423, 1.7193093, 2.2487352],
    ),
    "few": (lambda: tf.random.stateless_poisson([4], SEED, 3.0), [5, 5, 4, 6]),
    "many": (lambda: tf.random.stateless_poisson([4], SEED, 30.0), [37, 34, 38, 45]),
    "categories": (
        lambda: tf.random.stateless_categorical([[0.0, 1.0, 2.0]], 8, SEED)[0],
        [2, 2, 1, 2, 2, 2, 2, 1],
    ),
    "shuffled": (
        lambda: tf.random.experimental.stateless_shuffle([1, 2, 3, 4, 5, 6], SEED),
        [5, 6, 1, 4, 2, 3],
    ),
    "folded": (lambda: tf.random.fold_in([1, 2], 3), [1105988140, 3]),
    "split": (lambda: tf.random.split([1, 2])[1], [-335576002, 370444179]),
    "generator": (
        lambda: tf.random.Generator.from_seed(1).normal([3]),
        [0.4384227, -0.5343984, -0.0771026],
    ),
    "generator's child": (
        lambda: tf.random.Generator.from_seed(1).split(2)[1].uniform([2]),
        [0.6289157, 0.381231],
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_numbers_are_those_of_tensorflow(name: str) -> None:
    draw, expected = GOLDEN[name]
    assert_allclose(draw().numpy(), expected, rtol=2e-6)


def test_set_seed_says_what_all_operations_draw() -> None:
    tf.random.set_seed(5)
    drawn = [tf.random.uniform([2]).numpy() for _ in range(2)]
    assert_allclose(drawn, [[0.6263931, 0.5298432], [0.7017075, 0.0433679]], rtol=2e-6)
    drawn = [tf.random.uniform([2], seed=1).numpy() for _ in range(2)]
    assert_allclose(drawn, [[0.3875184, 0.7485455], [0.9647, 0.2685586]], rtol=2e-6)
    tf.random.set_seed(5)
    assert_allclose(tf.random.normal([2]).numpy(), [-0.1803067, -0.9502863], rtol=2e-6)
    assert tf.random.shuffle([1, 2, 3, 4, 5]).numpy().tolist() == [3, 2, 5, 4, 1]
    tf.random.set_seed(None)
    assert len({tf.random.uniform([]).numpy() for _ in range(20)}) == 20


def test_distributions_are_what_they_are_called() -> None:
    count = 50_000
    normal = tf.random.normal([count], 3.0, 2.0, tf.float64).numpy()
    assert_allclose([normal.mean(), normal.std()], [3, 2], atol=0.05)
    cut = tf.random.truncated_normal([count]).numpy()
    assert np.abs(cut).max() < 2
    assert_allclose(tf.random.gamma([count], 2.5, 0.5).numpy().mean(), 5, atol=0.1)
    for rate in (0.5, 9.0, 12.0, 400.0):
        assert_allclose(tf.random.poisson([count], rate).numpy().mean(), rate, rtol=0.03)
    picked = tf.random.categorical(np.log([[0.2, 0.8]]), count).numpy()
    assert_allclose(picked.mean(), 0.8, atol=0.02)
    assert sorted(tf.random.shuffle(np.arange(1000)).numpy().tolist()) == list(range(1000))


def test_a_generator_goes_on_from_its_state() -> None:
    one = tf.random.Generator.from_seed(7)
    one.normal([3])
    two, three = tf.random.Generator(copy_from=one), pickle.loads(pickle.dumps(one))
    expected = one.uniform([4]).numpy()
    assert_array_equal(two.uniform([4]).numpy(), expected)
    assert_array_equal(three.uniform([4]).numpy(), expected)
    assert one.make_seeds(3).shape == [2, 3]
    assert tf.random.get_global_generator() is tf.random.get_global_generator()
    drawn = {tf.random.Generator.from_non_deterministic_state().key.numpy() for _ in range(9)}
    assert len(drawn) == 9


def test_stateless_augmentation_is_the_same_in_each_pass() -> None:
    counter = tf.data.Dataset.range(6)
    ds = counter.map(lambda i: tf.random.stateless_uniform([2], tf.stack([i, 7])))
    first, second = ([x.numpy().tolist() for x in ds] for _ in range(2))
    assert first == second
    assert len({tuple(each) for each in first}) == 6


ERRORS: dict[str, tuple[Draw, type[Exception], str]] = {
    "shape": (lambda: tf.random.uniform(5), InvalidArgumentError, "pass a list of sizes"),
    "negative": (lambda: tf.random.uniform([-1]), InvalidArgumentError, "negative size"),
    "floats": (lambda: tf.random.uniform([2.0]), InvalidArgumentError, "whole numbers"),
    "seed": (lambda: tf.random.stateless_uniform([2], 1), InvalidArgumentError, r"as in \(1, 2\)"),
    "seed's dtype": (
        lambda: tf.random.stateless_uniform([2], [1.0, 2.0]),
        InvalidArgumentError,
        "int32 or int64",
    ),
    "maxval": (
        lambda: tf.random.uniform([2], dtype=tf.int32),
        InvalidArgumentError,
        "need a minval and a maxval",
    ),
    "bounds": (lambda: tf.random.uniform([2], 3, 3, tf.int32), InvalidArgumentError, "minval <"),
    "dtype": (
        lambda: tf.random.uniform([2], dtype=tf.uint8),
        InvalidArgumentError,
        "choose float16",
    ),
    "floats only": (lambda: tf.random.normal([2], dtype=tf.int32), DtypeError, "use tf.cast"),
    "logits": (
        lambda: tf.random.categorical([0.5, 0.5], 1),
        InvalidArgumentError,
        "a row for each draw",
    ),
    "gamma": (
        lambda: tf.random.stateless_gamma([3, 2], SEED, [1.0, 2.0, 3.0]),
        InvalidArgumentError,
        "must end with",
    ),
    "algorithm": (
        lambda: tf.random.stateless_uniform([2], SEED, alg="threefry"),
        InvalidArgumentError,
        "choose 'philox'",
    ),
    "state": (lambda: tf.random.Generator(), InvalidArgumentError, "use from_seed"),
    "name": (lambda: tf.random.stateless_binomial, NotCoveredError, "not part of keepset.tf"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_to_do(name: str) -> None:
    draw, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        draw()


def test_a_snapshot_warns_of_what_differs_in_each_pass(tmp_path: Path) -> None:
    ds = tf.data.Dataset.range(3)
    with pytest.warns(UserWarning, match=r"keepset\.tf\.random\.uniform"):
        drawn = ds.map(lambda i: tf.random.uniform([])).snapshot(tmp_path / "drawn")
    first, second = ([x.numpy() for x in drawn] for _ in range(2))
    assert first == second
    same = ds.map(lambda i: tf.random.stateless_uniform([], tf.stack([i, 7])))
    assert len(list(same.snapshot(tmp_path / "same"))) == 3  # without a warning
