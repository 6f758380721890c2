"""``tf.nn``: the few functions of it that code of data uses."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.functions.indices import gather
from keepset.tf.functions.math_table import FUNCTIONS, IN_NN
from keepset.tf.functions.norms import clip_by_norm, l2_normalize
from keepset.tf.functions.reductions import FUNCTIONS as REDUCTIONS
from keepset.tf.functions.reductions import axis_of, zero_fraction
from keepset.tf.functions.selection import in_top_k, top_k
from keepset.tf.functions.windows import avg_pool2d, conv2d, depthwise_conv2d, max_pool2d
from keepset.tf.not_covered import not_covered
from keepset.tf.random.stateful import uniform
from keepset.tf.tensors.arithmetic import FLOATS, NUMBERS, check_dtype
from keepset.tf.tensors.conversion import Value, as_value, dtype_of, value_of
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


def dropout(
    x: Any, rate: Any, noise_shape: Any = None, seed: Any = None, name: str | None = None
) -> Tensor:
    """Zeros in place of a part of the numbers, and the others larger by as much."""
    given, part = value_of(x), float(value_of(rate, None))
    if not 0 <= part < 1:
        raise InvalidArgumentError(f"rate must be from 0 to less than 1, not {part}")
    check_dtype(given, FLOATS, dropout)
    if not part:
        return Tensor(given)
    kind = "float32" if dtype_of(given).name == "bfloat16" else dtype_of(given)
    shape = np.shape(given) if noise_shape is None else noise_shape
    drawn = uniform(shape, dtype=kind, seed=seed)._value
    larger = given * given.dtype.type(1 / (1 - part))
    return Tensor(as_value(np.where(drawn >= part, larger, given.dtype.type(0))))


def embedding_lookup(
    params: Any, ids: Any, max_norm: Any = None, name: str | None = None
) -> Tensor:
    """The rows of a table with the numbers given, cut to a length if there is one."""
    if isinstance(params, list | tuple) and len(params) == 1:
        params = params[0]
    found = gather(params, ids)
    if max_norm is None:
        return found
    rank = np.ndim(value_of(ids))
    return clip_by_norm(found, max_norm, list(range(rank, found.ndim)))


def sigmoid_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """How far the sigmoid of logits is from labels of 0 to 1, each by itself."""
    if labels is None or logits is None:
        raise InvalidArgumentError("both labels and logits are needed")
    truth, given = value_of(labels), value_of(logits)
    if np.shape(truth) != np.shape(given) or dtype_of(truth) is not dtype_of(given):
        raise InvalidArgumentError(
            f"labels and logits must be of one shape and dtype, not {np.shape(truth)} of "
            f"{dtype_of(truth).name} and {np.shape(given)} of {dtype_of(given).name}"
        )
    check_dtype(given, FLOATS, sigmoid_cross_entropy_with_logits)
    rest = np.log1p(np.exp(-np.abs(given)))
    return Tensor(as_value(np.maximum(given, 0) - given * truth + rest))


__all__ = [
    "avg_pool2d",
    "conv2d",
    "depthwise_conv2d",
    "dropout",
    "embedding_lookup",
    "in_top_k",
    "l2_normalize",
    "leaky_relu",
    "log_softmax",
    "max_pool2d",
    "moments",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "top_k",
    "zero_fraction",
]
__all__ += sorted(IN_NN)

__getattr__ = not_covered("tf.nn")
