"""Keepset: ``snapshot`` behind the map."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import keepset as ks
from jpegs.images import BATCH, decode, labels, paths
from jpegs.jobs import JpegTool, jpeg_jobs

DISTRIBUTIONS = ("keepset", "numpy", "pyarrow", "pillow")


def _element(file: dict[str, Any]) -> dict[str, Any]:
    return {"image": decode(file["path"]), "label": file["label"]}


class Keepset(JpegTool):
    name = "keepset"

    def without(self, n: int, threads: int) -> Iterable[Any]:
        return _decoded(n, threads)

    def first(self, n: int, threads: int, folder: Path) -> Iterator[Any]:
        yield from _decoded(n, threads).snapshot(folder, compression=None)
        # The pass is over only when a reader finds all of it.
        found = len(ks.load(folder))
        if found != n:
            raise RuntimeError(f"{found} of {n} elements are committed at the end of the epoch")

    def elements(self, n: int, folder: Path) -> Iterable[Any]:
        return _kept(n, folder)

    def batches(self, n: int, folder: Path) -> Iterable[Any]:
        return _kept(n, folder).batch(BATCH)


def _decoded(n: int, threads: int) -> ks.Dataset:
    files = ks.Dataset.from_tensor_slices({"path": paths(n), "label": labels(n)})
    return files.map(_element, num_parallel_calls=threads if threads > 1 else None)


@lru_cache(maxsize=2)
def _kept(n: int, folder: Path) -> ks.Dataset:
    # Never computed here: the pipeline finds its snapshot, as in a second run of a script.
    return _decoded(n, 1).snapshot(folder, compression=None, mode="read")


KEPT = jpeg_jobs(Keepset())

NOTES = {name: "no compression; durable at its end" for name in KEPT if "first epoch" in name}
