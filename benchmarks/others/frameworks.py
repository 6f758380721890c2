"""Pandas, and the frameworks: PyTorch's DataLoader, webdataset, Hugging Face datasets, JAX."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from others.files import BATCH, PICTURE_SIZE, Columns, numbers, path_of, vectors

DISTRIBUTIONS = ("pandas", "torch", "webdataset", "datasets", "jax", "numpy")
Start = Callable[[], Iterator[Any]]


def _items(open_: Callable[[], Iterator[Any]], size: int = BATCH) -> Callable[[int], Start]:
    return lambda n: lambda: islice(open_(), -(-n // size))


def _frames(frames: Iterator[pd.DataFrame]) -> Iterator[Any]:
    for frame in frames:
        columns = {name: frame[name].to_numpy() for name in frame}
        for start in range(0, len(frame), BATCH):
            yield {name: column[start : start + BATCH] for name, column in columns.items()}


# As many rows at once as Keepset has in a block of text, in whole batches.
_FRAME_ROWS = 128 * BATCH


def _csv() -> Iterator[Any]:
    return _frames(iter(pd.read_csv(path_of("numbers.csv"), chunksize=_FRAME_ROWS)))


def _json_lines() -> Iterator[Any]:
    return _frames(iter(pd.read_json(path_of("numbers.jsonl"), lines=True, chunksize=_FRAME_ROWS)))


class _Pictures(Dataset):  # type: ignore[misc]
    """As torchvision's ImageFolder."""

    def __init__(self) -> None:
        folder = path_of("pictures")
        self._paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, index: int) -> Any:
        with Image.open(self._paths[index]) as image:
            small = image.convert("RGB").resize(
                (PICTURE_SIZE, PICTURE_SIZE), Image.Resampling.BILINEAR
            )
            return np.asarray(small)


def _pictures() -> Iterator[Any]:
    return iter(DataLoader(_Pictures(), batch_size=None, num_workers=2))


def _tar() -> Iterator[Any]:
    import webdataset as wds

    data = wds.WebDataset(path_of("samples.tar"), shardshuffle=False, empty_check=False)
    for sample in data:
        yield sample["jpg"], sample["cls"]


def _hugging_face() -> Iterator[Any]:
    import datasets

    found = datasets.load_from_disk(path_of("hugging_face")).with_format("numpy")
    return iter(found.iter(BATCH))


class _Rows(Dataset):  # type: ignore[misc]
    """Rows in memory, of which a DataLoader takes a batch at once."""

    def __init__(self) -> None:
        columns = vectors()
        self._x, self._y = torch.from_numpy(columns["x"]), torch.from_numpy(columns["y"])

    def __len__(self) -> int:
        return len(self._x)

    def __getitem__(self, index: int) -> Any:
        return {"x": self._x[index], "y": self._y[index]}


def _torch(**options: Any) -> Iterator[Any]:
    return iter(DataLoader(_Rows(), batch_size=BATCH, **options))


def _jax() -> Iterator[Any]:
    import jax

    columns = vectors()
    for start in range(0, len(columns["x"]), BATCH):
        yield jax.device_put(
            {"x": columns["x"][start : start + BATCH], "y": columns["y"][start : start + BATCH]}
        )


def _writing(
    columns: Callable[[], Columns], write: Callable[[pd.DataFrame, str], None]
) -> Callable[[int], Start]:
    def build(n: int) -> Start:
        frame = pd.DataFrame({name: column[:n] for name, column in columns().items()})

        def start() -> Iterator[Any]:
            with TemporaryDirectory() as folder:
                write(frame, f"{folder}/f")
            yield n

        return start

    return build


FRAMEWORKS: dict[str, Callable[[int], Start]] = {
    "CSV, batches": _items(_csv),
    "JSON lines, batches": _items(_json_lines),
    "pictures, decoded": _items(_pictures, 1),
    "WebDataset, samples": _items(_tar, 1),
    "Hugging Face, batches": _items(_hugging_face),
    "PyTorch, batches": _items(_torch),
    "PyTorch, shuffled": _items(lambda: _torch(shuffle=True)),
    "PyTorch, two workers": _items(lambda: _torch(num_workers=2)),
    "JAX, batches": _items(_jax),
    "write CSV": _writing(numbers, lambda frame, path: frame.to_csv(path, index=False)),
    "write JSON lines": _writing(
        numbers, lambda frame, path: frame.to_json(path, orient="records", lines=True)
    ),
    "write Parquet": _writing(
        numbers, lambda frame, path: frame.to_parquet(path, compression="zstd")
    ),
}
NOTES = {name: "not durable when it returns" for name in FRAMEWORKS if name.startswith("write")}
NOTES["pictures, decoded"] = "PyTorch's DataLoader with two worker processes"
