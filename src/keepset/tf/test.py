"""``tf.test``: what scripts ask about the machine. There are no GPUs here."""

from __future__ import annotations

from typing import Any

from keepset.tf.not_covered import not_covered


def gpu_device_name() -> str:
    """The name of no device."""
    return ""


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """False."""
    return False


def is_built_with_cuda() -> bool:
    """False."""
    return False


is_built_with_gpu_support = is_built_with_rocm = is_built_with_cuda

__all__ = [
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_gpu_available",
]

__getattr__ = not_covered("tf.test")
