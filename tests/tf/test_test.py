"""Scripts that ask for GPUs hear that there are none."""

from __future__ import annotations

import keepset.tf as tf


def test_there_are_no_gpus() -> None:
    assert tf.test.gpu_device_name() == ""
    assert not tf.test.is_gpu_available()
    assert not tf.test.is_built_with_cuda()
    assert not tf.sysconfig.get_build_info()["is_cuda_build"]
