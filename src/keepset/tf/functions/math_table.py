"""The functions that work item by item, one row each: name, function on values, dtypes.

``FUNCTIONS`` has what is made of the rows, by name, for ``tf``, ``tf.math``, ``tf.nn`` and
``tf.bitwise``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from keepset.tf.composites.ragged_functions import install
from keepset.tf.functions import special
from keepset.tf.functions.elementwise import of_one, of_two
from keepset.tf.tensors import arithmetic
from keepset.tf.tensors.arithmetic import (
    ANY,
    BOOL,
    COMPLEX,
    FLOATS,
    INTS,
    NUMBERS,
    REAL,
    SIGNED_NUMBERS,
    Operator,
)
from keepset.tf.tensors.tensor import Tensor

_INEXACT = FLOATS | COMPLEX
_WIDE = frozenset({"float32", "float64"})
_NO_BFLOAT16 = FLOATS - {"bfloat16"}

_OF_ONE: Final[dict[str, tuple[Callable[[Any], Any], frozenset[str]]]] = {
    "abs": (np.abs, SIGNED_NUMBERS),
    "acos": (np.arccos, _INEXACT),
    "acosh": (np.arccosh, _INEXACT),
    "angle": (special.angle, _INEXACT),
    "asin": (np.arcsin, _INEXACT),
    "asinh": (np.arcsinh, _INEXACT),
    "atan": (np.arctan, _INEXACT),
    "atanh": (np.arctanh, _INEXACT),
    "ceil": (np.ceil, FLOATS),
    "conj": (np.conj, NUMBERS),
    "cos": (np.cos, _INEXACT),
    "cosh": (np.cosh, _INEXACT),
    "elu": (special.elu, FLOATS),
    "erf": (special.erf, FLOATS),
    "erfc": (special.erfc, FLOATS),
    "exp": (np.exp, _INEXACT),
    "expm1": (np.expm1, _INEXACT),
    "floor": (np.floor, FLOATS),
    "imag": (special.imag, ANY),
    "invert": (np.invert, INTS),
    "is_finite": (np.isfinite, FLOATS),
    "is_inf": (np.isinf, FLOATS),
    "is_nan": (np.isnan, FLOATS),
    "lgamma": (special.lgamma, _NO_BFLOAT16),
    "log": (np.log, _INEXACT),
    "log1p": (np.log1p, _INEXACT),
    "log_sigmoid": (special.log_sigmoid, FLOATS),
    "logical_not": (np.logical_not, BOOL),
    "negative": (np.negative, SIGNED_NUMBERS),
    "real": (special.real, NUMBERS),
    "reciprocal": (special.reciprocal, _INEXACT),
    "reciprocal_no_nan": (special.reciprocal_no_nan, _INEXACT),
    "relu": (special.relu, REAL),
    "relu6": (special.relu6, REAL),
    "rint": (np.rint, _WIDE),
    "round": (special.rounded, REAL),
    "rsqrt": (special.rsqrt, _INEXACT),
    "sigmoid": (special.sigmoid, _INEXACT),
    "sign": (np.sign, SIGNED_NUMBERS),
    "sin": (np.sin, _INEXACT),
    "sinh": (np.sinh, _INEXACT),
    "softplus": (special.softplus, FLOATS),
    "softsign": (special.softsign, FLOATS),
    "sqrt": (np.sqrt, _INEXACT),
    "square": (np.square, NUMBERS),
    "tan": (np.tan, _INEXACT),
    "tanh": (np.tanh, _INEXACT),
}

_OF_TWO: Final[dict[str, Operator]] = {
    "add": arithmetic.add,
    "atan2": Operator(np.arctan2, FLOATS),
    "bitwise_and": Operator(operator.and_, INTS),
    "bitwise_or": Operator(operator.or_, INTS),
    "bitwise_xor": Operator(operator.xor, INTS),
    "divide": arithmetic.divide,
    "divide_no_nan": Operator(special.divide_no_nan, NUMBERS, of_own="fc"),
    "equal": arithmetic.equal,
    "floordiv": arithmetic.floor_divide,
    "floormod": arithmetic.floor_mod,
    "greater": arithmetic.greater,
    "greater_equal": arithmetic.greater_equal,
    "left_shift": Operator(special.left_shift, INTS, of_own=""),
    "less": arithmetic.less,
    "less_equal": arithmetic.less_equal,
    "logical_and": Operator(np.logical_and, BOOL),
    "logical_or": Operator(np.logical_or, BOOL),
    "logical_xor": Operator(np.logical_xor, BOOL),
    "maximum": Operator(np.maximum, REAL),
    "minimum": Operator(np.minimum, REAL),
    "mod": arithmetic.floor_mod,
    "multiply": Operator(operator.mul, NUMBERS),
    "multiply_no_nan": Operator(special.multiply_no_nan, _INEXACT, of_own=""),
    "nextafter": Operator(np.nextafter, _WIDE),
    "not_equal": arithmetic.not_equal,
    "pow": arithmetic.power,
    "realdiv": Operator(operator.truediv, _INEXACT),
    "right_shift": Operator(special.right_shift, INTS, of_own=""),
    "squared_difference": Operator(
        special.squared_difference, _INEXACT | {"int32", "int64"}, of_own="fc"
    ),
    "subtract": arithmetic.subtract,
    "truediv": arithmetic.divide,
    "truncatediv": Operator(special.truncatediv, REAL, of_own=""),
    "truncatemod": Operator(special.truncatemod, _WIDE | {"int32", "int64"}, of_own=""),
    "xdivy": Operator(special.xdivy, _INEXACT, of_own=""),
    "xlog1py": Operator(special.xlog1py, _INEXACT, of_own=""),
    "xlogy": Operator(special.xlogy, _INEXACT, of_own=""),
}

# Where they are not called x and y.
_PARAMETER = dict.fromkeys(("angle", "imag", "real"), "input")
_PARAMETER |= dict.fromkeys(("elu", "relu", "relu6", "softplus", "softsign"), "features")
_PARAMETERS = {"atan2": ("y", "x"), "nextafter": ("x1", "x2")}
# Whose first argument says the dtype, even if it is a number and the second one a tensor.
_FIRST_FIRST = {"add", "truediv"}

FUNCTIONS: Final[dict[str, Callable[..., Tensor]]] = {
    name: of_one(name, *row, _PARAMETER.get(name, "x")) for name, row in _OF_ONE.items()
} | {
    name: of_two(name, row, _PARAMETERS.get(name, ("x", "y")), name in _FIRST_FIRST)
    for name, row in _OF_TWO.items()
}
install(FUNCTIONS)
globals().update(FUNCTIONS)  # where pickle finds them

_TF = (
    "abs acos acosh add asin asinh atan atan2 atanh cos cosh divide equal exp floor greater "
    "greater_equal less less_equal logical_and logical_not logical_or maximum minimum multiply "
    "negative not_equal pow realdiv round sigmoid sign sin sinh sqrt square subtract tan tanh "
    "truediv truncatediv truncatemod"
)
_BITWISE = "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift"
_NN = "elu relu relu6 sigmoid softplus softsign tanh"
IN_TF: Final = frozenset(_TF.split())
IN_BITWISE: Final = frozenset(_BITWISE.split())
IN_NN: Final = frozenset(_NN.split())
# What is in others only.
_ELSEWHERE = IN_BITWISE | {"elu", "realdiv", "relu", "relu6", "truncatediv", "truncatemod"}
IN_MATH: Final = frozenset(FUNCTIONS) - _ELSEWHERE
