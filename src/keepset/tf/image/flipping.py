"""Images that are flipped and turned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.image.pixels import image_of
from keepset.tf.random import stateful, stateless
from keepset.tf.tensors.conversion import value_of
from keepset.tf.tensors.tensor import Tensor, wrapped

_ROWS, _COLUMNS = -3, -2


def flip_left_right(image: Any) -> Tensor:
    """Images whose columns are in reverse order."""
    return wrapped(np.flip(image_of(image), _COLUMNS))


def flip_up_down(image: Any) -> Tensor:
    """Images whose rows are in reverse order."""
    return wrapped(np.flip(image_of(image), _ROWS))


def transpose(image: Any, name: str | None = None) -> Tensor:
    """Images whose rows are columns."""
    return wrapped(np.swapaxes(image_of(image), _ROWS, _COLUMNS))


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """Images that are turned to the left, ``k`` times by 90 degrees."""
    times = value_of(k, "int32")
    if np.ndim(times):
        raise InvalidArgumentError(f"k must be a single number, not {times!r:.60}")
    return wrapped(np.rot90(image_of(image), int(times), (_ROWS, _COLUMNS)))


def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Flipped or not, at random; in a batch each image by itself."""
    return _flipped(image, _COLUMNS, lambda shape: stateful.uniform(shape, 0, 1.0, seed=seed))


def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """Flipped or not, at random; in a batch each image by itself."""
    return _flipped(image, _ROWS, lambda shape: stateful.uniform(shape, 0, 1.0, seed=seed))


def stateless_random_flip_left_right(image: Any, seed: Any) -> Tensor:
    """Flipped or not, as TensorFlow does for the same seed of two numbers."""
    return _flipped(image, _COLUMNS, lambda shape: stateless.stateless_uniform(shape, seed))


def stateless_random_flip_up_down(image: Any, seed: Any) -> Tensor:
    """Flipped or not, as TensorFlow does for the same seed of two numbers."""
    return _flipped(image, _ROWS, lambda shape: stateless.stateless_uniform(shape, seed))


def _flipped(image: Any, axis: int, draw: Callable[[list[int]], Tensor]) -> Tensor:
    pixels = image_of(image)
    if pixels.ndim == 3:
        return wrapped(np.flip(pixels, axis) if draw([]).numpy() < 0.5 else pixels)
    is_flipped = draw([len(pixels)]).numpy() > 0.5
    return wrapped(np.where(is_flipped[:, None, None, None], np.flip(pixels, axis), pixels))


__all__ = [
    "flip_left_right",
    "flip_up_down",
    "random_flip_left_right",
    "random_flip_up_down",
    "rot90",
    "stateless_random_flip_left_right",
    "stateless_random_flip_up_down",
    "transpose",
]
