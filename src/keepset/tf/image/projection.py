"""Projection: images rotated, sheared and moved, as augmentation does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.image.pixels import numbers_of
from keepset.tf.tensors.arithmetic import FLOATS, check_dtype
from keepset.tf.tensors.conversion import ints_of, value_of
from keepset.tf.tensors.quiet import quietly
from keepset.tf.tensors.tensor import Tensor, wrapped


@quietly
def ImageProjectiveTransformV3(  # noqa: N802 - it is TensorFlow's name
    *,
    images: Any,
    transforms: Any,
    output_shape: Any,
    fill_value: Any,
    interpolation: Any,
    fill_mode: Any = "CONSTANT",
    name: str | None = None,
) -> Tensor:
    """Images seen through a projection, in a batch.

    Args:
        images: A batch of images.
        transforms: ``[a0, a1, a2, b0, b1, b2, c0, c1]`` for all images or for each: the pixel at
            ``(x, y)`` is that at ``((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k)`` before, with
            ``k = c0 x + c1 y + 1``.
        output_shape: The height and width of what comes out.
        fill_value: What stands around an image with ``fill_mode="CONSTANT"``.
        interpolation: ``NEAREST`` or ``BILINEAR``.
        fill_mode: ``CONSTANT``, ``REFLECT``, ``WRAP`` or ``NEAREST``.
        name: Ignored.
    """
    pixels, matrix = numbers_of(images), np.asarray(value_of(transforms, "float32"))
    check_dtype(pixels, FLOATS | {"uint8", "int32", "int64"}, ImageProjectiveTransformV3)
    if pixels.ndim != 4 or matrix.ndim != 2 or matrix.shape[1] != 8:
        raise InvalidArgumentError(
            "a batch of images and rows of 8 numbers are needed, not the shapes "
            f"{pixels.shape} and {matrix.shape}; use tf.expand_dims"
        )
    if len(matrix) not in (1, len(pixels)):
        raise InvalidArgumentError(f"{len(matrix)} transforms for {len(pixels)} images")
    ways = [str(each).upper() for each in (interpolation, fill_mode)]
    if ways[0] not in ("NEAREST", "BILINEAR") or ways[1] not in _PLACES:
        raise InvalidArgumentError(
            f"interpolation {interpolation!r} is 'NEAREST' or 'BILINEAR', and fill_mode "
            f"{fill_mode!r} is one of {', '.join(_PLACES)}"
        )
    height, width = ints_of(output_shape)
    rows, columns, inside = _sources(matrix, height, width)
    rows, columns = (
        _PLACES[ways[1]](each, np.float32(size))
        for each, size in zip((rows, columns), pixels.shape[1:3], strict=True)
    )
    fill = value_of(fill_value, "float32").astype(pixels.dtype)
    read = _nearest if ways[0] == "NEAREST" else _bilinear
    made = np.where(inside[..., None], read(pixels, rows, columns, fill), fill)
    return wrapped(made.astype(pixels.dtype))


def _sources(matrix: Any, height: int, width: int) -> tuple[Any, Any, Any]:
    """Where pixels come from: rows, columns, and whether they come from anywhere at all."""
    y, x = np.mgrid[:height, :width].astype(np.float32)
    a0, a1, a2, b0, b1, b2, c0, c1 = matrix.T[:, :, None, None]
    scale = c0 * x + c1 * y + np.float32(1)
    return (b0 * x + b1 * y + b2) / scale, (a0 * x + a1 * y + a2) / scale, scale != 0


def _reflected(places: Any, size: Any) -> Any:
    within = np.mod(places, 2 * size)
    return np.clip(np.where(within >= size, 2 * size - within - 1, within), 0, size - 1)


def _wrapped(places: Any, size: Any) -> Any:
    last = np.maximum(size - 1, 1)
    before = places + size * (np.trunc(-places / last) + 1)
    behind = places - size * np.trunc(places / last)
    moved = np.where(places < 0, before, np.where(places > size - 1, behind, places))
    return np.clip(moved, 0, size - 1)


_PLACES: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "CONSTANT": lambda places, size: places,
    "REFLECT": _reflected,
    "WRAP": _wrapped,
    "NEAREST": lambda places, size: np.clip(places, 0, size - 1),
}


def _at(pixels: Any, rows: Any, columns: Any, fill: Any) -> Any:
    """The pixels at whole places, and the filling outside."""
    height, width = pixels.shape[1:3]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    row, column = (np.where(inside, each, 0).astype(np.int64) for each in (rows, columns))
    numbers = np.arange(len(pixels))[:, None, None]
    return np.where(inside[..., None], pixels[numbers, row, column], fill)


def _nearest(pixels: Any, rows: Any, columns: Any, fill: Any) -> Any:
    return _at(pixels, _rounded(rows), _rounded(columns), fill)


def _rounded(places: Any) -> Any:
    """Halves away from zero."""
    return np.trunc(places + np.copysign(np.float32(0.5), places))


def _bilinear(pixels: Any, rows: Any, columns: Any, fill: Any) -> Any:
    top, left = np.floor(rows), np.floor(columns)
    down, right = (rows - top)[..., None], (columns - left)[..., None]

    def along(row: Any) -> Any:
        first, second = (_at(pixels, row, left + step, fill) for step in (0, 1))
        return (1 - right) * first + right * second

    return (1 - down) * along(top) + down * along(top + 1)


__all__ = ["ImageProjectiveTransformV3"]
