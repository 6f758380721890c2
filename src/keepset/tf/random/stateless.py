"""The stateless functions: the numbers that TensorFlow draws for the same seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.tf.random import draws
from keepset.tf.random.draws import stateless
from keepset.tf.tensors.conversion import dtype_of, int_of, value_of
from keepset.tf.tensors.tensor import Tensor, wrapped


def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = "float32",
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Numbers between two bounds, the upper one left out, that a seed of two numbers says.

    Example:
        >>> import keepset.tf as tf
        >>> tf.random.stateless_uniform([2], seed=(1, 2)).numpy()
        array([0.8440604 , 0.19204533], dtype=float32)
    """
    return draws.uniform(stateless(seed, alg), shape, minval, maxval, dtype, full=True)


def stateless_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Numbers around a mean, that a seed of two numbers says."""
    return draws.normal(stateless(seed, alg), shape, mean, stddev, dtype)


def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Numbers within two deviations of a mean, that a seed of two numbers says."""
    return draws.normal(stateless(seed, alg), shape, mean, stddev, dtype, truncated=True)


def stateless_gamma(
    shape: Any,
    seed: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = "float32",
    name: str | None = None,
) -> Tensor:
    """Numbers of gamma distributions. The shape ends with that of alpha and beta."""
    return draws.gamma(stateless(seed), shape, alpha, beta, dtype, inner=False)


def stateless_poisson(
    shape: Any, seed: Any, lam: Any, dtype: Any = "int32", name: str | None = None
) -> Tensor:
    """Counts of events, of which ``lam`` happen on the average. The shape ends with that of lam."""
    return draws.poisson(stateless(seed), shape, lam, dtype, inner=False)


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = "int64", name: str | None = None
) -> Tensor:
    """For each row of logits, numbers of columns."""
    return draws.categorical(stateless(seed), logits, num_samples, dtype)


def stateless_shuffle(
    value: Any, seed: Any, alg: Any = "auto_select", name: str | None = None
) -> Tensor:
    """The rows of a tensor in another order, that a seed of two numbers says."""
    return draws.shuffled(stateless(seed, alg), value)


def split(seed: Any, num: Any = 2, alg: Any = "auto_select") -> Tensor:
    """Several seeds out of one, as rows."""
    dtype = dtype_of(value_of(seed))
    return stateless_uniform([int_of(num), 2], seed, None, None, dtype, alg=alg)


def fold_in(seed: Any, data: Any, alg: Any = "auto_select") -> Tensor:
    """A seed out of one and a number, such as that of an element."""
    number = value_of(data)
    first = stateless_uniform([], seed, None, None, dtype_of(number), alg=alg)
    return wrapped(np.stack([first._value, number]))


__all__ = [
    "fold_in",
    "split",
    "stateless_categorical",
    "stateless_gamma",
    "stateless_normal",
    "stateless_poisson",
    "stateless_shuffle",
    "stateless_truncated_normal",
    "stateless_uniform",
]
