"""Functions on values, item by item, that NumPy does not have under one name."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from keepset.tf.tensors.arithmetic import division, refuse_zero
from keepset.tf.tensors.conversion import Value

_ERF: Final = np.vectorize(math.erf, otypes=[np.float64])
_ERFC: Final = np.vectorize(math.erfc, otypes=[np.float64])


def _log_gamma(x: float) -> float:
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    return math.lgamma(x)


_LGAMMA: Final = np.vectorize(_log_gamma, otypes=[np.float64])


def _chosen(condition: Any, one: Any, two: Any) -> Any:
    """As ``numpy.where``, which makes arrays of scalars."""
    return np.where(condition, one, two)[()]


def erf(x: Value) -> Value:
    """The error function."""
    return _ERF(x)[()].astype(x.dtype)


def erfc(x: Value) -> Value:
    """One less the error function."""
    return _ERFC(x)[()].astype(x.dtype)


def lgamma(x: Value) -> Value:
    """The logarithm of the absolute value of the gamma function."""
    return _LGAMMA(x)[()].astype(x.dtype)


def rounded(x: Value) -> Value:
    """The nearest whole number, and the even one of two that are as near."""
    return np.rint(x) if x.dtype.kind not in "iu" else x


def rsqrt(x: Value) -> Value:
    """One divided by the square root."""
    return (1 / np.sqrt(x)).astype(x.dtype)


def reciprocal(x: Value) -> Value:
    """One divided by a number."""
    return (1 / x).astype(x.dtype)


def reciprocal_no_nan(x: Value) -> Value:
    """One divided by a number, and 0 for 0."""
    return _chosen(x == 0, x.dtype.type(0), 1 / x).astype(x.dtype)


def sigmoid(x: Value) -> Value:
    """``1 / (1 + exp(-x))``."""
    return (1 / (1 + np.exp(-x))).astype(x.dtype)


def softplus(x: Value) -> Value:
    """``log(1 + exp(x))``."""
    return np.logaddexp(x, x.dtype.type(0)).astype(x.dtype)


def log_sigmoid(x: Value) -> Value:
    """The logarithm of the sigmoid."""
    return -softplus(-x)


def softsign(x: Value) -> Value:
    """``x / (1 + abs(x))``."""
    return (x / (1 + np.abs(x))).astype(x.dtype)


def relu(x: Value) -> Value:
    """A number, and 0 in place of a negative one."""
    return np.maximum(x, x.dtype.type(0))


def relu6(x: Value) -> Value:
    """A number between 0 and 6, and the nearest of them in place of others."""
    return np.minimum(relu(x), x.dtype.type(6))


def elu(x: Value) -> Value:
    """A number, and ``exp(x) - 1`` in place of a negative one."""
    return _chosen(x < 0, np.expm1(x), x).astype(x.dtype)


def real(x: Value) -> Value:
    """The real part."""
    return np.real(x) if x.dtype.kind == "c" else x


def imag(x: Value) -> Value:
    """The imaginary part."""
    if type(x) is bytes:
        return b""
    if x.dtype == object:
        return np.full(x.shape, b"", object)
    return np.imag(x) if x.dtype.kind == "c" else np.zeros_like(x)[()]


def angle(x: Value) -> Value:
    """The angle of a complex number."""
    return (
        np.angle(x).astype(x.real.dtype)
        if x.dtype.kind == "c"
        else _chosen(x < 0, x.dtype.type(np.pi), x.dtype.type(0))
    )


def divide_no_nan(one: Value, two: Value) -> Value:
    """A quotient, and 0 where it is by 0."""
    found = division(one, two)
    return _chosen(two == 0, found.dtype.type(0), found)


def multiply_no_nan(one: Value, two: Value) -> Value:
    """A product, and 0 where the second factor is 0."""
    return _chosen(two == 0, one.dtype.type(0), one * two)


def squared_difference(one: Value, two: Value) -> Value:
    """The square of a difference; of complex numbers, that of its absolute value."""
    found = one - two
    return found * np.conj(found)


def xdivy(one: Value, two: Value) -> Value:
    """A quotient, and 0 where the dividend is 0."""
    return _chosen(one == 0, one.dtype.type(0), one / two)


def xlogy(one: Value, two: Value) -> Value:
    """``x * log(y)``, and 0 where ``x`` is 0."""
    return _chosen(one == 0, one.dtype.type(0), one * np.log(two))


def xlog1py(one: Value, two: Value) -> Value:
    """``x * log(1 + y)``, and 0 where ``x`` is 0."""
    return _chosen(one == 0, one.dtype.type(0), one * np.log1p(two))


def truncatediv(one: Value, two: Value) -> Value:
    """A quotient without what is behind the point."""
    if one.dtype.kind not in "iu":
        return np.trunc(one / two)
    refuse_zero(one, two)
    found = one // two
    return found + ((found * two != one) & ((one < 0) != (two < 0))).astype(one.dtype)


def truncatemod(one: Value, two: Value) -> Value:
    """What remains of a division, with the sign of the dividend."""
    refuse_zero(one, two)
    return np.fmod(one, two)


def left_shift(one: Value, two: Value) -> Value:
    """The bits moved to the left."""
    return np.left_shift(one, _places(one, two))


def right_shift(one: Value, two: Value) -> Value:
    """The bits moved to the right."""
    return np.right_shift(one, _places(one, two))


def _places(one: Value, two: Value) -> Any:
    """By how many bits, between 0 and all but one."""
    return np.clip(two, 0, one.dtype.itemsize * 8 - 1).astype(one.dtype)
