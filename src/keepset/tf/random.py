"""``tf.random``: numbers that are made up, from one generator that ``set_seed`` begins anew.

What is drawn inside a pipeline depends on the order of calls. ``Dataset.random_map`` gives each
element a generator of its own, so that a seed gives the same numbers whatever runs at once.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from keepset.core.dtypes import as_dtype, storage_dtype
from keepset.core.random import set_seed as set_pipeline_seed
from keepset.tf.not_covered import not_covered
from keepset.tf.tensor import Tensor, array_of
from keepset.tf.tensor import wrapped as viewed

_lock = threading.Lock()
_generator = np.random.default_rng()


def set_seed(seed: int) -> None:
    """Begin anew with a seed, here and in pipelines that have none of their own."""
    global _generator
    with _lock:
        _generator = np.random.default_rng(seed)
    set_pipeline_seed(seed)


def _sizes(shape: Any) -> tuple[int, ...]:
    given = array_of(shape)
    return tuple(int(size) for size in np.atleast_1d(given)) if given.size else ()


def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = np.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers between two bounds, the upper one left out."""
    wanted = storage_dtype(as_dtype(dtype))
    with _lock:
        draws = _generator if seed is None else np.random.default_rng(seed)
        if wanted.kind in "iu":
            if maxval is None:
                raise ValueError("whole numbers need a maxval")
            return viewed(draws.integers(int(minval), int(maxval), _sizes(shape), wanted))
        low, high = float(minval), 1.0 if maxval is None else float(maxval)
        return viewed(draws.uniform(low, high, _sizes(shape)).astype(wanted))


def normal(
    shape: Any,
    mean: float = 0.0,
    stddev: float = 1.0,
    dtype: Any = np.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers around a mean."""
    with _lock:
        draws = _generator if seed is None else np.random.default_rng(seed)
        made = draws.normal(float(mean), float(stddev), _sizes(shape))
    return viewed(made.astype(storage_dtype(as_dtype(dtype))))


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """The rows of an array in another order."""
    with _lock:
        draws = _generator if seed is None else np.random.default_rng(seed)
        return viewed(draws.permutation(array_of(value)))


__all__ = [
    "normal",
    "set_seed",
    "shuffle",
    "uniform",
]

__getattr__ = not_covered("tf.random")
