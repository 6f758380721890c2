"""Hugging Face ``datasets``: ``map``, which keeps its result in an Arrow file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
from datasets import Dataset, Features, List, Value

from jpegs.images import BATCH, SIDE, decode, labels, paths
from jpegs.jobs import JpegTool, jpeg_jobs

DISTRIBUTIONS = ("datasets", "pyarrow", "numpy", "pillow")

datasets.disable_progress_bars()

# Flat: nested lists, which its Array3D makes, take a third more on disk and longer to read.
_FEATURES = Features(
    {"image": List(Value("float32"), length=SIDE * SIDE * 3), "label": Value("int64")}
)


def _element(row: dict[str, Any]) -> dict[str, Any]:
    return {"image": decode(row["path"]).reshape(-1), "label": row["label"]}


class HuggingFace(JpegTool):
    name = "huggingface"

    def without(self, n: int, threads: int) -> Iterator[Any]:
        files = Dataset.from_dict({"path": paths(n), "label": labels(n)})
        stream = files.to_iterable_dataset().map(_shaped, remove_columns=["path"])
        return iter(stream)

    def first(self, n: int, threads: int, folder: Path) -> Iterator[Any]:
        files = Dataset.from_dict({"path": paths(n), "label": labels(n)})
        files.map(
            _element,
            remove_columns=["path"],
            features=_FEATURES,
            cache_file_name=str(folder / "kept.arrow"),
            writer_batch_size=100,
        )
        yield from self.elements(n, folder)

    def elements(self, n: int, folder: Path) -> Iterator[Any]:
        for batch in self.batches(n, folder):
            for number in range(len(batch["label"])):
                yield {name: rows[number] for name, rows in batch.items()}

    def batches(self, n: int, folder: Path) -> Iterable[Any]:
        kept = Dataset.from_file(str(folder / "kept.arrow")).with_format("arrow")
        return map(_arrays, kept.iter(BATCH))


def _shaped(row: dict[str, Any]) -> dict[str, Any]:
    return {"image": decode(row["path"]), "label": row["label"]}


def _arrays(found: pa.Table) -> dict[str, Any]:
    image = found["image"].combine_chunks().flatten().to_numpy()
    return {"image": image.reshape(-1, SIDE, SIDE, 3), "label": found["label"].to_numpy()}


KEPT = jpeg_jobs(HuggingFace(), threads=(1,))

NOTES = {
    "W6 first epoch": "map, which keeps all elements, and then reads them",
    "W6 later elements": "its format arrow, in batches of 32, taken apart by the consumer",
    "W6 later batches": "its format arrow",
}
