"""TensorFlow, on its own files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

# Before the import, or it tells about the machine on standard error.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

from foreign.files import BATCH, WIDTH, path_of, rows

DISTRIBUTIONS = ("tensorflow", "numpy")
Start = Callable[[], Iterator[Any]]

NUMBERS = {
    "x": tf.io.FixedLenFeature([32], tf.float32),
    "y": tf.io.FixedLenFeature([], tf.int64),
}
TEXTS = {
    "text": tf.io.FixedLenFeature([], tf.string),
    "label": tf.io.FixedLenFeature([], tf.int64),
}
TOKENS = {
    "tokens": tf.io.RaggedFeature(tf.int64),
    "label": tf.io.FixedLenFeature([], tf.int64),
}
WIDE = {f"feature_{n:02d}": tf.io.FixedLenFeature([], tf.float32) for n in range(WIDTH)}


def _reading(open_: Callable[[], Iterable[Any]], size: int = BATCH) -> Callable[[int], Start]:
    return lambda n: lambda: islice(iter(open_()), -(-n // size))


def _save(kind: str, compression: str = "", batch: bool = True) -> Iterable[Any]:
    ds = tf.data.Dataset.load(str(path_of(kind, "save", compression)), compression=compression)
    ds = ds.batch(BATCH) if batch else ds
    return ds.prefetch(tf.data.AUTOTUNE).as_numpy_iterator()


def _records(kind: str, compression: str = "") -> tf.data.Dataset:
    return tf.data.TFRecordDataset(str(path_of(kind, "tfrecord", compression)), compression)


def _scanned(compression: str = "") -> Iterable[Any]:
    ds = _records("numbers", compression).batch(BATCH).prefetch(tf.data.AUTOTUNE)
    return ds.as_numpy_iterator()


def _parsed(kind: str, features: Any, compression: str = "") -> tf.data.Dataset:
    def parse(batch: Any) -> Any:
        return tf.io.parse_example(batch, features)

    ds = _records(kind, compression).batch(BATCH).map(parse, tf.data.AUTOTUNE)
    return ds.prefetch(tf.data.AUTOTUNE)


def _tokens() -> Iterator[Any]:
    for batch in _parsed("tokens", TOKENS):
        yield {"tokens": batch["tokens"].flat_values.numpy(), "label": batch["label"].numpy()}


def _examples(kind: str, features: Any, compression: str = "") -> Iterable[Any]:
    return _parsed(kind, features, compression).as_numpy_iterator()


def _writing(compression: str) -> Callable[[int], Start]:
    def build(n: int) -> Start:
        records = [tf.io.serialize_tensor(row["x"]).numpy() for row in islice(rows("numbers"), n)]

        def start() -> Iterator[Any]:
            with (
                tempfile.TemporaryDirectory() as folder,
                tf.io.TFRecordWriter(f"{folder}/f", compression) as writer,
            ):
                for record in records:
                    writer.write(record)
            yield n

        return start

    return build


FILES: dict[str, Callable[[int], Start]] = {
    "save, elements": _reading(lambda: _save("numbers", batch=False), 1),
    "save, batches": _reading(lambda: _save("numbers")),
    "save of images, batches": _reading(lambda: _save("images")),
    "save, GZIP, batches": _reading(lambda: _save("numbers", "GZIP")),
    "save, SNAPPY, batches": _reading(lambda: _save("numbers", "SNAPPY")),
    "records, scanned": _reading(_scanned),
    "records, GZIP, scanned": _reading(lambda: _scanned("GZIP")),
    "examples of numbers": _reading(lambda: _examples("numbers", NUMBERS)),
    "examples of numbers, GZIP": _reading(lambda: _examples("numbers", NUMBERS, "GZIP")),
    "examples of texts": _reading(lambda: _examples("texts", TEXTS)),
    "examples of token lists": _reading(_tokens),
    "examples of 50 features": _reading(lambda: _examples("wide", WIDE)),
    "write records": _writing(""),
    "write records, GZIP": _writing("GZIP"),
}
NOTES = {"write records": "not durable when it returns; Keepset's file is"}
