"""WebDataset: samples in a tar file."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import webdataset as wds

from kept.jobs import Tool, jobs_of
from kept.workloads import BATCH, BUFFER, WORKLOADS, Table

DISTRIBUTIONS = ("webdataset", "torch", "numpy")


def _stacked(samples: list[dict[str, Any]]) -> dict[str, Any]:
    rows = [pickle.loads(sample["pyd"]) for sample in samples]
    batch: dict[str, Any] = {}
    for name, first in rows[0].items():
        column = [row[name] for row in rows]
        if name in ("text", "tokens"):
            batch[name] = column
        else:
            batch[name] = np.stack(column) if first.ndim else np.array(column)
    return batch


class WebDataset(Tool):
    """A pickled dict per sample: one file in the tar for each, where arrays would need two."""

    name = "webdataset"
    rows_at_most = 100_000

    def write_rows(self, rows: Iterator[dict[str, Any]], like: Table, folder: Path) -> None:
        with wds.TarWriter(str(folder / "rows.tar"), encoder=False) as writer:
            for number, row in enumerate(rows):
                writer.write({"__key__": f"{number:09d}", "pyd": pickle.dumps(row)})

    def elements(self, folder: Path, workload: str) -> Iterable[Any]:
        return (pickle.loads(sample["pyd"]) for sample in self._samples(folder))

    def batches(self, folder: Path, workload: str) -> Iterable[Any]:
        return self._samples(folder).batched(BATCH, collation_fn=_stacked)

    def buffered(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        shuffled = self._samples(folder).shuffle(BUFFER, initial=BUFFER, seed=seed)
        return shuffled.batched(BATCH, collation_fn=_stacked)

    def _samples(self, folder: Path) -> wds.WebDataset:
        return wds.WebDataset(str(folder / "rows.tar"), shardshuffle=False)


KEPT = jobs_of(WebDataset())

NOTES = {
    f"{workload} {job}": "one pickled dict per sample: about twice as fast as a file per column"
    for workload in WORKLOADS
    for job in ("elements", "batches", "buffered", "write from a generator")
}
