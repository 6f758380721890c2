"""Images with another brightness, contrast, gamma, hue, saturation or quality."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.image.codecs import decode_jpeg
from keepset.tf.image.colors import hue_and_chroma, shades
from keepset.tf.image.encoding import encode_jpeg
from keepset.tf.image.pixels import converted, image_of, in_floats, numbers_of
from keepset.tf.random import stateful, stateless
from keepset.tf.tensors.conversion import cast_numbers, dtype_of, int_of, value_of
from keepset.tf.tensors.dtype import as_dtype
from keepset.tf.tensors.quiet import quietly
from keepset.tf.tensors.tensor import Tensor, wrapped

_UINT8 = as_dtype("uint8")


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """Images to which a number is added; whole dtypes are from 0 to 1 meanwhile, and stay in range.

    Example:
        >>> import keepset.tf as tf
        >>> image = tf.constant([[[10], [250]]], tf.uint8)
        >>> tf.image.adjust_brightness(image, 0.1).numpy()[0, :, 0]
        array([ 35, 255], dtype=uint8)
    """
    return _adjusted(numbers_of(image), lambda x: x + cast_numbers(value_of(delta), x.dtype))


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Images whose pixels are so much further from the mean of their channel."""
    pixels = numbers_of(images)
    if np.ndim(pixels) < 3:
        raise InvalidArgumentError(
            f"input must be at least 3-D, got shape {list(np.shape(pixels))}; "
            "an image has a height, a width and channels"
        )
    factor = _single("contrast_factor", contrast_factor)

    def adjust(x: Any) -> Any:
        mean = x.mean((-3, -2), dtype=np.float64, keepdims=True).astype(x.dtype)
        return (x - mean) * x.dtype.type(factor) + mean

    return _adjusted(pixels, adjust)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """``gain`` times images to the power of ``gamma``."""
    pixels = numbers_of(image)
    if float(value_of(gamma)) < 0:
        raise InvalidArgumentError(f"Gamma should be a non-negative real number, not {gamma}")

    def adjust(x: Any) -> Any:
        return value_of(gain, dtype_of(x)) * x ** value_of(gamma, dtype_of(x))

    return _adjusted(pixels, quietly(adjust))


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """RGB images whose hue is turned by a part of the circle, from -1 to 1."""
    turn = _single("delta", delta)
    if not -1 <= turn <= 1:
        raise InvalidArgumentError(f"delta must be in the interval [-1, 1], not {turn}")

    def adjust(x: Any) -> Any:
        hue, highest, chroma = hue_and_chroma(x.astype(np.float32))
        turned = (hue + np.float32(turn)) % np.float32(1)
        least = (highest - chroma)[..., None]
        return (least + chroma[..., None] * shades(turned)).astype(x.dtype)

    return _adjusted(_rgb(image), adjust, saturate=False)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """RGB images whose saturation is multiplied by a number."""
    factor = np.float32(_single("saturation_factor", saturation_factor))

    @quietly
    def adjust(x: Any) -> Any:
        floats = x.astype(np.float32)
        highest = floats.max(-1, keepdims=True)
        saturation = np.where(highest > 0, (highest - floats.min(-1, keepdims=True)) / highest, 0)
        wanted = np.clip(saturation * factor, 0, 1)
        ratio = np.where(saturation > 0, wanted / saturation, np.float32(0))
        return (highest - (highest - floats) * ratio).astype(x.dtype)

    return _adjusted(_rgb(image), adjust, saturate=False)


def adjust_jpeg_quality(
    image: Any, jpeg_quality: Any, dct_method: str = "", name: str | None = None
) -> Tensor:
    """An image as a JPEG of a quality from 0 to 100 makes it; a few levels from TensorFlow's."""
    pixels, quality = image_of(image), int_of(jpeg_quality)
    small = Tensor(converted(pixels, _UINT8, saturate=True))
    decoded = decode_jpeg(encode_jpeg(small, quality=quality), channels=pixels.shape[-1])
    return wrapped(converted(decoded._value, dtype_of(pixels), saturate=True))


def _adjusted(pixels: Any, adjust: Callable[[Any], Any], saturate: bool = True) -> Tensor:
    """What a function of floats makes of images, in their own dtype."""
    found = adjust(in_floats(pixels))
    return wrapped(converted(found, dtype_of(pixels), saturate))


def _rgb(image: Any) -> Any:
    pixels = numbers_of(image)
    if np.ndim(pixels) < 3 or pixels.shape[-1] != 3:
        raise InvalidArgumentError(
            f"an RGB image has a height, a width and 3 channels, not {list(np.shape(pixels))}; "
            "tf.image.grayscale_to_rgb makes one"
        )
    return pixels


def _single(name: str, given: Any) -> float:
    value = value_of(given)
    if np.ndim(value):
        raise InvalidArgumentError(f"{name} must be a single number, not {value!r:.60}")
    return float(value)


def _check_range(lower: Any, upper: Any) -> None:
    if float(value_of(upper)) <= float(value_of(lower)):
        raise InvalidArgumentError(f"upper must be > lower, not {upper} and {lower}")
    if float(value_of(lower)) < 0:
        raise InvalidArgumentError(f"lower must be non-negative, not {lower}")


def _check_delta(max_delta: Any, most: float = float("inf")) -> None:
    if not 0 <= float(value_of(max_delta)) <= most:
        bound = "" if most == float("inf") else f" and at most {most}"
        raise InvalidArgumentError(f"max_delta must be non-negative{bound}, not {max_delta}")


def _check_qualities(least: Any, most: Any) -> None:
    if not (0 <= int_of(least) <= 100 and 0 <= int_of(most) <= 100):
        raise InvalidArgumentError(f"qualities are from 0 to 100, not {least} and {most}")
    if int_of(least) >= int_of(most):
        raise InvalidArgumentError(
            f"min_jpeg_quality must be less than max_jpeg_quality, not {least} and {most}"
        )


def random_brightness(image: Any, max_delta: Any, seed: int | None = None) -> Tensor:
    """As ``adjust_brightness``, by a number between ``-max_delta`` and ``max_delta``."""
    _check_delta(max_delta)
    return adjust_brightness(image, stateful.uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image: Any, lower: Any, upper: Any, seed: int | None = None) -> Tensor:
    """As ``adjust_contrast``, by a number between two."""
    _check_range(lower, upper)
    return adjust_contrast(image, stateful.uniform([], lower, upper, seed=seed))


def random_hue(image: Any, max_delta: Any, seed: int | None = None) -> Tensor:
    """As ``adjust_hue``, by a number between ``-max_delta`` and ``max_delta``, at most 0.5."""
    _check_delta(max_delta, 0.5)
    return adjust_hue(image, stateful.uniform([], -max_delta, max_delta, seed=seed))


def random_saturation(image: Any, lower: Any, upper: Any, seed: int | None = None) -> Tensor:
    """As ``adjust_saturation``, by a number between two."""
    _check_range(lower, upper)
    return adjust_saturation(image, stateful.uniform([], lower, upper, seed=seed))


def random_jpeg_quality(
    image: Any, min_jpeg_quality: Any, max_jpeg_quality: Any, seed: int | None = None
) -> Tensor:
    """As ``adjust_jpeg_quality``, with a quality from one up to another, without that."""
    _check_qualities(min_jpeg_quality, max_jpeg_quality)
    drawn = stateful.uniform([], min_jpeg_quality, max_jpeg_quality, "int32", seed)
    return adjust_jpeg_quality(image, drawn)


def stateless_random_brightness(image: Any, max_delta: Any, seed: Any) -> Tensor:
    """As ``random_brightness``, with TensorFlow's number for a seed of two numbers."""
    _check_delta(max_delta)
    return adjust_brightness(image, stateless.stateless_uniform([], seed, -max_delta, max_delta))


def stateless_random_contrast(image: Any, lower: Any, upper: Any, seed: Any) -> Tensor:
    """As ``random_contrast``, with TensorFlow's number for a seed of two numbers."""
    _check_range(lower, upper)
    return adjust_contrast(image, stateless.stateless_uniform([], seed, lower, upper))


def stateless_random_hue(image: Any, max_delta: Any, seed: Any) -> Tensor:
    """As ``random_hue``, with TensorFlow's number for a seed of two numbers."""
    _check_delta(max_delta, 0.5)
    return adjust_hue(image, stateless.stateless_uniform([], seed, -max_delta, max_delta))


def stateless_random_saturation(image: Any, lower: Any, upper: Any, seed: Any = None) -> Tensor:
    """As ``random_saturation``, with TensorFlow's number for a seed of two numbers."""
    _check_range(lower, upper)
    return adjust_saturation(image, stateless.stateless_uniform([], seed, lower, upper))


def stateless_random_jpeg_quality(
    image: Any, min_jpeg_quality: Any, max_jpeg_quality: Any, seed: Any
) -> Tensor:
    """As ``random_jpeg_quality``, with TensorFlow's number for a seed of two numbers."""
    _check_qualities(min_jpeg_quality, max_jpeg_quality)
    bounds = min_jpeg_quality, max_jpeg_quality
    return adjust_jpeg_quality(image, stateless.stateless_uniform([], seed, *bounds, "int32"))


_KINDS = ("brightness", "contrast", "hue", "jpeg_quality", "saturation")
__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_jpeg_quality",
    "adjust_saturation",
    *(f"random_{kind}" for kind in _KINDS),
    *(f"stateless_random_{kind}" for kind in _KINDS),
]
