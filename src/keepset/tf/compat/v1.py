"""``tf.compat.v1``: its data side, which is that of today, and older names of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keepset.tf import debugging, errors, nest, train
from keepset.tf.compat import v1_app as app
from keepset.tf.compat import v1_data as data
from keepset.tf.compat import v1_gfile as gfile
from keepset.tf.compat import v1_io as io
from keepset.tf.compat import v1_logging as logging
from keepset.tf.functions.arrays import cast
from keepset.tf.functions.calls import py_func
from keepset.tf.functions.printing import get_logger
from keepset.tf.not_covered import not_covered
from keepset.tf.tensors.tensor import Tensor

__all__ = [
    "app",
    "data",
    "debugging",
    "enable_eager_execution",
    "enable_v2_behavior",
    "errors",
    "executing_eagerly",
    "get_logger",
    "gfile",
    "io",
    "logging",
    "nest",
    "py_func",
    "python_io",
    "to_bfloat16",
    "to_complex64",
    "to_complex128",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
    "train",
]


python_io = io


def _cast_to(dtype: str, name: str) -> Callable[..., Tensor]:
    def convert(x: Any, name: str | None = None) -> Tensor:
        return cast(x, dtype)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"As ``tf.cast`` to {dtype}."
    return convert


to_bfloat16 = _cast_to("bfloat16", "to_bfloat16")
to_complex64 = _cast_to("complex64", "to_complex64")
to_complex128 = _cast_to("complex128", "to_complex128")
to_double = _cast_to("float64", "to_double")
to_float = _cast_to("float32", "to_float")
to_int32 = _cast_to("int32", "to_int32")
to_int64 = _cast_to("int64", "to_int64")


def enable_eager_execution(
    config: object = None, device_policy: object = None, execution_mode: object = None
) -> None:
    """Nothing: there is no other way to execute."""


def enable_v2_behavior() -> None:
    """Nothing: it is that of TensorFlow 2 at all times."""


def executing_eagerly() -> bool:
    return True


__getattr__ = not_covered("tf.compat.v1")
