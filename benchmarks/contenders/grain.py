"""grain's MapDataset and IterDataset, read without threads, which is their fastest here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grain
import numpy as np
from absl import flags
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

DISTRIBUTIONS = ("grain", "numpy")
# Its worker processes are told the flags of a program that has parsed its own.
flags.FLAGS.mark_as_parsed()

Start = Callable[[], Iterator[Any]]
Dataset = Any

UNTHREADED = grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)
THREADED = grain.ReadOptions(num_threads=THREADS, prefetch_buffer_size=500)


class Rows:
    """A random-access source of one dict per row."""

    def __init__(self, n: int) -> None:
        self._data = columns(n)

    def __len__(self) -> int:
        return len(self._data["y"])

    def __getitem__(self, i: int) -> dict[str, Any]:
        return {name: column[i] for name, column in self._data.items()}


class FromGenerator(grain.IterDataset):  # type: ignore[misc]
    """grain has no stage for a live generator; this is the subclass that its guide asks for."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self._n = n

    def __iter__(self) -> _GeneratorIterator:
        return _GeneratorIterator(self._n)


class _GeneratorIterator(grain.DatasetIterator):  # type: ignore[misc]
    def __init__(self, n: int) -> None:
        super().__init__()
        self._elements = numbers(n)
        self._given = 0

    def __next__(self) -> np.int64:
        element = next(self._elements)
        self._given += 1
        return element

    def get_state(self) -> dict[str, int]:
        return {"given": self._given}

    def set_state(self, state: dict[str, int]) -> None:
        raise NotImplementedError


def numbered(n: int) -> Dataset:
    return grain.MapDataset.range(n)


def doubled(n: int) -> Dataset:
    return numbered(n).map(lambda x: x * 2)


def even(n: int) -> Dataset:
    return numbered(n).filter(lambda x: x % 2 == 0)


def doubled_even(n: int) -> Dataset:
    return doubled(n).filter(lambda x: x % 2 == 0)


def unthreaded(dataset: Dataset) -> Dataset:
    return dataset.to_iter_dataset(UNTHREADED)


def shuffled(n: int) -> Dataset:
    return grain.experimental.WindowShuffleMapDataset(numbered(n), window_size=BUFFER, seed=SEED)


def shuffled_even(n: int) -> Dataset:
    return grain.experimental.WindowShuffleIterDataset(
        unthreaded(doubled_even(n)), window_size=BUFFER, seed=SEED
    )


def rebatched_blocks(n: int) -> Dataset:
    blocks = unthreaded(numbered(n).batch(BLOCK).map(lambda x: x * 2))
    return grain.experimental.RebatchIterDataset(blocks, batch_size=BATCH, drop_remainder=False)


def in_processes(n: int) -> Dataset:
    batches = unthreaded(numbered(n).map(busy).batch(BATCH))
    return batches.mp_prefetch(grain.MultiprocessingOptions(num_workers=PROCESSES))


def _of(chain: Callable[[int], Dataset]) -> Callable[[int], Start]:
    return lambda n: chain(n).__iter__


PIPELINE: dict[str, Callable[[int], Start]] = {
    "range": _of(lambda n: unthreaded(numbered(n))),
    "map": _of(lambda n: unthreaded(doubled(n))),
    "filter": _of(lambda n: unthreaded(even(n))),
    "map+filter": _of(lambda n: unthreaded(doubled_even(n))),
    "batch": _of(lambda n: unthreaded(numbered(n).batch(BATCH))),
    "map+batch": _of(lambda n: unthreaded(doubled(n).batch(BATCH))),
    "filter+batch": _of(lambda n: unthreaded(even(n)).batch(BATCH)),
    "shuffle+batch": _of(lambda n: unthreaded(shuffled(n).batch(BATCH))),
    "map+filter+shuffle+batch": _of(lambda n: shuffled_even(n).batch(BATCH)),
    "batch+map": _of(lambda n: unthreaded(numbered(n).batch(BLOCK).map(lambda x: x * 2))),
    "map_batches+batch": _of(rebatched_blocks),
    "slices": _of(lambda n: unthreaded(grain.MapDataset.source(Rows(n)))),
    "slices+batch": _of(lambda n: unthreaded(grain.MapDataset.source(Rows(n)).batch(BATCH))),
    "enumerate+batch": _of(
        lambda n: unthreaded(numbered(n).map_with_index(lambda i, x: (i, x)).batch(BATCH))
    ),
    "zip": _of(lambda n: unthreaded(grain.experimental.ZipMapDataset([numbered(n), numbered(n)]))),
    "from_generator+batch": _of(lambda n: FromGenerator(n).batch(BATCH)),
    "busy+batch, in line": _of(lambda n: unthreaded(numbered(n).map(busy).batch(BATCH))),
    "busy+batch, 2 processes": _of(in_processes),
    "sleep+batch, 16 threads": _of(
        lambda n: numbered(n).map(sleepy).to_iter_dataset(THREADED).batch(BATCH)
    ),
}

NOTES = {
    "shuffle+batch": "shuffles windows of 1,000; grain has no sliding buffer",
    "map+filter+shuffle+batch": "shuffles windows of 1,000; grain has no sliding buffer",
    "map_batches+batch": "batch, map and rebatch",
    "busy+batch, 2 processes": "mp_prefetch with two workers",
}
