"""LitData: elements written to chunks, then read from there with its loader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from kept.litdata_chunks import Cache, StreamingDataLoader, StreamingDataset

from jpegs.images import BATCH, decode, labels, paths
from jpegs.jobs import JpegTool, jpeg_jobs

DISTRIBUTIONS = ("litdata", "torch", "numpy", "pillow")


class LitData(JpegTool):
    name = "litdata"

    def first(self, n: int, threads: int, folder: Path) -> Iterator[Any]:
        cache = Cache(str(folder), chunk_bytes="64MB")
        for number, (path, label) in enumerate(zip(paths(n), labels(n), strict=True)):
            # A number of NumPy would be pickled.
            cache[number] = {"image": decode(path), "label": int(label)}
        cache.done()
        cache.merge()
        yield from self.elements(n, folder)

    def elements(self, n: int, folder: Path) -> Iterator[Any]:
        data = StreamingDataset(str(folder))
        for rows in StreamingDataLoader(data, batch_size=BATCH, collate_fn=list):
            for row in rows:
                yield {"image": row["image"], "label": np.int64(row["label"])}

    def batches(self, n: int, folder: Path) -> Iterable[Any]:
        data = StreamingDataset(str(folder))
        return StreamingDataLoader(data, batch_size=BATCH, collate_fn=_stacked)


def _stacked(rows: list[dict[str, Any]]) -> dict[str, Any]:
    image = np.stack([row["image"] for row in rows])
    return {"image": image, "label": np.array([row["label"] for row in rows])}


KEPT = jpeg_jobs(LitData(), threads=(1,))

NOTES = {"W6 first epoch": "writes all elements, and then reads them"}
