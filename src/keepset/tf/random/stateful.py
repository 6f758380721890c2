"""The functions of ``tf.random`` itself: operations that go on where they were."""

from __future__ import annotations

import os
import random
import threading
from typing import Any

from keepset.core.random import set_seed as set_pipeline_seed
from keepset.tf.random import draws
from keepset.tf.random.philox import Stream, stream_of_operation
from keepset.tf.random.shapes import shape_dtype
from keepset.tf.tensors.conversion import int_of
from keepset.tf.tensors.tensor import Tensor

_SEED_WITHOUT_A_GLOBAL_ONE = 87654321
_SEEDS = 2**31 - 1


class _Operations:
    """How far each operation has come: those with the same seeds and dtypes share a counter."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.begin(None)

    def begin(self, seed: int | None) -> None:
        with self._lock:
            self._seed = seed
            self._seeds = random.Random(seed)
            self._streams: dict[tuple[Any, ...], Stream] = {}

    def stream(self, seed: int | None, blocks: int, *operation: Any) -> Stream:
        """Words for one call of an operation, which are set aside."""
        with self._lock:
            seeds = self._seeds_of(seed)
            if seeds is None:
                # Of the system: a process that is forked would draw the same otherwise.
                return Stream(int.from_bytes(os.urandom(8)), int.from_bytes(os.urandom(8)) << 64)
            key = (*seeds, *operation)
            stream = self._streams.get(key) or stream_of_operation(*seeds)
            self._streams[key] = stream.skip(blocks)
            return stream

    def _seeds_of(self, seed: int | None) -> tuple[int, int] | None:
        if self._seed is None:
            if seed is None:
                return None
            seeds = _SEED_WITHOUT_A_GLOBAL_ONE, seed % _SEEDS
        else:
            own = self._seeds.randint(0, _SEEDS) if seed is None else seed
            seeds = self._seed % _SEEDS, own % _SEEDS
        return (0, _SEEDS) if seeds == (0, 0) else seeds


_operations = _Operations()


def set_seed(seed: Any) -> None:
    """Begin anew with a seed, here and in pipelines that have none of their own.

    The numbers after it are those that TensorFlow draws outside of pipelines. In pipelines they
    depend on the order in which functions run; the stateless functions depend on their seeds only.

    Example:
        >>> import keepset.tf as tf
        >>> tf.random.set_seed(5)
        >>> tf.random.uniform([2]).numpy()
        array([0.6263931, 0.5298432], dtype=float32)
        >>> tf.random.set_seed(None)
    """
    number = None if seed is None else int_of(seed)
    _operations.begin(number)
    set_pipeline_seed(number)


def _source(seed: Any, shape: Any = None) -> draws.Source:
    number = None if seed is None else int_of(seed)
    kind = "int32" if shape is None else shape_dtype(shape)
    return lambda name, blocks, kinds: _operations.stream(number, blocks, name, kinds, kind)


def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers between two bounds, the upper one left out.

    Args:
        shape: The sizes of the tensor.
        minval: The least number.
        maxval: What all numbers are below: 1 for floats, and needed for whole numbers.
        dtype: float16, bfloat16, float32, float64, int32 or int64.
        seed: Whole numbers that together with ``set_seed`` say which numbers are drawn.
    """
    return draws.uniform(_source(seed, shape), shape, minval, maxval, dtype)


def normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers around a mean."""
    return draws.normal(_source(seed, shape), shape, mean, stddev, dtype)


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers around a mean, within two deviations of it."""
    return draws.normal(_source(seed, shape), shape, mean, stddev, dtype, truncated=True)


def gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers of a gamma distribution, ``shape`` of them for each ``alpha`` and ``beta``."""
    return draws.gamma(_source(seed), shape, alpha, beta, dtype)


def poisson(
    shape: Any,
    lam: Any,
    dtype: Any = "float32",
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Counts of events, of which ``lam`` happen on the average."""
    return draws.poisson(_source(seed), shape, lam, dtype)


def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """For each row of logits, numbers of columns."""
    return draws.categorical(_source(seed), logits, num_samples, dtype)


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """The rows of a tensor in another order."""
    return draws.shuffled(_source(seed), value)


def operation_stream(operation: str, seed: Any, blocks: int) -> Stream:
    """Words for an operation of another module."""
    return _source(seed)(operation, blocks, "")


__all__ = [
    "categorical",
    "gamma",
    "normal",
    "operation_stream",
    "poisson",
    "set_seed",
    "shuffle",
    "truncated_normal",
    "uniform",
]
