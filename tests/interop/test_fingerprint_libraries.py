"""Objects of Keras, TensorFlow, JAX and others count by what they compute."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.core.fingerprint import fingerprint_of_value

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")
jax = pytest.importorskip("jax")
wrapt = pytest.importorskip("wrapt")
tqdm = pytest.importorskip("tqdm")

pytestmark = pytest.mark.interop


def dense(units: int, seed: int = 1) -> Any:
    keras.utils.set_random_seed(seed)
    layer = keras.layers.Dense(units)
    layer.build((None, 2))
    return layer


def vectorizer(*texts: str) -> Any:
    layer = keras.layers.TextVectorization()
    layer.adapt(list(texts))
    return layer


def normalizer(scale: float) -> Any:
    layer = keras.layers.Normalization()
    layer.adapt(scale * np.arange(4.0).reshape(2, 2))
    return layer


def functional(units: int) -> Any:
    entry = keras.Input((3,))
    keras.utils.set_random_seed(1)
    return keras.Model(entry, keras.layers.Dense(units)(keras.layers.Rescaling(0.5)(entry)))


def crossed(swap: bool) -> Any:
    one, other = keras.Input((3,)), keras.Input((3,))
    halved = keras.layers.Rescaling(0.5)(other if swap else one)
    return keras.Model([one, other], keras.layers.Subtract()([halved, one if swap else other]))


class Scaled(keras.layers.Layer):  # type: ignore[misc, name-defined]
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor, self.inner = factor, keras.layers.Rescaling(factor)

    def call(self, x: Any) -> Any:
        return self.inner(x) * self.factor


def with_function(factor: int) -> Any:
    if factor == 2:
        return keras.layers.Lambda(lambda x: x * 2)
    return keras.layers.Lambda(lambda x: x * 3)


def table(*values: int) -> Any:
    keys = tf.constant(list(range(len(values))), tf.int64)
    filled = tf.lookup.KeyValueTensorInitializer(keys, tf.constant(list(values), tf.int64))
    return tf.lookup.StaticHashTable(filled, -1)


def wrapped(factor: int) -> Any:
    @wrapt.decorator
    def scaled(function: Any, _: Any, arguments: Any, keywords: Any) -> Any:
        return factor * function(*arguments, **keywords)

    return scaled(abs)


# What makes an object, twice the same, and what makes another one.
OBJECTS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "rescaling": (
        lambda: keras.layers.Rescaling(0.5),
        lambda: keras.layers.Rescaling(0.25),
    ),
    "dense, other weights": (lambda: dense(3), lambda: dense(3, seed=2)),
    "dense, other size": (lambda: dense(3), lambda: dense(4)),
    "sequence": (
        lambda: keras.Sequential([keras.layers.Rescaling(0.5), keras.layers.CenterCrop(2, 2)]),
        lambda: keras.Sequential([keras.layers.Rescaling(0.5), keras.layers.CenterCrop(2, 3)]),
    ),
    "vocabulary": (lambda: vectorizer("a b", "c"), lambda: vectorizer("a b", "d")),
    "vocabulary in a sequence": (
        lambda: keras.Sequential([vectorizer("a b", "c")]),
        lambda: keras.Sequential([vectorizer("a b", "d")]),
    ),
    "normalization": (lambda: normalizer(1), lambda: normalizer(2)),
    "functional": (lambda: functional(2), lambda: functional(3)),
    "functional, other connections": (lambda: crossed(False), lambda: crossed(True)),
    "class of the user's": (lambda: Scaled(2.0), lambda: Scaled(3.0)),
    "function": (lambda: with_function(2), lambda: with_function(3)),
    "random layer": (
        lambda: keras.layers.RandomFlip(seed=1),
        lambda: keras.layers.RandomFlip(seed=2),
    ),
    "table": (lambda: table(5, 6), lambda: table(6, 5)),
    "key": (lambda: jax.random.key(0), lambda: jax.random.key(1)),
    "old key": (lambda: jax.random.PRNGKey(0), lambda: jax.random.PRNGKey(1)),
    "decorated": (lambda: wrapped(2), lambda: wrapped(3)),
    "progress over": (
        lambda: tqdm.tqdm([1, 2], file=io.StringIO()),
        lambda: tqdm.tqdm([1, 3], file=io.StringIO()),
    ),
}


@pytest.mark.parametrize(("make", "make_other"), OBJECTS.values(), ids=OBJECTS)
def test_objects_count_by_what_they_compute(
    make: Callable[[], Any], make_other: Callable[[], Any]
) -> None:
    one, again, other = (fingerprint_of_value(each()).digest for each in (make, make, make_other))
    assert one == again != other


def test_a_layer_that_is_built_on_first_use_is_stored_once(tmp_path: Path) -> None:
    keras.utils.set_random_seed(3)
    layer = keras.layers.Dense(2, kernel_initializer="ones")

    def apply(x: Any) -> Any:
        return np.asarray(layer(np.array([[x, 1]], np.float32)))[0]

    ds = ks.Dataset.range(4).map(apply).snapshot(tmp_path / "stored")
    first = [each.tolist() for each in ds]
    assert [each.tolist() for each in ds] == first
    assert len(list((tmp_path / "stored").iterdir())) == 1


def test_a_progress_bar_moves_nothing(tmp_path: Path) -> None:
    bar = tqdm.tqdm(total=8, file=io.StringIO())

    def shown(x: Any) -> Any:
        bar.update(1)
        return x + 1

    ds = ks.Dataset.range(4).map(shown).snapshot(tmp_path / "stored")
    assert [int(x) for x in ds] == [int(x) for x in ds] == [1, 2, 3, 4]
    assert bar.n == 4


def test_a_distribution_of_scipy_counts_by_its_parameters() -> None:
    stats = pytest.importorskip("scipy.stats")
    before = fingerprint_of_value(stats.norm(0, 1))
    np.random.normal()  # moves the generator behind the functions of np.random
    assert fingerprint_of_value(stats.norm(0, 1)) == before
    assert fingerprint_of_value(stats.norm(0, 2)) != before
    assert not before.blind


def test_what_a_program_adds_to_a_tensor_counts() -> None:
    import torch

    one, other = torch.ones(2), torch.ones(2)
    before = fingerprint_of_value(one)
    assert fingerprint_of_value(other) == before
    other.scale = 3
    assert fingerprint_of_value(other) != before
