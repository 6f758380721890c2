"""Operators and functions on tensors of any dtype, in TensorFlow and in ``keepset.tf``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.interop.test_tensorflow_calls import kinds_of

import keepset.tf
from keepset.tf.functions import math_table, reductions

pytestmark = pytest.mark.interop

_NUMBERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64"
DTYPES = ["bool", *_NUMBERS.split(), "complex64", "complex128", "string"]
SHAPES = [(), (1,), (2,), (3,), (0,), (2, 1), (2, 3), (1, 3)]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^"]
OF_ONE = [name for name in math_table.FUNCTIONS if name in math_table._OF_ONE]
OF_TWO = [name for name in math_table.FUNCTIONS if name in math_table._OF_TWO]
# Results next to 0 differ by what one rounding makes of the inputs.
TOLERANCE = {"bfloat16": 3e-2, "float16": 4e-3, "float32": 2e-5, "complex64": 5e-5}
# TensorFlow has no kernel for these dtypes, or fails in one: no program counts on that.
NO_KERNEL = "NotFoundError", "UnimplementedError", "InternalError"


def numbers(dtype: str, shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    """Arrays of small numbers, and of those at the edges of the dtype."""
    size = int(np.prod(shape))
    if dtype == "string":
        items: Any = st.sampled_from([b"", b"a", b"bc\x00"])
    elif dtype == "bool":
        items = st.booleans()
    elif "int" in dtype:
        limits = np.iinfo(dtype)
        items = st.sampled_from([0, 1, 2, 3, 7, int(limits.max), max(-3, limits.min)])
    elif "complex" in dtype:
        items = st.sampled_from([1 + 2j, 0.5 - 1j, -2 + 0.25j, 3 + 0j])
    else:
        items = st.sampled_from([0.0, 0.5, 1.0, -1.0, 2.5, -3.5, 7.25, np.nan, np.inf, -np.inf])
    kind = object if dtype == "string" else dtype
    return st.lists(items, min_size=size, max_size=size).map(
        lambda found: np.array(found, kind).reshape(shape)
    )


@st.composite
def arrays(draw: Any, count: int) -> list[Any]:
    dtype = draw(st.sampled_from(DTYPES))
    # Of bool times int32 TensorFlow makes a bool, which nobody means.
    others = draw(st.sampled_from([dtype] * 9 + ["int32"])) if dtype != "bool" else dtype
    return [draw(numbers(each, draw(st.sampled_from(SHAPES)))) for each in [dtype, others][:count]]


def outcome(call: Any, given: list[Any], tf: Any) -> Any:
    try:
        return call(tf, *(tf.constant(each) for each in given))
    except Exception as error:
        return error


def check(name: str, call: Any, given: list[Any]) -> None:
    import tensorflow as tf

    expected, got = outcome(call, given, tf), outcome(call, given, keepset.tf)
    if name == "erf" and given[0].dtype == np.float64:
        return  # of infinity TensorFlow's is no number
    if isinstance(expected, Exception):
        if type(expected).__name__ in NO_KERNEL:
            return
        assert isinstance(got, Exception), (name, given, got, expected)
        assert kinds_of(expected, tf) & kinds_of(got, keepset.tf), (name, given, got, expected)
        return
    assert not isinstance(got, Exception), (name, given, got, expected)
    assert got.dtype.name == expected.dtype.name, (name, given)
    assert tuple(got.shape) == tuple(expected.shape), (name, given)
    one, two = np.asarray(got.numpy()), np.asarray(expected.numpy())
    assert type(got.numpy()) is type(expected.numpy()), (name, given)
    near = TOLERANCE.get(one.dtype.name, 1e-9)
    if one.dtype.name == "bfloat16":
        one, two = one.astype(np.float32), two.astype(np.float32)
    if one.dtype.kind not in "fc":
        assert (one == two).all(), (name, given, one, two)
    else:
        np.testing.assert_allclose(one, two, rtol=near, atol=near, err_msg=f"{name} {given}")


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(OPERATORS), arrays(2))
def test_operators(sign: str, given: list[Any]) -> None:
    check(sign, lambda tf, x, y: eval(f"x {sign} y"), given)


@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(OF_ONE), arrays(1))
def test_functions_of_one(name: str, given: list[Any]) -> None:
    check(name, lambda tf, x: function(tf, name)(x), given)


@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(OF_TWO), arrays(2))
def test_functions_of_two(name: str, given: list[Any]) -> None:
    check(name, lambda tf, x, y: function(tf, name)(x, y), given)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from([*reductions.FUNCTIONS, "argmax", "argmin", "cumsum", "cumprod"]),
    arrays(1),
    st.sampled_from([None, 0, 1, -1, [0], [0, 1], []]),
    st.booleans(),
)
def test_reductions(name: str, given: list[Any], axis: Any, keepdims: bool) -> None:
    if not name.startswith("reduce"):
        axis = axis if isinstance(axis, int) else 0
        check(name, lambda tf, x: getattr(tf.math, name)(x, axis), given)
    else:
        check(name, lambda tf, x: getattr(tf.math, name)(x, axis, keepdims), given)


def function(tf: Any, name: str) -> Any:
    """A function by its name, wherever it is."""
    for module in (tf.math, tf, tf.nn, tf.bitwise):
        if hasattr(module, name):
            return getattr(module, name)
    raise AssertionError(name)
