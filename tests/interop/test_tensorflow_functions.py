"""Functions of keepset.tf beside those of TensorFlow, on the same input."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import keepset.tf as ours

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

random = np.random.default_rng(5)
FLOATS = random.normal(size=(3, 4)).astype(np.float32)
INTEGERS = random.integers(-5, 5, (3, 4))
IMAGE = random.integers(0, 256, (11, 7, 3), np.uint8)
PHOTO = np.kron(random.integers(0, 256, (4, 4, 3)), np.ones((8, 8, 1))).astype(np.uint8)

CASES: dict[str, Callable[[Any], Any]] = {
    "cast": lambda tf: tf.cast(FLOATS * 10, tf.int32),
    "cast bool": lambda tf: tf.cast(INTEGERS, tf.bool),
    "reshape": lambda tf: tf.reshape(INTEGERS, [2, -1]),
    "one_hot": lambda tf: tf.one_hot([0, 3, 9], 4),
    "one_hot values": lambda tf: tf.one_hot([0, 1], 2, on_value=5, off_value=-1, dtype=tf.int32),
    "one_hot axis": lambda tf: tf.one_hot([0, 1, 2], 4, axis=0),
    "reduce_sum": lambda tf: tf.reduce_sum(INTEGERS, axis=1),
    "reduce_sum keepdims": lambda tf: tf.reduce_sum(FLOATS, axis=[0], keepdims=True),
    "reduce_mean int": lambda tf: tf.reduce_mean(tf.constant([1, 2, 4])),
    "reduce_max": lambda tf: tf.reduce_max(FLOATS),
    "range": lambda tf: tf.range(3, 18, 3),
    "range float": lambda tf: tf.range(0.0, 1.0, 0.25),
    "zeros": lambda tf: tf.zeros([2, 3], tf.int64),
    "constant fill": lambda tf: tf.constant(7, shape=[2, 2]),
    "where": lambda tf: tf.where(FLOATS > 0, FLOATS, 0.0),
    "where places": lambda tf: tf.where(INTEGERS > 0),
    "equal": lambda tf: tf.equal(INTEGERS, 1),
    "stack": lambda tf: tf.stack([INTEGERS, INTEGERS], axis=1),
    "concat": lambda tf: tf.concat([FLOATS, FLOATS], axis=0),
    "shape": lambda tf: tf.shape(FLOATS),
    "size": lambda tf: tf.size(FLOATS),
    "squeeze": lambda tf: tf.squeeze(FLOATS[:1, :1]),
    "argmax": lambda tf: tf.argmax(FLOATS, axis=1),
    "pad": lambda tf: tf.pad(INTEGERS, [[1, 0], [0, 2]], constant_values=9),
    "split": lambda tf: tf.strings.split("a  b c"),
    "split at": lambda tf: tf.strings.split("a,,b,", sep=","),
    "join": lambda tf: tf.strings.join(["a", ["b", "c"]], separator="-"),
    "length": lambda tf: tf.strings.length(["", "äb"]),
    "lower": lambda tf: tf.strings.lower("ABÉ"),
    "regex_replace": lambda tf: tf.strings.regex_replace("a1b22", r"(\d+)", r"<\1>"),
    "to_number": lambda tf: tf.strings.to_number(["1.5", "-2e3"]),
    "as_string": lambda tf: tf.strings.as_string([1, 22]),
    "substr": lambda tf: tf.strings.substr("hello", 1, 3),
    "resize up": lambda tf: tf.image.resize(IMAGE, [23, 17]),
    "resize down": lambda tf: tf.image.resize(IMAGE, [5, 3]),
    "resize nearest": lambda tf: tf.image.resize(IMAGE, [5, 13], method="nearest"),
    "resize many": lambda tf: tf.image.resize(np.stack([IMAGE] * 2), [4, 4]),
    "convert_image_dtype": lambda tf: tf.image.convert_image_dtype(IMAGE, tf.float32),
    "convert back": lambda tf: tf.image.convert_image_dtype(
        np.array([0.0, 0.3, 0.9999, 1.0], np.float32), tf.uint8
    ),
    "convert wider": lambda tf: tf.image.convert_image_dtype(IMAGE, tf.uint16),
    "standardised": lambda tf: tf.image.per_image_standardization(IMAGE),
    "grayscale": lambda tf: tf.image.rgb_to_grayscale(np.float32(IMAGE) / 255),
    "decode_png": lambda tf: tf.io.decode_png(ours.io.encode_png(IMAGE).numpy()),
    "decode_png gray": lambda tf: tf.io.decode_png(
        ours.io.encode_png(IMAGE[..., :1]).numpy(), channels=3
    ),
    "decode_raw": lambda tf: tf.io.decode_raw(b"\1\0\2\0", tf.int16),
    "serialize_tensor": lambda tf: tf.io.serialize_tensor(tf.constant([[1.5], [2.5]])),
    "parse_tensor": lambda tf: tf.io.parse_tensor(
        ours.io.serialize_tensor(INTEGERS).numpy(), tf.int64
    ),
    "literals": lambda tf: tf.constant([[1, 2], [3, 4]]),
    "large literals": lambda tf: tf.constant(2**40),
}


def real() -> Any:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    return importlib.import_module("tensorflow")


@pytest.mark.parametrize("name", CASES)
def test_a_function_gives_what_tensorflow_gives(name: str) -> None:
    found, wanted = CASES[name](ours).numpy(), CASES[name](real()).numpy()
    assert np.shape(found) == np.shape(wanted)
    if isinstance(wanted, bytes) or np.asarray(wanted).dtype == object:
        assert np.asarray(found, object).tolist() == np.asarray(wanted, object).tolist()
        return
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-5)


def test_jpegs_are_decoded_nearly_alike() -> None:
    jpeg = ours.io.encode_jpeg(PHOTO, quality=95).numpy()
    found = ours.io.decode_jpeg(jpeg).numpy().astype(int)
    wanted = real().io.decode_jpeg(jpeg).numpy().astype(int)
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).mean() < 1.5
