"""How the functions that work item by item are made from a function of NumPy and its dtypes.

All that can be known beforehand is looked up when a function is made. What is left for a call on a
tensor is one look at its dtype and the call of NumPy, as pipelines call them once per element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.errors import DtypeError
from keepset.tf.tensors.arithmetic import Operator, check_dtype, scalar_types
from keepset.tf.tensors.conversion import Holder, as_value, dtype_of, value_of
from keepset.tf.tensors.quiet import run_in_context, run_quietly
from keepset.tf.tensors.tensor import Tensor, binary


def of_one(
    name: str, function: Callable[[Any], Any], allowed: frozenset[str], parameter: str = "x"
) -> Callable[..., Tensor]:
    """A function of one tensor."""
    fast = scalar_types(allowed)

    def apply(x: Any, name: str | None = None) -> Tensor:
        if type(x) is Tensor:
            value = x._value
            kind = value.dtype.type if type(value) is np.ndarray else type(value)
            if kind in fast:
                try:
                    return Tensor(run_in_context(function, value))
                except RuntimeError:  # another thread is in the context
                    pass
        value = value_of(x)
        check_dtype(value, allowed, apply)
        return Tensor(as_value(run_quietly(function, value)))

    return _named(apply, name, [parameter], function)


def of_two(
    name: str,
    operator: Operator,
    parameters: tuple[str, str] = ("x", "y"),
    is_first_first: bool = False,
) -> Callable[..., Tensor]:
    """A function of two tensors of one dtype, which are the operands of an operator.

    Args:
        name: Its public name.
        operator: What it does.
        parameters: The names of its arguments.
        is_first_first: The first one says the dtype, even if only the second one is a tensor.
    """
    forward = binary(operator)

    def apply(x: Any, y: Any, name: str | None = None) -> Tensor:
        if type(x) is not Tensor:
            leads = isinstance(y, Holder) and not is_first_first
            x = Tensor(value_of(x, dtype_of(y._value) if leads else None))
        found = forward(x, y)
        if found is NotImplemented:
            raise DtypeError(
                f"tf.{apply.__name__} takes tensors, not {type(y).__name__}; use its operators"
            )
        return found  # type: ignore[no-any-return]

    return _named(apply, name, list(parameters), operator.function)


def _named(
    function: Any, name: str, parameters: list[str], numpys: Callable[..., Any]
) -> Callable[..., Tensor]:
    """The same function with its public name, its parameters' names and a docstring."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = "keepset.tf.functions.math_table"
    is_ours = getattr(numpys, "__module__", "") == "keepset.tf.functions.special"
    own = (numpys.__doc__ if is_ours else None) or f"As ``numpy.{numpys.__name__}``, item by item."
    function.__doc__ = own
    # The names are TensorFlow's in the code itself: a function around it would cost a call.
    code = function.__code__
    names = (*parameters, *code.co_varnames[len(parameters) :])
    function.__code__ = code.replace(co_varnames=names)
    return function  # type: ignore[no-any-return]
