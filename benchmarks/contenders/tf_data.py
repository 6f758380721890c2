"""tf.data, with its functions traced to graphs and its elements taken out as NumPy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow as tf
from workload import (
    BATCH,
    BLOCK,
    BUFFER,
    PROCESSES,
    SEED,
    THREADS,
    busy,
    columns,
    numbers,
    sleepy,
)

DISTRIBUTIONS = ("tensorflow", "numpy")

Start = Callable[[], Iterator[Any]]
Dataset = Any


def numbered(n: int) -> Dataset:
    return tf.data.Dataset.range(n)


def doubled(n: int) -> Dataset:
    return numbered(n).map(lambda x: x * 2)


def even(n: int) -> Dataset:
    return numbered(n).filter(lambda x: x % 2 == 0)


def doubled_even(n: int) -> Dataset:
    return doubled(n).filter(lambda x: x % 2 == 0)


def from_generator(n: int) -> Dataset:
    signature = tf.TensorSpec((), tf.int64)
    return tf.data.Dataset.from_generator(numbers, args=(n,), output_signature=signature)


def in_python(n: int, function: Callable[[Any], Any], calls: int | None) -> Dataset:
    return numbered(n).map(
        lambda x: tf.numpy_function(function, [x], tf.int64), num_parallel_calls=calls
    )


def _of(chain: Callable[[int], Dataset]) -> Callable[[int], Start]:
    return lambda n: chain(n).as_numpy_iterator


PIPELINE: dict[str, Callable[[int], Start]] = {
    "range": _of(numbered),
    "map": _of(doubled),
    "filter": _of(even),
    "map+filter": _of(doubled_even),
    "batch": _of(lambda n: numbered(n).batch(BATCH)),
    "map+batch": _of(lambda n: doubled(n).batch(BATCH)),
    "filter+batch": _of(lambda n: even(n).batch(BATCH)),
    "shuffle+batch": _of(lambda n: numbered(n).shuffle(BUFFER, seed=SEED).batch(BATCH)),
    "map+filter+shuffle+batch": _of(
        lambda n: doubled_even(n).shuffle(BUFFER, seed=SEED).batch(BATCH)
    ),
    "batch+map": _of(lambda n: numbered(n).batch(BLOCK).map(lambda x: x * 2)),
    "map_batches+batch": _of(
        lambda n: numbered(n).batch(BLOCK).map(lambda x: x * 2).rebatch(BATCH)
    ),
    "slices": _of(lambda n: tf.data.Dataset.from_tensor_slices(columns(n))),
    "slices+batch": _of(lambda n: tf.data.Dataset.from_tensor_slices(columns(n)).batch(BATCH)),
    "enumerate+batch": _of(lambda n: numbered(n).enumerate().batch(BATCH)),
    "zip": _of(lambda n: tf.data.Dataset.zip(numbered(n), numbered(n))),
    "from_generator+batch": _of(lambda n: from_generator(n).batch(BATCH)),
    "busy+batch, in line": _of(lambda n: in_python(n, busy, None).batch(BATCH)),
    "busy+batch, 2 processes": _of(lambda n: in_python(n, busy, PROCESSES).batch(BATCH)),
    "sleep+batch, 16 threads": _of(lambda n: in_python(n, sleepy, THREADS).batch(BATCH)),
}

NOTES = {
    "map_batches+batch": "batch, map and rebatch",
    "busy+batch, 2 processes": "numpy_function on two threads; tf.data has no processes",
}
