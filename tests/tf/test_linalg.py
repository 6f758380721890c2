"""Matrices and lengths."""

from __future__ import annotations

import numpy as np
import pytest

import keepset.tf as tf


def test_products() -> None:
    assert tf.matmul([[1, 2]], [[3, 4]], transpose_b=True).numpy().tolist() == [[11]]
    assert tf.linalg.matvec([[1, 2], [3, 4]], [1, 1]).numpy().tolist() == [3, 7]
    assert tf.tensordot([1, 2], [3, 4], 1).numpy() == 11
    assert tf.einsum("ij->j", tf.constant([[1, 2], [3, 4]])).numpy().tolist() == [4, 6]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"tf\.linalg\.matvec"):
        tf.matmul([1], [[2]])
    with pytest.raises(TypeError, match="do not go together"):
        tf.tensordot([1], [1.0], 1)


def test_parts_of_matrices() -> None:
    x = [[1, 2], [3, 4]]
    assert tf.linalg.band_part(x, 0, -1).numpy().tolist() == [[1, 2], [0, 4]]
    assert tf.linalg.diag([1, 2], k=1).shape == [3, 3]
    assert tf.linalg.set_diag(x, [9, 8]).numpy().tolist() == [[9, 2], [3, 8]]
    assert tf.linalg.trace(x).numpy() == 5


def test_solutions() -> None:
    x = tf.constant([[2.0, 0.0], [0.0, 4.0]])
    np.testing.assert_allclose(tf.matmul(tf.linalg.inv(x), x).numpy(), np.eye(2))
    assert tf.linalg.solve(x, [[1.0], [1.0]]).numpy().tolist() == [[0.5], [0.25]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Singular matrix"):
        tf.linalg.inv([[1.0, 1.0], [1.0, 1.0]])


def test_lengths() -> None:
    assert tf.norm([3.0, 4.0]).numpy() == 5
    assert tf.norm([[3.0, -4.0]], ord=1, axis=1).numpy().tolist() == [7]
    np.testing.assert_allclose(tf.clip_by_norm([3.0, 4.0], 1).numpy(), [0.6, 0.8])
    cut, length = tf.clip_by_global_norm([tf.constant([3.0]), tf.constant([4.0])], 1.0)
    assert length.numpy() == 5
    np.testing.assert_allclose(cut[0].numpy(), [0.6])
    with pytest.raises(ValueError, match="ord"):
        tf.norm([1.0], ord="fro")


def test_few_functions_of_networks() -> None:
    np.testing.assert_allclose(tf.nn.softmax([[1.0, 1.0]]).numpy(), [[0.5, 0.5]])
    mean, variance = tf.nn.moments(tf.constant([1.0, 2.0, 3.0]), [0])
    assert mean.numpy() == 2
    assert abs(variance.numpy() - 2 / 3) < 1e-6
    with pytest.raises(AttributeError, match=r"tf\.nn\.batch_normalization is not part"):
        tf.nn.batch_normalization  # noqa: B018
