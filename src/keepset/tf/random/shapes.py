"""The arguments of random functions: shapes, seeds and bounds, checked as TensorFlow does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.errors import UnimplementedError
from keepset.tf.tensors.conversion import Holder, Value, dtype_of, value_of
from keepset.tf.tensors.dtype import DType, as_dtype

FLOATS = tuple(map(as_dtype, ("float16", "bfloat16", "float32", "float64")))
SIGNED = as_dtype("int32"), as_dtype("int64")
UNSIGNED = as_dtype("uint32"), as_dtype("uint64")


def shape_of(given: Any) -> tuple[int, ...]:
    """The sizes that a vector of whole numbers stands for."""
    if isinstance(given, int) or (isinstance(given, Holder) and np.ndim(given._value) == 0):
        raise InvalidArgumentError(f"shape must be a vector, not {given}; pass a list of sizes")
    value = value_of(given)
    if np.size(value) == 0:
        return ()
    if type(value) is not np.ndarray or value.ndim != 1 or dtype_of(value) not in SIGNED:
        raise InvalidArgumentError(f"shape must be a vector of whole numbers, not {given!r:.80}")
    if value.min() < 0:
        raise InvalidArgumentError(f"the shape {value.tolist()} has a negative size; pass sizes")
    return tuple(value.tolist())


def shape_dtype(given: Any) -> str:
    """Whether a shape was given as int32 or int64."""
    value = value_of(given)
    return dtype_of(value).name if np.size(value) else "int32"


def seeds_of(given: Any) -> tuple[int, int]:
    """The two whole numbers that stateless functions take."""
    value = value_of(given)
    if type(value) is bytes or value.dtype.kind not in "iu" or value.dtype.itemsize < 4:
        raise InvalidArgumentError(f"a seed is of int32 or int64, not {given!r:.80}")
    if np.shape(value) != (2,):
        raise InvalidArgumentError(
            f"seed must have shape [2], not {list(np.shape(value))}; pass two numbers as in (1, 2)"
        )
    return int(value[0]), int(value[1])


def dtype_among(dtype: Any, allowed: tuple[DType, ...]) -> DType:
    """A dtype that a function has numbers of."""
    wanted = as_dtype(dtype)
    if wanted not in allowed:
        names = ", ".join(each.name for each in allowed)
        raise InvalidArgumentError(f"there are no such numbers of {wanted.name}; choose {names}")
    return wanted


def float_dtype(dtype: Any) -> DType:
    """The dtype of numbers that are not whole."""
    wanted = as_dtype(dtype)
    if wanted not in FLOATS:
        raise DtypeError(
            f"such numbers are floats, not {wanted.name}; draw tf.float32 and use tf.cast"
        )
    return wanted


def bounds(dtype: DType, low: Any, high: Any) -> tuple[int, int]:
    """The bounds of whole numbers."""
    values = [value_of(each, dtype) for each in (low, high)]
    for name, value in zip(("minval", "maxval"), values, strict=True):
        if np.ndim(value):
            raise InvalidArgumentError(f"{name} must be a single number, not of {value.shape}")
    first, last = (int(value) for value in values)
    if first >= last:
        raise InvalidArgumentError(f"Need minval < maxval, got {first} >= {last}")
    return first, last


def size_of(shape: tuple[int, ...]) -> int:
    return math.prod(shape)


def logits_of(given: Any) -> Value:
    """A matrix of logarithms of probabilities."""
    value = value_of(given)
    if type(value) is bytes or value.dtype.kind in "iubcO":
        raise UnimplementedError(f"logits are floats, not {dtype_of(value).name}; use tf.cast")
    if np.ndim(value) != 2:
        raise InvalidArgumentError(
            f"logits should be a matrix, got shape {list(np.shape(value))}; a row for each draw"
        )
    if value.shape[1] == 0:
        raise InvalidArgumentError("num_classes should be positive, got 0")
    return value
