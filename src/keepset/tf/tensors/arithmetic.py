"""Arithmetic of tensors: the operators, on values of one dtype.

The first operand is a tensor's value, and the other one whatever the user wrote next to it, which
takes the tensor's dtype. Overflows wrap round and divisions by zero are infinite, without warnings.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.tensors.conversion import (
    Holder,
    Value,
    as_value,
    cast_value,
    dtype_of,
    plain,
    value_of,
)
from keepset.tf.tensors.quiet import run_quietly

_INTS, _FLOATS, _COMPLEX = (
    frozenset(np.dtype(code).type for code in codes) for codes in ("bhilBHIL", "efd", "FD")
)
# The scalar types beside which NumPy gives a number of Python's own their dtype by itself.
_SCALARS = frozenset({np.bool_}) | _INTS | _FLOATS | _COMPLEX
_NUMBERS_OF_PYTHON = {int: _INTS | _FLOATS | _COMPLEX, float: _FLOATS | _COMPLEX}


def is_foreign(other: Any) -> bool:
    """Whether another class knows what an operator with it means."""
    return isinstance(other, Ragged | Sparse) or hasattr(type(other), "__keepset_operand__")


def operands(value: Value, other: Any) -> tuple[Value, Value]:
    """Two values of one dtype, that of the first.

    Raises:
        DtypeError: The other one is a tensor of another dtype, or cannot take this one's.
    """
    if isinstance(other, Holder):
        second = other._value
        if type(value) is not type(second) or type(value) is np.ndarray:
            one, two = dtype_of(value), dtype_of(second)
            if one is not two:
                raise DtypeError(
                    f"tensors of {one.name} and {two.name} do not go together; "
                    f"use tf.cast(x, tf.{one.name})"
                )
        return value, second
    return value, value_of(other, dtype_of(value))


class Operator:
    """An operator on values of some dtypes.

    Args:
        function: Takes two values of one dtype.
        allowed: The names of the dtypes that it is there for.
        of_own: The kinds of values beside which numbers of Python's own need no conversion.

    Attributes:
        scalars: The types of scalars that it is there for.
        as_they_are: The types of values that need no conversion, by the type of the number beside.
        in_front: The same for a number in front of them.
    """

    __slots__ = ("allowed", "as_they_are", "function", "in_front", "scalars")

    def __init__(
        self,
        function: Callable[[Any, Any], Any],
        allowed: frozenset[str],
        of_own: str = "iufc",
    ) -> None:
        self.function = function
        self.allowed = allowed
        self.scalars = scalar_types(allowed)
        self.as_they_are = {
            own: frozenset(each for each in types & self.scalars if np.dtype(each).kind in of_own)
            for own, types in _NUMBERS_OF_PYTHON.items()
        }
        # Functions of our own look at the first operand's dtype, which Python's numbers lack.
        is_numpys = type(function) is type(operator.add)
        self.in_front = self.as_they_are if is_numpys else {}

    def __call__(self, value: Value, other: Any) -> Any:
        """The result for a value and what stands beside it, which takes its dtype."""
        if is_foreign(other):
            return NotImplemented
        one, two = operands(value, other)
        check_dtype(one, self.allowed, self.function)
        if type(one) is not type(two):
            one, two = plain(one), plain(two)  # beside an array, NumPy cuts zeros off of bytes
        try:
            return as_value(run_quietly(self.function, one, two))
        except InvalidArgumentError:
            raise
        except ValueError as error:
            raise not_together(one, two, error) from error


class _Product(Operator):
    """As its parent; beside a tensor of bools everything becomes one, as in TensorFlow."""

    __slots__ = ()

    def __call__(self, value: Value, other: Any) -> Any:
        if not is_foreign(other):
            if dtype_of(value).name == "bool":
                other = cast_value(value_of(other), "bool")
            elif isinstance(other, Holder) and dtype_of(other._value).name == "bool":
                value = cast_value(value, "bool")
        return super().__call__(value, other)


def scalar_types(names: frozenset[str]) -> frozenset[type]:
    """The types of NumPy's scalars of some dtypes, but for bfloat16, which is slow to import."""
    return frozenset(each for each in _SCALARS if np.dtype(each).name in names)


def check_dtype(value: Value, allowed: frozenset[str], function: Callable[..., Any]) -> None:
    """Raise DtypeError unless a value is of one of the dtypes that a function is there for."""
    found = dtype_of(value).name
    if found not in allowed:
        raise DtypeError(
            f"{function.__name__} is not there for {found}, but for "
            f"{', '.join(sorted(allowed))}; use tf.cast"
        )


def not_together(one: Value, two: Value, error: ValueError) -> InvalidArgumentError:
    """The error for shapes that cannot be broadcast."""
    shapes = f"{np.shape(one)} and {np.shape(two)}"
    return InvalidArgumentError(f"Incompatible shapes: {shapes}: {error}")


def division(one: Value, two: Value) -> Value:
    """A quotient: whole numbers of few bytes give float32, and others float64."""
    if one.dtype.kind in "iu" and one.dtype.itemsize < 4:
        return np.true_divide(one, two, dtype=np.float32)
    return one / two


def refuse_zero(one: Value, two: Value) -> None:
    """Raise InvalidArgumentError if a whole number would be divided by 0."""
    if one.dtype.kind in "iu" and np.size(one) and not (two if type(two) is int else np.all(two)):
        raise InvalidArgumentError("Integer division by zero")


def floor_division(one: Value, two: Value) -> Value:
    if one.dtype.kind in "iu":
        refuse_zero(one, two)
        return one // two
    return np.floor(one / two)  # which is not what NumPy's own does: 1.0 // 0.1 is 10 here


def remainder(one: Value, two: Value) -> Value:
    refuse_zero(one, two)
    return one % two


def powers(one: Value, two: Value) -> Value:
    if one.dtype.kind == "i" and np.size(one) and np.any(two < 0):
        raise InvalidArgumentError("Integers to negative integer powers are not allowed")
    return np.power(one, two)  # the operator takes roots of some, which -inf has not


def matrix_product(one: Value, two: Value) -> Value:
    if np.ndim(one) < 2 or np.ndim(two) < 2:
        raise InvalidArgumentError(
            f"matrices have at least 2 dimensions, not {np.ndim(one)} and {np.ndim(two)}; "
            "use tf.linalg.matvec or tf.tensordot for vectors"
        )
    return np.matmul(one, two)


SIGNED = frozenset({"int8", "int16", "int32", "int64"})
INTS = SIGNED | {"uint8", "uint16", "uint32", "uint64"}
FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
COMPLEX = frozenset({"complex64", "complex128"})
BOOL, STRING = frozenset({"bool"}), frozenset({"string"})
REAL, SIGNED_NUMBERS = INTS | FLOATS, SIGNED | FLOATS | COMPLEX
NUMBERS = REAL | COMPLEX
ANY = NUMBERS | BOOL | STRING

add = Operator(operator.add, NUMBERS | STRING)
subtract = Operator(operator.sub, NUMBERS)
multiply = _Product(operator.mul, NUMBERS | BOOL)
divide = Operator(division, NUMBERS)
floor_divide = Operator(floor_division, REAL)
floor_mod = Operator(remainder, REAL)
power = Operator(powers, SIGNED_NUMBERS, of_own="fc")
matmul = Operator(matrix_product, NUMBERS, of_own="")
bit_and = Operator(operator.and_, BOOL | INTS)
bit_or = Operator(operator.or_, BOOL | INTS)
bit_xor = Operator(operator.xor, BOOL | INTS)
less = Operator(operator.lt, REAL)
less_equal = Operator(operator.le, REAL)
greater = Operator(operator.gt, REAL)
greater_equal = Operator(operator.ge, REAL)
equal = Operator(operator.eq, ANY)
not_equal = Operator(operator.ne, ANY)


def negative(value: Value) -> Value:
    check_dtype(value, SIGNED_NUMBERS, operator.neg)
    return as_value(run_quietly(operator.neg, value))


def invert(value: Value) -> Value:
    check_dtype(value, BOOL | INTS, operator.invert)
    return as_value(~value)


def absolute(value: Value) -> Value:
    check_dtype(value, SIGNED_NUMBERS, abs)
    return as_value(run_quietly(abs, value))
