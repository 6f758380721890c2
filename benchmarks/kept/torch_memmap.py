"""torch's DataLoader over arrays of NumPy on disk, mapped into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, Sampler
from torch.utils.data.datapipes.iter import IterableWrapper

from kept.jobs import Tool, jobs_of
from kept.workloads import BATCH, BUFFER, WORKLOADS, Array, Jagged, Table

DISTRIBUTIONS = ("torch", "numpy")


def _mapped(folder: Path, name: str) -> Array:
    # A plain array over the same memory: slicing a memmap object costs several times as much.
    return np.load(folder / f"{name}.npy", mmap_mode="r").view(np.ndarray)


class _Rows(Dataset[Any]):
    """The rows of a folder; ``in_order`` if a batch is always a run of neighbours."""

    def __init__(self, folder: Path, in_order: bool = False) -> None:
        self._in_order = in_order
        self._columns: dict[str, Array | Jagged] = {}
        for path in sorted(folder.glob("*.npy")):
            name, _, part = path.stem.partition(".")
            if not part:
                self._columns[name] = _mapped(folder, name)
            elif part == "offsets":
                values, offsets = _mapped(folder, f"{name}.values"), _mapped(folder, path.stem)
                is_text = values.dtype == np.uint8
                self._columns[name] = Jagged(values, offsets, is_text)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __getitem__(self, number: int) -> dict[str, Any]:
        return {name: _own(column[number]) for name, column in self._columns.items()}

    def __getitems__(self, numbers: list[int]) -> dict[str, Any]:
        """All rows of a batch at once; the loader calls this instead of asking row by row."""
        if self._in_order:
            first, end = numbers[0], numbers[-1] + 1
            return {name: _run(column, first, end) for name, column in self._columns.items()}
        chosen = np.array(numbers)
        return {name: _pick(column, chosen) for name, column in self._columns.items()}


def _own(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _run(column: Array | Jagged, first: int, end: int) -> Array | Jagged:
    if not isinstance(column, Jagged):
        return column[first:end].copy()
    offsets = column.offsets[first : end + 1]
    values = column.values[offsets[0] : offsets[-1]].copy()
    return Jagged(values, offsets - offsets[0], column.is_text)


def _pick(column: Array | Jagged, numbers: Array) -> Array | list[Any]:
    if not isinstance(column, Jagged):
        return column[numbers]
    values, text = column.values, column.is_text
    first, end = column.offsets[numbers].tolist(), column.offsets[numbers + 1].tolist()
    rows = (values[a:b] for a, b in zip(first, end, strict=True))
    return [row.tobytes() for row in rows] if text else [row.copy() for row in rows]


class _BufferedBatches(Sampler[list[int]]):
    """Row numbers out of torch's own shuffle buffer, a batch of them at a time."""

    def __init__(self, n: int, seed: int) -> None:
        self._n, self._seed = n, seed

    def __iter__(self) -> Iterator[list[int]]:
        numbers = IterableWrapper(range(self._n), deepcopy=False).shuffle(buffer_size=BUFFER)
        numbers.set_seed(self._seed)
        yield from BatchSampler(numbers, BATCH, drop_last=False)


def _as_is(found: Any) -> Any:
    """What the data set gives is the element or the batch: there is nothing left to collate."""
    return found


class TorchMemmap(Tool):
    """One ``.npy`` per column, two per column of rows of different lengths."""

    name = "torch_memmap"

    def __init__(self, workers: int = 0) -> None:
        self.options: dict[str, Any] = {"num_workers": workers, "collate_fn": _as_is}

    def write_arrays(self, data: Table, folder: Path, workload: str) -> None:
        for name, column in data.columns.items():
            if isinstance(column, Jagged):
                np.save(folder / f"{name}.values.npy", column.values)
                np.save(folder / f"{name}.offsets.npy", column.offsets)
            else:
                np.save(folder / f"{name}.npy", column)

    def elements(self, folder: Path, workload: str) -> Iterable[Any]:
        for batch in self.batches(folder, workload):
            for number in range(len(next(iter(batch.values())))):
                yield {name: rows[number] for name, rows in batch.items()}

    def batches(self, folder: Path, workload: str) -> Iterable[Any]:
        return DataLoader(_Rows(folder, in_order=True), batch_size=BATCH, **self.options)

    def shuffled(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        generator = torch.Generator().manual_seed(seed)
        rows = _Rows(folder)
        return DataLoader(rows, BATCH, shuffle=True, generator=generator, **self.options)

    def buffered(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        rows = _Rows(folder)
        numbers = _BufferedBatches(len(rows), seed)
        return DataLoader(rows, batch_sampler=numbers, **self.options)

    def singles(self, folder: Path, workload: str, numbers: Array) -> Iterable[Any]:
        rows = _Rows(folder)
        return (rows[number] for number in numbers.tolist())


KEPT = jobs_of(TorchMemmap())
# Only what goes through the workers; they start anew with each pass, as with each epoch.
KEPT_WORKERS = {
    job: build
    for job, build in jobs_of(TorchMemmap(workers=2)).items()
    if job.split()[1] in ("elements", "batches", "shuffled", "buffered")
}

NOTES = {
    f"{workload} {job}": note
    for workload in WORKLOADS
    for job, note in {
        "elements": "batches of 128 from the loader, taken apart by the consumer",
        "buffered": "row numbers go through the buffer of torch's data pipes, then a batch is read",
        "singles": "the map-style data set, without a loader",
    }.items()
}
