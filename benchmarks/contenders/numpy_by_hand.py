"""NumPy by hand: the limit, where a job can be done on whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from workload import BATCH, BLOCK, columns

DISTRIBUTIONS = ("numpy",)

Array = np.ndarray[Any, Any]
Start = Callable[[], Iterator[Any]]


def ranges(n: int, size: int) -> Iterator[Array]:
    return (np.arange(first, min(first + size, n)) for first in range(0, n, size))


def rebatched_blocks(n: int) -> Iterator[Array]:
    for block in ranges(n, BLOCK):
        answer = block * 2
        for first in range(0, len(answer), BATCH):
            yield answer[first : first + BATCH]


def slices(n: int) -> Start:
    data = columns(n)
    x, y = data["x"], data["y"]

    def start() -> Iterator[dict[str, Array]]:
        for first in range(0, n, BATCH):
            yield {"x": x[first : first + BATCH], "y": y[first : first + BATCH]}

    return start


def enumerated(n: int) -> Iterator[tuple[Array, Array]]:
    return ((batch, batch.copy()) for batch in ranges(n, BATCH))


PIPELINE: dict[str, Callable[[int], Start]] = {
    "range": lambda n: lambda: iter(np.arange(n)),
    "batch": lambda n: lambda: ranges(n, BATCH),
    "batch+map": lambda n: lambda: (block * 2 for block in ranges(n, BLOCK)),
    "map_batches+batch": lambda n: lambda: rebatched_blocks(n),
    "slices+batch": slices,
    "enumerate+batch": lambda n: lambda: enumerated(n),
}

NOTES = {"slices+batch": "views of the arrays, nothing is copied"}
