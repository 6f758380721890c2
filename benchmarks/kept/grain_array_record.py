"""ArrayRecord files, read directly, and through Grain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import grain
import numpy as np
from array_record.python.array_record_module import ArrayRecordReader, ArrayRecordWriter

from kept.jobs import Tool, jobs_of
from kept.workloads import BATCH, BUFFER, WORKLOADS, Array, Jagged, Table

DISTRIBUTIONS = ("array_record", "grain", "numpy")

# One thread was the fastest for runs of small records; the other is what its documentation gives.
IN_ORDER = "readahead_buffer_size:64k,max_parallelism:1"
AT_RANDOM = "readahead_buffer_size:0,max_parallelism:0"

Decode = Callable[[list[bytes]], dict[str, Any]]


def _columns(like: Table) -> tuple[np.dtype[Any], str | None, bool]:
    """What of a record has always the same size, and then the column that has not, if any."""
    fields, last, is_text = [], None, False
    for name, column in like.columns.items():
        if isinstance(column, Jagged):
            last, is_text = name, column.is_text
        else:
            fields.append((name, column.dtype, column.shape[1:]))
    return np.dtype(fields), last, is_text


def _encode(row: dict[str, Any], fields: Iterable[str], last: str | None) -> bytes:
    parts = [row[name].tobytes() for name in fields]
    if last is not None:
        value = row[last]
        parts.append(value if isinstance(value, bytes) else value.tobytes())
    return b"".join(parts)


def _decoder(workload: str) -> Decode:
    """What makes a batch of records."""
    fixed, last, is_text = _columns(WORKLOADS[workload].make(2))
    names, size = fixed.names or (), fixed.itemsize

    def decode(records: list[bytes]) -> dict[str, Any]:
        rows = np.frombuffer(b"".join(records), fixed)
        return {name: rows[name] for name in names}

    def decode_jagged(records: list[bytes]) -> dict[str, Any]:
        assert last is not None
        batch = decode([record[:size] for record in records])
        if is_text:
            batch[last] = [record[size:] for record in records]
        else:
            batch[last] = [np.frombuffer(record, np.int32, offset=size) for record in records]
        return batch

    return decode if last is None else decode_jagged


def _single(workload: str) -> Callable[[bytes], dict[str, Any]]:
    """What makes an element of a record."""
    fixed, last, is_text = _columns(WORKLOADS[workload].make(2))
    places = [
        (name, each[0].base, int(np.prod(each[0].shape, dtype=int)), each[1], each[0].shape)
        for name, each in (fixed.fields or {}).items()
    ]
    size = fixed.itemsize

    def decode(record: bytes) -> dict[str, Any]:
        element: dict[str, Any] = {}
        for name, dtype, count, offset, shape in places:
            values = np.frombuffer(record, dtype, count, offset)
            element[name] = values.reshape(shape) if shape else values[0]
        if last is not None:
            rest = record[size:]
            element[last] = rest if is_text else np.frombuffer(rest, np.int32)
        return element

    return decode


def _path(folder: Path) -> str:
    return str(folder / "rows.array_record")


class ArrayRecord(Tool):
    """Files read a run of records at a time, without Grain."""

    name = "array_record"
    rows_at_most = 500_000

    def write_rows(self, rows: Iterator[dict[str, Any]], like: Table, folder: Path) -> None:
        fixed, last, _ = _columns(like)
        # Small records share a block: each block has a header, and a place in the index.
        group = 1 if fixed.itemsize > 4096 else 16
        writer = ArrayRecordWriter(_path(folder), f"group_size:{group},uncompressed")
        for row in rows:
            writer.write(_encode(row, fixed.names or (), last))
        writer.close()

    def elements(self, folder: Path, workload: str) -> Iterable[Any]:
        for batch in self.batches(folder, workload):
            for number in range(len(next(iter(batch.values())))):
                yield {name: rows[number] for name, rows in batch.items()}

    def batches(self, folder: Path, workload: str) -> Iterable[Any]:
        return map(_decoder(workload), self._records(folder))

    def shuffled(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        decode, reader = _decoder(workload), ArrayRecordReader(_path(folder), AT_RANDOM)
        order = np.random.default_rng(seed).permutation(reader.num_records()).tolist()
        for first in range(0, len(order), BATCH):
            yield decode([reader.read(i, i + 1)[0] for i in order[first : first + BATCH]])

    def singles(self, folder: Path, workload: str, numbers: Array) -> Iterable[Any]:
        decode, reader = _single(workload), ArrayRecordReader(_path(folder), AT_RANDOM)
        return (decode(reader.read(i, i + 1)[0]) for i in numbers.tolist())

    def _records(self, folder: Path) -> Iterator[list[bytes]]:
        reader = ArrayRecordReader(_path(folder), IN_ORDER)
        rows = reader.num_records()
        for first in range(0, rows, BATCH):
            yield reader.read(first, min(first + BATCH, rows))


class _Source:
    """A source for Grain; its own one uses read([i]), whose cost grows with the file."""

    def __init__(self, folder: Path) -> None:
        self._reader = ArrayRecordReader(_path(folder), AT_RANDOM)

    def __len__(self) -> int:
        return int(self._reader.num_records())

    def __getitem__(self, number: int) -> bytes:
        record: bytes = self._reader.read(number, number + 1)[0]
        return record


class Grain(ArrayRecord):
    """The same files as the source of a Grain pipeline, without threads: they slow it down."""

    def _source(self, folder: Path) -> grain.MapDataset[bytes]:
        return grain.MapDataset.source(_Source(folder))

    def elements(self, folder: Path, workload: str) -> Iterable[Any]:
        return _iterated(self._source(folder).map(_single(workload)))

    def batches(self, folder: Path, workload: str) -> Iterable[Any]:
        return _iterated(self._source(folder).batch(BATCH, batch_fn=_decoder(workload)))

    def shuffled(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        records = self._source(folder).shuffle(seed)
        return _iterated(records.batch(BATCH, batch_fn=_decoder(workload)))

    def buffered(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        # The one for map-style data repeats records unless their number divides by the window.
        records = grain.experimental.WindowShuffleIterDataset(
            _iterated(self._source(folder)), window_size=BUFFER, seed=seed
        )
        return records.batch(BATCH, batch_fn=_decoder(workload))

    def singles(self, folder: Path, workload: str, numbers: Array) -> Iterable[Any]:
        elements = self._source(folder).map(_single(workload))
        return (elements[i] for i in numbers.tolist())


def _iterated(elements: grain.MapDataset[Any]) -> grain.IterDataset[Any]:
    return elements.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))


KEPT = jobs_of(ArrayRecord())
KEPT_GRAIN = {job: build for job, build in jobs_of(Grain()).items() if job.split()[1] != "write"}

NOTES = {
    f"{workload} {job}": note
    for workload in WORKLOADS
    for job, note in {
        "elements": "ArrayRecord: batches of 128, taken apart by the consumer",
        "batches": "ArrayRecord: 128 records with one call",
        "shuffled": "read(i, i + 1) for each record: the cost of read([i]) grows with the file",
        "buffered": "Grain shuffles windows of 1,000 records, one window after the other",
        "singles": "read(i, i + 1): the cost of read([i]) grows with the file",
    }.items()
}
