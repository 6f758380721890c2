"""MosaicML Streaming: shards in its own format, MDS."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from kept.jobs import Tool, jobs_of
from kept.workloads import BATCH, WORKLOADS, Array, Jagged, Table


def _stand_in_for_torchvision() -> None:
    """Modules in place of torchvision, which fails on import next to a CPU build of torch.

    Streaming imports it for image folders, which nothing here uses.
    """
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    names = ("torchvision", "torchvision.datasets", "torchvision.transforms")
    for name in (*names, "torchvision.transforms.functional"):
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__spec__ = ModuleSpec(name, None)
    vars(sys.modules["torchvision.datasets"])["VisionDataset"] = object
    vars(sys.modules["torchvision.transforms.functional"])["to_tensor"] = None


try:
    import torchvision  # noqa: F401
except (ImportError, RuntimeError):
    _stand_in_for_torchvision()

from streaming import LocalDataset, MDSWriter  # noqa: E402 (needs the lines above)

DISTRIBUTIONS = ("mosaicml-streaming", "torch", "numpy")


def _encoding(column: Array | Jagged) -> str:
    if isinstance(column, Jagged):
        return "bytes" if column.is_text else f"ndarray:{column.values.dtype}"
    if column.ndim == 1:
        return str(column.dtype)
    return f"ndarray:{column.dtype}:{','.join(map(str, column.shape[1:]))}"


def _stacked(rows: list[dict[str, Any]]) -> dict[str, Any]:
    batch: dict[str, Any] = {}
    for name, first in rows[0].items():
        column = [row[name] for row in rows]
        if name in ("text", "tokens"):
            batch[name] = column
        else:
            batch[name] = np.stack(column) if first.ndim else np.array(column)
    return batch


class Mosaic(Tool):
    """Shards without compression, in the folder where they were written."""

    name = "mosaic"
    rows_at_most = 100_000

    def write_rows(self, rows: Iterator[dict[str, Any]], like: Table, folder: Path) -> None:
        columns = {name: _encoding(column) for name, column in like.columns.items()}
        with MDSWriter(out=str(folder / "shards"), columns=columns) as writer:
            for row in rows:
                writer.write(row)

    def elements(self, folder: Path, workload: str) -> Iterable[Any]:
        data = LocalDataset(str(folder / "shards"))
        return (data[number] for number in range(len(data)))

    def batches(self, folder: Path, workload: str) -> Iterable[Any]:
        return self._batches(folder, None)

    def shuffled(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        return self._batches(folder, seed)

    def singles(self, folder: Path, workload: str, numbers: Array) -> Iterable[Any]:
        data = LocalDataset(str(folder / "shards"))
        return (data[number] for number in numbers.tolist())

    def _batches(self, folder: Path, seed: int | None) -> Iterator[dict[str, Any]]:
        data = LocalDataset(str(folder / "shards"))
        rows = len(data)
        order = np.arange(rows) if seed is None else np.random.default_rng(seed).permutation(rows)
        numbers = order.tolist()
        for first in range(0, rows, BATCH):
            yield _stacked([data[number] for number in numbers[first : first + BATCH]])


KEPT = jobs_of(Mosaic())

NOTES = {
    f"{workload} {job}": "LocalDataset, read by number"
    for workload in WORKLOADS
    for job in ("elements", "batches", "shuffled", "singles")
}
