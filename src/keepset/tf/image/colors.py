"""Colors in other spaces: gray, HSV, YIQ and YUV."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.image.pixels import converted, numbers_of, own_floats, rgb_of
from keepset.tf.tensors.conversion import dtype_of
from keepset.tf.tensors.dtype import as_dtype
from keepset.tf.tensors.quiet import quietly
from keepset.tf.tensors.tensor import Tensor, wrapped

_GRAY = np.array([0.2989, 0.5870, 0.1140], np.float32)
_YIQ = [
    [0.299, 0.59590059, 0.2115],
    [0.587, -0.27455667, -0.52273617],
    [0.114, -0.32134392, 0.31119955],
]
_FROM_YIQ = [
    [1, 1, 1],
    [0.95598634, -0.27201283, -1.10674021],
    [0.6208248, -0.64720424, 1.70423049],
]
_YUV = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
_FROM_YUV = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]


def _matrix(name: str, rows: Any, what: str) -> Callable[[Any], Tensor]:
    def convert(images: Any) -> Tensor:
        values = rgb_of(images)
        return wrapped(values @ np.array(rows, values.dtype))

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"{what}, for images of three channels in floats."
    return convert


rgb_to_yiq = _matrix("rgb_to_yiq", _YIQ, "Luma and two chrominances out of RGB")
yiq_to_rgb = _matrix("yiq_to_rgb", _FROM_YIQ, "RGB out of YIQ")
rgb_to_yuv = _matrix("rgb_to_yuv", _YUV, "Luma and two differences of colors out of RGB")
yuv_to_rgb = _matrix("yuv_to_rgb", _FROM_YUV, "RGB out of YUV")


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """One channel out of three, of the same dtype."""
    values = numbers_of(images)
    floats = converted(values, as_dtype("float32"))
    if np.ndim(floats) < 1 or floats.shape[-1] != 3:
        raise InvalidArgumentError(
            f"the last dimension is that of 3 colors, and the shape is {list(np.shape(floats))}"
        )
    gray = (floats @ _GRAY)[..., None]
    return wrapped(converted(gray, dtype_of(values)))


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Three channels out of one."""
    values = numbers_of(images)
    if np.ndim(values) < 2 or values.shape[-1] != 1:
        raise InvalidArgumentError(
            "Last dimension of a grayscale image should be size 1; the shape is "
            f"{list(np.shape(values))}"
        )
    return wrapped(np.repeat(values, 3, axis=-1))


@quietly
def hue_and_chroma(values: Any) -> tuple[Any, Any, Any]:
    """The hue from 0 to 1, the greatest channel, and what is between it and the least one."""
    red, green, blue = np.moveaxis(values, -1, 0)
    highest = values.max(-1)
    chroma = highest - values.min(-1)
    kind = values.dtype.type
    part = kind(1) / (kind(6) * chroma)
    hue = np.where(
        highest == red,
        part * (green - blue),
        np.where(
            highest == green,
            part * (blue - red) + kind(2 / 6),
            part * (red - green) + kind(4 / 6),
        ),
    )
    hue = np.where(chroma > 0, hue, kind(0))
    return np.where(hue < 0, hue + kind(1), hue), highest, chroma


def shades(hue: Any) -> Any:
    """The three channels of a hue, each from 0 to 1."""
    kind = hue.dtype.type
    sixths = hue * kind(6)
    channels = (
        np.abs(sixths - kind(3)) - kind(1),
        kind(2) - np.abs(sixths - kind(2)),
        kind(2) - np.abs(sixths - kind(4)),
    )
    return np.clip(np.stack(channels, axis=-1), kind(0), kind(1))


@quietly
def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Hue, saturation and value out of RGB, all from 0 to 1."""
    hue, highest, chroma = hue_and_chroma(rgb_of(own_floats(images)))
    saturation = np.where(highest > 0, chroma / highest, highest.dtype.type(0))
    return wrapped(np.stack([hue, saturation, highest], axis=-1))


def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """RGB out of hue, saturation and value."""
    values = rgb_of(own_floats(images))
    saturation, highest = values[..., 1:2], values[..., 2:3]
    one = values.dtype.type(1)
    return wrapped((one - saturation + saturation * shades(values[..., 0])) * highest)


__all__ = [
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rgb_to_yiq",
    "rgb_to_yuv",
    "yiq_to_rgb",
    "yuv_to_rgb",
]
