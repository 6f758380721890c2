"""The main job in one page: preprocess images, train on them, stop, go on, and use more cores.

Run it with ``make demo``. The images are made up, the work on them is real.
"""

from __future__ import annotations

import json
import time

import numpy as np

import keepset as ks

COUNT, SIZE = 1200, 96


def make_image(index: np.int64) -> dict[str, object]:
    """Stand in for reading a file: stripes whose direction is the label."""
    label = int(index) % 4
    grid = np.add.outer(np.arange(SIZE) * (label + 1), np.arange(SIZE) * (4 - label))
    return {"image": (grid % 256).astype(np.uint8)[..., None].repeat(3, axis=-1), "label": label}


def preprocess(element: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Blur and normalise: about a millisecond of NumPy."""
    image = element["image"].astype(np.float32)
    for axis in (0, 1):
        image = (np.roll(image, 1, axis) + image + np.roll(image, -1, axis)) / 3
    image = (image - image.mean()) / (image.std() + 1e-6)
    return {"image": image.astype(np.float32), "label": element["label"]}


def augment(element: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Flip half of the images; which ones depends on the seed, the epoch and the position."""
    image = element["image"][:, ::-1] if rng.random() < 0.5 else element["image"]
    return {"image": image, "label": element["label"]}


def train(batches: ks.DatasetIterator | ks.Dataset) -> tuple[int, float]:
    """Pretend to train: count images and add up what was seen."""
    images, total = 0, 0.0
    for batch in batches:
        images += len(batch["label"])
        total += float(batch["image"][:, 0, 0, 0].sum())
    return images, total


def main() -> None:
    kept = ks.Dataset.range(COUNT).map(make_image).map(preprocess, num_parallel_calls=2).cache()
    ds = kept.random_map(augment, seed=1).shuffle(200, seed=1).batch(64).prefetch(ks.AUTOTUNE)

    print("The pipeline, the last stage first:\n")
    print(ds.describe())
    print(f"\nelement_spec: {ds.element_spec}\n")

    print(f"{'epoch':<28}{'images':>8}{'seconds':>10}{'images/s':>12}")
    first = 0.0
    for epoch in range(3):
        began = time.perf_counter()
        images, _ = train(ds)
        seconds = time.perf_counter() - began
        first = first or seconds
        how = "computed and kept" if epoch == 0 else f"replayed, {first / seconds:.1f}x"
        print(f"{f'{epoch} ({how})':<28}{images:>8}{seconds:>10.2f}{images / seconds:>12,.0f}")

    print("\nStopped in the middle of an epoch, and resumed from a state:")
    it = iter(ds)
    part = sum(len(next(it)["label"]) for _ in range(7))
    state = json.dumps(it.state())
    rest_of_it = train(it)
    rest_resumed = train(ds.iterate(json.loads(state)))
    print(f"  {part} images, then a state of {len(state)} bytes, then {rest_resumed[0]} images;")
    print(f"  the same ones as without the stop: {rest_of_it == rest_resumed}")


if __name__ == "__main__":
    main()
