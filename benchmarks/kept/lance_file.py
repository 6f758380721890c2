"""Lance: a columnar format with its own encodings, read as Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa

from kept.jobs import Tool, jobs_of
from kept.workloads import BATCH, WORKLOADS, Array, Jagged, Table

DISTRIBUTIONS = ("pylance", "pyarrow", "numpy")

WRITTEN = 4096

_SHAPES = {"W1": (64, 64, 3), "W4": (224, 224, 3)}


def _at_once(workload: str) -> int:
    """Rows to ask for at once, and then cut into batches: a request has a price of its own."""
    return {"W1": 4 * BATCH, "W4": BATCH}.get(workload, 32 * BATCH)


def _arrow(column: Array | Jagged) -> pa.Array:
    """The rows of a column as Arrow has them, without a copy."""
    if isinstance(column, Jagged):
        offsets = column.offsets.astype(np.int32)
        if not column.is_text:
            return pa.ListArray.from_arrays(pa.array(offsets), pa.array(column.values))
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(column.values)]
        return pa.Array.from_buffers(pa.binary(), len(column), buffers)
    values = pa.array(np.ascontiguousarray(column).reshape(-1))
    if column.ndim == 1:
        return values
    return pa.FixedSizeListArray.from_arrays(values, int(np.prod(column.shape[1:])))


def _gathered(rows: list[dict[str, Any]], like: Table) -> pa.RecordBatch:
    columns = {}
    for name, column in like.columns.items():
        values = [row[name] for row in rows]
        if isinstance(column, Jagged):
            kind = pa.binary() if column.is_text else pa.list_(pa.int32())
            columns[name] = pa.array(values, kind)
        else:
            columns[name] = _arrow(np.stack(values))
    return pa.record_batch(columns)


def _rows(column: pa.Array, workload: str) -> Array | Jagged:
    if pa.types.is_binary(column.type):
        _, offsets, values = column.buffers()
        at = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
        return _jagged(np.frombuffer(values, np.uint8), at, is_text=True)
    if pa.types.is_list(column.type):
        return _jagged(column.values.to_numpy(), column.offsets.to_numpy(), is_text=False)
    if pa.types.is_fixed_size_list(column.type):
        return column.flatten().to_numpy().reshape(len(column), *_SHAPES.get(workload, (-1,)))
    return column.to_numpy()


def _jagged(values: Array, offsets: Array, is_text: bool) -> Jagged:
    return Jagged(values[offsets[0] : offsets[-1]], offsets - offsets[0], is_text)


def _batches(found: pa.RecordBatch, workload: str) -> Iterator[dict[str, Any]]:
    """What was read at once, in batches that share its memory."""
    for first in range(0, len(found), BATCH):
        part = found.slice(first, BATCH)
        yield {name: _rows(part.column(name), workload) for name in part.schema.names}


def _whole(found: pa.Table) -> pa.RecordBatch:
    return found.combine_chunks().to_batches()[0]


class Lance(Tool):
    """A Lance data set with its default encodings."""

    name = "lance"

    def at_once(self, workload: str, job: str) -> int:
        return _at_once(workload)

    def write_arrays(self, data: Table, folder: Path, workload: str) -> None:
        columns = {name: _arrow(column) for name, column in data.columns.items()}
        lance.write_dataset(pa.table(columns), str(folder / "rows.lance"))

    def write_rows(self, rows: Iterator[dict[str, Any]], like: Table, folder: Path) -> None:
        def parts() -> Iterator[pa.RecordBatch]:
            while part := list(islice(rows, WRITTEN)):
                yield _gathered(part, like)

        first = {name: _arrow(column) for name, column in like.head(1).columns.items()}
        reader = pa.RecordBatchReader.from_batches(pa.table(first).schema, parts())
        lance.write_dataset(reader, str(folder / "rows.lance"))

    def elements(self, folder: Path, workload: str) -> Iterable[Any]:
        for batch in self.batches(folder, workload):
            for number in range(len(next(iter(batch.values())))):
                yield {name: rows[number] for name, rows in batch.items()}

    def batches(self, folder: Path, workload: str) -> Iterable[Any]:
        for found in self._open(folder).to_batches(batch_size=_at_once(workload)):
            yield from _batches(found, workload)

    def shuffled(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        data = self._open(folder)
        order = np.random.default_rng(seed).permutation(data.count_rows())
        taken = _at_once(workload)
        for first in range(0, len(order), taken):
            yield from _batches(_whole(data.take(order[first : first + taken])), workload)

    def singles(self, folder: Path, workload: str, numbers: Array) -> Iterable[Any]:
        data = self._open(folder)
        for number in numbers.tolist():
            batch = next(_batches(_whole(data.take([number])), workload))
            yield {name: rows[0] for name, rows in batch.items()}

    def _open(self, folder: Path) -> lance.LanceDataset:
        return lance.dataset(str(folder / "rows.lance"))


KEPT = jobs_of(Lance())

NOTES = {
    f"{workload} {job}": note
    for workload in WORKLOADS
    for job, note in {
        "elements": f"{_at_once(workload):,} rows read at once, taken apart by the consumer",
        "batches": f"{_at_once(workload):,} rows read at once, cut into batches",
        "shuffled": f"{_at_once(workload):,} rows taken at once, cut into batches",
    }.items()
}
