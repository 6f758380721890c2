"""TensorFlow's ways to keep the elements of a ``tf.data`` pipeline on disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

# Before the import, or it tells about the machine on standard error.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

from kept.jobs import Tool, jobs_of
from kept.workloads import BATCH, BUFFER, WORKLOADS, Array, Jagged, Table, table

DISTRIBUTIONS = ("tensorflow", "numpy")


def _spec(column: Array | Jagged) -> tf.TensorSpec:
    if isinstance(column, Jagged):
        return tf.TensorSpec((), tf.string) if column.is_text else tf.TensorSpec((None,), tf.int32)
    return tf.TensorSpec(column.shape[1:], tf.as_dtype(column.dtype))


def _specs(like: Table) -> dict[str, tf.TensorSpec]:
    return {name: _spec(column) for name, column in like.columns.items()}


def _tensor(column: Array | Jagged) -> Any:
    if not isinstance(column, Jagged):
        return column
    if column.is_text:
        return tf.constant([column[number] for number in range(len(column))], tf.string)
    return tf.RaggedTensor.from_row_splits(column.values, column.offsets)


def _slices(data: Table) -> tf.data.Dataset:
    columns = {name: _tensor(column) for name, column in data.columns.items()}
    return tf.data.Dataset.from_tensor_slices(columns)


def _like(workload: str) -> Table:
    return WORKLOADS[workload].make(2)


class _Kept(Tool):
    """What all of them share: once elements can be read, tf.data does the rest."""

    # A snapshot writes 6,000 rows a second, and a true shuffle reads all before the first.
    rows_at_most = 50_000

    def at_once(self, workload: str, job: str) -> int:
        return self.rows(workload) if job == "shuffled" else 1

    def keep(self, elements: tf.data.Dataset, folder: Path) -> None:
        raise NotImplementedError

    def read(self, folder: Path, workload: str) -> tf.data.Dataset:
        raise NotImplementedError

    def write_arrays(self, data: Table, folder: Path, workload: str) -> None:
        self.keep(_slices(data), folder)

    def write_rows(self, rows: Iterator[dict[str, Any]], like: Table, folder: Path) -> None:
        signature = _specs(like)
        self.keep(tf.data.Dataset.from_generator(lambda: rows, output_signature=signature), folder)

    def elements(self, folder: Path, workload: str) -> Iterable[Any]:
        return _pipeline(self, "elements", folder, workload).as_numpy_iterator()

    def batches(self, folder: Path, workload: str) -> Iterable[Any]:
        return _arrays(_pipeline(self, "batches", folder, workload))

    def shuffled(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        return _arrays(_pipeline(self, "shuffled", folder, workload, seed))

    def buffered(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        return _arrays(_pipeline(self, "buffered", folder, workload, seed))

    def batched(self, elements: tf.data.Dataset, workload: str) -> tf.data.Dataset:
        if workload == "W3t":
            # Rows of different lengths cannot be stacked, and padding would be another output.
            return elements.ragged_batch(BATCH).map(_apart)
        return elements.batch(BATCH)

    def single(self, elements: tf.data.Dataset, workload: str) -> tf.data.Dataset:
        return elements


# Built once, as a training script does: tracing its functions would be most of a short pass.
@lru_cache(maxsize=4)
def _pipeline(
    tool: _Kept, job: str, folder: Path, workload: str, seed: int | None = None
) -> tf.data.Dataset:
    found = tool.read(folder, workload)
    if job == "elements":
        return tool.single(found, workload).prefetch(tf.data.AUTOTUNE)
    if job == "shuffled":
        # A buffer for everything is the only true shuffle that tf.data has.
        found = found.shuffle(WORKLOADS[workload].rows, seed)
    elif job == "buffered":
        found = found.shuffle(BUFFER, seed)
    return tool.batched(found, workload).prefetch(tf.data.AUTOTUNE)


def _arrays(batches: tf.data.Dataset) -> Iterator[dict[str, Any]]:
    for batch in batches.as_numpy_iterator():
        if "text" in batch:
            batch["text"] = batch["text"].tolist()
        if "tokens" in batch:
            batch["tokens"] = Jagged(batch["tokens"], batch.pop("offsets"), is_text=False)
        yield batch


def _apart(batch: dict[str, Any]) -> dict[str, Any]:
    """A ragged tensor as two plain ones: made an array, it would become one array per row."""
    return batch | {"tokens": batch["tokens"].values, "offsets": batch["tokens"].row_splits}


class Save(_Kept):
    """``Dataset.save`` and ``Dataset.load``."""

    name = "tensorflow_save"

    def keep(self, elements: tf.data.Dataset, folder: Path) -> None:
        elements.save(str(folder / "saved"))

    def read(self, folder: Path, workload: str) -> tf.data.Dataset:
        return tf.data.Dataset.load(str(folder / "saved"))


class Records(_Kept):
    """TFRecord files of ``tf.train.Example``, parsed a batch at a time."""

    name = "tensorflow_records"

    # There is no other way to write them than row by row.
    write_arrays = Tool.write_arrays

    def write_rows(self, rows: Iterator[dict[str, Any]], like: Table, folder: Path) -> None:
        with tf.io.TFRecordWriter(str(folder / "rows.tfrecord")) as writer:
            for row in rows:
                feature = {name: _feature(value) for name, value in row.items()}
                example = tf.train.Example(features=tf.train.Features(feature=feature))
                writer.write(example.SerializeToString())

    def read(self, folder: Path, workload: str) -> tf.data.Dataset:
        """The records, not yet parsed."""
        return tf.data.TFRecordDataset(str(folder / "rows.tfrecord"))

    def single(self, elements: tf.data.Dataset, workload: str) -> tf.data.Dataset:
        return self._parsed(elements, workload).unbatch()

    def batched(self, elements: tf.data.Dataset, workload: str) -> tf.data.Dataset:
        batches = self._parsed(elements, workload)
        return batches.map(_apart) if workload == "W3t" else batches

    def _parsed(self, records: tf.data.Dataset, workload: str) -> tf.data.Dataset:
        like = _like(workload)
        features = {name: _parsing(name, column) for name, column in like.columns.items()}
        shapes = {
            name: column.shape[1:]
            for name, column in like.columns.items()
            if not isinstance(column, Jagged) and column.ndim == 4
        }

        def parse(batch: Any) -> dict[str, Any]:
            columns: dict[str, Any] = tf.io.parse_example(batch, features)
            for name, shape in shapes.items():
                pixels = tf.io.decode_raw(columns[name], tf.uint8)
                columns[name] = tf.reshape(pixels, (-1, *shape))
            if "tokens" in columns:
                columns["tokens"] = tf.cast(columns["tokens"], tf.int32)
            return columns

        return records.batch(BATCH).map(parse, num_parallel_calls=tf.data.AUTOTUNE)


def _feature(value: Any) -> tf.train.Feature:
    if isinstance(value, bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
    if value.dtype == np.uint8:
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.tobytes()]))
    if value.dtype == np.float32:
        return tf.train.Feature(float_list=tf.train.FloatList(value=value))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=np.atleast_1d(value)))


def _parsing(name: str, column: Array | Jagged) -> Any:
    if isinstance(column, Jagged):
        if column.is_text:
            return tf.io.FixedLenFeature((), tf.string)
        return tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64)
    if column.dtype == np.uint8:
        return tf.io.FixedLenFeature((), tf.string)
    return tf.io.FixedLenFeature(column.shape[1:], tf.as_dtype(column.dtype))


class RecordsApart(Records):
    """The same files; the consumer takes a batch apart, rather than tf.data."""

    def elements(self, folder: Path, workload: str) -> Iterable[Any]:
        for batch in self.batches(folder, workload):
            for number in range(len(next(iter(batch.values())))):
                yield {name: rows[number] for name, rows in batch.items()}


class Cache(_Kept):
    """``cache`` in a file, filled by one pass."""

    name = "tensorflow_cache"

    def keep(self, elements: tf.data.Dataset, folder: Path) -> None:
        _drain(elements.cache(str(folder / "cache")))

    def read(self, folder: Path, workload: str) -> tf.data.Dataset:
        # A full cache never asks its source: one without elements will do.
        nothing = _slices(_like(workload).head(0))
        return nothing.cache(str(folder / "cache"))


class Snapshot(_Kept):
    """``snapshot``, written by one pass."""

    name = "tensorflow_snapshot"

    def __init__(self, compression: str | None = None) -> None:
        self._compression = compression
        if compression:
            self.name = f"{self.name}_{compression.lower()}"

    def keep(self, elements: tf.data.Dataset, folder: Path) -> None:
        _drain(self._snapshot(elements, folder))

    def read(self, folder: Path, workload: str) -> tf.data.Dataset:
        return self._snapshot(_source(workload, self.rows(workload)), folder)

    def _snapshot(self, elements: tf.data.Dataset, folder: Path) -> tf.data.Dataset:
        # By default elements go to shards at random, and their order is lost.
        return elements.snapshot(
            str(folder / "snapshot"),
            compression=self._compression,
            shard_func=lambda _: tf.zeros((), tf.int64),
        )


@lru_cache(maxsize=1)
def _source(workload: str, rows: int) -> tf.data.Dataset:
    """What was written: a snapshot is found again only by a pipeline with the same source."""
    return _slices(table(workload).head(rows))


def _drain(elements: tf.data.Dataset) -> None:
    """One pass, without the cost of bringing elements into Python."""
    elements.reduce(0, lambda n, _: n + 1)


KEPT = jobs_of(Save())
KEPT_RECORDS = jobs_of(Records())
KEPT_RECORDS_APART = {
    job: build for job, build in jobs_of(RecordsApart()).items() if job.endswith("elements")
}
KEPT_CACHE = jobs_of(Cache())
KEPT_SNAPSHOT = jobs_of(Snapshot())
KEPT_SNAPSHOT_SNAPPY = jobs_of(Snapshot("SNAPPY"))

NOTES = {
    f"{workload} {job}": note
    for workload in WORKLOADS
    for job, note in {
        "elements": "TFRecord: parsed in batches, then unbatched, by tf.data or by the consumer",
        "shuffled": "a shuffle buffer for all elements, which is filled before the first comes out",
        "write from arrays": "cache and snapshot: one pass over the elements within TensorFlow",
    }.items()
}
