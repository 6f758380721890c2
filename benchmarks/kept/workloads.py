"""The data of the benchmarks about kept data: the same rows in every process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

BATCH = 128
BUFFER = 1000
SEED = 20
# Goes up when the rows change, so that nothing is read that was written of others.
EDITION = 2


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
    # In memory, the mean of rows of different lengths.
    row_bytes: float


def _images(n: int, side: int) -> Table:
    """Flat and grainy patches side by side: LZ4 makes 1.5 times less of them, ZSTD 1.7 times."""
    generator, cells = np.random.default_rng(SEED), side // 8
    colours = generator.normal(110, 50, (64, cells, cells, 3)).clip(0, 255).astype(np.uint8)
    is_grainy = generator.random((64, cells, cells, 1)) < 0.6
    grain = np.where(is_grainy, 15, 0).astype(np.uint8)
    pictures, grain = (part.repeat(8, axis=1).repeat(8, axis=2) for part in (colours, grain))
    which = generator.integers(0, 64, n)
    images = pictures[which]
    step = (1 << 22) // (side * side)
    for first in range(0, n, step):
        part = images[first : first + step]
        noise = generator.integers(0, 1 << 64, part.size // 8, dtype=np.uint64).view(np.uint8)
        part ^= noise.reshape(part.shape) & grain[which[first : first + step]]
    return Table({"image": images, "label": generator.integers(0, 1000, n)})


def _features(n: int) -> Table:
    """20 measurements and 12 small counts in each row: ZSTD makes 1.5 times less of them."""
    generator = np.random.default_rng(SEED)
    x = generator.standard_normal((n, 32), dtype=np.float32)
    x[:, 20:] = np.round(x[:, 20:])
    return Table({"x": x, "y": generator.integers(0, 1000, n)})


def _lengths(n: int, low: int, high: int) -> tuple[np.random.Generator, Array]:
    generator = np.random.default_rng(SEED)
    lengths = generator.integers(low, high + 1, n)
    return generator, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _texts(n: int) -> Table:
    generator, offsets = _lengths(n, 20, 400)
    # Longer than any window of a codec, so that none of them sees the book begin again.
    book = _book(generator, min(3_000_000, 200 * n))
    values = np.tile(book, -(-int(offsets[-1]) // len(book)))[: offsets[-1]]
    text = Jagged(values, offsets, is_text=True)
    return Table({"text": text, "label": generator.integers(0, 1000, n)})


def _book(generator: np.random.Generator, words: int) -> Array:
    """Words that are as unequally common as those of a language."""
    letters = np.frombuffer(b"eeeetttaaaoooiinnsshhrrdlucmfwygpbvk", np.uint8)
    lengths = generator.integers(2, 10, 5000)
    known = [letters[generator.integers(0, len(letters), size)].tobytes() for size in lengths]
    ranks = np.floor(5000 ** generator.random(words)).astype(int) - 1
    return np.frombuffer(b" ".join([known[rank] for rank in ranks.tolist()]), np.uint8)


def _tokens(n: int) -> Table:
    generator, offsets = _lengths(n, 8, 256)
    values = generator.integers(0, 50_000, offsets[-1], dtype=np.int32)
    tokens = Jagged(values, offsets, is_text=False)
    return Table({"tokens": tokens, "label": generator.integers(0, 1000, n)})


def _numbers(n: int) -> Table:
    return Table({"x": np.random.default_rng(SEED).integers(0, 1 << 40, n)})


def _workload(
    name: str, rows: int, row: str, make: Callable[[int], Table], row_bytes: float
) -> Workload:
    return Workload(name, f"{rows:,} x {row}", rows, make, row_bytes)


WORKLOADS = {
    w.name: w
    for w in (
        _workload("W1", 20_000, "{image u8[64,64,3], label}", lambda n: _images(n, 64), 12_296),
        _workload("W2", 1_000_000, "{x f32[32], y}", _features, 136),
        _workload("W3", 500_000, "{text of 20 to 400 bytes, label}", _texts, 218),
        _workload("W3t", 500_000, "{8 to 256 tokens i32, label}", _tokens, 536),
        _workload("W4", 2_000, "{image u8[224,224,3], label}", lambda n: _images(n, 224), 150_536),
        _workload("W5", 2_000_000, "{x i64}", _numbers, 8),
    )
}


@lru_cache(maxsize=1)
def table(workload: str) -> Table:
    """All rows of a workload: made by the first process that asks, and mapped by all."""
    chosen = WORKLOADS[workload]
    folder = data_folder() / workload / "rows"
    if not folder.exists():
        unfinished = folder.with_name(f"rows.{os.getpid()}")
        unfinished.mkdir(parents=True)
        for name, column in chosen.make(chosen.rows).columns.items():
            if isinstance(column, Jagged):
                np.save(unfinished / f"{name}.offsets.npy", column.offsets)
                np.save(unfinished / f"{name}.values.npy", column.values)
            else:
                np.save(unfinished / f"{name}.npy", column)
        unfinished.rename(folder)
    like = chosen.make(2).columns
    return Table({name: _mapped(folder, name, column) for name, column in like.items()})


def data_folder() -> Path:
    """Where the rows and what the tools make of them are written."""
    return Path(os.environ["KEEPSET_BENCH_FOLDER"]) / f"edition {EDITION}"


def _mapped(folder: Path, name: str, like: Array | Jagged) -> Array | Jagged:
    if isinstance(like, Jagged):
        values, offsets = _array(folder / f"{name}.values.npy"), folder / f"{name}.offsets.npy"
        return Jagged(values, _array(offsets), like.is_text)
    return _array(folder / f"{name}.npy")


def _array(path: Path) -> Array:
    # Writable, in memory alone, as arrays of a user are; some tools refuse or warn otherwise.
    found: Array = np.load(path, mmap_mode="c").view(np.ndarray)
    return found
