"""Convolution and pooling: what is computed of each window of a batch of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.tensors.arithmetic import FLOATS, REAL, check_dtype
from keepset.tf.tensors.conversion import Value, dtype_of, ints_of, matching, value_of
from keepset.tf.tensors.tensor import Tensor, wrapped

Pair = tuple[int, int]


def windows(
    pixels: Value, sizes: Pair, strides: Pair, rates: Pair, padding: Any, fill: Any = 0
) -> Any:
    """A view of the windows of a batch of images: ``[n, rows, columns, channels, height, width]``.

    Args:
        pixels: A batch of images.
        sizes: The height and width of a window.
        strides: How far windows are apart.
        rates: How far the pixels of a window are apart.
        padding: ``VALID``, ``SAME``, or how much there is around each of the four axes.
        fill: What stands around the images.
    """
    reach = (sizes[0] - 1) * rates[0] + 1, (sizes[1] - 1) * rates[1] + 1
    if not isinstance(padding, str):
        around = [tuple(ints_of(each)) for each in padding]
        pixels = np.pad(pixels, around, constant_values=fill)
    elif padding == "SAME":
        inner = zip(pixels.shape[1:3], strides, reach, strict=True)
        around = [(0, 0), *(_around(*each) for each in inner), (0, 0)]
        pixels = np.pad(pixels, around, constant_values=fill)
    elif padding != "VALID":
        raise InvalidArgumentError(f"padding {padding!r} is not there; choose 'VALID' or 'SAME'")
    if pixels.shape[1] < reach[0] or pixels.shape[2] < reach[1]:
        raise InvalidArgumentError(
            f"patches of {reach} do not fit into images of {pixels.shape[1:3]}; pass smaller sizes"
        )
    seen = np.lib.stride_tricks.sliding_window_view(pixels, reach, axis=(1, 2))
    return seen[:, :: strides[0], :: strides[1], :, :: rates[0], :: rates[1]]


def _around(size: int, step: int, span: int) -> Pair:
    missing = max((-(-size // step) - 1) * step + span - size, 0)
    return missing // 2, missing - missing // 2


def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Sums of the pixels of each window and channel, times those of each filter.

    Filters are ``[height, width, channels, filters]``. There are no groups of channels.
    """
    pixels, weights = _operands(input, filters, data_format)
    if weights.shape[2] != pixels.shape[3]:
        raise InvalidArgumentError(
            f"filters for {weights.shape[2]} channels, and there are {pixels.shape[3]}"
        )
    seen = _seen(pixels, weights, strides, padding, dilations)
    return wrapped(np.tensordot(seen, weights, ([4, 5, 3], [0, 1, 2])).astype(pixels.dtype))


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """As ``conv2d``, with filters of its own for each channel, and their sums one after another.

    The filter is ``[height, width, channels, filters of each]``.

    Example:
        >>> import keepset.tf as tf
        >>> image, box = tf.ones([1, 3, 3, 1]), tf.ones([2, 2, 1, 1]) / 4
        >>> tf.nn.depthwise_conv2d(image, box, [1, 1, 1, 1], "SAME")[0, :, :, 0].numpy()
        array([[1.  , 1.  , 0.5 ],
               [1.  , 1.  , 0.5 ],
               [0.5 , 0.5 , 0.25]], dtype=float32)
    """
    pixels, weights = _operands(input, filter, data_format)
    check_dtype(pixels, FLOATS, depthwise_conv2d)
    if isinstance(strides, int):
        raise DtypeError("strides must be a list: [1, rows, columns, 1]")
    if weights.shape[2] != pixels.shape[3]:
        raise InvalidArgumentError(
            f"a filter for {weights.shape[2]} channels, and there are {pixels.shape[3]}; use "
            "tf.tile or tf.repeat"
        )
    seen = _seen(pixels, weights, strides, padding, dilations)
    made = np.einsum("nhwcij,ijcm->nhwcm", seen, weights).astype(pixels.dtype)
    return wrapped(made.reshape(*made.shape[:3], -1))


def avg_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window, without what is around the images."""
    pixels = _images(input, data_format)
    check_dtype(pixels, FLOATS, avg_pool2d)
    which = _pair("ksize", ksize), _pair("strides", strides), (1, 1), padding
    sums = windows(_wide(pixels), *which).sum((4, 5))
    counts = windows(np.ones((1, *pixels.shape[1:3], 1), np.float32), *which).sum((4, 5))
    return wrapped((sums / counts).astype(pixels.dtype))


def max_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The largest pixel of each window, for each channel."""
    pixels = _images(input, data_format)
    check_dtype(pixels, REAL, max_pool2d)
    least = np.iinfo(pixels.dtype).min if pixels.dtype.kind in "iu" else -np.inf
    sizes, steps = _pair("ksize", ksize), _pair("strides", strides)
    return wrapped(windows(pixels, sizes, steps, (1, 1), padding, least).max((4, 5)))


def _operands(images: Any, filters: Any, data_format: str | None) -> tuple[Value, Value]:
    """Images and filters of one dtype."""
    pixels, weights = matching(images, filters)
    check_dtype(pixels, FLOATS | {"int32"}, conv2d)
    _images(pixels, data_format)
    if dtype_of(weights) is not dtype_of(pixels) or np.ndim(weights) != 4:
        raise InvalidArgumentError(
            f"filters must be [height, width, channels, filters] of {dtype_of(pixels).name}, not "
            f"{np.shape(weights)} of {dtype_of(weights).name}"
        )
    return pixels, weights


def _images(given: Any, data_format: str | None) -> Value:
    pixels = value_of(given)
    if data_format not in (None, "NHWC"):
        raise InvalidArgumentError(f"{data_format} is not there; use tf.transpose to make it NHWC")
    if np.ndim(pixels) != 4:
        raise InvalidArgumentError(
            f"a batch of images has 4 dimensions, not {np.ndim(pixels)}; use tf.expand_dims"
        )
    return pixels


def _seen(pixels: Value, weights: Value, strides: Any, padding: Any, dilations: Any) -> Any:
    steps = _pair("strides", strides)
    rates = (1, 1) if dilations is None else _pair("dilations", dilations)
    return windows(_wide(pixels), weights.shape[:2], steps, rates, padding)


def _wide(pixels: Value) -> Value:
    """Small floats as float32, in which their sums are computed."""
    return pixels.astype(np.float32) if dtype_of(pixels).size == 2 else pixels


def _pair(name: str, given: Any) -> Pair:
    """For rows and columns, of one number, two, or four as in ``[1, rows, columns, 1]``."""
    numbers = ints_of(given)
    if len(numbers) not in (1, 2, 4) or min(numbers) < 1:
        raise InvalidArgumentError(
            f"{name} must be a number, two, or [1, rows, columns, 1], not {given!r:.60}"
        )
    first, last = numbers[1:3] if len(numbers) == 4 else (numbers[0], numbers[-1])
    return first, last


__all__ = ["avg_pool2d", "conv2d", "depthwise_conv2d", "max_pool2d"]
