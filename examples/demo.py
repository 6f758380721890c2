"""The main job in one page: preprocess images once, keep them, and train on them many times.

Run it with ``make demo``. The images are made up, the work on them is real, and so is the kill.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import keepset as ks

COUNT, SIZE = 4000, 96
BLURS = 2


def make_image(index: np.int64) -> dict[str, Any]:
    """Stand in for reading a file: noisy stripes whose direction is the label."""
    label = int(index) % 4
    grid = np.add.outer(np.arange(SIZE) * (label + 1), np.arange(SIZE) * (4 - label))
    noise = np.random.default_rng(int(index)).integers(0, 64, (SIZE, SIZE, 3))
    return {"image": ((grid[..., None] + noise) % 256).astype(np.uint8), "label": label}


def preprocess(element: dict[str, Any]) -> dict[str, Any]:
    """Blur and normalise: a few milliseconds of NumPy."""
    image = element["image"].astype(np.float32)
    for _ in range(BLURS):
        for axis in (0, 1):
            image = (np.roll(image, 1, axis) + image + np.roll(image, -1, axis)) / 3
    image = (image - image.mean()) / (image.std() + 1e-6)
    return {"image": image.astype(np.float32), "label": element["label"]}


def augment(element: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Flip half of the images; which ones depends on the seed, the epoch and the position."""
    image = element["image"][:, ::-1] if rng.random() < 0.5 else element["image"]
    return {"image": image, "label": element["label"]}


def images() -> ks.Dataset:
    return ks.Dataset.range(COUNT).map(make_image).map(preprocess)


def epoch(path: str, die_after: int = 0) -> tuple[int, float]:
    """One pass of training: how many images it saw, and in how many seconds."""
    kept = images().snapshot(path)
    ds = kept.random_map(augment, seed=1).batch(50).prefetch(ks.AUTOTUNE)
    seen, began = 0, time.perf_counter()
    for batch in ds:
        seen += len(batch["label"])
        if die_after and seen >= die_after:
            os.kill(os.getpid(), signal.SIGKILL)
    return seen, time.perf_counter() - began


def killed_epoch(path: str) -> int:
    """The same in another process, which is killed half way; how many images are safe on disk."""
    subprocess.run([sys.executable, __file__, path])
    return ks.explain(images(), path).kept_elements


def row(what: str, seen: int, seconds: float) -> str:
    return f"{what:<34}{seen:>8}{seconds:>10.2f}{seen / seconds:>12,.0f}"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "images")
        print("The pipeline, the last stage first:\n")
        print(images().snapshot(path).batch(50).describe())

        print(f"\n{'run':<34}{'images':>8}{'seconds':>10}{'images/s':>12}")
        safe = killed_epoch(path)
        print(f"{'epoch 0, killed at half':<34}{COUNT // 2:>8}   {safe} of them are safe on disk")
        seen, seconds = epoch(path)
        print(row("epoch 0 again, goes on from there", seen, seconds))
        computed_s = seconds / max(seen - safe, 1)
        for number in (1, 2):
            seen, seconds = epoch(path)
            faster = computed_s * seen / seconds
            print(row(f"epoch {number}, replayed", seen, seconds), f"  {faster:.0f}x as fast")

        kept = ks.load(path)
        print(f"\nWhat is kept: {ks.Snapshot(path)}")
        print(f"Any image at once: image 777 has label {kept[777]['label']}")

        print("\nNow somebody edits one line, BLURS = 3. What happens?\n")
        globals()["BLURS"] = 3
        print(ks.explain(images(), path))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        epoch(sys.argv[1], die_after=COUNT // 2)
    else:
        main()
