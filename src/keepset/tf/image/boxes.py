"""Boxes in images: cut out, drawn, chosen among others, and made up."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.errors import OutOfRangeError
from keepset.tf.image.pixels import own_floats
from keepset.tf.tensors.conversion import Value, dtype_of, int_of, ints_of, value_of
from keepset.tf.tensors.tensor import Tensor, wrapped

_COLORS = np.array(
    [
        [1, 1, 0, 1],
        [0, 0, 1, 1],
        [1, 0, 0, 1],
        [0, 1, 0, 1],
        [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1],
        [0.5, 0, 0, 1],
        [0, 0, 0.5, 1],
        [0, 1, 1, 1],
        [1, 0, 1, 1],
    ],
    np.float32,
)


def crop_and_resize(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Boxes out of a batch of images, each of one size, as float32.

    Args:
        image: A batch of images.
        boxes: For each box its top, left, bottom and right, from 0 to 1; reversed ones flip.
        box_indices: The number of the image that each box is in.
        crop_size: The new height and width.
        method: ``bilinear`` or ``nearest``.
        extrapolation_value: What there is outside of the image.
    """
    pixels, corners = value_of(image), value_of(boxes, "float32")
    numbers, (height, width) = np.asarray(value_of(box_indices, "int32")), _two(crop_size)
    if np.ndim(pixels) != 4 or 0 in pixels.shape[1:3]:
        raise InvalidArgumentError(f"input image must be 4-D, not {list(np.shape(pixels))}")
    if pixels.dtype.kind not in "iuf" or dtype_of(pixels).name in ("uint32", "uint64"):
        raise InvalidArgumentError(f"boxes are not cut out of {dtype_of(pixels).name}; use tf.cast")
    if method not in ("bilinear", "nearest"):
        raise InvalidArgumentError(f"method must be 'bilinear' or 'nearest', not {method!r}")
    if np.ndim(corners) != 2 or corners.shape[1] != 4 or numbers.shape != corners.shape[:1]:
        raise InvalidArgumentError(
            f"boxes are rows of 4 numbers, with an index for each, not {list(np.shape(corners))} "
            f"and {list(numbers.shape)}"
        )
    if np.any((numbers < 0) | (numbers >= len(pixels))):
        raise OutOfRangeError(f"box_indices has values outside [0, {len(pixels)})")
    rows = _places(corners[:, 0], corners[:, 2], pixels.shape[1], height)
    columns = _places(corners[:, 1], corners[:, 3], pixels.shape[2], width)
    found = _sampled(pixels, numbers[:, None, None], rows, columns, method)
    is_inside = (
        _is_inside(rows, pixels.shape[1])[:, :, None]
        & _is_inside(columns, pixels.shape[2])[:, None, :]
    )
    return wrapped(np.where(is_inside[..., None], found, np.float32(extrapolation_value)))


def _two(given: Any) -> tuple[int, int]:
    sizes = ints_of(given)
    if len(sizes) != 2 or min(sizes) <= 0:
        raise InvalidArgumentError(f"crop_size must be a positive height and width, not {given}")
    return sizes[0], sizes[1]


def _places(start: Any, end: Any, old: int, new: int) -> Any:
    """Where the new pixels of each box lie among the old ones."""
    last = np.float32(old - 1)
    if new == 1:
        return (0.5 * (start + end) * last).astype(np.float32)[:, None]
    scale = (end - start) * last / np.float32(new - 1)
    return start[:, None] * last + np.arange(new, dtype=np.float32) * scale[:, None]


def _is_inside(places: Any, old: int) -> Any:
    return (places >= 0) & (places <= old - 1)


def _sampled(pixels: Value, numbers: Any, rows: Any, columns: Any, method: str) -> Any:
    def at(down: Any, right: Any) -> Any:
        return pixels[numbers, down[:, :, None], right[:, None, :]].astype(np.float32)

    down = np.clip(rows, 0, pixels.shape[1] - 1)
    right = np.clip(columns, 0, pixels.shape[2] - 1)
    if method == "nearest":
        return at(np.floor(down + 0.5).astype(int), np.floor(right + 0.5).astype(int))
    top, left = np.floor(down).astype(int), np.floor(right).astype(int)
    bottom, end = np.ceil(down).astype(int), np.ceil(right).astype(int)
    across = (right - left).astype(np.float32)[:, None, :, None]
    along = (down - top).astype(np.float32)[:, :, None, None]
    upper = at(top, left) + (at(top, end) - at(top, left)) * across
    lower = at(bottom, left) + (at(bottom, end) - at(bottom, left)) * across
    return upper + (lower - upper) * along


def draw_bounding_boxes(images: Any, boxes: Any, colors: Any, name: str | None = None) -> Tensor:
    """A batch of images in floats with the outlines of boxes.

    Args:
        images: A batch of images of 1, 3 or 4 channels, as float32 or float16.
        boxes: For each image boxes of a top, left, bottom and right, from 0 to 1.
        colors: Rows of channels, which the boxes take in turn; None for ten usual colors.
    """
    pixels, corners = own_floats(images)._value, value_of(boxes, "float32")
    if dtype_of(pixels).name not in ("float32", "float16"):
        raise InvalidArgumentError(
            f"boxes are drawn in floats, not in {dtype_of(pixels).name}; "
            "use tf.image.convert_image_dtype(images, tf.float32)"
        )
    if np.ndim(pixels) != 4 or np.ndim(corners) != 3 or corners.shape[2] != 4:
        raise InvalidArgumentError(
            "images are of [batch, height, width, channels] and boxes of [batch, boxes, 4], not "
            f"{list(np.shape(pixels))} and {list(np.shape(corners))}"
        )
    if len(pixels) != len(corners) or pixels.shape[3] not in (1, 3, 4):
        raise InvalidArgumentError(
            f"each image needs its boxes, and 1, 3 or 4 channels: {pixels.shape} {corners.shape}"
        )
    table = _color_table(colors, pixels.shape[3]).astype(pixels.dtype)
    canvas = pixels.copy()
    for picture, its_boxes in zip(canvas, corners, strict=True):
        for number, box in enumerate(its_boxes):
            _outline(picture, box, table[number % len(table)])
    return Tensor(canvas)


def _color_table(colors: Any, channels: int) -> Any:
    given = None if colors is None else value_of(colors, "float32")
    if given is None or (np.ndim(given) == 2 and not given.size):
        table = _COLORS.copy()
        if channels == 1:
            table[:, 0] = 1
        return table[:, :channels]
    if np.ndim(given) != 2 or given.shape[1] < channels:
        raise InvalidArgumentError(
            f"colors are rows of {channels} channels, not {list(np.shape(given))}"
        )
    return given[:, :channels]


def _outline(picture: Any, box: Any, color: Any) -> None:
    height, width = picture.shape[:2]
    ends = np.array([height - 1, width - 1] * 2, np.float32)
    top, left, bottom, right = (box * ends).astype(int).tolist()
    if top > bottom or left > right:
        return
    if top >= height or bottom < 0 or left >= width or right < 0:
        return
    rows = slice(max(top, 0), min(bottom, height - 1) + 1)
    columns = slice(max(left, 0), min(right, width - 1) + 1)
    for row in (top, bottom):
        if 0 <= row < height:
            picture[row, columns] = color
    for column in (left, right):
        if 0 <= column < width:
            picture[rows, column] = color


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """The numbers of the best boxes, without those that overlap with a better one.

    Args:
        boxes: Rows of two opposite corners.
        scores: How good each box is.
        max_output_size: How many to choose at most.
        iou_threshold: By which part of what they cover together two boxes may overlap.
        score_threshold: What scores must be above.
    """
    corners, marks = value_of(boxes), value_of(scores)
    if np.ndim(corners) != 2 or corners.shape[1] != 4 or np.shape(marks) != corners.shape[:1]:
        raise InvalidArgumentError(
            f"boxes are rows of 4 numbers, with a score for each, not {list(np.shape(corners))} "
            f"and {list(np.shape(marks))}"
        )
    if dtype_of(corners) is not dtype_of(marks) or not dtype_of(marks).is_floating:
        raise DtypeError("boxes and scores are floats of one dtype; use tf.cast")
    overlap, least = float(value_of(iou_threshold)), float(value_of(score_threshold))
    if not 0 <= overlap <= 1:
        raise InvalidArgumentError(f"iou_threshold must be in [0, 1], not {overlap}")
    most = int_of(max_output_size)
    if most < 0:
        raise InvalidArgumentError(f"max_output_size must be non-negative, not {most}")
    order = np.argsort(-marks, kind="stable")
    waiting = order[marks[order] > least]
    chosen: list[int] = []
    while len(waiting) and len(chosen) < most:
        best, waiting = waiting[0], waiting[1:]
        chosen.append(int(best))
        waiting = waiting[_overlaps(corners[best], corners[waiting]) <= np.float32(overlap)]
    return wrapped(np.array(chosen, np.int32))


def _overlaps(box: Any, others: Any) -> Any:
    """The intersection over the union of a box with others."""
    one, many = box.reshape(2, 2), others.reshape(-1, 2, 2)
    sizes = [np.prod(np.abs(each[..., 1, :] - each[..., 0, :]), axis=-1) for each in (one, many)]
    starts = np.maximum(one.min(0), many.min(1))
    common = np.prod(np.maximum(np.minimum(one.max(0), many.max(1)) - starts, 0), axis=-1)
    union = sizes[0] + sizes[1] - common
    is_real = (sizes[0] > 0) & (sizes[1] > 0)
    return np.where(is_real, common / np.where(is_real, union, 1), 0)


__all__ = ["crop_and_resize", "draw_bounding_boxes", "non_max_suppression"]
