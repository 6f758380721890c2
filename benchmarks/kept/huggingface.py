"""Hugging Face ``datasets``: Arrow files that are mapped into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
from datasets import Array3D, Dataset, Features, List, Value

from kept.jobs import Tool, jobs_of
from kept.workloads import BATCH, BUFFER, WORKLOADS, Array, Jagged, Table

DISTRIBUTIONS = ("datasets", "pyarrow", "numpy")

datasets.disable_progress_bars()


class HuggingFace(Tool):
    """The format "numpy", which makes arrays of what is read; images as ``Array3D``."""

    name = "huggingface"
    images_are_flat = False

    def _features(self, like: Table) -> Features:
        return Features({name: self._feature(each) for name, each in like.columns.items()})

    def _feature(self, column: Array | Jagged) -> Any:
        if isinstance(column, Jagged):
            return Value("binary") if column.is_text else List(Value(str(column.values.dtype)))
        value, shape = Value(str(column.dtype)), column.shape[1:]
        if len(shape) == 3 and not self.images_are_flat:
            return Array3D(shape=shape, dtype=str(column.dtype))
        return List(value, length=int(np.prod(shape))) if shape else value

    def write_arrays(self, data: Table, folder: Path, workload: str) -> None:
        features = self._features(data)
        columns = {name: _arrow(column) for name, column in data.columns.items()}
        for name, feature in features.items():
            if isinstance(feature, Array3D):
                columns[name] = _nested(data.columns[name], feature)
        Dataset(pa.table(columns, schema=features.arrow_schema)).save_to_disk(folder)

    def write_rows(self, rows: Iterator[dict[str, Any]], like: Table, folder: Path) -> None:
        # The fingerprint is given, or the generator would be pickled to make one of it.
        Dataset.from_generator(
            lambda: rows,
            features=self._features(like),
            cache_dir=str(folder),
            fingerprint="benchmark",
        )

    def open(self, folder: Path) -> Dataset:
        # Without a type of its own, an array keeps the one it has in the file.
        return datasets.load_from_disk(folder).with_format("numpy", dtype=None)

    def elements(self, folder: Path, workload: str) -> Iterable[Any]:
        return self.open(folder)

    def batches(self, folder: Path, workload: str) -> Iterable[Any]:
        return map(_listed, self.open(folder).iter(BATCH))

    def shuffled(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        data = self.open(folder)
        order = np.random.default_rng(seed).permutation(len(data))
        for first in range(0, len(data), BATCH):
            yield _listed(data[order[first : first + BATCH]])

    def buffered(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        stream = datasets.load_from_disk(folder).to_iterable_dataset()
        shuffled = stream.shuffle(seed=seed, buffer_size=BUFFER).with_format("numpy")
        return (_listed(_as_written(batch)) for batch in shuffled.iter(BATCH))

    def singles(self, folder: Path, workload: str, numbers: Array) -> Iterable[Any]:
        data = self.open(folder)
        return (data[number] for number in numbers.tolist())


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


def _nested(column: Array | Jagged, feature: Array3D) -> pa.ExtensionArray:
    """Images as ``Array3D`` stores them: lists of lists of lists."""
    assert isinstance(column, np.ndarray)
    storage = pa.array(np.ascontiguousarray(column).reshape(-1))
    for length in reversed(column.shape[1:]):
        offsets = np.arange(0, len(storage) + 1, length, dtype=np.int32)
        storage = pa.ListArray.from_arrays(pa.array(offsets), storage)
    return pa.ExtensionArray.from_storage(feature(), storage)


def _listed(batch: dict[str, Any]) -> dict[str, Any]:
    """Rows of different lengths as a list: they come as an array of bytes or of objects."""
    for name, rows in batch.items():
        if name in ("text", "tokens"):
            batch[name] = rows.tolist() if name == "text" else list(rows)
    return batch


def _as_written(batch: dict[str, Any]) -> dict[str, Any]:
    """Small integers back from int64, which the format makes of them where it has no options."""
    if "image" in batch:
        batch["image"] = batch["image"].astype(np.uint8)
    if "tokens" in batch:
        batch["tokens"] = [row.astype(np.int32) for row in batch["tokens"]]
    return batch


class HuggingFaceArrow(HuggingFace):
    """The format "arrow", and NumPy views of what it gives; images as flat rows."""

    name = "huggingface_arrow"
    copies = False
    images_are_flat = True

    def open(self, folder: Path) -> Dataset:
        return datasets.load_from_disk(folder).with_format("arrow")

    def elements(self, folder: Path, workload: str) -> Iterable[Any]:
        for batch in self.batches(folder, workload):
            for number in range(len(next(iter(batch.values())))):
                yield {name: rows[number] for name, rows in batch.items()}

    def batches(self, folder: Path, workload: str) -> Iterable[Any]:
        return (_arrays(found, workload) for found in self.open(folder).iter(BATCH))

    def shuffled(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        data = self.open(folder)
        order = np.random.default_rng(seed).permutation(len(data))
        for first in range(0, len(data), BATCH):
            yield _arrays(data[order[first : first + BATCH]], workload)

    def buffered(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        stream = datasets.load_from_disk(folder).to_iterable_dataset()
        shuffled = stream.shuffle(seed=seed, buffer_size=BUFFER).with_format("arrow")
        return (_arrays(found, workload) for found in shuffled.iter(BATCH))

    def singles(self, folder: Path, workload: str, numbers: Array) -> Iterable[Any]:
        data = self.open(folder)
        for number in numbers.tolist():
            batch = _arrays(data[number], workload)
            yield {name: rows[0] for name, rows in batch.items()}


_SHAPES = {"W1": (64, 64, 3), "W4": (224, 224, 3)}


def _arrays(found: pa.Table, workload: str) -> dict[str, Any]:
    return {name: _rows(found[name], workload) for name in found.column_names}


def _rows(column: pa.ChunkedArray, workload: str) -> Array | Jagged:
    rows = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if pa.types.is_binary(rows.type):
        _, offsets, values = rows.buffers()
        at = np.frombuffer(offsets, np.int32)[rows.offset : rows.offset + len(rows) + 1]
        return _jagged(np.frombuffer(values, np.uint8), at, is_text=True)
    if pa.types.is_list(rows.type):
        return _jagged(rows.values.to_numpy(), rows.offsets.to_numpy(), is_text=False)
    if pa.types.is_fixed_size_list(rows.type):
        return rows.flatten().to_numpy().reshape(len(rows), *_SHAPES.get(workload, (-1,)))
    return rows.to_numpy()


def _jagged(values: Array, offsets: Array, is_text: bool) -> Jagged:
    return Jagged(values[offsets[0] : offsets[-1]], offsets - offsets[0], is_text)


KEPT = jobs_of(HuggingFace())
# A generator is written the same way whatever the format that reads it, so that is left out here.
KEPT_ARROW = {
    job: build
    for job, build in jobs_of(HuggingFaceArrow()).items()
    if not job.endswith("from a generator")
}

NOTES = {
    f"{workload} {job}": note
    for workload in WORKLOADS
    for job, note in {
        "shuffled": "the rows of a permutation, a batch at a time: no slower than Dataset.shuffle",
        "buffered": "its buffer is shuffled whole, and half of it given away, at a time",
        "write from arrays": "an Arrow table over the arrays, saved with save_to_disk",
    }.items()
}
