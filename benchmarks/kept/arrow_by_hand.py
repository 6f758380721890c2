"""Arrow IPC files by hand, memory-mapped: what one gets without a loader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kept.codecs import codec_jobs
from kept.jobs import Tool, jobs_of
from kept.workloads import BATCH, Array, Jagged, Table

DISTRIBUTIONS = ("pyarrow", "numpy")

_ROWS = 8192


class ArrowByHand(Tool):
    name = "arrow"
    copies = False

    def __init__(self, compression: str | None = None) -> None:
        self._compression = compression
        if compression is not None:
            self.name, self.copies = f"arrow {compression}", True

    def write_arrays(self, data: Table, folder: Path, workload: str) -> None:
        columns = {name: _arrow(column) for name, column in data.columns.items()}
        table = pa.table(columns)
        options = pa.ipc.IpcWriteOptions(compression=self._compression)
        with pa.ipc.new_file(str(folder / "data.arrow"), table.schema, options=options) as file:
            file.write_table(table, max_chunksize=1024 if workload in ("W1", "W4") else _ROWS)

    def elements(self, folder: Path, workload: str) -> Iterable[Any]:
        for batch in self._batches(folder):
            names = batch.schema.names
            columns = [_rows(batch.column(i), workload) for i in range(len(names))]
            for row in zip(*columns, strict=True):
                yield dict(zip(names, row, strict=True))

    def batches(self, folder: Path, workload: str) -> Iterable[Any]:
        rest: pa.RecordBatch | None = None
        for batch in self._batches(folder):
            whole = batch if rest is None else pa.concat_batches([rest, batch])
            end = len(whole) - len(whole) % BATCH
            for first in range(0, end, BATCH):
                yield _columns(whole.slice(first, BATCH), workload)
            rest = whole.slice(end) if end < len(whole) else None
        if rest is not None:
            yield _columns(rest, workload)

    def _batches(self, folder: Path) -> Iterable[pa.RecordBatch]:
        # What is mapped may be opened once for all passes; what is decompressed is not kept.
        return _mapped(folder) if self._compression is None else _read(folder)


def _read(folder: Path) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(str(folder / "data.arrow")) as source:
        reader = pa.ipc.open_file(source)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


@lru_cache(maxsize=8)
def _mapped(folder: Path) -> list[pa.RecordBatch]:
    return list(_read(folder))


def _arrow(column: Array | Jagged) -> pa.Array:
    if isinstance(column, Jagged):
        # Some of the tables have more values than 32 bits can count.
        kind = pa.large_binary() if column.is_text else pa.large_list(pa.int32())
        offsets = pa.py_buffer(column.offsets)
        if column.is_text:
            buffers = [None, offsets, pa.py_buffer(column.values)]
            return pa.Array.from_buffers(kind, len(column), buffers)
        values = pa.array(column.values)
        return pa.Array.from_buffers(kind, len(column), [None, offsets], children=[values])
    if column.ndim == 1:
        return pa.array(column)
    flat = pa.array(column.reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, int(np.prod(column.shape[1:])))


_SHAPES = {"W1": (64, 64, 3), "W4": (224, 224, 3), "W2": (32,)}


def _fixed(array: pa.Array, workload: str) -> Array:
    if not pa.types.is_fixed_size_list(array.type):
        found: Array = array.to_numpy()
        return found
    size = array.type.list_size
    flat = array.values.slice(array.offset * size, len(array) * size).to_numpy()
    return np.asarray(flat).reshape(len(array), *_SHAPES[workload])


def _rows(array: pa.Array, workload: str) -> Iterable[Any]:
    if pa.types.is_large_binary(array.type):
        texts: list[bytes] = array.to_pylist()
        return texts
    if pa.types.is_large_list(array.type):
        ends = np.frombuffer(array.buffers()[1], np.int64, len(array) + 1, array.offset * 8)
        values = array.values.to_numpy()
        return [values[a:b] for a, b in pairwise(ends.tolist())]
    return _fixed(array, workload)


def _columns(batch: pa.RecordBatch, workload: str) -> dict[str, Any]:
    return {name: _column(batch.column(name), workload) for name in batch.schema.names}


def _column(array: pa.Array, workload: str) -> Any:
    if pa.types.is_large_binary(array.type):
        return array.to_pylist()
    if pa.types.is_large_list(array.type):
        ends = np.frombuffer(array.buffers()[1], np.int64, len(array) + 1, array.offset * 8)
        values = array.values.to_numpy()[ends[0] : ends[-1]]
        return Jagged(values, ends - ends[0], is_text=False)
    return _fixed(array, workload)


KEPT = jobs_of(ArrowByHand()) | codec_jobs({codec: ArrowByHand(codec) for codec in ("lz4", "zstd")})
