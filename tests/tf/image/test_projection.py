"""Images that are moved and sheared."""

from __future__ import annotations

from typing import Any

import pytest

import keepset.tf as tf

IMAGE = tf.reshape(tf.range(9), [1, 3, 3, 1])


def _moved(images: Any = IMAGE, interpolation: str = "NEAREST", mode: str = "CONSTANT") -> Any:
    made = tf.raw_ops.ImageProjectiveTransformV3(
        images=images,
        transforms=[[1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]],
        output_shape=[3, 3],
        fill_value=9.0,
        interpolation=interpolation,
        fill_mode=mode,
    )
    return made[0, :, :, 0].numpy().tolist()


def test_images_are_moved() -> None:
    assert _moved() == [[1, 2, 9], [4, 5, 9], [7, 8, 9]]
    assert _moved(mode="NEAREST") == [[1, 2, 2], [4, 5, 5], [7, 8, 8]]
    assert _moved(interpolation="BILINEAR") == [[1, 2, 9], [4, 5, 9], [7, 8, 9]]


def test_errors_say_what_is_needed() -> None:
    with pytest.raises(ValueError, match=r"use tf\.expand_dims"):
        _moved(IMAGE[0])
    with pytest.raises(ValueError, match="'NEAREST' or 'BILINEAR'"):
        _moved(interpolation="BICUBIC")
