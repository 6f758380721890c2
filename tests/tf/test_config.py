"""Settings that have nothing to set."""

from __future__ import annotations

import keepset.tf as tf


def test_there_is_one_cpu() -> None:
    assert tf.config.list_physical_devices("GPU") == []
    assert [each.device_type for each in tf.config.list_physical_devices()] == ["CPU"]
    assert tf.config.experimental.list_physical_devices("GPU") == []


def test_settings_are_remembered() -> None:
    tf.config.threading.set_inter_op_parallelism_threads(2)
    assert tf.config.threading.get_inter_op_parallelism_threads() == 2
    tf.config.run_functions_eagerly(True)
    assert tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(False)
    tf.config.experimental.set_memory_growth(None, True)
    tf.config.optimizer.set_jit(True)


def test_functions_are_not_converted() -> None:
    assert tf.autograph.experimental.do_not_convert(len) is len
    assert tf.autograph.experimental.do_not_convert()(len) is len
