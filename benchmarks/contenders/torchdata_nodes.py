"""torchdata.nodes, where it has a node for the job (it has none for filter, shuffle or zip)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, SequentialSampler
from torchdata.nodes import (
    Batcher,
    IterableWrapper,
    Loader,
    Mapper,
    MapStyleWrapper,
    ParallelMapper,
    SamplerWrapper,
)
from workload import BATCH, BLOCK, PROCESSES, THREADS, busy, numbers, sleepy

from contenders.torch_dataloader import Table, stacked, stacked_pairs

DISTRIBUTIONS = ("torchdata", "torch", "numpy")

Start = Callable[[], Iterator[Any]]
Node = Any


class Numbers:
    """Re-iterable, as IterableWrapper wants it: a live generator on each pass."""

    def __init__(self, n: int) -> None:
        self._n = n

    def __iter__(self) -> Iterator[np.int64]:
        return numbers(self._n)


def numbered(n: int) -> Node:
    return IterableWrapper(np.arange(n))


def doubled(n: int) -> Node:
    return Mapper(numbered(n), lambda x: x * 2)


def batched(node: Node, size: int = BATCH) -> Node:
    return Mapper(Batcher(node, size, drop_last=False), stacked)


def gathered(n: int) -> Node:
    table = Table(n)
    sampler = BatchSampler(SequentialSampler(table), BATCH, drop_last=False)
    return Mapper(SamplerWrapper(sampler), table.__getitem__)


def rows(n: int) -> Node:
    table = Table(n)
    return MapStyleWrapper(table, SequentialSampler(table))


def enumerated(n: int) -> Node:
    pairs = Batcher(IterableWrapper(Pairs(n)), BATCH, drop_last=False)
    return Mapper(pairs, stacked_pairs)


class Pairs:
    def __init__(self, n: int) -> None:
        self._n = n

    def __iter__(self) -> Iterator[tuple[int, np.int64]]:
        return enumerate(np.arange(self._n))


def busy_batch(batch: list[np.int64]) -> torch.Tensor:
    return stacked([busy(x) for x in batch])


def in_processes(n: int) -> Node:
    batches = Batcher(numbered(n), BATCH, drop_last=False)
    return ParallelMapper(batches, busy_batch, num_workers=PROCESSES, method="process")


def in_threads(n: int) -> Node:
    return ParallelMapper(numbered(n), sleepy, num_workers=THREADS, method="thread")


def _of(chain: Callable[[int], Node]) -> Callable[[int], Start]:
    return lambda n: Loader(chain(n)).__iter__


PIPELINE: dict[str, Callable[[int], Start]] = {
    "range": _of(numbered),
    "map": _of(doubled),
    "batch": _of(lambda n: batched(numbered(n))),
    "map+batch": _of(lambda n: batched(doubled(n))),
    "batch+map": _of(lambda n: Mapper(batched(numbered(n), BLOCK), lambda x: x * 2)),
    "slices": _of(rows),
    "slices+batch": _of(gathered),
    "enumerate+batch": _of(enumerated),
    "from_generator+batch": _of(lambda n: batched(IterableWrapper(Numbers(n)))),
    "busy+batch, in line": _of(lambda n: batched(Mapper(numbered(n), busy))),
    "busy+batch, 2 processes": _of(in_processes),
    "sleep+batch, 16 threads": _of(lambda n: batched(in_threads(n))),
}

NOTES = {
    "slices+batch": "BatchSampler as the sampler, one gather per column and batch",
    "busy+batch, 2 processes": "ParallelMapper over lists of 128 elements",
}
