"""Keepset, on TensorFlow's files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import keepset as ks
from foreign.files import BATCH, WIDTH, path_of, rows

DISTRIBUTIONS = ("keepset", "numpy")
Start = Callable[[], Iterator[Any]]

NUMBERS = {"x": ks.FixedLenFeature([32], "float32"), "y": ks.FixedLenFeature([], "int64")}
TEXTS = {"text": ks.FixedLenFeature([], "string"), "label": ks.FixedLenFeature([], "int64")}
TOKENS = {"tokens": ks.RaggedFeature("int64"), "label": ks.FixedLenFeature([], "int64")}
WIDE = {f"feature_{n:02d}": ks.FixedLenFeature([], "float32") for n in range(WIDTH)}


def _reading(open_: Callable[[], Iterable[Any]], size: int = BATCH) -> Callable[[int], Start]:
    """So many elements, of which each item has ``size``."""
    return lambda n: lambda: islice(iter(open_()), -(-n // size))


def _save(kind: str, compression: str = "") -> ks.Dataset:
    return ks.load(path_of(kind, "save", compression))


def _records(kind: str, compression: str = "") -> ks.Dataset:
    return ks.TFRecordDataset(path_of(kind, "tfrecord", compression))


def _examples(kind: str, features: Any, compression: str = "") -> ks.Dataset:
    return _records(kind, compression).parse_example(features).batch(BATCH)


def _tokens() -> Iterator[Any]:
    for batch in _records("tokens").parse_example(TOKENS).ragged_batch(BATCH):
        yield {"tokens": batch["tokens"].values, "label": batch["label"]}


def _writing(compression: str | None) -> Callable[[int], Start]:
    def build(n: int) -> Start:
        records = [ks.serialize_tensor(row["x"]) for row in islice(rows("numbers"), n)]

        def start() -> Iterator[Any]:
            with (
                tempfile.TemporaryDirectory() as folder,
                ks.TFRecordWriter(f"{folder}/f", compression) as writer,
            ):
                for record in records:
                    writer.write(record)
            yield n

        return start

    return build


FILES: dict[str, Callable[[int], Start]] = {
    "save, elements": _reading(lambda: _save("numbers"), 1),
    "save, batches": _reading(lambda: _save("numbers").batch(BATCH)),
    "save of images, batches": _reading(lambda: _save("images").batch(BATCH)),
    "save, GZIP, batches": _reading(lambda: _save("numbers", "GZIP").batch(BATCH)),
    "save, SNAPPY, batches": _reading(lambda: _save("numbers", "SNAPPY").batch(BATCH)),
    "records, scanned": _reading(lambda: _records("numbers").batch(BATCH)),
    "records, GZIP, scanned": _reading(lambda: _records("numbers", "GZIP").batch(BATCH)),
    "examples of numbers": _reading(lambda: _examples("numbers", NUMBERS)),
    "examples of numbers, GZIP": _reading(lambda: _examples("numbers", NUMBERS, "GZIP")),
    "examples of texts": _reading(lambda: _examples("texts", TEXTS)),
    "examples of token lists": _reading(_tokens),
    "examples of 50 features": _reading(lambda: _examples("wide", WIDE)),
    "write records": _writing(None),
    "write records, GZIP": _writing("GZIP"),
}
NOTES: dict[str, str] = {}
