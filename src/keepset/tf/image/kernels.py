"""Kernels: which old pixels a new one is made of, and how much of each, along one dimension."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

_TABLE = 1024  # TensorFlow rounds the places of its cubic weights to these parts of a pixel
_FLOAT = np.float32


@dataclass(frozen=True)
class Taps:
    """For each new pixel, old ones and their weights, as rows."""

    places: Any
    weights: Any

    def along(self, array: Any, axis: int) -> Any:
        """The new pixels of an array of floats."""
        shape = [1] * array.ndim
        shape[axis] = len(self.places)
        total: Any = _FLOAT(0)
        for place, weight in zip(self.places.T, self.weights.T, strict=True):
            total = total + np.take(array, place, axis=axis) * weight.reshape(shape)
        return total


def centers(old: int, new: int) -> Any:
    """Where the centers of the new pixels lie among the old ones."""
    return (np.arange(new, dtype=_FLOAT) + _FLOAT(0.5)) * (_FLOAT(old) / _FLOAT(new))


def cubic(old: int, new: int) -> Taps:
    """Four pixels by Keys' cubic, as without antialiasing."""
    at = centers(old, new) - _FLOAT(0.5)
    low = np.floor(at)
    share = np.rint((at - low) * _TABLE).astype(_FLOAT) / _FLOAT(_TABLE)
    wanted = low.astype(int)[:, None] + np.arange(-1, 3)
    distance = np.abs(share[:, None] - np.arange(-1, 3, dtype=_FLOAT))
    places = np.clip(wanted, 0, old - 1)
    weights = np.where(places == wanted, _keys(distance), _FLOAT(0))
    return Taps(places, _normal(weights))


def area(old: int, new: int) -> Taps:
    """All pixels that lie in the new one, by how much of them does."""
    scale = _FLOAT(old) / _FLOAT(new)
    start = np.arange(new, dtype=_FLOAT) * scale
    end = np.arange(1, new + 1, dtype=_FLOAT) * scale
    first = np.floor(start)
    width = int(np.max(np.ceil(end) - first))
    wanted = first[:, None] + np.arange(width, dtype=_FLOAT)
    inside = np.minimum(wanted + 1, end[:, None]) - np.maximum(wanted, start[:, None])
    # An old pixel that is larger than the new one counts fully, without the rounding of its ends.
    is_larger = (wanted < start[:, None]) & (wanted + 1 > end[:, None])
    inside = np.where(is_larger, scale, inside)
    weights = np.maximum(inside, _FLOAT(0)) / scale
    return Taps(np.clip(wanted, 0, old - 1).astype(int), weights.astype(_FLOAT))


def sampled(name: str, old: int, new: int, antialias: bool) -> Taps:
    """The pixels within the radius of a kernel, which is as wide as a new pixel if antialiased."""
    radius, kernel = _KERNELS[name]
    inverse = _FLOAT(1) / (_FLOAT(new) / _FLOAT(old))
    scale = max(inverse, _FLOAT(1)) if antialias else _FLOAT(1)
    at = (np.arange(new, dtype=_FLOAT) + _FLOAT(0.5)) * inverse
    reach = _FLOAT(radius) * scale
    first = np.clip(np.ceil(at - reach - _FLOAT(0.5)), 0, old - 1).astype(int)
    last = np.clip(np.floor(at + reach - _FLOAT(0.5)), 0, old - 1).astype(int)
    wanted = first[:, None] + np.arange(int(np.max(last - first)) + 1)
    distance = np.abs((wanted.astype(_FLOAT) + _FLOAT(0.5) - at[:, None]) * (_FLOAT(1) / scale))
    weights = np.where(wanted <= last[:, None], kernel(distance), _FLOAT(0)).astype(_FLOAT)
    return Taps(np.minimum(wanted, old - 1), _normal(weights))


def _normal(weights: Any) -> Any:
    total = weights.sum(1, keepdims=True)
    has_any = np.abs(total) >= 1000 * np.finfo(_FLOAT).tiny
    return np.where(has_any, weights / np.where(has_any, total, 1), _FLOAT(0)).astype(_FLOAT)


def _lanczos(radius: int) -> Callable[[Any], Any]:
    def kernel(x: Any) -> Any:
        return np.where(x > radius, 0, np.sinc(x) * np.sinc(x / _FLOAT(radius)))

    return kernel


def _keys(x: Any) -> Any:
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x >= 2, 0, np.where(x >= 1, far, (1.5 * x - 2.5) * x * x + 1)).astype(_FLOAT)


def _mitchell(x: Any) -> Any:
    far = ((-7 / 18 * x + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x >= 2, 0, np.where(x >= 1, far, (7 / 6 * x - 2) * x * x + 8 / 9))


def _gaussian(x: Any) -> Any:
    return np.where(x >= 1.5, 0, np.exp(-2 * x * x))


def _triangle(x: Any) -> Any:
    return np.maximum(1 - x, 0)


_KERNELS: dict[str, tuple[float, Callable[[Any], Any]]] = {
    "bilinear": (1, _triangle),
    "bicubic": (2, _keys),
    "lanczos3": (3, _lanczos(3)),
    "lanczos5": (5, _lanczos(5)),
    "gaussian": (1.5, _gaussian),
    "mitchellcubic": (2, _mitchell),
}
SAMPLED = frozenset(_KERNELS)
