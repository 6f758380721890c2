"""PyTorch's DataLoader: generators in an IterableDataset, or arrays in a map-style one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, SequentialSampler
from workload import BATCH, BLOCK, PROCESSES, busy, columns, numbers

from contenders import generators, inlined

DISTRIBUTIONS = ("torch", "numpy")

# Batches this small gain nothing from a second thread and lose much by waiting for it.
torch.set_num_threads(1)

Start = Callable[[], Iterator[Any]]


class Stream(IterableDataset[Any]):
    """Hand-written generators: the way to give DataLoader a map or a filter of single elements."""

    def __init__(self, start: Callable[[], Iterable[Any]]) -> None:
        self._start = start

    def __iter__(self) -> Iterator[Any]:
        return iter(self._start())


class Table(Dataset[Any]):
    """Columns that answer a row number, or a batch of them with one gather per column."""

    def __init__(self, n: int) -> None:
        self._columns = {name: torch.from_numpy(value) for name, value in columns(n).items()}

    def __len__(self) -> int:
        return len(self._columns["y"])

    def __getitem__(self, rows: Any) -> dict[str, torch.Tensor]:
        if isinstance(rows, list):
            # Indexing by a list converts it once per column, and slowly.
            rows = torch.from_numpy(np.array(rows))
        return {name: column[rows] for name, column in self._columns.items()}


class Busy(Dataset[Any]):
    def __init__(self, n: int) -> None:
        self._n = n

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, i: int) -> np.int64:
        return busy(i)


def as_is(element: Any) -> Any:
    return element


def stacked(rows: list[np.int64]) -> torch.Tensor:
    """Collate NumPy scalars: several times faster than the default, which looks at each."""
    return torch.from_numpy(np.array(rows))


def stacked_pairs(rows: list[tuple[Any, Any]]) -> tuple[torch.Tensor, torch.Tensor]:
    left, right = zip(*rows, strict=True)
    return torch.from_numpy(np.array(left)), torch.from_numpy(np.array(right))


def elements(start: Callable[[], Iterable[Any]]) -> Start:
    return DataLoader(Stream(start), batch_size=None, collate_fn=as_is).__iter__


def batches(start: Callable[[], Iterable[Any]], size: int = BATCH) -> Start:
    return DataLoader(Stream(start), batch_size=size, collate_fn=stacked).__iter__


def blocks(n: int) -> Iterator[torch.Tensor]:
    return (torch.arange(first, min(first + BLOCK, n)) * 2 for first in range(0, n, BLOCK))


def rebatched_blocks(n: int) -> Iterator[torch.Tensor]:
    return (batch for block in blocks(n) for batch in block.split(BATCH))


def gathered(n: int) -> Start:
    """Turn automatic batching off and let the sampler give whole batches of row numbers."""
    table = Table(n)
    sampler = BatchSampler(SequentialSampler(table), BATCH, drop_last=False)
    return DataLoader(table, sampler=sampler, batch_size=None, collate_fn=as_is).__iter__


def enumerated(n: int) -> Start:
    stream = Stream(lambda: enumerate(np.arange(n)))
    return DataLoader(stream, batch_size=BATCH, collate_fn=stacked_pairs).__iter__


def zipped(n: int) -> Start:
    return elements(lambda: zip(np.arange(n), np.arange(n), strict=True))


def laboured(n: int, workers: int) -> Start:
    loader = DataLoader(Busy(n), batch_size=BATCH, collate_fn=stacked, num_workers=workers)
    return loader.__iter__


PIPELINE: dict[str, Callable[[int], Start]] = {
    "range": lambda n: elements(lambda: np.arange(n)),
    "map": lambda n: elements(lambda: inlined.doubled(n)),
    "filter": lambda n: elements(lambda: inlined.even(n)),
    "map+filter": lambda n: elements(lambda: inlined.doubled_even(n)),
    "batch": lambda n: batches(lambda: np.arange(n)),
    "map+batch": lambda n: batches(lambda: inlined.doubled(n)),
    "filter+batch": lambda n: batches(lambda: inlined.even(n)),
    "shuffle+batch": lambda n: batches(lambda: generators.shuffled(np.arange(n))),
    "map+filter+shuffle+batch": lambda n: batches(
        lambda: generators.shuffled(inlined.doubled_even(n))
    ),
    "batch+map": lambda n: elements(lambda: blocks(n)),
    "map_batches+batch": lambda n: elements(lambda: rebatched_blocks(n)),
    "slices": lambda n: DataLoader(Table(n), batch_size=None, collate_fn=as_is).__iter__,
    "slices+batch": gathered,
    "enumerate+batch": enumerated,
    "zip": zipped,
    "from_generator+batch": lambda n: batches(lambda: numbers(n)),
    "busy+batch, in line": lambda n: laboured(n, 0),
    "busy+batch, 2 processes": lambda n: laboured(n, PROCESSES),
}

NOTES = {
    "slices+batch": "BatchSampler as the sampler, one gather per column and batch",
    "shuffle+batch": "a hand-written buffer inside the IterableDataset",
    "map+filter+shuffle+batch": "a hand-written buffer inside the IterableDataset",
    "batch+map": "whole blocks made and doubled inside the IterableDataset",
    "map_batches+batch": "whole blocks made and doubled inside the IterableDataset",
    "busy+batch, 2 processes": "num_workers=2, a map-style data set",
}
