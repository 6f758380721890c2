"""Each format and framework by its own library, by hand, as its documentation shows."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Callable, Iterator
from itertools import islice
from tempfile import TemporaryDirectory
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json
import pyarrow.parquet as pq
from PIL import Image

from others.files import BATCH, PICTURE_SIZE, Columns, numbers, path_of, vectors

DISTRIBUTIONS = ("numpy", "h5py", "pyarrow", "pillow")
Start = Callable[[], Iterator[Any]]


def _items(open_: Callable[[], Iterator[Any]], size: int = BATCH) -> Callable[[int], Start]:
    return lambda n: lambda: islice(open_(), -(-n // size))


def _npy() -> Iterator[Any]:
    array = np.load(path_of("vectors.npy"), mmap_mode="r")
    for start in range(0, len(array), BATCH):
        yield array[start : start + BATCH]


def _hdf5(name: str) -> Iterator[Any]:
    with h5py.File(path_of(name)) as file:
        x, y = file["x"], file["y"]
        for start in range(0, len(x), BATCH):
            yield {"x": x[start : start + BATCH], "y": y[start : start + BATCH]}


def _hdf5_shuffled() -> Iterator[Any]:
    with h5py.File(path_of("vectors.h5")) as file:
        x, y = file["x"], file["y"]
        order = np.random.default_rng(1).permutation(len(x))
        for start in range(0, len(x), BATCH):
            # It wants them in the order of the file.
            rows = np.sort(order[start : start + BATCH])
            yield {"x": x[rows], "y": y[rows]}


def _cut(tables: Iterator[Any]) -> Iterator[dict[str, Any]]:
    """Batches of one size out of record batches of any, as arrays."""
    left: list[Any] = []
    count = 0
    for batch in tables:
        left.append(batch)
        count += batch.num_rows
        if count < BATCH:
            continue
        whole = pa.Table.from_batches(left).combine_chunks()
        stop = count - count % BATCH
        columns = {name: whole.column(name).to_numpy() for name in whole.column_names}
        for start in range(0, stop, BATCH):
            yield {name: column[start : start + BATCH] for name, column in columns.items()}
        left = whole.slice(stop).to_batches()
        count -= stop
    if count:
        whole = pa.Table.from_batches(left)
        yield {name: whole.column(name).to_numpy() for name in whole.column_names}


def _csv() -> Iterator[Any]:
    return _cut(iter(pa_csv.open_csv(path_of("numbers.csv"))))


def _json_lines() -> Iterator[Any]:
    return _cut(iter(pa_json.open_json(path_of("numbers.jsonl"))))


def _parquet() -> Iterator[Any]:
    for batch in pq.ParquetFile(path_of("numbers.parquet")).iter_batches(BATCH):
        yield {name: batch.column(name).to_numpy() for name in batch.schema.names}


def _parquet_rows() -> Iterator[Any]:
    for batch in pq.ParquetFile(path_of("numbers.parquet")).iter_batches(4096):
        names = batch.schema.names
        columns = [batch.column(name).to_numpy() for name in names]
        for row in zip(*columns, strict=True):
            yield dict(zip(names, row, strict=True))


def _arrow() -> Iterator[Any]:
    with pa.memory_map(path_of("numbers.arrow")) as source:
        reader = pa.ipc.open_file(source)
        yield from _cut(reader.get_batch(i) for i in range(reader.num_record_batches))


def _text() -> Iterator[Any]:
    with open(path_of("lines.txt"), "rb") as file:
        for line in file:
            yield line[:-1]


def _pictures() -> Iterator[Any]:
    folder = path_of("pictures")
    for name in sorted(os.listdir(folder)):
        with Image.open(os.path.join(folder, name)) as image:
            small = image.convert("RGB").resize(
                (PICTURE_SIZE, PICTURE_SIZE), Image.Resampling.BILINEAR
            )
            yield np.asarray(small)


def _tar() -> Iterator[Any]:
    sample: dict[str, bytes] = {}
    key = ""
    with tarfile.open(path_of("samples.tar"), "r|") as archive:
        for info in archive:
            stem, _, ending = info.name.partition(".")
            if sample and stem != key:
                yield sample["jpg"], sample["cls"]
                sample = {}
            key = stem
            sample[ending] = archive.extractfile(info).read()  # type: ignore[union-attr]
    yield sample["jpg"], sample["cls"]


def _writing(
    columns: Callable[[], Columns], write: Callable[[Columns, str], None]
) -> Callable[[int], Start]:
    def build(n: int) -> Start:
        some = {name: column[:n] for name, column in columns().items()}

        def start() -> Iterator[Any]:
            with TemporaryDirectory() as folder:
                write(some, f"{folder}/f")
            yield n

        return start

    return build


def _write_hdf5(columns: Columns, path: str) -> None:
    with h5py.File(path, "w") as file:
        for name, column in columns.items():
            file.create_dataset(name, data=column, chunks=True)


def _write_json(columns: Columns, path: str) -> None:
    names, encode = list(columns), json.JSONEncoder(separators=(",", ":")).encode
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    with open(path, "w") as file:
        file.writelines(encode(dict(zip(names, row, strict=True))) + "\n" for row in rows)


LIBRARIES: dict[str, Callable[[int], Start]] = {
    "npy, batches": _items(_npy),
    "HDF5, batches": _items(lambda: _hdf5("vectors.h5")),
    "HDF5, gzip, batches": _items(lambda: _hdf5("packed.h5")),
    "HDF5, shuffled": _items(_hdf5_shuffled),
    "CSV, batches": _items(_csv),
    "JSON lines, batches": _items(_json_lines),
    "Parquet, batches": _items(_parquet),
    "Parquet, elements": _items(_parquet_rows, 1),
    "Arrow, batches": _items(_arrow),
    "text, lines": _items(_text, 1),
    "pictures, decoded": _items(_pictures, 1),
    "WebDataset, samples": _items(_tar, 1),
    "write npy": _writing(vectors, lambda columns, path: np.save(path, columns["x"])),
    "write HDF5": _writing(vectors, _write_hdf5),
    "write CSV": _writing(numbers, lambda columns, path: pa_csv.write_csv(pa.table(columns), path)),
    "write JSON lines": _writing(numbers, _write_json),
    "write Parquet": _writing(
        numbers, lambda columns, path: pq.write_table(pa.table(columns), path, compression="zstd")
    ),
}
NOTES = {name: "not durable when it returns" for name in LIBRARIES if name.startswith("write")}
NOTES["HDF5, shuffled"] = "the rows of a batch are in the order of the file"
