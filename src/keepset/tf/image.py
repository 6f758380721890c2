"""``tf.image``: decoding, resizing and the few adjustments that pipelines begin with.

Decoding takes Pillow, the extra ``images``.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from keepset.core.dtypes import as_dtype, storage_dtype
from keepset.errors import ElementError, MissingExtraError
from keepset.tf.elements import untensored
from keepset.tf.not_covered import not_covered
from keepset.tf.random.stateful import uniform
from keepset.tf.tensor import Tensor, array_of
from keepset.tf.tensor import wrapped as viewed

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_CHANNELS = {"L": 1, "LA": 4, "RGB": 3, "RGBA": 4, "P": 3, "1": 1, "CMYK": 3, "I;16": 1}


def _pillow() -> Any:
    try:
        import PIL.Image
    except ImportError as error:
        raise MissingExtraError(
            "decoding images needs Pillow; install it with: pip install 'keepset[images]'"
        ) from error
    return PIL.Image


def _opened(contents: Any, formats: tuple[str, ...]) -> Any:
    data = untensored(contents)
    if not isinstance(data, bytes):
        raise ElementError(f"the bytes of an image are needed, not {type(data).__name__}")
    pillow = _pillow()
    try:
        image = pillow.open(io.BytesIO(data), formats=formats)
        image.load()
    except (OSError, ValueError, SyntaxError) as error:
        raise ElementError(f"the bytes are no image of {', '.join(formats)}: {error}") from error
    return image


def _pixels(image: Any, channels: int, dtype: Any = np.uint8) -> Tensor:
    wanted = channels or _CHANNELS.get(image.mode, 3)
    if wanted not in _MODES:
        raise ValueError(f"channels must be 0, 1, 3 or 4, not {channels}")
    mode = _MODES[wanted]
    array = np.asarray(image if image.mode == mode else image.convert(mode))
    if array.ndim == 2:
        array = array[..., np.newaxis]
    wide = as_dtype(dtype)
    if wide == np.dtype(np.uint16):
        array = array.astype(np.uint16) * 257
    elif storage_dtype(wide).kind == "f":
        array = array.astype(storage_dtype(wide)) / 255
    return viewed(np.array(array))


def decode_jpeg(contents: Any, channels: int = 0, ratio: int = 1, **ignored: Any) -> Tensor:
    """The pixels of a JPEG, as uint8, which may differ a little from TensorFlow's decoder."""
    image = _opened(contents, ("JPEG",))
    if ratio != 1:
        image = image.resize((-(-image.width // ratio), -(-image.height // ratio)))
    return _pixels(image, channels)


def decode_png(
    contents: Any, channels: int = 0, dtype: Any = np.uint8, name: str | None = None
) -> Tensor:
    """The pixels of a PNG."""
    return _pixels(_opened(contents, ("PNG",)), channels, dtype)


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    return _pixels(_opened(contents, ("BMP",)), channels)


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """All pictures of a GIF, one behind the other."""
    image = _opened(contents, ("GIF",))
    frames = []
    for number in range(getattr(image, "n_frames", 1)):
        image.seek(number)
        frames.append(np.asarray(image.convert("RGB")))
    return viewed(np.stack(frames))


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = np.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """The pixels of a JPEG, PNG, GIF, BMP or WebP."""
    image = _opened(contents, ("JPEG", "PNG", "GIF", "BMP", "WEBP"))
    if image.format == "GIF" and expand_animations:
        return decode_gif(contents)
    return _pixels(image, channels or 0, dtype)


def encode_jpeg(image: Any, quality: int = 95, **ignored: Any) -> Tensor:
    return _encoded(image, "JPEG", quality=quality)


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    return _encoded(image, "PNG")


def _encoded(image: Any, kind: str, **options: Any) -> Tensor:
    array = array_of(image)
    squeezed = array[..., 0] if array.ndim == 3 and array.shape[-1] == 1 else array
    out = io.BytesIO()
    _pillow().fromarray(np.asarray(squeezed)).save(out, kind, **options)
    made = np.empty((), object)
    made[()] = out.getvalue()
    return viewed(made)


def resize(
    images: Any,
    size: Any,
    method: str = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images of another height and width: bilinear (as float32) or the nearest pixel."""
    array = array_of(images)
    if array.ndim not in (3, 4):
        raise ValueError(f"images have 3 or 4 dimensions, not {array.ndim}")
    if antialias:
        raise ValueError("antialias=True is not covered; use Pillow's resize")
    height, width = (int(each) for each in np.asarray(untensored(size)))
    old_height, old_width = array.shape[-3:-1]
    if preserve_aspect_ratio:
        scale = min(height / old_height, width / old_width)
        height, width = round(old_height * scale), round(old_width * scale)
    rows, columns = _places(old_height, height), _places(old_width, width)
    if method == "nearest":
        picked = array[..., _nearest(rows, old_height), :, :]
        return viewed(picked[..., _nearest(columns, old_width), :])
    if method != "bilinear":
        raise ValueError(f"method {method!r} is not covered; choose 'bilinear' or 'nearest'")
    between = _blended(array.astype(np.float32), rows, old_height, -3)
    return viewed(_blended(between, columns, old_width, -2))


def _places(old: int, new: int) -> Any:
    """Where the centre of each new pixel lies among the old ones."""
    scale = np.float32(old) / np.float32(new)
    return (np.arange(new, dtype=np.float32) + np.float32(0.5)) * scale


def _nearest(places: Any, old: int) -> Any:
    return np.minimum(np.floor(places).astype(int), old - 1)


def _blended(array: Any, places: Any, old: int, axis: int) -> Any:
    centred = places - np.float32(0.5)
    low = np.floor(centred)
    share = (centred - low).astype(np.float32)
    first = np.clip(low, 0, old - 1).astype(int)
    second = np.clip(low + 1, 0, old - 1).astype(int)
    shape = [1] * array.ndim
    shape[axis] = len(places)
    weight = share.reshape(shape)
    before, after = np.take(array, first, axis=axis), np.take(array, second, axis=axis)
    return before + (after - before) * weight


def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Tensor:
    """An image in another dtype, with its values in the range of that: 0 to 1 for floats."""
    array, wanted = array_of(image), storage_dtype(as_dtype(dtype))
    if array.dtype == wanted:
        return viewed(array)
    if array.dtype.kind in "iu" and wanted.kind == "f":
        return viewed(array.astype(wanted) * wanted.type(1 / np.iinfo(array.dtype).max))
    if array.dtype.kind == "f" and wanted.kind in "iu":
        highest = np.iinfo(wanted).max
        scaled = array * (highest + 0.5)
        if saturate:
            scaled = np.clip(scaled, np.iinfo(wanted).min, highest)
        return viewed(scaled.astype(wanted))
    if array.dtype.kind in "iu" and wanted.kind in "iu":
        old, new = np.iinfo(array.dtype).max, np.iinfo(wanted).max
        if old > new:
            return viewed((array // ((old + 1) // (new + 1))).astype(wanted))
        return viewed(array.astype(wanted) * ((new + 1) // (old + 1)))
    return viewed(array.astype(wanted))


def flip_left_right(image: Any) -> Tensor:
    return viewed(np.ascontiguousarray(array_of(image)[..., ::-1, :]))


def flip_up_down(image: Any) -> Tensor:
    return viewed(np.ascontiguousarray(array_of(image)[..., ::-1, :, :]))


def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Flipped or not, at random. For flips that a seed repeats, use ``Dataset.random_map``."""
    if float(uniform((), seed=seed)) < 0.5:
        return flip_left_right(image)
    return viewed(array_of(image))


def per_image_standardization(image: Any) -> Tensor:
    """With a mean of 0 and a deviation of 1; images of one colour become 0."""
    array = array_of(image).astype(np.float32)
    axes = tuple(range(array.ndim))[-3:]
    pixels = int(np.prod([array.shape[axis] for axis in axes]))
    mean = array.mean(axis=axes, keepdims=True)
    deviation = np.maximum(array.std(axis=axes, keepdims=True), 1 / np.sqrt(pixels))
    return viewed(((array - mean) / deviation).astype(np.float32))


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    array = array_of(images)
    weights = np.array([0.2989, 0.5870, 0.1140], np.float32)
    gray = (convert_image_dtype(array, np.float32).view(np.ndarray) * weights).sum(
        -1, keepdims=True
    )
    return convert_image_dtype(gray.astype(np.float32), array.dtype)


__all__ = [
    "convert_image_dtype",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "encode_jpeg",
    "encode_png",
    "flip_left_right",
    "flip_up_down",
    "per_image_standardization",
    "random_flip_left_right",
    "resize",
    "rgb_to_grayscale",
]

__getattr__ = not_covered("tf.image")
