"""Convolution and pooling, as images are blurred with."""

from __future__ import annotations

import pytest

import keepset.tf as tf

IMAGE = tf.reshape(tf.range(9.0), [1, 3, 3, 1])
BOX = tf.ones([2, 2, 1, 1])


def test_windows_are_summed_up() -> None:
    summed = [[8, 12], [20, 24]]
    assert tf.nn.conv2d(IMAGE, BOX, 1, "VALID")[0, :, :, 0].numpy().tolist() == summed
    each = tf.nn.depthwise_conv2d(IMAGE, BOX, [1, 1, 1, 1], "VALID")
    assert each[0, :, :, 0].numpy().tolist() == summed


def test_pools_leave_out_what_is_around() -> None:
    means = tf.nn.avg_pool2d(IMAGE, 2, 2, "SAME")[0, :, :, 0]
    assert means.numpy().tolist() == [[2, 3.5], [6.5, 8]]
    most = tf.nn.max_pool2d(-IMAGE, 2, 2, "SAME")[0, :, :, 0]
    assert most.numpy().tolist() == [[0, -2], [-6, -8]]


def test_errors_say_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"use tf\.expand_dims"):
        tf.nn.conv2d(IMAGE[0], BOX, 1, "SAME")
    with pytest.raises(ValueError, match=r"use tf\.transpose"):
        tf.nn.max_pool2d(IMAGE, 2, 2, "SAME", data_format="NCHW")
    with pytest.raises(ValueError, match="pass smaller sizes"):
        tf.nn.max_pool2d(IMAGE, 4, 1, "VALID")
    with pytest.raises(ValueError, match="strides must be a number, two"):
        tf.nn.conv2d(IMAGE, BOX, [1, 1, 1], "SAME")
    with pytest.raises(ValueError, match="for 1 channels, and there are 2"):
        tf.nn.conv2d(tf.ones([1, 3, 3, 2]), BOX, 1, "SAME")
    with pytest.raises(TypeError, match=r"\[1, rows, columns, 1\]"):
        tf.nn.depthwise_conv2d(IMAGE, BOX, 1, "SAME")
