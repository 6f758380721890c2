from __future__ import annotations

import pytest

import keepset.tf as tf
from keepset.errors import InvalidArgumentError


def test_similarities_are_those_of_tensorflow() -> None:
    image = tf.reshape(tf.range(512.0), [2, 16, 16, 1]) / 512
    assert tf.image.ssim(image, image, 1.0).numpy().tolist() == [1.0, 1.0]
    found = tf.image.ssim(image, image**2, 1.0).numpy()
    assert found == pytest.approx([0.40885, 0.8906], abs=1e-4)
    assert tf.image.ssim(image, image, 1.0, return_index_map=True).shape == [2, 6, 6]
    large = tf.reshape(tf.range(40000.0), [200, 200, 1]) / 40000
    assert float(tf.image.ssim_multiscale(large, large**2, 1.0)) == pytest.approx(0.92592, abs=1e-4)


def test_images_must_be_large_enough() -> None:
    small = tf.zeros([5, 5, 1])
    with pytest.raises(InvalidArgumentError, match="pass a smaller filter_size"):
        tf.image.ssim(small, small, 1.0)
    assert float(tf.image.ssim(small, small, 1.0, filter_size=3)) == 1.0
