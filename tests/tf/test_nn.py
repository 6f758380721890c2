"""Functions of tf.nn that code of data uses."""

from __future__ import annotations

import pytest

import keepset.tf as tf


def test_dropout_draws_as_tensorflow_does() -> None:
    tf.random.set_seed(1)
    assert tf.nn.dropout(tf.ones([8]), 0.5).numpy().tolist() == [0, 2, 2, 0, 0, 2, 2, 0]
    with pytest.raises(ValueError, match="from 0 to less than 1"):
        tf.nn.dropout(tf.ones([8]), 1)


def test_rows_of_a_table_are_looked_up() -> None:
    table = tf.constant([[3.0, 4.0], [6.0, 8.0]])
    assert tf.nn.embedding_lookup(table, [1]).numpy().tolist() == [[6, 8]]
    assert tf.nn.embedding_lookup([table], [1], max_norm=5.0).numpy().tolist() == [[3, 4]]


def test_cross_entropy_is_of_each_by_itself() -> None:
    entropy = tf.nn.sigmoid_cross_entropy_with_logits
    found = entropy(labels=[1.0, 0.0], logits=[2.0, -3.0]).numpy().tolist()
    assert found == pytest.approx([0.126928, 0.04858735])
    with pytest.raises(ValueError, match="one shape and dtype"):
        entropy(labels=[1, 0], logits=[2.0, -3.0])
    with pytest.raises(ValueError, match="both"):
        entropy(labels=[1.0])
