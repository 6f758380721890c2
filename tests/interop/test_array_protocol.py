"""Tensors of other frameworks come in as arrays, without a copy of their type's code here."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import keepset as ks

pytestmark = pytest.mark.interop


def test_torch_tensors_become_arrays() -> None:
    import torch

    plain = torch.arange(6, dtype=torch.float32).reshape(3, 2)
    half = torch.tensor([1.5, -2.0, 3.25], dtype=torch.bfloat16)
    with_gradient = torch.ones(3, requires_grad=True)
    ds = ks.Dataset.from_tensor_slices({"a": plain, "b": half, "c": with_gradient})
    first = next(iter(ds))
    assert first["a"].tolist() == [0.0, 1.0]
    assert first["b"].dtype == ml_dtypes.bfloat16
    assert [float(e["b"]) for e in ds] == [1.5, -2.0, 3.25]
    mapped = ks.Dataset.range(2).map(lambda x: torch.tensor([int(x)]))
    assert [row.tolist() for row in mapped] == [[0], [1]]
    assert mapped.element_spec == ks.TensorSpec([1], "int64")


def test_jax_arrays_become_arrays() -> None:
    import jax.numpy as jnp

    ds = ks.Dataset.from_tensor_slices({"a": jnp.arange(3), "b": jnp.ones((3, 2), jnp.bfloat16)})
    first = next(iter(ds))
    assert first["a"] == 0
    assert first["b"].dtype == ml_dtypes.bfloat16
    mapped = ks.Dataset.range(2).map(lambda x: jnp.asarray(np.float32(x)))
    assert [float(x) for x in mapped] == [0.0, 1.0]


def test_tensorflow_tensors_become_arrays() -> None:
    import tensorflow as tf

    ds = ks.Dataset.from_tensor_slices((tf.range(3), tf.constant(["a", "b", "c"])))
    assert list(ds)[1] == (np.int32(1), b"b")
