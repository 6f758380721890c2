"""NumPy by hand: images appended to a file as they are computed, and mapped later."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from jpegs.images import BATCH, SIDE, decode, labels, paths
from jpegs.jobs import JpegTool, jpeg_jobs

DISTRIBUTIONS = ("numpy", "pillow")


class NumpyByHand(JpegTool):
    name = "numpy"

    def without(self, n: int, threads: int) -> Iterator[Any]:
        for image, label in zip(_images(n, threads), labels(n), strict=True):
            yield {"image": image, "label": label}

    def first(self, n: int, threads: int, folder: Path) -> Iterator[Any]:
        with (folder / "images").open("wb") as file:
            for element in self.without(n, threads):
                file.write(element["image"].data)
                yield element
        np.save(folder / "labels.npy", labels(n))

    def elements(self, n: int, folder: Path) -> Iterable[Any]:
        images, kept_labels = _opened(folder)
        for image, label in zip(images, kept_labels, strict=True):
            yield {"image": image, "label": label}

    def batches(self, n: int, folder: Path) -> Iterable[Any]:
        images, kept_labels = _opened(folder)
        for first in range(0, n, BATCH):
            last = first + BATCH
            yield {"image": images[first:last], "label": kept_labels[first:last]}


def _images(n: int, threads: int) -> Iterator[Any]:
    if threads == 1:
        yield from map(decode, paths(n))
        return
    with ThreadPoolExecutor(threads) as pool:
        ahead: deque[Future[Any]] = deque()
        for path in paths(n):
            ahead.append(pool.submit(decode, path))
            if len(ahead) > 2 * threads:
                yield ahead.popleft().result()
        for future in ahead:
            yield future.result()


def _opened(folder: Path) -> tuple[Any, Any]:
    # A plain array over the map: memmap's own class makes every slice several times as slow.
    flat = np.memmap(folder / "images", np.float32, "r").view(np.ndarray)
    return flat.reshape(-1, SIDE, SIDE, 3), np.load(folder / "labels.npy")


KEPT = jpeg_jobs(NumpyByHand())

NOTES = {name: "not durable at its end" for name in KEPT if "first epoch" in name}
