"""How alike images are: the structural similarity of parts of them, at one scale or several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.image.pixels import convert_image_dtype
from keepset.tf.tensors.conversion import Value, as_value, value_of
from keepset.tf.tensors.tensor import Tensor

# What the scales count, as measured by the authors of the method.
_POWERS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """The structural similarity of images, from -1 to 1: a number for each pair of them.

    With ``return_index_map``, one for each pixel that is not too near to the edge.
    """
    one, two, most = _images(img1, img2, max_val)
    measure = _Measure(most, filter_size, filter_sigma, k1, k2)
    measure.check(one)
    found = measure(one, two)[0].mean(-1)
    return Tensor(as_value(found if return_index_map else found.mean((-2, -1))))


def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Sequence[float] = _POWERS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """As ``ssim``, of images that are made half as large several times."""
    one, two, most = _images(img1, img2, max_val)
    measure = _Measure(most, filter_size, filter_sigma, k1, k2)
    product = np.float32(1)
    for scale, power in enumerate(power_factors):
        if scale:
            one, two = _halved(one), _halved(two)
        measure.check(one)
        whole, contrast = measure(one, two)
        part = whole if scale == len(power_factors) - 1 else contrast
        product = product * np.maximum(part.mean((-3, -2)), 0) ** np.float32(power)
    return Tensor(as_value(np.asarray(product).mean(-1)))


class _Measure:
    """Compares images part by part, whose pixels count the less the farther from its middle."""

    def __init__(self, most: Value, size: int, sigma: float, k1: float, k2: float) -> None:
        self._size = size
        self._first, self._second = (k1 * most) ** 2, (k2 * most) ** 2
        places = np.arange(size, dtype=np.float32) - np.float32((size - 1) / 2)
        weights = np.exp(places**2 * np.float32(-0.5 / sigma**2))
        self._weights = weights / weights.sum()

    def check(self, image: Value) -> None:
        if min(image.shape[-3:-1]) < self._size:
            raise InvalidArgumentError(
                f"images of {image.shape[-3:-1]} pixels are smaller than filter_size, which is "
                f"{self._size}; make them larger, or pass a smaller filter_size"
            )

    def __call__(self, one: Value, two: Value) -> tuple[Value, Value]:
        """For each part the similarity, and the part of it that is that of contrasts."""
        mean, other = self._blurred(one), self._blurred(two)
        product, squares = mean * other * 2, mean**2 + other**2
        light = (product + self._first) / (squares + self._first)
        both = self._blurred(one * two) * 2
        each = self._blurred(one**2 + two**2)
        contrast = (both - product + self._second) / (each - squares + self._second)
        return light * contrast, contrast

    def _blurred(self, image: Value) -> Value:
        for axis in (-3, -2):
            count = image.shape[axis] - self._size + 1
            rows = np.moveaxis(image, axis, 0)
            made = sum(rows[n : n + count] * weight for n, weight in enumerate(self._weights))
            image = np.moveaxis(np.asarray(made), 0, axis)
        return image


def _halved(image: Value) -> Value:
    """Each two by two pixels as one; the last row or column of an odd number counts twice."""
    edges = [(0, 0)] * (image.ndim - 3) + [(0, size % 2) for size in image.shape[-3:-1]] + [(0, 0)]
    whole = np.pad(image, edges, "symmetric")
    return (
        whole[..., ::2, ::2, :]
        + whole[..., 1::2, ::2, :]
        + whole[..., ::2, 1::2, :]
        + whole[..., 1::2, 1::2, :]
    ) / np.float32(4)


def _images(img1: Any, img2: Any, max_val: Any) -> tuple[Value, Value, Value]:
    """Two images of floats, and the greatest value of a pixel, at the same scale."""
    one = value_of(img1)
    two = value_of(img2, Tensor(one).dtype)
    if np.ndim(one) < 3:
        raise ValueError(f"Shape {np.shape(one)} must have rank at least 3")
    if one.shape[-3:] != two.shape[-3:]:
        raise ValueError(f"Shapes {one.shape} and {two.shape} are incompatible")
    most = value_of(max_val).astype(one.dtype)
    made = (convert_image_dtype(Tensor(each), "float32")._value for each in (one, two, most))
    first, second, third = made
    return first, second, third


__all__ = ["ssim", "ssim_multiscale"]
