"""Pipelines whose elements are divided among several readers, each in an order of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import keepset as ks
from keepset import Dataset


def double(x: Any) -> Any:
    return x * 2


def row(x: Any) -> dict[str, Any]:
    return {"x": x, "rows": np.full(3, x)}


def add_noise(x: Any, rng: np.random.Generator) -> Any:
    return x * 1000 + rng.integers(1000)


def pair(x: Any) -> Dataset:
    return Dataset.from_tensors(x).repeat(2)


def counted(stop: int) -> Any:
    yield from range(int(stop))


# By name; each takes a number of elements to begin with.
PIPELINES: dict[str, Callable[[int], Dataset]] = {
    "range": lambda n: Dataset.range(n),
    "map": lambda n: Dataset.range(n).map(double),
    "threads": lambda n: Dataset.range(n).map(double, 2, deterministic=False),
    "batch": lambda n: Dataset.range(n).map(row).batch(3),
    "drop_remainder": lambda n: Dataset.range(n).batch(3, drop_remainder=True).map(double),
    "batches of batches": lambda n: (
        Dataset.range(n).batch(2, True).map(double).batch(3).prefetch(1)
    ),
    "filter": lambda n: Dataset.range(n).filter(lambda x: x % 3 != 1).map(double),
    "filter, batch": lambda n: Dataset.range(n).filter(lambda x: x % 3 != 1).batch(2),
    "shuffle": lambda n: Dataset.range(n).shuffle(4, seed=1).map(row).batch(2),
    "unseeded": lambda n: Dataset.range(n).shuffle(4).batch(2),
    "GLOBAL": lambda n: Dataset.range(n).shuffle(ks.GLOBAL, seed=1).batch(2),
    "random_map": lambda n: Dataset.range(n).random_map(add_noise, seed=1),
    "random_map forward": lambda n: Dataset.from_generator(counted, args=(n,)).random_map(
        add_noise, seed=1
    ),
    "twice": lambda n: (lambda ds: Dataset.zip(ds, ds))(Dataset.range(n).shuffle(4, seed=2)),
    "flat_map": lambda n: Dataset.range(n).flat_map(pair).batch(3),
    "generator": lambda n: Dataset.from_generator(counted, args=(n,)).batch(3),
    "select": lambda n: Dataset.range(n).map(row).select("x").batch(2),
    "repeat": lambda n: Dataset.range(n).shuffle(3, seed=5).repeat(2),
    "padded": lambda n: (
        Dataset.range(n)
        .map(lambda x: np.arange(x % 4), output_signature=ks.TensorSpec([None], "int64"))
        .padded_batch(3)
    ),
}
