"""Zarr: one array per column, a file per chunk of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from kept.jobs import Tool, jobs_of
from kept.workloads import BATCH, WORKLOADS, Array, Jagged, Table

DISTRIBUTIONS = ("zarr", "numcodecs", "numpy")

CHUNK_BYTES = 1 << 20


def _at_once(workload: str) -> int:
    """Rows to read at once, and then cut into batches: a request takes about a millisecond."""
    return {"W1": 16 * BATCH, "W4": 2 * BATCH}.get(workload, 512 * BATCH)


def _write(folder: Path, name: str, values: Array) -> None:
    row_bytes = values.dtype.itemsize * int(np.prod(values.shape[1:], dtype=int))
    rows = max(1, min(len(values), CHUNK_BYTES // row_bytes))
    array = zarr.create_array(
        store=folder / name,
        shape=values.shape,
        dtype=values.dtype,
        chunks=(rows, *values.shape[1:]),
        compressors=None,
    )
    array[:] = values


class _Columns:
    """The arrays of a folder; rows of different lengths are two of them."""

    def __init__(self, folder: Path) -> None:
        self._arrays = {path.name: zarr.open_array(path, mode="r") for path in folder.iterdir()}
        self._names = sorted({name.partition(".")[0] for name in self._arrays})

    def __len__(self) -> int:
        name = self._names[0]
        if name in self._arrays:
            return int(self._arrays[name].shape[0])
        return int(self._arrays[f"{name}.offsets"].shape[0]) - 1

    def run(self, first: int, end: int) -> dict[str, Array | Jagged]:
        return {name: self._run(name, first, end) for name in self._names}

    def _run(self, name: str, first: int, end: int) -> Array | Jagged:
        if name in self._arrays:
            return np.asarray(self._arrays[name][first:end])
        offsets = np.asarray(self._arrays[f"{name}.offsets"][first : end + 1])
        values = np.asarray(self._arrays[f"{name}.values"][offsets[0] : offsets[-1]])
        return Jagged(values, offsets - offsets[0], is_text=values.dtype == np.uint8)

    def pick(self, numbers: Array) -> dict[str, Array]:
        """Rows in any order: each chunk that has one of them is read once."""
        return {
            name: np.asarray(array.get_orthogonal_selection((numbers,)))
            for name, array in self._arrays.items()
        }


def _batches(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What was read at once, in batches that share its memory."""
    for first in range(0, len(next(iter(found.values()))), BATCH):
        yield {name: _part(rows, first, first + BATCH) for name, rows in found.items()}


def _part(rows: Array | Jagged, first: int, end: int) -> Array | Jagged:
    if not isinstance(rows, Jagged):
        return rows[first:end]
    offsets = rows.offsets[first : end + 1]
    return Jagged(rows.values[offsets[0] : offsets[-1]], offsets - offsets[0], rows.is_text)


class Zarr(Tool):
    """Chunks of 1 MiB without compression."""

    name = "zarr"

    def at_once(self, workload: str, job: str) -> int:
        return _at_once(workload)

    def write_arrays(self, data: Table, folder: Path, workload: str) -> None:
        for name, column in data.columns.items():
            if isinstance(column, Jagged):
                _write(folder, f"{name}.values", column.values)
                _write(folder, f"{name}.offsets", column.offsets)
            else:
                _write(folder, name, column)

    def elements(self, folder: Path, workload: str) -> Iterable[Any]:
        for batch in self.batches(folder, workload):
            for number in range(len(next(iter(batch.values())))):
                yield {name: rows[number] for name, rows in batch.items()}

    def batches(self, folder: Path, workload: str) -> Iterable[Any]:
        columns, step = _Columns(folder), _at_once(workload)
        for first in range(0, len(columns), step):
            yield from _batches(columns.run(first, min(first + step, len(columns))))

    def shuffled(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        columns, step = _Columns(folder), _at_once(workload)
        order = np.random.default_rng(seed).permutation(len(columns))
        for first in range(0, len(order), step):
            yield from _batches(columns.pick(order[first : first + step]))

    def singles(self, folder: Path, workload: str, numbers: Array) -> Iterable[Any]:
        columns = _Columns(folder)
        for number in numbers.tolist():
            yield {name: rows[0] for name, rows in columns.run(number, number + 1).items()}


# Rows of different lengths cannot be selected in any order: that would be a request for each.
KEPT = {
    job: build
    for job, build in jobs_of(Zarr()).items()
    if job not in ("W3 shuffled", "W3t shuffled")
}

NOTES = {
    f"{workload} {job}": note
    for workload in WORKLOADS
    for job, note in {
        "elements": f"{_at_once(workload):,} rows read at once, taken apart by the consumer",
        "batches": f"{_at_once(workload):,} rows read at once, cut into batches",
        "shuffled": f"{_at_once(workload):,} rows selected at once, cut into batches",
    }.items()
    if f"{workload} {job}" in KEPT
}
