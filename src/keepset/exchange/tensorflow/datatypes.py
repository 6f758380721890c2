"""TensorFlow's numbers for dtypes."""

from __future__ import annotations

from functools import cache
from typing import Final

from keepset.core.dtypes import DType, StringType, as_dtype, dtype_name

VARIANT: Final = 21
STRING: Final = 7
_REFERENCE: Final = 100

_NAMES: Final = {
    1: "float32",
    2: "float64",
    3: "int32",
    4: "uint8",
    5: "int16",
    6: "int8",
    STRING: "string",
    8: "complex64",
    9: "int64",
    10: "bool",
    14: "bfloat16",
    17: "uint16",
    18: "complex128",
    19: "float16",
    22: "uint32",
    23: "uint64",
    24: "float8_e5m2",
    25: "float8_e4m3fn",
    26: "float8_e4m3fnuz",
    27: "float8_e4m3b11fnuz",
    28: "float8_e5m2fnuz",
    29: "int4",
    30: "uint4",
    31: "int2",
    32: "uint2",
    33: "float4_e2m1fn",
}
# Quantised numbers are read as the integers that they are stored as.
_QUANTISED: Final = {11: "int8", 12: "uint8", 13: "int32", 15: "int16", 16: "uint16"}
_NUMBERS: Final = {name: number for number, name in _NAMES.items()}


@cache
def dtype_of_number(number: int) -> DType:
    """The dtype that a number stands for.

    Raises:
        ValueError: It stands for none that an array can have.

    Example:
        >>> dtype_of_number(9)
        dtype('int64')
    """
    plain = number - _REFERENCE if number > _REFERENCE else number
    name = _NAMES.get(plain) or _QUANTISED.get(plain)
    if name is None:
        raise ValueError(f"the dtype number {number} is not one of numbers or strings")
    return as_dtype(name)


def number_of_dtype(dtype: DType) -> int:
    """The number that stands for a dtype; a ValueError if TensorFlow has none.

    It has none for times, which are kept as the int64 that they are in memory.
    """
    is_time = not isinstance(dtype, StringType) and dtype.kind in "mM"
    number = _NUMBERS.get("int64" if is_time else dtype_name(dtype))
    if number is None:
        raise ValueError(f"TensorFlow has no dtype {dtype_name(dtype)}")
    return number
