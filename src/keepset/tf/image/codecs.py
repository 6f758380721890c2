"""Images out of bytes: JPEG, PNG, GIF, BMP and WebP, by Pillow, the extra ``images``."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from keepset.errors import ElementError, InvalidArgumentError, MissingExtraError
from keepset.tf.image.cropping import crop_to_bounding_box
from keepset.tf.image.pixels import converted
from keepset.tf.tensors.conversion import dtype_of, int_of, ints_of, value_of
from keepset.tf.tensors.dtype import DType, as_dtype
from keepset.tf.tensors.tensor import Tensor, wrapped

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_UINT8, _UINT16, _FLOAT32 = (as_dtype(name) for name in ("uint8", "uint16", "float32"))
_GRAY_OF_PNG = np.array([9797, 19234, 3737], np.uint32)  # of 2 ** 15
_ALL = ("JPEG", "PNG", "GIF", "BMP", "WEBP")
_STILL = ("JPEG", "PNG", "GIF")


class NotAnImageError(ElementError, InvalidArgumentError):
    """Bytes that are no image of the kinds that are asked for."""


def pillow() -> Any:
    """Pillow's module of images, if it is installed."""
    try:
        import PIL.Image
    except ImportError as error:
        raise MissingExtraError(
            "decoding images needs Pillow; install it with: pip install 'keepset[images]'"
        ) from error
    return PIL.Image


def _bytes_of(contents: Any) -> bytes:
    data = value_of(contents)
    if type(data) is not bytes:
        raise NotAnImageError(
            f"the bytes of one image are needed, not a tensor of {dtype_of(data).name} and "
            f"{list(np.shape(data))}; tf.io.read_file reads them, and map calls for each"
        )
    return data


def _opened(contents: Any, formats: tuple[str, ...]) -> Any:
    data = _bytes_of(contents)
    library = pillow()
    try:
        return library.open(io.BytesIO(data), formats=formats)
    except (OSError, ValueError, SyntaxError) as error:
        raise _no_image(formats, error) from error


def _no_image(formats: tuple[str, ...], error: Exception) -> NotAnImageError:
    kinds = ", ".join(formats)
    return NotAnImageError(
        f"the bytes are no image of {kinds}: {error}; tf.io.decode_image takes all kinds"
    )


def _array(image: Any, mode: str | None = None) -> Any:
    """The numbers of an opened image, with their channels last."""
    try:
        array = np.array(image if mode in (None, image.mode) else image.convert(mode))
    except (OSError, ValueError, SyntaxError) as error:
        raise _no_image((str(image.format),), error) from error
    return array[..., np.newaxis] if array.ndim == 2 else array


def _pixels(image: Any, channels: Any, dtype: DType = _UINT8) -> Tensor:
    wanted = int_of(channels)
    if wanted not in (0, *_MODES):
        raise InvalidArgumentError(f"channels must be 0, 1, 3 or 4, not {channels}")
    mode = _MODES[wanted] if wanted else _own_mode(image)
    if image.mode.startswith("I"):  # gray in 16 bits
        array = _array(image).astype(np.uint16)
        array = np.repeat(array, {"RGB": 3, "RGBA": 4}.get(mode, 1), axis=-1)
        if mode == "RGBA":
            array[..., 3] = 65535
        return wrapped(array if dtype is _UINT16 else _as(array >> 8, dtype))
    if mode == "L" and image.format == "PNG" and image.mode in ("RGB", "RGBA", "P"):
        return wrapped(_as(_gray(_array(image, "RGB")), dtype))
    return wrapped(_as(_array(image, mode), dtype))


def _gray(array: Any) -> Any:
    """Colors as gray, cut off as by libpng, which TensorFlow has its PNGs from."""
    return array.astype(np.uint32) @ _GRAY_OF_PNG[:, np.newaxis] >> 15


def _as(array: Any, dtype: DType) -> Any:
    small = array.astype(np.uint8)
    return small.astype(np.uint16) * np.uint16(257) if dtype is _UINT16 else converted(small, dtype)


def _own_mode(image: Any) -> str:
    """The channels that a file has."""
    if image.mode == "P":
        return "RGBA" if "transparency" in image.info and image.format == "PNG" else "RGB"
    mode = str(image.mode)
    return {"1": "L", "CMYK": "RGB", "YCbCr": "RGB", "I;16": "L"}.get(mode, mode)


def _decoded(contents: Any, channels: Any, dtype: DType = _UINT8, ratio: int = 1) -> Tensor:
    """One picture, whichever of the usual kinds it is of."""
    image = _opened(contents, _STILL)
    if image.format == "GIF":
        if getattr(image, "n_frames", 1) > 1:
            raise NotAnImageError(
                "the GIF has several pictures; use tf.io.decode_gif, or "
                "tf.io.decode_image(..., expand_animations=False)"
            )
        image = image.convert("RGB")
    if ratio != 1:
        if ratio not in (2, 4, 8):
            raise InvalidArgumentError(f"ratio must be 1, 2, 4, or 8, not {ratio}")
        image.draft(image.mode, (image.width // ratio, image.height // ratio))
    return _pixels(image, channels, dtype)


def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """The pixels of a JPEG, as uint8, a few levels from those of TensorFlow's decoder.

    Args:
        contents: The bytes of a file.
        channels: 1 for gray, 3 for RGB, 0 for what the file has.
        ratio: By what the height and width are divided: 1, 2, 4 or 8.
        fancy_upscaling: Of no effect here, as the others that follow.
        try_recover_truncated: A file that is cut off is an error.
        acceptable_fraction: As before.
        dct_method: That of Pillow, which is TensorFlow's ``INTEGER_ACCURATE``.
        name: Of no effect.
    """
    if channels == 4:
        raise InvalidArgumentError("channels must be 0, 1, or 3 for JPEG, not 4")
    return _decoded(contents, channels, ratio=ratio)


def decode_png(
    contents: Any, channels: int = 0, dtype: Any = "uint8", name: str | None = None
) -> Tensor:
    """The pixels of a PNG, as uint8 or uint16; those of 16 bits only if they are gray."""
    wanted = as_dtype(dtype)
    if wanted not in (_UINT8, _UINT16):
        raise InvalidArgumentError(f"a PNG is of uint8 or uint16, not of {wanted.name}")
    return _decoded(contents, channels, wanted)


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """The pixels of a BMP, as uint8."""
    image = _opened(contents, ("BMP",))
    _check_bmp(image, channels)
    return _pixels(image, 0)


def _check_bmp(image: Any, channels: int) -> None:
    if channels not in (0, len(_own_mode(image))):
        raise InvalidArgumentError(
            f"channels attribute {channels} does not match the {len(_own_mode(image))} of the "
            "file; pass 0"
        )


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """All pictures of a GIF, one behind the other."""
    return wrapped(_frames(_opened(contents, _STILL), "RGB"))


def _frames(image: Any, mode: str) -> Any:
    frames = []
    for number in range(getattr(image, "n_frames", 1)):
        image.seek(number)
        frames.append(_array(image, mode))
    return np.stack(frames)


def decode_webp(
    contents: Any, channels: int = 0, dtype: Any = "uint8", name: str | None = None
) -> Tensor:
    """All pictures of a WebP, one behind the other, of 3 or 4 channels."""
    image = _opened(contents, ("WEBP",))
    own = len(_own_mode(image))
    if channels not in (0, own):
        raise InvalidArgumentError(
            f"channels must be 0 or {own}, those of the file, not {channels}"
        )
    return decode_image(contents, channels, dtype)


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = "uint8",
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """The pixels of a JPEG, PNG, GIF, BMP or WebP.

    Args:
        contents: The bytes of a file.
        channels: 1 for gray, 3 for RGB, 4 for RGBA, None or 0 for what the file has.
        dtype: The dtype, in whose range the numbers are: 0 to 1 for floats.
        name: Of no effect.
        expand_animations: Whether the pictures of a GIF or WebP are a batch; else it is the first.
    """
    image, wanted = _opened(contents, _ALL), as_dtype(dtype)
    first = wanted if wanted in (_UINT8, _UINT16, _FLOAT32) else _UINT16
    if image.format == "GIF" and channels not in (None, 0, 3):
        raise InvalidArgumentError(f"channels must be 0 or 3 for a GIF, not {channels}")
    if image.format in ("GIF", "WEBP") and expand_animations:
        mode = "RGB" if image.format == "GIF" else _MODES.get(channels or 0, _own_mode(image))
        return wrapped(converted(_as(_frames(image, mode), first), wanted))
    if image.format == "BMP":
        _check_bmp(image, channels or 0)
    made = _pixels(image, 3 if image.format == "GIF" else channels or 0, first)
    return wrapped(converted(made._value, wanted))


def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """A part of a JPEG: ``crop_window`` is its top, left, height and width.

    All of the file is decoded. TensorFlow decodes the part only, and has other colors in one column
    at its edge where that is within a block of the file.
    """
    window = ints_of(crop_window)
    if len(window) != 4:
        raise InvalidArgumentError(f"crop_window must be 4 whole numbers, not {crop_window}")
    return crop_to_bounding_box(decode_jpeg(contents, channels, ratio), *window)


def extract_jpeg_shape(
    contents: Any, output_type: Any = "int32", name: str | None = None
) -> Tensor:
    """The height, width and channels of a JPEG, without decoding it."""
    image = _opened(contents, ("JPEG",))
    shape = image.height, image.width, len(image.getbands())
    return Tensor(np.array(shape, as_dtype(output_type).storage))


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Whether bytes begin as a JPEG does."""
    value = value_of(contents)
    if type(value) is bytes:
        return Tensor(np.bool_(value[:3] == b"\xff\xd8\xff"))
    begins = [each[:3] == b"\xff\xd8\xff" for each in value.ravel()]
    return Tensor(np.array(begins, bool).reshape(value.shape))


__all__ = [
    "NotAnImageError",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_webp",
    "extract_jpeg_shape",
    "is_jpeg",
    "pillow",
]
