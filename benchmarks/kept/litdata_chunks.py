"""LitData: chunks of samples that are mapped into memory one at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

# Before the import, or the first data set asks the network for a newer version.
os.environ.setdefault("LITDATA_DISABLE_VERSION_CHECK", "1")
# Otherwise it looks for the end of a page of 256 KiB, sample by sample, at every random read.
os.environ.setdefault("LITDATA_POSIX_PAGE_BYTES", "0")

import numpy as np
from litdata import StreamingDataLoader, StreamingDataset
from litdata.streaming import Cache

from kept.jobs import Tool, jobs_of
from kept.workloads import BATCH, WORKLOADS, Array, Table

DISTRIBUTIONS = ("litdata", "torch", "numpy")


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its numbers as Python has them: those of NumPy would be pickled."""
    return {
        name: value.item() if isinstance(value, np.integer) else value
        for name, value in row.items()
    }


def _stacked(rows: list[dict[str, Any]]) -> dict[str, Any]:
    batch: dict[str, Any] = {}
    for name, first in rows[0].items():
        column = [row[name] for row in rows]
        if name == "text":
            batch[name] = [bytes(text) for text in column]
        elif name == "tokens":
            batch[name] = column
        else:
            batch[name] = np.array(column) if isinstance(first, int) else np.stack(column)
    return batch


def _elements(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The samples as they are, but for text, which comes as a view into the chunk."""
    if "text" in rows[0]:
        for row in rows:
            row["text"] = bytes(row["text"])
    return rows


class LitData(Tool):
    """Chunks of 64 MB, as its documentation has them."""

    name = "litdata"
    rows_at_most = 100_000
    chunk_bytes = "64MB"

    def write_rows(self, rows: Iterator[dict[str, Any]], like: Table, folder: Path) -> None:
        cache = Cache(str(folder), chunk_bytes=self.chunk_bytes)
        for number, row in enumerate(rows):
            cache[number] = _plain(row)
        cache.done()
        cache.merge()

    def elements(self, folder: Path, workload: str) -> Iterable[Any]:
        data = StreamingDataset(str(folder))
        for rows in StreamingDataLoader(data, batch_size=BATCH, collate_fn=_elements):
            yield from rows

    def batches(self, folder: Path, workload: str) -> Iterable[Any]:
        data = StreamingDataset(str(folder))
        return StreamingDataLoader(data, batch_size=BATCH, collate_fn=_stacked)

    def singles(self, folder: Path, workload: str, numbers: Array) -> Iterable[Any]:
        # By default the neighbours of a sample are decoded with it, 256 at a time.
        data = StreamingDataset(str(folder), batch_decode=0)
        return (_elements([data[number]])[0] for number in numbers.tolist())


class LitDataOneChunk(LitData):
    """Everything in one chunk: the only layout in which its shuffle reaches every sample."""

    name = "litdata_one_chunk"
    chunk_bytes = "2GB"

    def shuffled(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        data = StreamingDataset(
            str(folder), shuffle=True, seed=seed, item_shuffle_window="full", batch_decode=0
        )
        return StreamingDataLoader(data, batch_size=BATCH, collate_fn=_stacked)


KEPT = jobs_of(LitData())
KEPT_ONE_CHUNK = jobs_of(LitDataOneChunk())

NOTES = {
    f"{workload} {job}": note
    for workload in WORKLOADS
    for job, note in {
        "elements": "batches of samples from its loader, given one by one",
        "shuffled": "one chunk with all samples, in which its shuffle is a true one",
        "write from a generator": "its Cache, in this process, rather than optimize",
    }.items()
}
