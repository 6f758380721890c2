"""What every contender computes with: the same numbers, arrays and functions for all of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

BATCH = 128
BLOCK = 1024  # rows handed to a vectorised function at once
BUFFER = 1000  # elements in a shuffle buffer
FEATURES = 32
PROCESSES = 2
THREADS = 16
SEED = 20


def numbers(n: int) -> Iterator[np.int64]:
    """A live generator, for the stages that take one."""
    yield from np.arange(n)


@lru_cache(maxsize=2)
def columns(n: int) -> dict[str, np.ndarray[Any, Any]]:
    """Features and labels of ``n`` rows, the same in every process."""
    generator = np.random.default_rng(SEED)
    x = generator.standard_normal((n, FEATURES), dtype=np.float32)
    return {"x": x, "y": generator.integers(0, 1000, n)}


def busy(x: Any) -> np.int64:
    """Hold the interpreter lock for roughly 200 microseconds of plain Python."""
    total = 0
    for i in range(4000):
        total += i * i
    # The sum takes part in the answer, so that no contender can leave the work out.
    return np.int64(x * 2 + total % 7)


def sleepy(x: Any) -> np.int64:
    """Wait a millisecond without holding the interpreter lock, as reading a file does."""
    time.sleep(0.001)
    return np.int64(x * 2)
