"""The files that all read, each made once by the library whose format it is."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from PIL import Image

BATCH = 128
# Goes up when the files change, so that nothing is read that was written before.
EDITION = 1
VECTORS, NUMBERS, LINES, PICTURES = 500_000, 400_000, 1_000_000, 600
PICTURE_SIZE = 224

Array = np.ndarray[Any, Any]
Columns = dict[str, Array]


def folder() -> Path:
    return Path(os.environ["KEEPSET_BENCH_FOLDER"]) / f"others-{EDITION}"


@lru_cache(maxsize=1)
def vectors() -> Columns:
    """Rows of an array, with a label each."""
    random = np.random.default_rng(3)
    return {
        "x": random.random((VECTORS, 32), np.float32),
        "y": random.integers(0, 1000, VECTORS),
    }


@lru_cache(maxsize=1)
def numbers() -> Columns:
    """A table: a number that counts, and seven that were measured."""
    random = np.random.default_rng(4)
    measured = np.round(random.normal(0, 100, (7, NUMBERS)), 4)
    return {"id": np.arange(NUMBERS)} | {f"m{n}": column for n, column in enumerate(measured)}


def table() -> pa.Table:
    return pa.table(numbers())


def _npy(path: Path) -> None:
    np.save(path, vectors()["x"])


def _hdf5(path: Path, **options: Any) -> None:
    with h5py.File(path, "w") as file:
        for name, column in vectors().items():
            file.create_dataset(name, data=column, **options)


def _json_lines(path: Path) -> None:
    columns = numbers()
    names = list(columns)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    text = "\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows)
    path.write_text(text + "\n")


def _arrow(path: Path) -> None:
    with pa.ipc.new_file(path, table().schema) as writer:
        writer.write_table(table(), 65_536)


def _lines(path: Path) -> None:
    random = np.random.default_rng(5)
    words = random.integers(0, 10**9, (LINES, 4))
    path.write_text("\n".join(" ".join(map(str, row)) for row in words.tolist()) + "\n")


def jpeg(number: int) -> bytes:
    """A picture of about 20 kB, as photographs are: smooth, with some noise."""
    random = np.random.default_rng(number)
    coarse = random.integers(0, 256, (12, 16, 3), np.uint8)
    picture = Image.fromarray(coarse).resize((320, 240), Image.Resampling.BICUBIC)
    noise = random.integers(-12, 13, (240, 320, 3))
    noisy = np.clip(np.asarray(picture, np.int16) + noise, 0, 255).astype(np.uint8)
    target = io.BytesIO()
    Image.fromarray(noisy).save(target, "JPEG", quality=85)
    return target.getvalue()


def _pictures(path: Path) -> None:
    path.mkdir()
    for number in range(PICTURES):
        (path / f"{number:06d}.jpg").write_bytes(jpeg(number))


def _tar(path: Path) -> None:
    pictures = [jpeg(number) for number in range(64)]
    with tarfile.open(path, "w") as archive:
        for number in range(20_000):
            parts = (("jpg", pictures[number % 64]), ("cls", b"%d" % (number % 10)))
            for ending, data in parts:
                info = tarfile.TarInfo(f"{number:06d}.{ending}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))


def _hugging_face(path: Path) -> None:
    import datasets

    # Of a fixed length, as its own tools make arrays.
    features = datasets.Features(
        {"x": datasets.Array2D((1, 32), "float32"), "y": datasets.Value("int64")}
    )
    columns = vectors()
    rows = {"x": columns["x"][:, None, :], "y": columns["y"]}
    datasets.Dataset.from_dict(rows, features).save_to_disk(str(path))


def _kept(path: Path) -> None:
    import keepset as ks

    ks.Dataset.from_tensor_slices(vectors()).save(path, progress=False)


MAKERS: dict[str, Callable[[Path], None]] = {
    "vectors.npy": _npy,
    "vectors.h5": _hdf5,
    "packed.h5": lambda path: _hdf5(path, chunks=True, compression="gzip", shuffle=True),
    "numbers.csv": lambda path: pa_csv.write_csv(table(), path),
    "numbers.jsonl": _json_lines,
    "numbers.parquet": lambda path: pq.write_table(table(), path, row_group_size=100_000),
    "numbers.arrow": _arrow,
    "lines.txt": _lines,
    "pictures": _pictures,
    "samples.tar": _tar,
    "hugging_face": _hugging_face,
    "kept": _kept,
}


def make_files() -> None:
    """Write what is not there yet."""
    folder().mkdir(parents=True, exist_ok=True)
    for name, make in MAKERS.items():
        path = folder() / name
        if not path.exists():
            print(f"writing {name}", flush=True)
            unfinished = path.with_name(f"unfinished-{name}")
            make(unfinished)
            unfinished.rename(path)


def path_of(name: str) -> str:
    return str(folder() / name)
