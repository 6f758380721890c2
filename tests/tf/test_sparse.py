from __future__ import annotations

import pytest

import keepset as ks
import keepset.tf as tf
from keepset.errors import InvalidArgumentError

TABLE = tf.SparseTensor([[0, 1], [2, 0]], [5, 7], [3, 2])


def test_functions_in_pipelines_see_sparse_tensors() -> None:
    (found,) = tf.data.Dataset.from_tensors(TABLE).map(tf.sparse.to_dense)
    assert found.numpy().tolist() == [[0, 5], [0, 0], [7, 0]]
    (held,) = tf.data.Dataset.from_tensors(TABLE).as_numpy_iterator()
    assert isinstance(held, ks.Sparse)


def test_places_must_be_in_order_to_become_dense() -> None:
    turned = tf.SparseTensor([[2, 0], [0, 1]], [7, 5], [3, 2])
    with pytest.raises(InvalidArgumentError, match=r"use tf\.sparse\.reorder first"):
        tf.sparse.to_dense(turned)
    assert tf.sparse.to_dense(tf.sparse.reorder(turned)).numpy().tolist()[2] == [7, 0]


def test_matrices_are_multiplied() -> None:
    table = tf.cast(TABLE, tf.float32)
    found = tf.sparse.sparse_dense_matmul(table, [[1.0, 2.0], [3.0, 4.0]])
    assert found.numpy().tolist() == [[15.0, 20.0], [0.0, 0.0], [7.0, 14.0]]


def test_other_shapes_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="pass expand_nonconcat_dims=True"):
        tf.sparse.concat(0, [TABLE, tf.SparseTensor([[0, 0]], [1], [1, 3])])
