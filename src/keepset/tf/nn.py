"""``tf.nn``: the few functions of it that code of data uses."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.functions.math_table import FUNCTIONS, IN_NN
from keepset.tf.functions.norms import l2_normalize
from keepset.tf.functions.reductions import FUNCTIONS as REDUCTIONS
from keepset.tf.functions.reductions import axis_of, zero_fraction
from keepset.tf.functions.selection import in_top_k, top_k
from keepset.tf.not_covered import not_covered
from keepset.tf.tensors.arithmetic import FLOATS, NUMBERS, check_dtype
from keepset.tf.tensors.conversion import Value, as_value, value_of
from keepset.tf.tensors.quiet import run_quietly
from keepset.tf.tensors.tensor import Tensor

globals().update({name: FUNCTIONS[name] for name in IN_NN})


def softmax(logits: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """Powers of e in proportion, which add up to 1 along an axis."""
    given, along = _logits(logits, axis)
    return Tensor(run_quietly(lambda: np.exp(_log_softmax(given, along))))


def log_softmax(logits: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """The logarithms of ``softmax``."""
    return Tensor(run_quietly(_log_softmax, *_logits(logits, axis)))


def _logits(logits: Any, axis: Any) -> tuple[Value, int]:
    given = value_of(logits)
    check_dtype(given, FLOATS, softmax)
    if not np.ndim(given):
        raise InvalidArgumentError("tf.nn.softmax takes at least 1 dimension, not 0")
    return given, axis_of(-1 if axis is None else axis, np.ndim(given))


def _log_softmax(given: Value, axis: int) -> Value:
    moved = given - np.max(given, axis=axis, keepdims=True, initial=-np.inf)
    return moved - np.log(np.sum(np.exp(moved), axis=axis, keepdims=True))


def leaky_relu(features: Any, alpha: Any = 0.2, name: str | None = None) -> Tensor:
    """A number, and a part of it in place of a negative one."""
    given = value_of(features)
    check_dtype(given, NUMBERS, leaky_relu)
    floats = given.astype(np.float32) if given.dtype.kind in "iu" else given
    part = floats * floats.dtype.type(value_of(alpha))
    return Tensor(as_value(np.where(floats > 0, floats, part)))


def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The mean and the variance along axes."""
    given = value_of(x)
    wide = given.astype(np.float32) if given.dtype == np.float16 else given
    mean = REDUCTIONS["reduce_mean"](Tensor(wide), axes, True)
    squares = FUNCTIONS["square"](FUNCTIONS["subtract"](Tensor(wide), mean))
    found = [
        REDUCTIONS["reduce_mean"](each, axes, keepdims)._value for each in (Tensor(wide), squares)
    ]
    one, two = (Tensor(as_value(np.asarray(each).astype(given.dtype))) for each in found)
    return one, two


__all__ = [
    "in_top_k",
    "l2_normalize",
    "leaky_relu",
    "log_softmax",
    "moments",
    "softmax",
    "top_k",
    "zero_fraction",
]
__all__ += sorted(IN_NN)

__getattr__ = not_covered("tf.nn")
