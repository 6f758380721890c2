"""TensorFlow: ``snapshot`` and ``cache`` in a file, behind a map that calls Python."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

# Before the import, or it tells about the machine on standard error.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

from jpegs.images import BATCH, SIDE, decode, labels, paths
from jpegs.jobs import JpegTool, jpeg_jobs

DISTRIBUTIONS = ("tensorflow", "numpy", "pillow")


def _element(path: Any, label: Any) -> dict[str, Any]:
    image = tf.numpy_function(decode, [path], tf.float32)
    return {"image": tf.ensure_shape(image, (SIDE, SIDE, 3)), "label": label}


def _decoded(n: int, threads: int) -> tf.data.Dataset:
    files = tf.data.Dataset.from_tensor_slices((paths(n), labels(n)))
    return files.map(_element, num_parallel_calls=threads if threads > 1 else None)


class Cache(JpegTool):
    name = "tensorflow_cache"

    def keep(self, elements: tf.data.Dataset, folder: Path) -> tf.data.Dataset:
        return elements.cache(str(folder / "cache"))

    def without(self, n: int, threads: int) -> Iterable[Any]:
        return _decoded(n, threads).prefetch(tf.data.AUTOTUNE).as_numpy_iterator()

    def first(self, n: int, threads: int, folder: Path) -> Iterable[Any]:
        kept = self.keep(_decoded(n, threads), folder)
        return kept.prefetch(tf.data.AUTOTUNE).as_numpy_iterator()

    def elements(self, n: int, folder: Path) -> Iterable[Any]:
        return self.first(n, 1, folder)

    def batches(self, n: int, folder: Path) -> Iterable[Any]:
        kept = self.keep(_decoded(n, 1), folder).batch(BATCH)
        return kept.prefetch(tf.data.AUTOTUNE).as_numpy_iterator()


class Snapshot(Cache):
    """Without compression: with SNAPPY, its default, it cannot read elements of this size."""

    name = "tensorflow_snapshot"

    def keep(self, elements: tf.data.Dataset, folder: Path) -> tf.data.Dataset:
        # By default elements go to shards at random, and their order is lost.
        return elements.snapshot(
            str(folder / "snapshot"), compression=None, shard_func=lambda _: tf.zeros((), tf.int64)
        )


KEPT_CACHE = jpeg_jobs(Cache())
KEPT_SNAPSHOT = jpeg_jobs(Snapshot())
