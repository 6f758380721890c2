"""Parts of images, and images with zeros around them."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.image.pixels import image_of
from keepset.tf.random import stateful, stateless
from keepset.tf.tensors.conversion import Value, int_of, value_of
from keepset.tf.tensors.tensor import Tensor, wrapped

_INT32_MAX = 2**31 - 1


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """The part of images that begins at an offset and has a height and width.

    Example:
        >>> import keepset.tf as tf
        >>> image = tf.reshape(tf.range(9), [3, 3, 1])
        >>> tf.image.crop_to_bounding_box(image, 1, 0, 2, 2).numpy()[..., 0].tolist()
        [[3, 4], [6, 7]]
    """
    pixels = image_of(image)
    box = [int_of(each) for each in (offset_height, offset_width, target_height, target_width)]
    return wrapped(_cropped(pixels, *box))


def _cropped(pixels: Value, top: int, left: int, height: int, width: int) -> Value:
    sizes = pixels.shape[-3:-1]
    if min(top, left) < 0 or min(height, width) <= 0:
        raise InvalidArgumentError(
            f"offsets must be >= 0 and targets > 0, not {top}, {left} and {height}, {width}"
        )
    if top + height > sizes[0] or left + width > sizes[1]:
        raise InvalidArgumentError(
            f"height and width must be >= target + offset: the image has {sizes}, and the box goes "
            f"down to {top + height} and right to {left + width}; use resize_with_crop_or_pad"
        )
    return pixels[..., top : top + height, left : left + width, :]


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Images at an offset in larger ones of zeros."""
    pixels = image_of(image)
    box = [int_of(each) for each in (offset_height, offset_width, target_height, target_width)]
    return wrapped(_padded(pixels, *box))


def _padded(pixels: Value, top: int, left: int, height: int, width: int) -> Value:
    sizes = pixels.shape[-3:-1]
    below, right = height - top - sizes[0], width - left - sizes[1]
    if min(top, left) < 0:
        raise InvalidArgumentError(f"offsets must be >= 0, not {top}, {left}")
    if min(below, right) < 0:
        raise InvalidArgumentError(
            f"height and width must be <= target - offset: the image has {sizes}, and there is "
            f"room for {height - top} and {width - left}; use resize_with_crop_or_pad"
        )
    batch = [(0, 0)] * (pixels.ndim - 3)
    filler: Any = b"" if pixels.dtype == object else 0
    widths = [*batch, (top, below), (left, right), (0, 0)]
    return np.pad(pixels, widths, constant_values=filler)


def resize_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Images of another size: their middle, or with zeros around them."""
    pixels = image_of(image)
    target = int_of(target_height), int_of(target_width)
    if min(target) <= 0:
        raise InvalidArgumentError(f"target_height and target_width must be > 0, not {target}")
    old = pixels.shape[-3:-1]
    more = [new - size for new, size in zip(target, old, strict=True)]
    inner = min(target[0], old[0]), min(target[1], old[1])
    top, left = (max(-each // 2, 0) for each in more)
    above, before = (max(each // 2, 0) for each in more)
    return wrapped(_padded(_cropped(pixels, top, left, *inner), above, before, *target))


def central_crop(image: Any, central_fraction: Any) -> Tensor:
    """The middle of images: a fraction of their height and of their width."""
    pixels = image_of(image)
    # A tensor's number is narrower than one of Python's, and so is what TensorFlow computes.
    is_own = isinstance(central_fraction, float | int)
    fraction = central_fraction if is_own else value_of(central_fraction)
    if not 0 < fraction <= 1:
        raise InvalidArgumentError(f"central_fraction must be within (0, 1], not {fraction}")
    height, width = pixels.shape[-3:-1]
    top, left = (int((size - size * fraction) / 2) for size in (height, width))
    return wrapped(pixels[..., top : height - top, left : width - left, :])


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """A part of a tensor, of a size for each of its dimensions, at a random place."""
    array, sizes = _with_sizes(value, size)
    places = stateful.uniform([array.ndim], 0, _INT32_MAX, "int32", seed)
    return _part(array, sizes, places)


def stateless_random_crop(value: Any, size: Any, seed: Any, name: str | None = None) -> Tensor:
    """The same at a place that a seed of two numbers says: the one at which TensorFlow crops."""
    array, sizes = _with_sizes(value, size)
    places = stateless.stateless_uniform([array.ndim], seed, 0, _INT32_MAX, "int32")
    return _part(array, sizes, places)


def _with_sizes(value: Any, size: Any) -> tuple[Value, Any]:
    array, sizes = value_of(value), np.asarray(value_of(size, "int32"))
    if sizes.ndim > 1 or (sizes.ndim and len(sizes) not in (1, np.ndim(array))):
        raise InvalidArgumentError(
            f"the size {sizes.tolist()} needs a number for each dimension of "
            f"{list(np.shape(array))}; the channels count too, as in [224, 224, 3]"
        )
    if np.any(np.shape(array) < sizes):
        raise InvalidArgumentError(
            f"Need value.shape >= size, got {list(np.shape(array))} and {sizes.tolist()}; "
            "resize the image first, or pad it"
        )
    return array, np.broadcast_to(sizes, np.ndim(array))


def _part(array: Value, sizes: Any, places: Tensor) -> Tensor:
    starts = places.numpy() % (np.array(array.shape, np.int32) - sizes + 1)
    ends = starts + sizes
    return wrapped(array[tuple(slice(*each) for each in zip(starts, ends, strict=True))])


__all__ = [
    "central_crop",
    "crop_to_bounding_box",
    "pad_to_bounding_box",
    "random_crop",
    "resize_with_crop_or_pad",
    "stateless_random_crop",
]
