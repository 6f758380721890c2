"""Keepset itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
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

import keepset as ks

DISTRIBUTIONS = ("keepset", "numpy", "pyarrow")

Start = Callable[[], Iterator[Any]]
Dataset = Any


def numbered(n: int) -> Dataset:
    return ks.Dataset.range(n)


def doubled(n: int) -> Dataset:
    return numbered(n).map(lambda x: x * 2)


def even(n: int) -> Dataset:
    return numbered(n).filter(lambda x: x % 2 == 0)


def doubled_even(n: int) -> Dataset:
    return doubled(n).filter(lambda x: x % 2 == 0)


def from_generator(n: int) -> Dataset:
    signature = ks.TensorSpec((), np.int64)
    return ks.Dataset.from_generator(numbers, args=(n,), output_signature=signature)


def in_processes(n: int) -> Dataset:
    return numbered(n).map(busy, num_parallel_calls=PROCESSES, executor="process")


def in_threads(n: int) -> Dataset:
    return numbered(n).map(sleepy, num_parallel_calls=THREADS, executor="thread")


def _of(chain: Callable[[int], Dataset]) -> Callable[[int], Start]:
    return lambda n: chain(n).__iter__


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
        lambda n: numbered(n).map_batches(lambda x: x * 2, BLOCK).batch(BATCH)
    ),
    "slices": _of(lambda n: ks.Dataset.from_tensor_slices(columns(n))),
    "slices+batch": _of(lambda n: ks.Dataset.from_tensor_slices(columns(n)).batch(BATCH)),
    "enumerate+batch": _of(lambda n: numbered(n).enumerate().batch(BATCH)),
    "zip": _of(lambda n: ks.Dataset.zip(numbered(n), numbered(n))),
    "from_generator+batch": _of(lambda n: from_generator(n).batch(BATCH)),
    "busy+batch, in line": _of(lambda n: numbered(n).map(busy).batch(BATCH)),
    "busy+batch, 2 processes": _of(lambda n: in_processes(n).batch(BATCH)),
    "sleep+batch, 16 threads": _of(lambda n: in_threads(n).batch(BATCH)),
}

NOTES = {"busy+batch, 2 processes": "starting the worker processes is on the clock"}
