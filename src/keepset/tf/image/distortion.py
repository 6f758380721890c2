"""Boxes for distorted copies of an image, as models of ImageNet are trained with."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.random.distributions import floats_of
from keepset.tf.random.philox import Stream, stream_of_seed
from keepset.tf.random.shapes import seeds_of
from keepset.tf.random.stateful import operation_stream
from keepset.tf.tensors.conversion import dtype_of, value_of
from keepset.tf.tensors.tensor import Tensor


class DistortedBox(NamedTuple):
    """Where a box begins, its size, and the box as parts of the image."""

    begin: Tensor
    size: Tensor
    bboxes: Tensor


_Box = tuple[int, int, int, int]
_WORDS = 2**32


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: Any = 0,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: Any = None,
    use_image_if_no_bounding_boxes: Any = None,
    name: str | None = None,
) -> DistortedBox:
    """A box at random, of a random size, which holds enough of an object.

    Args:
        image_size: The height, width and channels of the image.
        bounding_boxes: The objects: ``[1, n, 4]`` of tops, lefts, bottoms and rights, from 0 to 1.
        seed: With another than 0, and ``set_seed``, the boxes are those of TensorFlow.
        min_object_covered: Which part of one object must be in the box.
        aspect_ratio_range: The least and greatest width over height; (0.75, 1.33) if None.
        area_range: The least and greatest part of the image; (0.05, 1) if None.
        max_attempts: After how many boxes that do not fit it is the whole image; 100 if None.
        use_image_if_no_bounding_boxes: Whether the image is the object if there are none.

    Returns:
        Where the box begins and its size, for ``tf.slice``, and the box as ``[1, 1, 4]``.
    """
    choice = _Choice(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes)
    stream = operation_stream("SampleDistortedBoundingBoxV2", seed or None, choice.attempts)
    return choice.box(stream, image_size, bounding_boxes, min_object_covered)


def stateless_sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: Any,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: Any = None,
    use_image_if_no_bounding_boxes: Any = None,
    name: str | None = None,
) -> DistortedBox:
    """The same with TensorFlow's box for a seed of two numbers."""
    choice = _Choice(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes)
    stream = stream_of_seed(*seeds_of(seed))
    return choice.box(stream, image_size, bounding_boxes, min_object_covered)


class _Words:
    """The words of a stream one after the other."""

    def __init__(self, stream: Stream) -> None:
        self._words = self._all(stream)

    @staticmethod
    def _all(stream: Stream) -> Iterator[Any]:
        for block in itertools.count():
            yield from stream.words(np.array([block]))[0]

    def unit(self) -> Any:
        return floats_of(np.array([next(self._words)]))[0]

    def below(self, bound: int) -> int:
        """A whole number, every one as likely; words that would make some likelier are left out."""
        is_power_of_two = bound & (bound - 1) == 0
        rest = 0 if is_power_of_two else (_WORDS - 1) % bound + 1
        word = next(self._words)
        while not is_power_of_two and int(word) > _WORDS - 1 - rest:
            word = next(self._words)
        return int(word) % bound


class _Choice:
    """Which boxes may be chosen."""

    def __init__(self, aspects: Any, areas: Any, attempts: Any, use_image: Any) -> None:
        self.aspects = _pair("aspect_ratio_range", (0.75, 1.33) if aspects is None else aspects)
        self.areas = _pair("area_range", (0.05, 1.0) if areas is None else areas)
        self.attempts = 100 if attempts is None else int(attempts)
        self.use_image = bool(use_image)
        if max(self.areas) > 1:
            raise InvalidArgumentError(f"area_range is a part of the image, not {areas}")
        if self.attempts <= 0:
            raise InvalidArgumentError(f"max_attempts must be at least 1, not {attempts}")

    def box(
        self, stream: Stream, image_size: Any, bounding_boxes: Any, min_object_covered: Any
    ) -> DistortedBox:
        sizes = value_of(image_size)
        if np.shape(sizes) != (3,):
            raise InvalidArgumentError(f"image_size must contain 3 elements, not {image_size}")
        height, width = int(sizes[0]), int(sizes[1])
        objects = self._objects(bounding_boxes, height, width)
        covered = float(value_of(min_object_covered))
        if covered < 0:
            raise InvalidArgumentError(f"min_object_covered must be non-negative, not {covered}")
        words = _Words(stream)
        found: _Box = 0, 0, height, width
        for _ in range(self.attempts):
            aspect = words.unit() * (self.aspects[1] - self.aspects[0]) + self.aspects[0]
            tried = _tried(height, width, self.areas, aspect, words)
            if tried is not None and _covers(tried, objects, np.float32(covered)):
                found = tried
                break
        return _slice_of(found, height, width, dtype_of(sizes).storage)

    def _objects(self, given: Any, height: int, width: int) -> list[_Box]:
        boxes = value_of(given, "float32")
        if np.ndim(boxes) != 3 or boxes.shape[2] != 4:
            raise InvalidArgumentError(
                f"bounding boxes are of [batch, boxes, 4], not {list(np.shape(boxes))}"
            )
        if np.any((boxes < 0) | (boxes > 1)):
            raise InvalidArgumentError("All bounding box coordinates must be in [0.0, 1.0]")
        if not boxes.size:
            if not self.use_image:
                raise InvalidArgumentError(
                    "there are no bounding boxes; pass use_image_if_no_bounding_boxes=True"
                )
            return [(0, 0, height, width)]
        whole = boxes.reshape(-1, 4) * np.array([height, width] * 2, np.float32)
        return [tuple(row) for row in whole.astype(int).tolist()]


def _pair(name: str, given: Any) -> tuple[Any, Any]:
    numbers = [np.float32(each) for each in given]
    if len(numbers) != 2 or min(numbers) <= 0:
        raise InvalidArgumentError(f"{name} must be two numbers above 0, not {given}")
    return numbers[0], numbers[1]


def _tried(height: int, width: int, areas: Any, aspect: Any, words: _Words) -> _Box | None:
    """A box of an aspect and a random height, in a random place; None if it does not fit."""

    def wide(rows: int) -> int:
        return int(np.rint(np.float32(rows) * aspect))

    least, most = (np.float32(area * np.float32(width)) * np.float32(height) for area in areas)
    rows, highest = (int(np.rint(np.sqrt(each / aspect))) for each in (least, most))
    if wide(highest) > width:
        highest = int((width + 0.5 - 1e-7) / aspect)
        highest -= int(wide(highest) > width)
    highest = min(highest, height)
    rows = min(rows, highest)
    if rows < highest:
        rows += words.below(highest - rows + 1)
    rows += int(wide(rows) * rows < least)
    rows -= int(wide(rows) * rows > most)
    columns = wide(rows)
    if not least <= rows * columns <= most or not (0 < columns <= width and 0 < rows <= height):
        return None
    top = words.below(height - rows) if rows < height else 0
    left = words.below(width - columns) if columns < width else 0
    return top, left, top + rows, left + columns


def _area(box: _Box) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def _covers(box: _Box, objects: list[_Box], part: Any) -> bool:
    if _area(box) < 1:
        return False
    for each in objects:
        common = (
            max(box[0], each[0]),
            max(box[1], each[1]),
            min(box[2], each[2]),
            min(box[3], each[3]),
        )
        area = _area(common) if common[0] <= common[2] and common[1] <= common[3] else 0
        if _area(each) >= 1 and np.float32(area) / np.float32(_area(each)) >= part:
            return True
    return False


def _slice_of(box: _Box, height: int, width: int, dtype: Any) -> DistortedBox:
    top, left, bottom, right = box
    ends = np.array([height, width] * 2, np.float32)
    return DistortedBox(
        Tensor(np.array([top, left, 0], dtype)),
        Tensor(np.array([bottom - top, right - left, -1], dtype)),
        Tensor((np.array(box, np.float32) / ends).reshape(1, 1, 4)),
    )


__all__ = [
    "DistortedBox",
    "sample_distorted_bounding_box",
    "stateless_sample_distorted_bounding_box",
]
