"""Small data sets that are read through a watched store: what tests of reading have in common."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.snapshot.watched import PATIENCE_S

import keepset as ks

ROWS = 600
CHUNK = 700  # of bytes; one row takes 72
NAME = "keepset-background"

SHARDINGS: dict[str, Callable[..., int] | None] = {
    "none": None,
    "in turn": lambda x, v: x % 3,
    "many": lambda x, v: x % 100,
    "blocks": lambda x, v: x // 150,
    "at random": lambda x, v: (int(x) * 2654435761 >> 7) % 5,
    "one large": lambda x, v: 7 if x % 50 else 3,
}


def numbers(count: int = ROWS) -> ks.Dataset:
    return ks.Dataset.range(count).map(lambda x: (x, np.full(8, x, np.float64)))


def saved(path: Path, compression: str | None = "LZ4", sharding: str = "none") -> Path:
    numbers().save(path, compression, SHARDINGS[sharding], chunk_bytes=CHUNK)
    return path


def firsts(rows: Any) -> list[int]:
    return [int(row[0]) for row in rows]


def background() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == NAME]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.001)
