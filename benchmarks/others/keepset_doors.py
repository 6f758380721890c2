"""Keepset, on other people's formats and for other people's frameworks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from tempfile import TemporaryDirectory
from typing import Any

import keepset as ks
from others.files import BATCH, PICTURE_SIZE, Columns, numbers, path_of, vectors

DISTRIBUTIONS = ("keepset", "numpy", "pyarrow")
Start = Callable[[], Iterator[Any]]


def _batches(open_: Callable[[], Iterable[Any]], size: int = BATCH) -> Callable[[int], Start]:
    """So many elements, of which each item has ``size``."""
    return lambda n: lambda: islice(iter(open_()), -(-n // size))


def _read(name: str, read: Callable[..., ks.Dataset], **options: Any) -> Callable[[int], Start]:
    return _batches(lambda: read(path_of(name), **options).batch(BATCH))


def _pictures() -> Iterator[Any]:
    size = PICTURE_SIZE, PICTURE_SIZE
    ds = ks.read_images(path_of("pictures"), labels=None, size=size, num_parallel_calls=2)
    return (element["image"] for element in ds)


def _samples() -> Iterator[Any]:
    ds = ks.read_webdataset(path_of("samples.tar"), decode=False)
    return ((sample["jpg"], sample["cls"]) for sample in ds)


def _writing(
    columns: Callable[[], Columns], write: Callable[[ks.Dataset, str], Any], only: str = ""
) -> Callable[[int], Start]:
    def build(n: int) -> Start:
        some = {name: column[:n] for name, column in columns().items()}
        ds = ks.Dataset.from_tensor_slices(some[only] if only else some)

        def start() -> Iterator[Any]:
            with TemporaryDirectory() as folder:
                write(ds, f"{folder}/f")
            yield n

        return start

    return build


def _kept() -> ks.Dataset:
    return ks.load(path_of("kept"))


DOORS: dict[str, Callable[[int], Start]] = {
    "npy, batches": _read("vectors.npy", ks.read_npy),
    "HDF5, batches": _read("vectors.h5", ks.read_hdf5),
    "HDF5, gzip, batches": _read("packed.h5", ks.read_hdf5),
    "HDF5, shuffled": _batches(
        lambda: ks.read_hdf5(path_of("vectors.h5")).shuffle(ks.GLOBAL, seed=1).batch(BATCH)
    ),
    "CSV, batches": _read("numbers.csv", ks.read_csv),
    "JSON lines, batches": _read("numbers.jsonl", ks.read_json_lines),
    "Parquet, batches": _read("numbers.parquet", ks.read_parquet),
    "Parquet, elements": _batches(lambda: ks.read_parquet(path_of("numbers.parquet")), 1),
    "Arrow, batches": _read("numbers.arrow", ks.read_arrow),
    "text, lines": _batches(lambda: ks.read_text(path_of("lines.txt")), 1),
    "pictures, decoded": _batches(_pictures, 1),
    "WebDataset, samples": _batches(_samples, 1),
    "Hugging Face, batches": _read("hugging_face", ks.read_hf),
    "PyTorch, batches": _batches(lambda: _kept().batch(BATCH).to_torch().loader()),
    "PyTorch, shuffled": _batches(
        lambda: _kept().shuffle(ks.GLOBAL, seed=1).batch(BATCH).to_torch().loader()
    ),
    "PyTorch, two workers": _batches(lambda: _kept().batch(BATCH).to_torch().loader(num_workers=2)),
    "JAX, batches": _batches(lambda: _kept().batch(BATCH).to_jax()),
    "write npy": _writing(vectors, lambda ds, path: ds.write_npy(path), only="x"),
    "write HDF5": _writing(vectors, lambda ds, path: ds.write_hdf5(path)),
    "write CSV": _writing(numbers, lambda ds, path: ds.write_csv(path)),
    "write JSON lines": _writing(numbers, lambda ds, path: ds.write_json_lines(path)),
    "write Parquet": _writing(numbers, lambda ds, path: ds.write_parquet(path)),
}
NOTES: dict[str, str] = {}
