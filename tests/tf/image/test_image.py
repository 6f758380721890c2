"""tf.image gives TensorFlow's numbers, which were written down from TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import keepset.tf as tf
from keepset.errors import DtypeError, InvalidArgumentError, NotCoveredError

IMAGE = np.arange(0, 60, 5, dtype=np.uint8).reshape(2, 2, 3) * 4
LARGE = IMAGE.repeat(3, 0).repeat(3, 1)
Call = Callable[[], Any]

RESIZED: dict[str, tuple[list[float], list[float]]] = {
    "bilinear": ([60, 90, 120], [112.5, 157.5]),
    "bicubic": ([56.046665, 90, 123.953323], [114.473701, 163.421082]),
    "area": ([60, 90, 120], [120, 180]),
    "lanczos3": ([52.551060, 90, 127.448936], [115.064407, 165.193192]),
    "lanczos5": ([50.983620, 90, 129.016403], [115.424301, 166.272873]),
    "gaussian": ([63.898148, 90, 116.101845], [109.138695, 147.416107]),
    "mitchellcubic": ([59.536476, 90, 120.463539], [111.744797, 155.234390]),
}


@pytest.mark.parametrize("method", RESIZED)
def test_resize(method: str) -> None:
    larger, smaller = RESIZED[method]
    made = tf.image.resize(IMAGE, [3, 3], method)
    assert made.dtype == tf.float32
    assert_allclose(made.numpy()[1, :, 0], larger, rtol=1e-6)
    made = tf.image.resize(LARGE, [2, 2], method, antialias=True)
    assert_allclose(made.numpy()[1, :, 0], smaller, rtol=1e-6)


def test_resize_keeps_dtypes_and_proportions() -> None:
    assert tf.image.resize(IMAGE, [4, 4], tf.image.ResizeMethod.NEAREST_NEIGHBOR).dtype == tf.uint8
    wide = np.zeros((10, 20, 3), np.uint8)
    assert tf.image.resize(wide, [8, 8], preserve_aspect_ratio=True).shape == [4, 8, 3]
    padded = tf.image.resize_with_pad(wide + 1, 8, 8).numpy()
    assert padded[:2].sum() == 0
    assert padded[2:6].min() == 1
    assert tf.image.resize_with_crop_or_pad(wide, 12, 6).shape == [12, 6, 3]
    assert tf.image.central_crop(wide, 0.5).shape == [6, 10, 3]


GOLDEN: dict[str, tuple[Call, Any]] = {
    "hue": (
        lambda: tf.image.adjust_hue(IMAGE, 0.2),
        [[[28, 0, 40], [88, 60, 100]], [[148, 120, 160], [208, 180, 220]]],
    ),
    "saturation": (
        lambda: tf.image.adjust_saturation(IMAGE, 0.5),
        [[[20, 30, 40], [80, 90, 100]], [[140, 150, 160], [200, 210, 220]]],
    ),
    "contrast": (
        lambda: tf.image.adjust_contrast(IMAGE, 2.0),
        [[[0, 0, 0], [30, 50, 70]], [[150, 170, 190], [255, 255, 255]]],
    ),
    "gray": (lambda: tf.image.rgb_to_grayscale(IMAGE)[..., 0], [[16, 76], [136, 196]]),
    "hsv": (lambda: tf.image.rgb_to_hsv([[[1, 0.5, 0.2]]]), [[[0.0625, 0.8, 1]]]),
    "standard": (
        lambda: tf.image.per_image_standardization(IMAGE)[0, 0],
        [-1.5932552, -1.3035724, -1.0138897],
    ),
    "crop": (
        lambda: tf.image.stateless_random_crop(np.arange(25).reshape(5, 5, 1), [2, 2, 1], (1, 2)),
        [[[1], [2]], [[6], [7]]],
    ),
    "box": (
        lambda: (
            tf.image.stateless_sample_distorted_bounding_box(
                [224, 300, 3], [[[0.0, 0, 1, 1]]], seed=(1, 2), area_range=(0.08, 1.0)
            ).size
        ),
        [224, 278, -1],
    ),
    "cut out": (
        lambda: tf.image.crop_and_resize(IMAGE[None], [[0.0, 0, 1, 0.5]], [0], [2, 2])[0, ..., 0],
        [[0, 30], [120, 150]],
    ),
    "chosen": (
        lambda: tf.image.non_max_suppression(
            [[0.0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 1, 1]], [0.5, 0.6, 0.4], 3
        ),
        [1, 2],
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_numbers_are_those_of_tensorflow(name: str) -> None:
    call, expected = GOLDEN[name]
    assert_allclose(call().numpy(), expected, rtol=1e-6)


def test_flips_and_turns_of_one_and_of_many() -> None:
    many = np.stack([IMAGE, IMAGE + 1])
    for image in (IMAGE, many):
        assert_array_equal(tf.image.flip_left_right(image).numpy(), image[..., ::-1, :])
        assert_array_equal(tf.image.flip_up_down(image).numpy(), image[..., ::-1, :, :])
        turned = tf.image.rot90(image, 3)
        assert_array_equal(tf.image.rot90(turned).numpy(), image)
        assert_array_equal(tf.image.transpose(tf.image.transpose(image)).numpy(), image)


@pytest.mark.parametrize("name", ["flip_left_right", "flip_up_down"])
def test_random_flips_are_half_of_all(name: str) -> None:
    many = np.repeat(IMAGE[None], 400, axis=0)
    flipped = getattr(tf.image, f"random_{name}")(many).numpy()
    count = (flipped != many).any((1, 2, 3)).sum()
    assert 120 < count < 280
    single = getattr(tf.image, f"stateless_random_{name}")
    assert len({single(IMAGE, (k, 0)).numpy().tobytes() for k in range(20)}) == 2


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("brightness", (0.2,)),
        ("contrast", (0.5, 1.5)),
        ("hue", (0.2,)),
        ("saturation", (0.5, 1.5)),
        ("jpeg_quality", (20, 90)),
    ],
)
def test_random_changes_keep_dtypes_and_follow_seeds(name: str, bounds: tuple[Any, ...]) -> None:
    image = np.random.default_rng(1).integers(0, 256, (16, 16, 3)).astype(np.uint8)
    change = getattr(tf.image, f"random_{name}")
    one, two = (_after_seed(change, image, bounds) for _ in range(2))
    assert one.dtype == np.uint8
    assert_array_equal(one, two)
    stateless = getattr(tf.image, f"stateless_random_{name}")
    made = {stateless(image, *bounds, seed=(k, 1)).numpy().tobytes() for k in (1, 1, 2)}
    assert len(made) == 2


def _after_seed(change: Call, image: Any, bounds: tuple[Any, ...]) -> Any:
    tf.random.set_seed(3)
    made = change(image, *bounds)  # type: ignore[call-arg]
    tf.random.set_seed(None)
    return made.numpy()


def test_colors_come_back() -> None:
    image = np.random.default_rng(1).uniform(size=(5, 4, 3)).astype(np.float32)
    for space in ("hsv", "yiq", "yuv"):
        there = getattr(tf.image, f"rgb_to_{space}")(image)
        back = getattr(tf.image, f"{space}_to_rgb")(there)
        assert_allclose(back.numpy(), image, atol=1e-4)  # the inverses are rounded
    assert tf.image.grayscale_to_rgb(image[..., :1]).shape == [5, 4, 3]


def test_edges_patches_and_boxes() -> None:
    image = np.random.default_rng(1).uniform(size=(1, 6, 6, 3)).astype(np.float32)
    assert tf.image.sobel_edges(image).shape == [1, 6, 6, 3, 2]
    down, right = tf.image.image_gradients(image)
    assert_array_equal(down.numpy()[:, :-1], image[:, 1:] - image[:, :-1])
    assert right.numpy()[:, :, -1].sum() == 0
    patches = tf.image.extract_patches(image, [1, 3, 3, 1], [1, 3, 3, 1], [1, 1, 1, 1], "VALID")
    assert_array_equal(patches.numpy()[0, 1, 0].reshape(3, 3, 3), image[0, 3:, :3])
    drawn = tf.image.draw_bounding_boxes(image, [[[0.0, 0, 1, 1]]], [[1.0, 0, 0]]).numpy()
    assert_array_equal(drawn[0, 0], [[1, 0, 0]] * 6)
    assert_array_equal(drawn[0, 1:-1, 1:-1], image[0, 1:-1, 1:-1])


def test_a_distorted_box_holds_enough_of_an_object() -> None:
    for seed in range(30):
        begin, size, box = tf.image.sample_distorted_bounding_box(
            tf.constant([100, 80, 3]),
            [[[0.4, 0.4, 0.6, 0.6]]],
            seed=seed,
            min_object_covered=0.5,
            aspect_ratio_range=[0.75, 1.33],
            area_range=[0.2, 1.0],
        )
        (top, left, _), (height, width, _) = begin.numpy(), size.numpy()
        assert height * width >= 0.2 * 100 * 80
        assert 0.7 < width / height < 1.4 or height == 100
        rows = min(top + height, 60) - max(top, 40)
        columns = min(left + width, 48) - max(left, 32)
        assert rows * columns >= 0.5 * 20 * 16
        assert_allclose(box.numpy()[0, 0, :2], [top / 100, left / 80], rtol=1e-6)


ERRORS: dict[str, tuple[Call, type[Exception], str]] = {
    "rank": (lambda: tf.image.flip_up_down(IMAGE[0]), InvalidArgumentError, "tf.expand_dims"),
    "empty": (lambda: tf.image.flip_up_down(IMAGE[:0]), InvalidArgumentError, "no pixels"),
    "crop": (
        lambda: tf.image.crop_to_bounding_box(IMAGE, 1, 0, 2, 2),
        InvalidArgumentError,
        "use resize_with_crop_or_pad",
    ),
    "pad": (
        lambda: tf.image.pad_to_bounding_box(IMAGE, 1, 0, 2, 2),
        InvalidArgumentError,
        "use resize_with_crop_or_pad",
    ),
    "random crop": (
        lambda: tf.image.random_crop(IMAGE, [3, 3, 3]),
        InvalidArgumentError,
        "resize the image first",
    ),
    "crop's size": (
        lambda: tf.image.random_crop(IMAGE, [1, 1]),
        InvalidArgumentError,
        "the channels count too",
    ),
    "size": (lambda: tf.image.resize(IMAGE, 3), InvalidArgumentError, "new_height, new_width"),
    "method": (
        lambda: tf.image.resize(IMAGE, [3, 3], "cubic"),
        InvalidArgumentError,
        "choose bilinear, nearest",
    ),
    "hue": (lambda: tf.image.adjust_hue(IMAGE, 2), InvalidArgumentError, "interval"),
    "channels": (
        lambda: tf.image.adjust_hue(IMAGE[..., :1], 0.1),
        InvalidArgumentError,
        "grayscale_to_rgb",
    ),
    "delta": (lambda: tf.image.random_hue(IMAGE, 0.6), InvalidArgumentError, "at most 0.5"),
    "range": (lambda: tf.image.random_contrast(IMAGE, 2, 1), InvalidArgumentError, "upper must"),
    "colors": (lambda: tf.image.rgb_to_yuv(IMAGE), DtypeError, "convert_image_dtype"),
    "dtype": (
        lambda: tf.image.convert_image_dtype(IMAGE, tf.bool),
        AttributeError,
        "floating point or integer",
    ),
    "batch": (lambda: tf.image.sobel_edges(IMAGE), InvalidArgumentError, "tf.expand_dims"),
    "no boxes": (
        lambda: tf.image.sample_distorted_bounding_box([9, 9, 3], np.zeros((1, 0, 4))),
        InvalidArgumentError,
        "use_image_if_no_bounding_boxes=True",
    ),
    "bytes": (
        lambda: tf.image.decode_jpeg(b"nothing"),
        InvalidArgumentError,
        "decode_image takes all kinds",
    ),
    "paths": (lambda: tf.image.decode_jpeg(["a"]), InvalidArgumentError, "read_file"),
    "encoding": (
        lambda: tf.image.encode_png(np.zeros((2, 2, 3), np.float32)),
        InvalidArgumentError,
        "convert_image_dtype",
    ),
    "wide colors": (
        lambda: tf.image.encode_png(IMAGE.astype(np.uint16)),
        NotImplementedError,
        "gray only",
    ),
    "name": (lambda: tf.image.pad_images, NotCoveredError, "not part of keepset.tf"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_to_do(name: str) -> None:
    call, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        call()
