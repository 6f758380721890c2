"""What images are like: their edges, their patches, and how far one is from another."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.functions.windows import windows
from keepset.tf.image.pixels import converted, image_of, numbers_of
from keepset.tf.tensors.conversion import dtype_of, ints_of, value_of
from keepset.tf.tensors.dtype import as_dtype
from keepset.tf.tensors.quiet import quietly
from keepset.tf.tensors.tensor import Tensor, wrapped

_AXES = (-3, -2, -1)


def per_image_standardization(image: Any) -> Tensor:
    """Images with a mean of 0 and a deviation of 1, as float32; those of one color become 0."""
    pixels = image_of(numbers_of(image)).astype(np.float32)
    count = np.float32(np.prod(pixels.shape[-3:]))
    mean = pixels.mean(_AXES, dtype=np.float64, keepdims=True).astype(np.float32)
    deviation = pixels.std(_AXES, dtype=np.float64, keepdims=True).astype(np.float32)
    return wrapped((pixels - mean) / np.maximum(deviation, 1 / np.sqrt(count)))


def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """How much pixels differ from those below and from those to the right, in a batch."""
    pixels = _batch(image)
    down, right = np.zeros_like(pixels), np.zeros_like(pixels)
    down[:, :-1] = pixels[:, 1:] - pixels[:, :-1]
    right[:, :, :-1] = pixels[:, :, 1:] - pixels[:, :, :-1]
    return Tensor(down), Tensor(right)


def sobel_edges(image: Any) -> Tensor:
    """The edges of a batch of images by Sobel: down and to the right, in a last dimension."""
    pixels = _batch(image)
    if not dtype_of(pixels).is_floating:
        raise InvalidArgumentError(
            f"edges are computed in floats, not in {dtype_of(pixels).name}; "
            "use tf.image.convert_image_dtype(image, tf.float32)"
        )
    wide = np.pad(pixels, [(0, 0), (1, 1), (1, 1), (0, 0)], mode="reflect")
    across = wide[:, :, :-2] + 2 * wide[:, :, 1:-1] + wide[:, :, 2:]
    along = wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]
    down, right = across[:, 2:] - across[:, :-2], along[:, :, 2:] - along[:, :, :-2]
    return wrapped(np.stack([down, right], axis=-1))


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """The sum of how much pixels differ from those next to them, for each image."""
    pixels = image_of(images)
    if pixels.dtype.kind not in "ifcV":
        raise DtypeError(
            f"differences have signs, which {dtype_of(pixels).name} has not; "
            "use tf.image.convert_image_dtype(image, tf.float32)"
        )
    down = np.abs(np.diff(pixels, axis=-3)).sum(_AXES, dtype=pixels.dtype)
    right = np.abs(np.diff(pixels, axis=-2)).sum(_AXES, dtype=pixels.dtype)
    return wrapped(down + right)


def extract_patches(
    images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """The patches of a batch of images, each with its pixels in the last dimension.

    Args:
        images: A batch of images.
        sizes: The height and width of a patch, as in ``[1, 3, 3, 1]``.
        strides: How far patches are apart, in the same manner.
        rates: How far the pixels of a patch are apart, in the same manner.
        padding: ``VALID``, or ``SAME`` for patches that reach over the edges, with zeros there.
    """
    pixels = _batch(images)
    (height, width), (down, right), (far, wide) = (
        _inner(name, each)
        for name, each in (("sizes", sizes), ("strides", strides), ("rates", rates))
    )
    seen = windows(pixels, (height, width), (down, right), (far, wide), padding)
    picked = seen.transpose(0, 1, 2, 4, 5, 3)
    return wrapped(picked.reshape(*picked.shape[:3], -1))


def _inner(name: str, given: Any) -> tuple[int, int]:
    numbers = ints_of(given)
    if len(numbers) != 4 or numbers[0] != 1 or numbers[3] != 1 or min(numbers) < 1:
        raise InvalidArgumentError(f"{name} must be [1, rows, columns, 1], not {given!r:.60}")
    return numbers[1], numbers[2]


@quietly
def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """The peak signal to noise ratio of two images, in decibels."""
    first, second = (numbers_of(each) for each in (a, b))
    float32 = as_dtype("float32")
    most = converted(value_of(max_val, None).astype(first.dtype), float32)
    one, two = converted(first, float32), converted(second, float32)
    if one.shape[-3:] != two.shape[-3:] or np.ndim(one) < 3:
        raise InvalidArgumentError(f"images of one size are needed: {one.shape} and {two.shape}")
    error = np.mean((one - two) ** 2, axis=_AXES, dtype=np.float64)
    found = 20 * np.log10(np.float64(most)) - 10 * np.log10(error)
    return wrapped(np.asarray(found).astype(np.float32))


def _batch(image: Any) -> Any:
    value = value_of(image)
    if np.ndim(value) != 4:
        raise InvalidArgumentError(
            f"a batch of images has 4 dimensions, not those of {list(np.shape(value))}; "
            "use tf.expand_dims(image, 0)"
        )
    if value.dtype.kind in "Ob":
        raise DtypeError(f"images are of numbers, not of {dtype_of(value).name}")
    return value


__all__ = [
    "extract_patches",
    "image_gradients",
    "per_image_standardization",
    "psnr",
    "sobel_edges",
    "total_variation",
]
