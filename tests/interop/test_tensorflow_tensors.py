"""Tensors of keepset.tf and those of TensorFlow, Keras, Torch and JAX, each where the other is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import keepset.tf as tf
from keepset.errors import DtypeError, InvalidArgumentError

pytestmark = pytest.mark.interop
_NUMBERS = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "bfloat16",
]


def _real() -> Any:
    import tensorflow

    return tensorflow


def test_tensors_of_tensorflow_are_tensors_of_their_dtype() -> None:
    real = _real()
    given = real.constant([1.5, 2.0])
    assert tf.cast(given, tf.int32).numpy().tolist() == [1, 2]
    assert tf.reshape(given, real.constant([2, 1])).shape == [2, 1]
    assert tf.stack([given, given]).shape == [2, 2]
    assert tf.constant([given[0], given[1]]).numpy().tolist() == [1.5, 2.0]
    assert (tf.constant([1.0, 1.0]) + given).numpy().tolist() == [2.5, 3.0]
    assert (tf.constant([1.0, 1.0]) + real.Variable([1.0, 2.0])).numpy().tolist() == [2.0, 3.0]
    with pytest.raises(DtypeError, match=r"use tf.cast"):
        tf.constant([1, 2]) + given
    assert tf.constant(real.constant(1.5, real.bfloat16)).dtype == tf.bfloat16
    assert tf.strings.lower(real.constant("AB")).numpy() == b"ab"
    assert tf.image.resize(real.ones([2, 2, 1]), [1, 1]).shape == [1, 1, 1]


def test_ragged_and_sparse_tensors_of_tensorflow() -> None:
    real = _real()
    rows, table = real.ragged.constant([[1], [2, 3]]), real.sparse.from_dense([[0, 1]])
    assert tf.reduce_sum(rows, axis=1).numpy().tolist() == [1, 5]
    assert tf.sparse.to_dense(table).numpy().tolist() == [[0, 1]]
    [made] = tf.data.Dataset.range(1).map(lambda x: {"rows": rows, "table": table})
    assert made["rows"].to_list() == [[1], [2, 3]]
    assert tf.sparse.to_dense(made["table"]).numpy().tolist() == [[0, 1]]
    assert [row.numpy().tolist() for row in tf.data.Dataset.from_tensor_slices(rows)] == [
        [1],
        [2, 3],
    ]
    with pytest.raises(InvalidArgumentError, match="to_tensor"):
        tf.image.resize(rows, [1, 1])


def test_symbols_of_graphs_are_refused() -> None:
    real = _real()
    with pytest.raises(InvalidArgumentError):
        real.function(lambda x: tf.cast(x, tf.int32).numpy(), autograph=False)(real.constant(1.5))


def test_layers_of_keras_with_functions_of_keepset() -> None:
    import keras

    layer = keras.layers.TextVectorization(
        standardize=lambda text: tf.strings.regex_replace(tf.strings.lower(text), "!", ""),
        vocabulary=["hello", "there"],
    )
    texts = tf.data.Dataset.from_tensor_slices(["Hello! there", "else"]).batch(2)
    [found] = texts.map(lambda batch: tf.cast(layer(batch), tf.float32) * 2)
    assert found.numpy().tolist() == [[4.0, 6.0], [2.0, 0.0]]
    images = tf.data.Dataset.range(1).map(lambda x: keras.random.uniform([2, 2, 3]))
    assert next(iter(images.map(lambda x: tf.image.resize(x, [1, 1])))).shape == [1, 1, 3]
    assert tf.cast(keras.Variable([1.5]), tf.int32).numpy().tolist() == [1]


def test_tensors_of_torch_and_arrays_of_jax() -> None:
    import jax.numpy as jnp
    import torch

    assert tf.constant(torch.ones(2, requires_grad=True)).numpy().tolist() == [1.0, 1.0]
    assert tf.constant(torch.ones(2, dtype=torch.bfloat16)).dtype == tf.bfloat16
    assert (tf.constant([1.0, 2.0]) + jnp.ones(2)).numpy().tolist() == [2.0, 3.0]


@pytest.mark.parametrize("dtype", _NUMBERS)
@pytest.mark.parametrize("value", [1, [1, 0], [[1]]])
def test_torch_and_jax_take_tensors(dtype: str, value: Any) -> None:
    import jax.numpy as jnp
    import torch

    given = tf.cast(tf.constant(value), dtype)
    for take in (torch.tensor, torch.as_tensor, torch.from_dlpack):
        taken = take(given)
        assert (str(taken.dtype), taken.shape) == (f"torch.{dtype}", np.shape(value))
        assert taken.to(torch.complex128).tolist() == np.array(value, complex).tolist()
    for make in (jnp.asarray, jnp.array):
        assert np.asarray(make(given)).astype(complex).tolist() == np.array(value, complex).tolist()


def test_torch_writes_to_a_copy() -> None:
    import torch

    given = tf.constant([1.0, 2.0])
    torch.as_tensor(given)[0] = 5
    assert given.numpy().tolist() == [1.0, 2.0]
