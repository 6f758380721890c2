"""NumPy over memory maps, by hand: the limit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from kept.jobs import Tool, jobs_of
from kept.workloads import BATCH, Array, Jagged, Table

DISTRIBUTIONS = ("numpy",)

_BLOCK = 1024  # rows that the writer by hand stages before it writes them


class NumpyMemmap(Tool):
    name = "numpy"
    copies = False

    def write_arrays(self, data: Table, folder: Path, workload: str) -> None:
        for name, column in data.columns.items():
            if isinstance(column, Jagged):
                np.save(folder / f"{name}.values.npy", column.values)
                kind = "text" if column.is_text else "list"
                np.save(folder / f"{name}.{kind}.npy", column.offsets)
            else:
                np.save(folder / f"{name}.npy", column)

    def write_rows(self, rows: Iterator[dict[str, Any]], like: Table, folder: Path) -> None:
        """Stage a block of rows in arrays that were made beforehand, and append the block."""
        writers = [_writer(name, column, folder) for name, column in like.columns.items()]
        for row in rows:
            for writer in writers:
                writer.add(row[writer.name])
        for writer in writers:
            writer.close()

    def elements(self, folder: Path, workload: str) -> Iterable[Any]:
        columns = _opened(folder)
        if all(isinstance(column, np.ndarray) for column in columns.values()):
            names = tuple(columns)
            if len(names) == 1:
                (name,) = names
                return ({name: a} for a in columns[name])  # type: ignore[union-attr]
            k, m = names
            return ({k: a, m: b} for a, b in zip(*columns.values(), strict=True))
        return _jagged_elements(columns)

    def batches(self, folder: Path, workload: str) -> Iterable[Any]:
        columns = _opened(folder)
        rows = len(next(iter(columns.values())))
        for first in range(0, rows, BATCH):
            yield {name: _cut(c, first, min(first + BATCH, rows)) for name, c in columns.items()}

    def shuffled(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        columns = _opened(folder)
        order = np.random.default_rng(seed).permutation(len(next(iter(columns.values()))))
        for first in range(0, len(order), BATCH):
            chosen = order[first : first + BATCH]
            yield {name: _taken(column, chosen) for name, column in columns.items()}

    def singles(self, folder: Path, workload: str, numbers: Array) -> Iterable[Any]:
        columns = _opened(folder)
        for number in numbers.tolist():
            yield {name: column[number] for name, column in columns.items()}


@lru_cache(maxsize=8)
def _opened(folder: Path) -> dict[str, Array | Jagged]:
    columns: dict[str, Array | Jagged] = {}
    for path in sorted(folder.glob("*.npy")):
        name, *kind = path.stem.split(".")
        if not kind:
            columns[name] = _mapped(path)
        elif kind != ["values"]:
            values = _mapped(path.with_name(f"{name}.values.npy"))
            columns[name] = Jagged(values, np.load(path), kind == ["text"])
    return columns


def _mapped(path: Path) -> Array:
    # A plain array over the map: memmap's own class makes every slice several times as slow.
    found: Array = np.load(path, mmap_mode="r").view(np.ndarray)
    return found


def _jagged_elements(columns: dict[str, Array | Jagged]) -> Iterator[Any]:
    parts = [
        (c.values, c.offsets.tolist(), c.is_text) if isinstance(c, Jagged) else c
        for c in columns.values()
    ]
    iterators = [_rows(*part) if isinstance(part, tuple) else part for part in parts]
    k, m = columns
    return ({k: a, m: b} for a, b in zip(*iterators, strict=True))


def _rows(values: Array, offsets: list[int], is_text: bool) -> Iterator[Any]:
    ends = pairwise(offsets)
    if is_text:
        data = values.data
        return (bytes(data[a:b]) for a, b in ends)
    return (values[a:b] for a, b in ends)


def _cut(column: Array | Jagged, first: int, stop: int) -> Any:
    if isinstance(column, Jagged):
        ends = column.offsets[first : stop + 1]
        values = column.values[ends[0] : ends[-1]]
        if column.is_text:
            return _texts(values, (ends - ends[0]).tolist())
        return Jagged(values, ends - ends[0], column.is_text)
    return column[first:stop]


def _texts(values: Array, offsets: list[int]) -> list[bytes]:
    data = values.tobytes()
    return [data[a:b] for a, b in pairwise(offsets)]


def _taken(column: Array | Jagged, chosen: Array) -> Any:
    if not isinstance(column, Jagged):
        return column[chosen]
    starts, stops = column.offsets[chosen], column.offsets[chosen + 1]
    pairs = zip(starts.tolist(), stops.tolist(), strict=True)
    if column.is_text:
        data = column.values.data
        return [bytes(data[a:b]) for a, b in pairs]
    offsets = np.concatenate([[0], np.cumsum(stops - starts)])
    return Jagged(np.concatenate([column.values[a:b] for a, b in pairs]), offsets, False)


class _BlockWriter:
    """Appends rows of one shape to a file, a block at a time."""

    def __init__(self, name: str, like: Array, path: Path) -> None:
        self.name, self._path = name, path
        self._file = path.open("wb")
        self._block = np.empty((_BLOCK, *like.shape[1:]), like.dtype)
        self._used = 0

    def add(self, row: Any) -> None:
        self._block[self._used] = row
        self._used += 1
        if self._used == _BLOCK:
            self._flush()

    def _flush(self) -> None:
        self._file.write(self._block[: self._used].data)
        self._used = 0

    def close(self) -> None:
        self._flush()
        self._file.close()


class _JaggedWriter:
    """Appends rows of any length to a file, and keeps where they end."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._file = (folder / f"{name}.values").open("wb", buffering=1 << 20)
        self._ends, self._end = (folder / f"{name}.ends"), 0
        self._all: list[int] = []

    def add(self, row: Any) -> None:
        self._file.write(row if isinstance(row, bytes) else row.data)
        self._end += len(row)
        self._all.append(self._end)

    def close(self) -> None:
        self._file.close()
        np.array(self._all).tofile(self._ends)


def _writer(name: str, like: Array | Jagged, folder: Path) -> _BlockWriter | _JaggedWriter:
    if isinstance(like, Jagged):
        return _JaggedWriter(name, folder)
    return _BlockWriter(name, like, folder / f"{name}.raw")


class NumpyDurable(NumpyMemmap):
    """The same files, which are on the disk when writing is over: what Keepset promises, too."""

    durable = True

    def write_arrays(self, data: Table, folder: Path, workload: str) -> None:
        super().write_arrays(data, folder, workload)
        _sync(folder)

    def write_rows(self, rows: Iterator[dict[str, Any]], like: Table, folder: Path) -> None:
        super().write_rows(rows, like, folder)
        _sync(folder)


def _sync(folder: Path) -> None:
    for path in (*folder.iterdir(), folder):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


KEPT = jobs_of(NumpyMemmap())
KEPT_DURABLE = {job: build for job, build in jobs_of(NumpyDurable()).items() if " write " in job}
