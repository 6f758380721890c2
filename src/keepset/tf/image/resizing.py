"""Images of another height and width."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.image import kernels
from keepset.tf.image.cropping import pad_to_bounding_box
from keepset.tf.image.pixels import image_of
from keepset.tf.tensors.conversion import dtype_of, int_of, value_of
from keepset.tf.tensors.quiet import run_quietly
from keepset.tf.tensors.tensor import Tensor, wrapped


class ResizeMethod:
    """The methods of ``tf.image.resize`` by name."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


METHODS = (
    "bilinear",
    "nearest",
    "bicubic",
    "area",
    *sorted(kernels.SAMPLED - {"bilinear", "bicubic"}),
)


def resize(
    images: Any,
    size: Any,
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images of another height and width, as float32; of the same dtype for the nearest pixel.

    Args:
        images: An image, or a batch of images of one size.
        size: The new height and width.
        method: One of :class:`ResizeMethod`, or its name.
        preserve_aspect_ratio: Whether the height and width are the most that they may be, and the
            image keeps its proportions.
        antialias: Whether all pixels count when an image becomes smaller. Of no effect for
            ``nearest`` and ``area``.

    Example:
        >>> import keepset.tf as tf
        >>> image = tf.constant([[[0], [100]]], tf.uint8)
        >>> tf.image.resize(image, [1, 4]).numpy()[0, :, 0]
        array([  0.,  25.,  75., 100.], dtype=float32)
        >>> tf.image.resize(image, [1, 4], method="nearest").numpy()[0, :, 0]
        array([  0,   0, 100, 100], dtype=uint8)
    """
    pixels = _pixels(images)
    height, width = _size(size)
    old = pixels.shape[-3], pixels.shape[-2]
    if preserve_aspect_ratio:
        sizes = np.array(old, np.float32)
        scale = np.min(np.array([height, width], np.float32) / sizes)
        height, width = (int(each) for each in np.round(scale * sizes))
    if height <= 0 or width <= 0:
        raise InvalidArgumentError(f"output dimensions must be positive, not {[height, width]}")
    return wrapped(resized(pixels, (height, width), method, antialias))


def resized(pixels: Any, size: tuple[int, int], method: str, antialias: bool) -> Any:
    """An array of images with another height and width."""
    if method not in METHODS:
        raise InvalidArgumentError(
            f"Resize method is not implemented: {method!r}; choose {', '.join(METHODS)}"
        )
    if method == "nearest":
        for axis, new in ((-3, size[0]), (-2, size[1])):
            pixels = np.take(pixels, _nearest(pixels.shape[axis], new), axis=axis)
        return pixels
    floats = run_quietly(pixels.astype, np.float32)
    if method == "bilinear" and not antialias:
        return _blended(_blended(floats, size[1], -2), size[0], -3)
    for axis, new in ((-3, size[0]), (-2, size[1])):
        floats = _taps(method, floats.shape[axis], new, antialias).along(floats, axis)
    return floats


def _taps(method: str, old: int, new: int, antialias: bool) -> kernels.Taps:
    if method == "area":
        return kernels.area(old, new)
    if method == "bicubic" and not antialias:
        return kernels.cubic(old, new)
    return kernels.sampled(method, old, new, antialias)


def _pixels(images: Any) -> Any:
    pixels = image_of(images)
    if pixels.dtype.kind not in "iufV" or pixels.dtype in (np.uint32, np.uint64):
        raise DtypeError(
            f"images of {dtype_of(pixels).name} have no size that can change; use tf.cast"
        )
    return pixels


def _size(given: Any) -> tuple[int, int]:
    try:
        value = value_of(given, "int32")
    except ValueError as error:
        raise InvalidArgumentError(
            f"'size' must be two whole numbers, not {given!r:.60}"
        ) from error
    if np.shape(value) != (2,):
        raise InvalidArgumentError(
            f"'size' must be a 1-D Tensor of 2 elements: new_height, new_width; not {given!r:.60}"
        )
    return int(value[0]), int(value[1])


def _nearest(old: int, new: int) -> Any:
    return np.minimum(np.floor(kernels.centers(old, new)).astype(int), old - 1)


def _blended(array: Any, new: int, axis: int) -> Any:
    """Two pixels by how near they are, in the order in which TensorFlow computes it."""
    old = array.shape[axis]
    at = kernels.centers(old, new) - np.float32(0.5)
    low = np.floor(at)
    shape = [1] * array.ndim
    shape[axis] = new
    weight = (at - low).astype(np.float32).reshape(shape)
    first = np.take(array, np.clip(low, 0, old - 1).astype(int), axis=axis)
    second = np.take(array, np.clip(low + 1, 0, old - 1).astype(int), axis=axis)
    return first + (second - first) * weight


def resize_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: str = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Tensor:
    """Images that keep their proportions in a new size, with zeros around them."""
    pixels = _pixels(image)
    target = _targets(target_height, target_width)
    old = np.array(pixels.shape[-3:-1], np.float32)
    wide = np.array(target, np.float32)
    exact = old / np.max(old / wide)
    inner = np.floor(exact).astype(int).tolist()
    above, before = np.maximum(np.floor((wide - exact) / 2), 0).astype(int).tolist()
    if min(inner) <= 0:
        raise InvalidArgumentError(f"output dimensions must be positive, not {inner}")
    made = resized(pixels, (inner[0], inner[1]), method, antialias)
    return pad_to_bounding_box(Tensor(made), above, before, *target)


def _targets(height: Any, width: Any) -> tuple[int, int]:
    target = int_of(height), int_of(width)
    if min(target) <= 0:
        raise InvalidArgumentError(f"target_height and target_width must be > 0, not {target}")
    return target


__all__ = ["ResizeMethod", "resize", "resize_with_pad"]
