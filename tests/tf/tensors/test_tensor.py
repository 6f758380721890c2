"""Tensors are arrays that have numpy()."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest
from tests.tf.covered import modules

import keepset as ks
import keepset.tf as tf


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, "int32"),
        (1.5, "float32"),
        ([1, 2], "int32"),
        ([[1.0], [2.0]], "float32"),
        (2**40, "int64"),
        (True, "bool"),
        (np.int64(1), "int64"),
        (np.arange(3.0), "float64"),
    ],
)
def test_numbers_of_python_are_of_32_bits(value: Any, dtype: str) -> None:
    made = tf.constant(value)
    assert made.dtype.name == dtype
    np.testing.assert_array_equal(made.numpy(), value)


def test_texts_are_bytes() -> None:
    assert tf.constant("é").numpy() == "é".encode()
    assert tf.constant(["a", b"b"]).numpy().tolist() == [b"a", b"b"]
    assert tf.constant("a") == "a"
    assert (tf.constant(["a", "b"]) == np.array(["a", "c"])).numpy().tolist() == [True, False]
    assert str(tf.constant(b"x")) == "tf.Tensor(b'x', shape=(), dtype=string)"


def test_expressions_give_tensors_scalars_too() -> None:
    x = tf.constant([1, 2, 3])
    for made in (x + 1, x[0], x[0] * 2, x + np.ones(3), x == 2, -x, next(iter(x))):
        assert isinstance(made, tf.Tensor), made
        assert isinstance(made.numpy(), np.ndarray | np.generic)
    assert (x * 2).dtype == tf.int32
    assert int(x[1]) == 2
    assert f"{x[0]}" == "1"
    assert str(x[0]) == "tf.Tensor(1, shape=(), dtype=int32)"
    assert f"{x[0]:03d}" == "001"
    assert repr(x) == "<tf.Tensor: shape=(3,), dtype=int32, numpy=array([1, 2, 3], dtype=int32)>"


def test_a_shape_can_be_stated() -> None:
    x = tf.constant([[1, 2]])
    x.set_shape([None, 2])
    with pytest.raises(ValueError, match="not compatible"):
        x.set_shape([3])


def test_functions_of_arrays() -> None:
    x = tf.constant([[1, 2], [3, 4]])
    assert tf.cast(x, tf.float32).dtype == tf.float32
    assert tf.reshape(x, [-1]).numpy().tolist() == [1, 2, 3, 4]
    assert tf.stack([x, x]).shape == (2, 2, 2)
    assert tf.concat([x, x], axis=1).shape == (2, 4)
    assert tf.shape(x).numpy().tolist() == [2, 2]
    assert (tf.size(x).numpy(), tf.rank(x).numpy()) == (4, 2)
    assert tf.expand_dims(x, 0).shape == (1, 2, 2)
    assert tf.squeeze(tf.expand_dims(x, 0)).shape == (2, 2)
    assert tf.one_hot([1, 5, -1], 3).numpy().tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert tf.reduce_sum(x).numpy() == 10
    assert tf.reduce_mean(x).dtype == tf.int32
    assert tf.reduce_mean(x).numpy() == 2
    assert tf.reduce_max(x, axis=1).numpy().tolist() == [2, 4]
    assert tf.range(3).numpy().tolist() == [0, 1, 2]
    assert tf.range(1, 2, 0.5).numpy().tolist() == [1.0, 1.5]
    assert tf.zeros([2]).dtype == tf.float32
    assert tf.ones([2], tf.int64).numpy().tolist() == [1, 1]
    assert tf.equal(x, 2).numpy().tolist() == [[False, True], [False, False]]
    assert tf.where(x > 2, x, 0).numpy().tolist() == [[0, 0], [3, 4]]
    assert tf.where(x > 2).numpy().tolist() == [[1, 0], [1, 1]]
    assert tf.fill([2], 7).numpy().tolist() == [7, 7]
    assert tf.pad([1], [[1, 2]]).numpy().tolist() == [0, 1, 0, 0]
    assert tf.gather([5, 6, 7], [2, 0]).numpy().tolist() == [7, 5]
    with pytest.raises(TypeError, match=r"tf\.strings\.to_number"):
        tf.cast("1", tf.int32)


def test_functions_of_python_are_called() -> None:
    assert tf.py_function(lambda x: x.numpy() + 1, [1], tf.int64).dtype == tf.int64
    types = [tf.float32, tf.int64]
    first, second = tf.numpy_function(lambda x: (x, x.shape), [tf.ones([2])], types)
    assert first.shape == (2,)
    assert second.numpy().tolist() == [2]
    with pytest.raises(ValueError, match="returned 1 values, and Tout has 2"):
        tf.numpy_function(lambda x: x, [1], [tf.int32, tf.int32])

    @tf.function
    def same(x: Any) -> Any:
        return x

    assert same(3) == 3


def test_functions_of_texts() -> None:
    strings = tf.strings
    assert strings.split("a b  c").numpy().tolist() == [b"a", b"b", b"c"]
    assert strings.split("a,b,", sep=",").numpy().tolist() == [b"a", b"b", b""]
    assert strings.split(["a b", ""]).to_list() == [[b"a", b"b"], []]
    assert strings.join(["a", ["b", "c"]], "-").numpy().tolist() == [b"a-b", b"a-c"]
    assert strings.length("é").numpy() == 2
    assert strings.length("é", unit="UTF8_CHAR").numpy() == 1
    assert strings.lower("AbÉ").numpy() == "abÉ".encode()
    assert strings.lower("AbÉ", encoding="utf-8").numpy() == "abé".encode()
    assert strings.regex_replace("a1b22", r"(\d+)", r"<\1>").numpy() == b"a<1>b<22>"
    assert strings.to_number(["1.5", "2"]).numpy().tolist() == [1.5, 2.0]
    assert strings.to_number("7", tf.int64).dtype == tf.int64
    assert strings.reduce_join([["a", "b"]], axis=1).numpy().tolist() == [b"ab"]
    with pytest.raises(TypeError, match="to a tensor of string"):
        strings.lower(3)


def test_pictures(tmp_path: Any) -> None:
    image = np.random.default_rng(1).integers(0, 256, (6, 4, 3), np.uint8)
    png = tf.io.encode_png(image)
    np.testing.assert_array_equal(tf.io.decode_png(png).numpy(), image)
    np.testing.assert_array_equal(tf.io.decode_image(png, channels=3).numpy(), image)
    assert tf.io.decode_png(png, channels=1).shape == (6, 4, 1)
    jpeg = tf.io.encode_jpeg(np.full((8, 8, 3), 100, np.uint8))
    assert abs(int(tf.io.decode_jpeg(jpeg)[4, 4, 0]) - 100) < 4
    tf.io.write_file(tmp_path / "p.png", png)
    assert tf.io.read_file(str(tmp_path / "p.png")) == png.numpy()
    with pytest.raises(ks.ElementError, match="no image"):
        tf.io.decode_png(b"nothing")
    assert tf.image.resize(image, [3, 2]).dtype == tf.float32
    assert tf.image.resize(image, [12, 8], method="nearest").shape == (12, 8, 3)
    np.testing.assert_array_equal(tf.image.resize(image, [6, 4]).numpy(), image)
    np.testing.assert_array_equal(tf.image.flip_left_right(image).numpy(), image[:, ::-1])
    flips = {bytes(tf.image.random_flip_left_right(image).numpy().tobytes()) for _ in range(40)}
    assert len(flips) == 2
    bright = tf.image.convert_image_dtype(image, tf.float32)
    assert float(tf.reduce_max(bright)) <= 1.0
    np.testing.assert_array_equal(tf.image.convert_image_dtype(bright, tf.uint8).numpy(), image)
    standard = tf.image.per_image_standardization(image).numpy()
    assert abs(standard.mean()) < 1e-5
    assert abs(standard.std() - 1) < 1e-4


def test_what_is_not_covered_says_what_to_use() -> None:
    for name in ("keras", "saved_model", "feature_column"):
        with pytest.raises(AttributeError, match=f"tf.{name} is not part of keepset.tf"):
            getattr(tf, name)
    with pytest.raises(ks.KeepsetError, match=r"tf\.data\.experimental\.service"):
        tf.data.experimental.service  # noqa: B018
    assert not hasattr(tf, "__nothing__")


def test_every_function_can_be_sent_to_a_worker() -> None:
    """As part of what a function captures: pickle finds them by module and name."""
    lost = [
        f"{module}.{key}"
        for module, namespace in modules().items()
        if not module.startswith(("tf.config", "tf.data.experimental"))  # none for functions
        for key in namespace.__all__
        if inspect.isfunction(function := getattr(namespace, key))
        and pickle.loads(pickle.dumps(function)) is not function
    ]
    assert not lost
