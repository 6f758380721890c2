"""The data of the benchmarks about kept data: the same rows in every process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

BATCH = 128
BUFFER = 1000
SEED = 20


class Jagged:
    """Rows of different lengths: all values, and where each row begins, and the end.

    ``is_text`` if a row is ``bytes`` rather than an array. A tool may give a batch of them as a
    Jagged too, or as a list of rows.
    """

    def __init__(self, values: Array, offsets: Array, is_text: bool) -> None:
        self.values, self.offsets, self.is_text = values, offsets, is_text

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, number: int) -> Any:
        row = self.values[self.offsets[number] : self.offsets[number + 1]]
        return row.tobytes() if self.is_text else row


@dataclass(frozen=True)
class Table:
    """Columns of equal length, by name: arrays with one row per element, or Jagged."""

    columns: dict[str, Array | Jagged]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def head(self, n: int) -> Table:
        """The first rows."""
        return Table({name: _head(column, n) for name, column in self.columns.items()})

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dict per row, as a generator of a user would give them: each array is new."""
        for number in range(len(self)):
            yield {name: _own(column[number]) for name, column in self.columns.items()}


def _own(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _head(column: Array | Jagged, n: int) -> Array | Jagged:
    if isinstance(column, Jagged):
        offsets = column.offsets[: n + 1]
        return Jagged(column.values[: offsets[-1]], offsets, column.is_text)
    return column[:n]


@dataclass(frozen=True)
class Workload:
    """A kind of data; ``make`` gives so many rows of it."""

    name: str
    what: str
    rows: int
    make: Callable[[int], Table]


def _images(n: int, side: int) -> Table:
    # Patches of a few smooth pictures with noise on them: they compress a little, as photos do.
    generator = np.random.default_rng(SEED)
    coarse = generator.integers(0, 256, (64, side // 8, side // 8, 3), dtype=np.uint8)
    base = coarse.repeat(8, axis=1).repeat(8, axis=2)
    images = base[generator.integers(0, 64, n)]
    for part in np.array_split(np.arange(n), max(1, n * side * side // (1 << 24))):
        noise = generator.integers(0, 16, images[part].shape, dtype=np.uint8)
        images[part] ^= noise
    return Table({"image": images, "label": generator.integers(0, 1000, n)})


def _features(n: int) -> Table:
    generator = np.random.default_rng(SEED)
    x = generator.standard_normal((n, 32), dtype=np.float32)
    return Table({"x": x, "y": generator.integers(0, 1000, n)})


def _lengths(n: int, low: int, high: int) -> tuple[np.random.Generator, Array]:
    generator = np.random.default_rng(SEED)
    lengths = generator.integers(low, high + 1, n)
    return generator, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _texts(n: int) -> Table:
    generator, offsets = _lengths(n, 20, 400)
    words = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz     \n", np.uint8)
    values = words[generator.integers(0, len(words), offsets[-1], dtype=np.uint8)]
    text = Jagged(values, offsets, is_text=True)
    return Table({"text": text, "label": generator.integers(0, 1000, n)})


def _tokens(n: int) -> Table:
    generator, offsets = _lengths(n, 8, 256)
    values = generator.integers(0, 50_000, offsets[-1], dtype=np.int32)
    tokens = Jagged(values, offsets, is_text=False)
    return Table({"tokens": tokens, "label": generator.integers(0, 1000, n)})


def _numbers(n: int) -> Table:
    return Table({"x": np.random.default_rng(SEED).integers(0, 1 << 40, n)})


WORKLOADS = {
    w.name: w
    for w in (
        Workload("W1", "20,000 x {image u8[64,64,3], label}", 20_000, lambda n: _images(n, 64)),
        Workload("W2", "1,000,000 x {x f32[32], y}", 1_000_000, _features),
        Workload("W3", "500,000 x {text of 20 to 400 bytes, label}", 500_000, _texts),
        Workload("W3t", "500,000 x {8 to 256 tokens i32, label}", 500_000, _tokens),
        Workload("W4", "2,000 x {image u8[224,224,3], label}", 2_000, lambda n: _images(n, 224)),
        Workload("W5", "2,000,000 x {x i64}", 2_000_000, _numbers),
    )
}


@lru_cache(maxsize=1)
def table(workload: str) -> Table:
    """All rows of a workload."""
    chosen = WORKLOADS[workload]
    return chosen.make(chosen.rows)
