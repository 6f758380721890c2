"""``tf.compat.v1``: only its data side, which is that of today."""

from __future__ import annotations

from keepset.tf import errors, nest, train
from keepset.tf.compat import v1_data as data
from keepset.tf.compat import v1_gfile as gfile
from keepset.tf.compat import v1_logging as logging
from keepset.tf.not_covered import not_covered

__all__ = [
    "data",
    "enable_eager_execution",
    "enable_v2_behavior",
    "errors",
    "executing_eagerly",
    "gfile",
    "logging",
    "nest",
    "train",
]


def enable_eager_execution(
    config: object = None, device_policy: object = None, execution_mode: object = None
) -> None:
    """Nothing: there is no other way to execute."""


def enable_v2_behavior() -> None:
    """Nothing: it is that of TensorFlow 2 at all times."""


def executing_eagerly() -> bool:
    return True


__getattr__ = not_covered("tf.compat.v1")
