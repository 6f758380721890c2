"""Names of graphs and devices do nothing."""

from __future__ import annotations

import keepset.tf as tf


def test_contexts_do_nothing() -> None:
    with tf.device("/GPU:0"), tf.name_scope("a") as name, tf.control_dependencies([]):
        assert name == "a/"
    with tf.init_scope():
        assert tf.executing_eagerly()
