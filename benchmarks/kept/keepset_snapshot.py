"""Keepset: saved data sets, read through the pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import keepset as ks
from kept.codecs import CODECS, codec_jobs
from kept.jobs import SMALL, Tool, jobs_of
from kept.workloads import BATCH, BUFFER, Array, Jagged, Table

# Opened once, as one does before the first of many epochs.
load = lru_cache(maxsize=8)(ks.load)

DISTRIBUTIONS = ("keepset", "numpy", "pyarrow")


class Keepset(Tool):
    name = "keepset"
    copies = False
    durable = True

    def __init__(self, compression: str | None = None) -> None:
        self._compression = compression
        if compression is not None:
            self.name = f"keepset {compression.lower()}"
            self.copies = True

    def write_arrays(self, data: Table, folder: Path, workload: str) -> None:
        columns = {
            name: ks.Ragged(c.values, c.offsets) if isinstance(c, Jagged) and not c.is_text else c
            for name, c in data.columns.items()
        }
        if any(isinstance(column, Jagged) for column in columns.values()):
            texts = {n: c for n, c in columns.items() if isinstance(c, Jagged)}
            columns |= {name: _objects(column) for name, column in texts.items()}
        ks.Dataset.from_tensor_slices(columns).save(folder, self._compression)

    def write_rows(self, rows: Iterator[dict[str, Any]], like: Table, folder: Path) -> None:
        ks.Dataset.from_generator(lambda: rows).save(folder, self._compression)

    def elements(self, folder: Path, workload: str) -> Iterable[Any]:
        return load(folder)

    def batches(self, folder: Path, workload: str) -> Iterable[Any]:
        return _batched(load(folder), workload)

    def own_elements(self, folder: Path, workload: str) -> Iterable[Any]:
        if workload in SMALL:
            return load(folder, writable=True)
        return super().own_elements(folder, workload)

    def shuffled(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        return _batched(load(folder).shuffle(ks.GLOBAL, seed=seed), workload)

    def buffered(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        return _batched(load(folder).shuffle(BUFFER, seed=seed), workload)

    def singles(self, folder: Path, workload: str, numbers: Array) -> Iterable[Any]:
        ds = load(folder)
        return (ds[number] for number in numbers.tolist())


def _batched(ds: ks.Dataset, workload: str) -> ks.Dataset:
    return ds.ragged_batch(BATCH) if workload == "W3t" else ds.batch(BATCH)


def _objects(texts: Jagged) -> Array:
    whole, ends = texts.values.tobytes(), texts.offsets.tolist()
    column = np.empty(len(texts), object)
    column[:] = [whole[start:stop] for start, stop in pairwise(ends)]
    return column


KEPT = jobs_of(Keepset()) | codec_jobs({codec: Keepset(codec.upper()) for codec in CODECS})
