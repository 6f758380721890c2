"""Images as bytes: JPEG and PNG, by Pillow, the extra ``images``."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.errors import UnimplementedError
from keepset.tf.image.codecs import pillow
from keepset.tf.tensors.conversion import Holder, dtype_of, int_of, value_of
from keepset.tf.tensors.dtype import DType, as_dtype
from keepset.tf.tensors.tensor import Tensor, wrapped

_UINT8, _UINT16 = as_dtype("uint8"), as_dtype("uint16")


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """The bytes of a JPEG of an image of uint8 and of 1 or 3 channels."""
    # TensorFlow casts what is no tensor.
    pixels = value_of(image) if isinstance(image, Holder) else value_of(image, _UINT8)
    _check_encodable(pixels, (_UINT8,), (1, 3))
    if not 0 <= int_of(quality) <= 100:
        raise InvalidArgumentError(f"quality must be in [0,100], got {quality}")
    kind = {"": pixels.shape[-1], "grayscale": 1, "rgb": 3}.get(format)
    if kind != pixels.shape[-1]:
        raise InvalidArgumentError(
            f"format {format!r} does not fit {pixels.shape[-1]} channels; leave it out"
        )
    return _encoded(
        pixels,
        "JPEG",
        quality=int_of(quality),
        progressive=progressive,
        optimize=optimize_size,
        subsampling=2 if chroma_downsampling else 0,
        dpi=(x_density, y_density),
    )


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """The bytes of a PNG of an image of uint8, or of uint16 if it is gray; of each in a batch."""
    pixels = value_of(image)
    _check_encodable(pixels, (_UINT8, _UINT16), (1, 2, 3, 4), batches=True)
    if compression != -1 and not 0 <= compression <= 9:
        raise InvalidArgumentError(f"compression is from -1 to 9, not {compression}")
    if dtype_of(pixels) is _UINT16 and pixels.shape[-1] != 1:
        raise UnimplementedError(
            "PNGs of 16 bits are written in gray only; "
            "use tf.image.convert_image_dtype(image, tf.uint8) for colors"
        )
    options = {} if compression == -1 else {"compress_level": compression}
    if pixels.ndim == 3:
        return _encoded(pixels, "PNG", **options)
    flat = pixels.reshape(-1, *pixels.shape[-3:])
    made = np.empty(len(flat), object)
    made[:] = [_encoded(each, "PNG", **options)._value for each in flat]
    return wrapped(made.reshape(pixels.shape[:-3]))


def _check_encodable(
    pixels: Any, dtypes: tuple[DType, ...], channels: tuple[int, ...], batches: bool = False
) -> None:
    if dtype_of(pixels) not in dtypes:
        names = " or ".join(each.name for each in dtypes)
        raise InvalidArgumentError(
            f"an image of {names} is needed, not of {dtype_of(pixels).name}; "
            f"use tf.image.convert_image_dtype(image, tf.{dtypes[0].name})"
        )
    if np.ndim(pixels) < 3 or (np.ndim(pixels) > 3 and not batches):
        raise InvalidArgumentError(
            f"image must be 3-dimensional, not {list(np.shape(pixels))}; "
            "gray images need a last dimension of 1"
        )
    if pixels.shape[-1] not in channels or 0 in pixels.shape:
        raise InvalidArgumentError(
            f"image must have {', '.join(map(str, channels))} channels and pixels, not "
            f"{list(pixels.shape)}"
        )


def _encoded(pixels: Any, kind: str, **options: Any) -> Tensor:
    squeezed = pixels[..., 0] if pixels.shape[-1] == 1 else pixels
    out = io.BytesIO()
    pillow().fromarray(np.ascontiguousarray(squeezed)).save(out, kind, **options)
    return Tensor(out.getvalue())


__all__ = ["encode_jpeg", "encode_png"]
