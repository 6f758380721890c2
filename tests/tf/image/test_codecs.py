"""Images as bytes: what is written is read again, of the kinds that TensorFlow reads."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image

import keepset.tf as tf
from keepset.errors import InvalidArgumentError

IMAGE = np.random.default_rng(1).integers(0, 256, (9, 7, 3)).astype(np.uint8)
SMOOTH = np.add.outer(np.arange(32), np.arange(24))[..., None].repeat(3, 2).astype(np.uint8) * 4


def _saved(kind: str, array: Any = IMAGE, **options: Any) -> bytes:
    out = io.BytesIO()
    Image.fromarray(array).save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_pngs_come_back(channels: int) -> None:
    image = np.random.default_rng(1).integers(0, 256, (9, 7, channels)).astype(np.uint8)
    assert_array_equal(tf.image.decode_png(tf.image.encode_png(image)).numpy(), image)


def test_pngs_of_16_bits() -> None:
    image = IMAGE[..., :1].astype(np.uint16) * 200
    data = tf.image.encode_png(image)
    assert_array_equal(tf.image.decode_png(data, dtype=tf.uint16).numpy(), image)
    assert_array_equal(tf.image.decode_png(data).numpy(), image >> 8)


def test_jpegs_come_back_nearly() -> None:
    data = tf.image.encode_jpeg(SMOOTH, quality=98)
    assert np.abs(tf.image.decode_jpeg(data).numpy().astype(int) - SMOOTH).max() < 8
    assert tf.image.decode_jpeg(data, ratio=2).shape == [16, 12, 3]
    assert tf.image.decode_jpeg(data, channels=1).shape == [32, 24, 1]
    assert tf.image.extract_jpeg_shape(data).numpy().tolist() == [32, 24, 3]
    assert tf.image.is_jpeg(data)
    window = tf.image.decode_and_crop_jpeg(data, [3, 4, 5, 6])
    assert_array_equal(window.numpy(), tf.image.decode_jpeg(data).numpy()[3:8, 4:10])


def test_gifs_are_batches_unless_asked() -> None:
    frames = [Image.fromarray(IMAGE), Image.fromarray(IMAGE[::-1])]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    data = out.getvalue()
    assert tf.image.decode_gif(data).shape == [2, 9, 7, 3]
    assert tf.image.decode_image(data).shape == [2, 9, 7, 3]
    assert tf.image.decode_image(data, expand_animations=False).shape == [9, 7, 3]
    with pytest.raises(InvalidArgumentError, match="expand_animations=False"):
        tf.image.decode_jpeg(data)


def test_bmps() -> None:
    data = _saved("BMP")
    assert_array_equal(tf.image.decode_bmp(data).numpy(), IMAGE)
    assert_array_equal(tf.image.decode_image(data).numpy(), IMAGE)
    with pytest.raises(InvalidArgumentError, match="pass 0"):
        tf.image.decode_bmp(data, channels=4)


def test_dtypes_are_in_their_range() -> None:
    data = _saved("PNG")
    assert_array_equal(tf.image.decode_image(data, dtype=tf.uint16).numpy(), IMAGE * np.uint16(257))
    floats = tf.image.decode_image(data, dtype=tf.float32).numpy()
    np.testing.assert_allclose(floats, IMAGE / 255, rtol=1e-6)
    assert tf.image.decode_image(data, channels=4).numpy()[..., 3].min() == 255


def test_a_file_that_is_cut_off_is_no_image() -> None:
    with pytest.raises(InvalidArgumentError):
        tf.image.decode_png(_saved("PNG")[:90])


def test_webps_are_batches_unless_asked() -> None:
    data = _saved("WEBP", lossless=True)
    assert_array_equal(tf.image.decode_webp(data).numpy(), IMAGE[None])
    assert_array_equal(tf.image.decode_image(data, expand_animations=False).numpy(), IMAGE)
    with pytest.raises(InvalidArgumentError, match="those of the file"):
        tf.image.decode_webp(data, channels=4)


def test_gray_of_a_colored_png_is_cut_off_as_in_tensorflow() -> None:
    pixels = tf.constant([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [200, 100, 51]]], tf.uint8)
    made = tf.io.decode_png(tf.io.encode_png(pixels), channels=1)
    assert made.numpy().ravel().tolist() == [76, 149, 29, 124]
