"""Plain Python generators that call the same functions as the libraries do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from multiprocessing import Pool
from multiprocessing.pool import ThreadPool
from random import Random
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

DISTRIBUTIONS = ("numpy",)

Start = Callable[[], Iterator[Any]]


def mapped(function: Callable[[Any], Any], elements: Iterable[Any]) -> Iterator[Any]:
    return (function(x) for x in elements)


def filtered(predicate: Callable[[Any], Any], elements: Iterable[Any]) -> Iterator[Any]:
    return (x for x in elements if predicate(x))


def doubled(n: int) -> Iterator[np.int64]:
    return mapped(lambda x: x * 2, np.arange(n))


def even(n: int) -> Iterator[np.int64]:
    return filtered(lambda x: x % 2 == 0, np.arange(n))


def doubled_even(n: int) -> Iterator[np.int64]:
    return filtered(lambda x: x % 2 == 0, doubled(n))


def shuffled(elements: Iterable[Any], size: int = BUFFER) -> Iterator[Any]:
    """Give a random element of a buffer and put the next one in its place."""
    draw = Random(SEED)
    source = iter(elements)
    buffer = list(islice(source, size))
    random = draw.random
    for element in source:
        i = int(random() * size)
        yield buffer[i]
        buffer[i] = element
    draw.shuffle(buffer)
    yield from buffer


def batched(elements: Iterable[Any], size: int = BATCH) -> Iterator[np.ndarray[Any, Any]]:
    source = iter(elements)
    while rows := list(islice(source, size)):
        yield np.array(rows)


def batched_pairs(elements: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    source = iter(elements)
    while rows := list(islice(source, BATCH)):
        left, right = zip(*rows, strict=True)
        yield np.array(left), np.array(right)


def rows_of(n: int) -> Iterator[dict[str, Any]]:
    data = columns(n)
    return ({"x": x, "y": y} for x, y in zip(data["x"], data["y"], strict=True))


def batches_of_rows(n: int) -> Iterator[dict[str, Any]]:
    source = rows_of(n)
    while rows := list(islice(source, BATCH)):
        yield {"x": np.stack([row["x"] for row in rows]), "y": np.array([row["y"] for row in rows])}


def rebatched_blocks(n: int) -> Iterator[np.ndarray[Any, Any]]:
    for block in batched(np.arange(n), BLOCK):
        block *= 2
        for first in range(0, len(block), BATCH):
            yield block[first : first + BATCH]


def in_processes(n: int) -> Iterator[np.ndarray[Any, Any]]:
    with Pool(PROCESSES) as pool:
        yield from batched(pool.imap(busy, np.arange(n), chunksize=BATCH))


def in_threads(n: int) -> Iterator[np.ndarray[Any, Any]]:
    with ThreadPool(THREADS) as pool:
        yield from batched(pool.imap(sleepy, np.arange(n)))


def _of(chain: Callable[[int], Iterator[Any]]) -> Callable[[int], Start]:
    """Turn a chain over ``n`` elements into a table entry that starts it afresh."""
    return lambda n: lambda: chain(n)


PIPELINE: dict[str, Callable[[int], Start]] = {
    "range": _of(numbers),
    "map": _of(doubled),
    "filter": _of(even),
    "map+filter": _of(doubled_even),
    "batch": _of(lambda n: batched(np.arange(n))),
    "map+batch": _of(lambda n: batched(doubled(n))),
    "filter+batch": _of(lambda n: batched(even(n))),
    "shuffle+batch": _of(lambda n: batched(shuffled(np.arange(n)))),
    "map+filter+shuffle+batch": _of(lambda n: batched(shuffled(doubled_even(n)))),
    "batch+map": _of(lambda n: (block * 2 for block in batched(np.arange(n), BLOCK))),
    "map_batches+batch": _of(rebatched_blocks),
    "slices": _of(rows_of),
    "slices+batch": _of(batches_of_rows),
    "enumerate+batch": _of(lambda n: batched_pairs(enumerate(np.arange(n)))),
    "zip": _of(lambda n: zip(np.arange(n), np.arange(n), strict=True)),
    "from_generator+batch": _of(lambda n: batched(numbers(n))),
    "busy+batch, in line": _of(lambda n: batched(mapped(busy, np.arange(n)))),
    "busy+batch, 2 processes": _of(in_processes),
    "sleep+batch, 16 threads": _of(in_threads),
}

NOTES = {
    "busy+batch, 2 processes": "multiprocessing.Pool.imap, 128 elements at a time",
    "sleep+batch, 16 threads": "multiprocessing.pool.ThreadPool.imap",
}
