"""MosaicML Streaming: elements written to MDS shards, then read from there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from kept.mosaic import LocalDataset, MDSWriter

from jpegs.images import BATCH, SIDE, decode, labels, paths
from jpegs.jobs import JpegTool, jpeg_jobs

DISTRIBUTIONS = ("mosaicml-streaming", "torch", "numpy", "pillow")

_COLUMNS = {"image": f"ndarray:float32:{SIDE},{SIDE},3", "label": "int64"}


class Mosaic(JpegTool):
    name = "mosaic"

    def first(self, n: int, threads: int, folder: Path) -> Iterator[Any]:
        with MDSWriter(out=str(folder / "shards"), columns=_COLUMNS) as writer:
            for path, label in zip(paths(n), labels(n), strict=True):
                writer.write({"image": decode(path), "label": label})
        yield from self.elements(n, folder)

    def elements(self, n: int, folder: Path) -> Iterator[Any]:
        data = LocalDataset(str(folder / "shards"))
        return (data[number] for number in range(n))

    def batches(self, n: int, folder: Path) -> Iterable[Any]:
        data = LocalDataset(str(folder / "shards"))
        for first in range(0, n, BATCH):
            rows = [data[number] for number in range(first, min(first + BATCH, n))]
            yield {name: np.stack([row[name] for row in rows]) for name in ("image", "label")}


KEPT = jpeg_jobs(Mosaic(), threads=(1,))

NOTES = {"W6 first epoch": "writes all elements, and then reads them"}
