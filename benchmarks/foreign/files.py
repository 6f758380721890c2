"""The files that both read: made once, by Keepset, whose files TensorFlow reads as its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

BATCH = 128
# Goes up when the files change, so that nothing is read that was written before.
EDITION = 1
ROWS = {
    "numbers": 200_000,
    "images": 10_000,
    "texts": 100_000,
    "tokens": 100_000,
    "wide": 40_000,
}
WIDTH = 50

Array = np.ndarray[Any, Any]


def folder() -> Path:
    return Path(os.environ["KEEPSET_BENCH_FOLDER"]) / f"foreign-{EDITION}"


def path_of(kind: str, form: str, compression: str = "") -> Path:
    """Where a kind of rows lies: ``form`` is ``save`` or ``tfrecord``."""
    return folder() / f"{kind}-{form}{'-' + compression.lower() if compression else ''}"


@lru_cache(maxsize=1)
def rows(kind: str) -> list[dict[str, Any]]:
    """All rows of a kind, the same in every process."""
    return list(_made(kind))


def _made(kind: str) -> Iterator[dict[str, Any]]:
    random, count = np.random.default_rng(7), ROWS[kind]
    if kind == "numbers":
        x, y = random.random((count, 32), np.float32), random.integers(0, 1000, count)
        yield from ({"x": a, "y": b} for a, b in zip(x, y, strict=True))
    elif kind == "images":
        images = random.integers(0, 256, (64, 64, 64, 3), np.uint8)
        yield from ({"image": images[n % 64], "label": np.int64(n)} for n in range(count))
    elif kind == "texts":
        data = bytes(random.integers(97, 123, 1 << 20, np.uint8))
        starts, sizes = random.integers(0, 1 << 19, count), random.integers(20, 400, count)
        for n, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
            yield {"text": data[start : start + size], "label": np.int64(n % 10)}
    elif kind == "tokens":
        for n, size in enumerate(random.integers(8, 256, count).tolist()):
            yield {"tokens": random.integers(0, 50_000, size), "label": np.int64(n % 10)}
    else:
        values = random.random((count, WIDTH), np.float32)
        for row in values:
            yield {f"feature_{n:02d}": value for n, value in enumerate(row)}
