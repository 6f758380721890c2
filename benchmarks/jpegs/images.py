"""The JPEG files, and what is made of each."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from kept.workloads import SEED, data_folder
from PIL import Image

SIDE = 224
BATCH = 32
_FILE_SIDE = 256
_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
_SPREAD = np.array([0.229, 0.224, 0.225], np.float32)


def paths(n: int) -> list[str]:
    """The first files, which are made if they are not there."""
    folder = data_folder() / "W6" / "files"
    folder.mkdir(parents=True, exist_ok=True)
    found = [folder / f"{number:05d}.jpg" for number in range(n)]
    for number, path in enumerate(found):
        if not path.exists():
            _make(number, path)
    return [str(path) for path in found]


def _make(number: int, path: Path) -> None:
    """Smooth shapes with grain on them, about 20 KB as a JPEG file."""
    generator = np.random.default_rng((SEED, number))
    coarse = Image.fromarray(generator.integers(0, 256, (16, 16, 3), dtype=np.uint8))
    smooth = np.asarray(coarse.resize((_FILE_SIDE, _FILE_SIDE), Image.Resampling.BICUBIC))
    noise = generator.integers(-12, 13, smooth.shape, dtype=np.int16)
    picture = Image.fromarray((smooth + noise).clip(0, 255).astype(np.uint8))
    unfinished = path.with_suffix(".unfinished")
    picture.save(unfinished, "JPEG", quality=90)
    unfinished.rename(path)


def decode(path: str | bytes) -> np.ndarray[Any, Any]:
    """The expensive part: read, decode, resize, normalise."""
    with Image.open(path.decode() if isinstance(path, bytes) else path) as file:
        small = file.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    pixels = np.asarray(small, np.float32) / np.float32(255)
    return (pixels - _MEAN) / _SPREAD


@lru_cache(maxsize=1)
def labels(n: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(SEED).integers(0, 1000, n)
