"""``tf.sysconfig``: what scripts ask about how TensorFlow was built."""

from __future__ import annotations

from keepset.tf.not_covered import not_covered


def get_build_info() -> dict[str, bool]:
    """As of a TensorFlow for CPUs."""
    return dict.fromkeys(("is_cuda_build", "is_rocm_build", "is_tensorrt_build"), False)


__all__ = ["get_build_info"]

__getattr__ = not_covered("tf.sysconfig")
