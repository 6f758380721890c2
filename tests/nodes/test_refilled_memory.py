"""Elements that are views of memory which a function fills again: each is what it was then."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import keepset as ks

SIZE = 6
BUFFER = np.zeros(2, np.int64)


def read_only(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view


def of_file(path: Path, mode: str) -> Callable[[int], Any]:
    """A file that is mapped to be read, and written by other ways."""
    path.write_bytes(bytes(16))
    writer = np.memmap(path, np.int64, "r+")
    if mode == "memmap":
        reader: Any = np.memmap(path, np.int64, "r")
    else:
        with open(path, "rb") as file:
            mapped = mmap.mmap(file.fileno(), 16, access=mmap.ACCESS_READ)
        reader = np.frombuffer(mapped, np.int64)

    def fill(x: int) -> Any:
        writer[:] = x
        return reader[:]

    return fill


def of_buffer(view: Callable[[Any], Any]) -> Callable[[int], Any]:
    def fill(x: int) -> Any:
        BUFFER[:] = x
        return view(BUFFER)

    return fill


VIEWS: dict[str, Callable[[Any], Any]] = {
    "array": lambda array: array,
    "read-only view": read_only,
    "memoryview": lambda array: np.frombuffer(memoryview(array).toreadonly(), np.int64),
    "Arrow array": pa.array,
    "its NumPy array": lambda array: pa.array(array).to_numpy(),
    "Arrow array of a buffer": lambda array: pa.Array.from_buffers(
        pa.int64(), 2, [None, pa.py_buffer(array)]
    ),
    "polars series": lambda array: pl.Series("a", array),
    "its array": lambda array: pl.Series("a", array).to_numpy(),
    "broadcast": lambda array: np.broadcast_to(pa.array(array).to_numpy(), (2, 2))[0],
}
STAGES: dict[str, Callable[[ks.Dataset], ks.Dataset]] = {
    "nothing": lambda ds: ds,
    "batch": lambda ds: ds.batch(3).unbatch(),
    "shuffle": lambda ds: ds.shuffle(SIZE, seed=1),
    "prefetch": lambda ds: ds.prefetch(3),
    "map": lambda ds: ds.map(lambda x: (x, x)).map(lambda x, y: y),
}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", [*VIEWS, "memmap", "mmap"])
def test_elements_are_what_they_were_when_they_were_made(
    tmp_path: Path, kind: str, stage: str
) -> None:
    is_file = kind in ("memmap", "mmap")
    fill = of_file(tmp_path / "numbers", kind) if is_file else of_buffer(VIEWS[kind])
    ds = STAGES[stage](ks.Dataset.range(SIZE).map(lambda x: fill(int(x))))
    ds = ds.snapshot(tmp_path / "kept", fingerprint="f")
    for _ in range(2):
        assert sorted(element.tolist() for element in ds) == [[x, x] for x in range(SIZE)]
