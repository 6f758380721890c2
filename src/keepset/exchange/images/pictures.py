"""Pictures: pixels from the bytes of a file, and back, through Pillow."""

from __future__ import annotations

import io
from typing import Any, Final

import numpy as np

from keepset.core.dtypes import Array
from keepset.core.optional_package import optional_package
from keepset.core.record import record
from keepset.errors import InvalidArgumentError
from keepset.exchange.images.jpeg import jpeg_pixels
from keepset.storage.shortage import raise_shortage

# What files of pictures end with, and what Pillow calls their formats.
ENDINGS: Final = ("jpg", "jpeg", "png", "webp", "gif", "bmp")
_FORMATS: Final = ("JPEG", "PNG", "WEBP", "GIF", "BMP")
_SCALED: Final = ("JPEG", "MPO")  # what can be decoded at a part of its size
_MODES: Final = {1: "L", 3: "RGB", 4: "RGBA"}
# A JPEG can be decoded at a half, a quarter or an eighth of its size. That is done as long as twice
# the wanted size is left to resize: the pixels then differ by less than JPEG itself has lost.
_GAP: Final = 2
_ORIENTATION: Final = 0x0112  # the tag of EXIF
_LYING: Final = (5, 6, 7, 8)  # orientations in which height and width change places
_DEFAULT_QUALITY: Final = 95
# How a file begins, and what it should be called.
_BEGINNINGS: Final = ((b"\xff\xd8\xff", "jpg"), (b"\x89PNG\r\n\x1a\n", "png"), (b"GIF8", "gif"))


def pillow() -> Any:
    """The package that decodes; an error that says how to get it if it is missing."""
    return optional_package(
        "PIL.Image", "pictures need Pillow", "images", "read their bytes with decode=False"
    )


@record
class PixelFormat:
    """What pixels are wanted: ``channels`` of them, and ``size`` (height and width), if not all."""

    size: tuple[int, int] | None = None
    channels: int = 3

    def __post_init__(self) -> None:
        if self.channels not in _MODES:
            raise InvalidArgumentError(
                f"channels={self.channels!r} cannot be; choose 1 (gray), 3 (RGB) or 4 (RGBA)"
            )
        if self.size is not None and min(self.size) < 1:
            raise InvalidArgumentError(f"size={self.size} must be at least 1 by 1")

    @property
    def shape(self) -> tuple[int | None, ...]:
        return (*(self.size or (None, None)), self.channels)

    def decode(self, data: bytes) -> Array:
        """The pixels of a picture, as uint8.

        Raises:
            ValueError: It is damaged, or none of the formats that are known; says why.
        """
        image = pillow()
        if not data:
            raise ValueError("it is empty")
        try:
            return self._decoded(data)
        except MemoryError:
            raise
        except image.UnidentifiedImageError as error:
            known = ", ".join(_FORMATS)
            raise ValueError(f"it is no picture of the formats {known}") from error
        except (image.DecompressionBombError, image.DecompressionBombWarning) as error:
            limit = "PIL.Image.MAX_IMAGE_PIXELS"
            reason = str(error).rstrip(".")
            raise ValueError(f"{reason}; if it is meant to be so large, raise {limit}") from error
        except Exception as error:
            raise_shortage(error, "a picture")  # which Pillow says in the same way
            # Damage makes a decoder raise whatever comes to pass.
            raise ValueError(f"the picture is damaged ({error})") from error

    def _decoded(self, data: bytes) -> Array:
        resampling = pillow().Resampling
        image = pillow().open(io.BytesIO(data), formats=_FORMATS)
        if image.format not in _SCALED:
            image.load()  # some have their notes at the end, and damage must show here
        orientation, mode = _orientation(image), _MODES[self.channels]
        if self.size is None and orientation == 1 and image.mode == mode:
            pixels = jpeg_pixels(data, image)
            if pixels is not None:
                return pixels
        size = box = None
        if self.size is not None:
            height, width = self.size[::-1] if orientation in _LYING else self.size
            size = width, height
            drafted = image.draft(None, (_GAP * width, _GAP * height))
            box = drafted[1] if drafted else None
        image.load()
        image = _in_mode(image, mode)
        if size is not None and size != image.size:
            image = image.resize(size, resampling.BILINEAR, box=box)
        pixels = np.array(_upright(image, orientation))
        return pixels if pixels.ndim == 3 else pixels[..., np.newaxis]


def _orientation(image: Any) -> int:
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except Exception:
        return 1  # notes beside the pixels that cannot be read: nobody needs them


def _upright(image: Any, orientation: int) -> Any:
    turn = pillow().Transpose
    turns = {
        2: turn.FLIP_LEFT_RIGHT,
        3: turn.ROTATE_180,
        4: turn.FLIP_TOP_BOTTOM,
        5: turn.TRANSPOSE,
        6: turn.ROTATE_270,
        7: turn.TRANSVERSE,
        8: turn.ROTATE_90,
    }
    return image.transpose(turns[orientation]) if orientation in turns else image


def _in_mode(image: Any, mode: str) -> Any:
    if image.mode == mode:
        return image
    if image.mode.startswith("I"):
        # 16 bits a pixel, of which Pillow would cut off the upper half.
        high = np.clip(np.asarray(image).astype(np.int64) >> 8, 0, 255)
        image = pillow().fromarray(high.astype(np.uint8))
    return image.convert(mode)


def misfit(pixels: Array, kind: str) -> str | None:
    """Why an array cannot become a picture of a kind (png, jpeg, webp), or None if it can."""
    if pixels.dtype != np.uint8:
        return f"pictures hold uint8, and this is {pixels.dtype}; scale and cast it with map"
    if pixels.ndim not in (2, 3) or 0 in pixels.shape:
        return f"pictures are [height, width, channels], and this is of shape {pixels.shape}"
    if pixels.ndim == 3 and pixels.shape[2] not in _MODES:
        return f"pictures have 1, 3 or 4 channels, and this has {pixels.shape[2]}"
    if kind == "jpeg" and pixels.ndim == 3 and pixels.shape[2] == 4:
        return "JPEG has no transparency; write png or webp, or keep the first three channels"
    return None


def encode(pixels: Array, kind: str, quality: int | None) -> bytes:
    """A picture of a kind that the pixels fit: png, webp without a quality and bmp lose nothing."""
    options: dict[str, Any] = {}
    if kind == "jpeg":
        options = {"quality": quality or _DEFAULT_QUALITY}
    elif kind == "webp":
        options = {"quality": quality} if quality else {"lossless": True, "exact": True}
    flat = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    out = io.BytesIO()
    pillow().fromarray(np.ascontiguousarray(flat)).save(out, kind.upper(), **options)
    return out.getvalue()


def check_quality(quality: int | None, kind: str) -> None:
    """An error for a quality that a kind of picture does not have."""
    if quality is None:
        return
    if kind not in ("jpeg", "webp"):
        raise InvalidArgumentError(f"{kind} loses nothing and has no quality; leave it out")
    if isinstance(quality, bool) or not isinstance(quality, int) or not 1 <= quality <= 100:
        raise InvalidArgumentError(f"quality={quality!r} must be a whole number from 1 to 100")


def ending_of(data: bytes) -> str | None:
    """What a file of these bytes should end with, or None if they are no picture."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    if data[:2] == b"BM" and len(data) > 14:
        return "bmp"
    return next((ending for start, ending in _BEGINNINGS if data.startswith(start)), None)
