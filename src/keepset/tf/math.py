"""``tf.math``: functions of numbers, put together from the tables and files of their kinds."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.tf.functions import math_table, reductions
from keepset.tf.functions.counting import SEGMENTS, bincount, confusion_matrix
from keepset.tf.functions.norms import l2_normalize
from keepset.tf.functions.reductions import (
    add_n,
    argmax,
    argmin,
    count_nonzero,
    cumprod,
    cumsum,
    cumulative_logsumexp,
    zero_fraction,
)
from keepset.tf.functions.selection import in_top_k, invert_permutation, top_k
from keepset.tf.nn import log_softmax, softmax
from keepset.tf.not_covered import not_covered
from keepset.tf.tensors.arithmetic import REAL, check_dtype
from keepset.tf.tensors.conversion import value_of
from keepset.tf.tensors.tensor import Tensor

_MADE = {name: math_table.FUNCTIONS[name] for name in math_table.IN_MATH}
_MADE |= reductions.FUNCTIONS | SEGMENTS
globals().update(_MADE)


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Tensor:
    """A tensor times a number, which takes its dtype."""
    factor = value_of(scalar)
    if np.ndim(factor):
        raise ValueError(f"the factor is a scalar, not of shape {np.shape(factor)}")
    return math_table.FUNCTIONS["multiply"](Tensor(value_of(x)), scalar)


def polyval(coeffs: Any, x: Any, name: str | None = None) -> Tensor:
    """The polynomial with such coefficients, that of the highest power first."""
    if not isinstance(coeffs, list):
        raise ValueError(f"coeffs is a list of coefficients, not {type(coeffs).__name__}")
    variable = Tensor(value_of(x))
    multiply, add = math_table.FUNCTIONS["multiply"], math_table.FUNCTIONS["add"]
    if not coeffs:
        return Tensor(np.zeros_like(variable._value))
    found = Tensor(value_of(coeffs[0], variable.dtype))
    for each in coeffs[1:]:
        found = add(multiply(found, variable), each)
    return found


def _rising(name: str, compare: Any) -> Any:
    def look(x: Any, name: str | None = None) -> Tensor:
        given = value_of(x)
        check_dtype(given, REAL, look)
        flat = np.ravel(given)
        return Tensor(np.bool_(compare(flat[1:], flat[:-1]).all()))

    look.__name__ = look.__qualname__ = name
    look.__doc__ = "Whether each item goes on from the one before it."
    return look


is_non_decreasing = _rising("is_non_decreasing", np.greater_equal)
is_strictly_increasing = _rising("is_strictly_increasing", np.greater)


__all__ = [
    "add_n",
    "argmax",
    "argmin",
    "bincount",
    "confusion_matrix",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_logsumexp",
    "in_top_k",
    "invert_permutation",
    "is_non_decreasing",
    "is_strictly_increasing",
    "l2_normalize",
    "log_softmax",
    "polyval",
    "scalar_mul",
    "softmax",
    "top_k",
    "zero_fraction",
]
__all__ += sorted(_MADE)

__getattr__ = not_covered("tf.math")
