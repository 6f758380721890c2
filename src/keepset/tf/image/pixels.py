"""Pixels: the arrays behind images, checked, and images in another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.tensors.conversion import Holder, Value, cast_numbers, dtype_of, value_of
from keepset.tf.tensors.dtype import DType, as_dtype
from keepset.tf.tensors.quiet import run_quietly
from keepset.tf.tensors.tensor import Tensor, wrapped

_FLOAT32 = as_dtype("float32")
_AS_THEY_ARE = as_dtype("float16"), _FLOAT32


class ImageDtypeError(DtypeError, AttributeError):
    """A dtype that images do not have; TensorFlow raises an AttributeError here."""


def image_of(given: Any) -> Value:
    """The array of an image or of a batch of them.

    Raises:
        InvalidArgumentError: It has no height, width and channels.
    """
    value = value_of(given)
    if np.ndim(value) not in (3, 4):
        raise InvalidArgumentError(
            f"an image has 3 dimensions (height, width, channels), or 4 in a batch, not those of "
            f"the shape {list(np.shape(value))}; tf.expand_dims adds one"
        )
    if 0 in value.shape[-3:]:
        raise InvalidArgumentError(f"the image of the shape {list(value.shape)} has no pixels")
    return value


def numbers_of(given: Any) -> Value:
    """The array of images of any number of dimensions, which hold numbers."""
    value = value_of(given)
    if type(value) is bytes or value.dtype.kind == "O":
        raise ImageDtypeError("an image is of numbers, not of strings; use tf.io.decode_image")
    return value


def own_floats(given: Any) -> Any:
    """What is no tensor as float32, into which some functions of TensorFlow convert it."""
    return given if isinstance(given, Holder) else Tensor(value_of(given, _FLOAT32))


def rgb_of(given: Any) -> Value:
    """The array of images of three channels, in floats."""
    value = numbers_of(given)
    if not dtype_of(value).is_floating:
        raise DtypeError(
            f"colors are floats here, not {dtype_of(value).name}; "
            "use tf.image.convert_image_dtype(image, tf.float32)"
        )
    if np.ndim(value) < 1 or value.shape[-1] != 3:
        raise InvalidArgumentError(
            f"the last dimension is that of 3 colors, and the shape is {list(np.shape(value))}"
        )
    return value


def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Tensor:
    """An image in another dtype, with its values in the range of that: 0 to 1 for floats.

    Args:
        image: Numbers of any shape.
        dtype: A float or whole dtype.
        saturate: Whether numbers beyond the range of a whole dtype become its least or greatest
            one. They are cut off otherwise.

    Example:
        >>> import keepset.tf as tf
        >>> tf.image.convert_image_dtype(tf.constant([0, 255], tf.uint8), tf.float32).numpy()
        array([0., 1.], dtype=float32)
    """
    return wrapped(converted(value_of(image), as_dtype(dtype), saturate))


def converted(value: Value, wanted: DType, saturate: bool = False) -> Value:
    """The numbers of an image in another dtype."""
    given = dtype_of(value)
    for each, what in ((wanted, "dtype"), (given, "image dtype")):
        if not (each.is_floating or each.is_integer):
            raise ImageDtypeError(f"{what} must be either floating point or integer: {each.name}")
    if given is wanted:
        return value
    if given.is_floating:
        if wanted.is_floating:
            return cast_numbers(value, wanted.storage)
        scaled = run_quietly(np.multiply, value, value.dtype.type(wanted.max + 0.5))
        return _saturated(scaled, wanted) if saturate else cast_numbers(scaled, wanted.storage)
    if wanted.is_floating:
        kind = wanted.storage.type
        return run_quietly(np.multiply, cast_numbers(value, wanted.storage), kind(1 / given.max))
    if given.max > wanted.max:
        scaled = value // value.dtype.type((given.max + 1) // (wanted.max + 1))
        return _saturated(scaled, wanted) if saturate else cast_numbers(scaled, wanted.storage)
    cast = _saturated(value, wanted) if saturate else cast_numbers(value, wanted.storage)
    factor = np.asarray((wanted.max + 1) // (given.max + 1)).astype(wanted.storage)
    return run_quietly(np.multiply, cast, factor)


def _saturated(value: Value, wanted: DType) -> Value:
    if not dtype_of(value).is_floating:
        # Python's numbers have no range of their own.
        low = max(int(wanted.min), int(np.iinfo(value.dtype).min))
        high = min(int(wanted.max), int(np.iinfo(value.dtype).max))
        return cast_numbers(np.clip(value, low, high), wanted.storage)
    # The greatest numbers that both dtypes have.
    low, high = (value.dtype.type(each) for each in (wanted.min, wanted.max))
    if not np.isfinite(high) or int(high) > wanted.max:
        high = np.nextafter(high, value.dtype.type(0))
    return cast_numbers(run_quietly(np.clip, value, low, high), wanted.storage)


def in_floats(value: Value) -> Value:
    """An image in floats, in which colors are computed."""
    return value if dtype_of(value) in _AS_THEY_ARE else converted(value, _FLOAT32)
