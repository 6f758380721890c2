"""Whole numbers in text, which must not be rounded: as int64 or uint64, or exact as float64.

Arrow reads a whole number that fits no int64 as float64, and rounds it. So where a column of
numbers holds any that are large, their texts are looked at.
"""

from __future__ import annotations

import math
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

# All whole numbers below are exact as float64.
_EXACT: Final = 1 << 53
LARGE_DIGITS: Final = 16  # that any other one has at least
_WHOLE: Final = r"^[ \t]*[+-]?[0-9]+[ \t]*$"
_WITH_EXPONENT: Final = r"^[ \t]*[+-]?[0-9]*[.]?[0-9]*[eE][+]?[0-9]+[ \t]*$"
_SMALLEST, _LARGEST, _LARGEST_UNSIGNED = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1


def may_be_rounded(numbers: Any) -> bool:
    """Whether some of these numbers are so large that they may have been written otherwise."""
    if not pa.types.is_float64(numbers.type):
        return False
    # Infinite ones as well: that is what becomes of a whole number of a thousand digits.
    bounds = pc.min_max(numbers)
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    return low is not None and (low <= -_EXACT or high >= _EXACT)


def has_overflow(numbers: Any, texts: Any) -> bool:
    """Whether some text is a number, and not the word for it, that was read as an infinite one."""
    if not pc.any(pc.is_inf(numbers)).as_py():
        return False
    long = texts.filter(pc.match_substring_regex(texts, _WITH_EXPONENT))
    return any(math.isinf(float(each)) for each in pc.unique(long).to_pylist())


def all_whole(texts: Any) -> bool:
    """Whether all texts are whole numbers."""
    return bool(pc.all(pc.match_substring_regex(texts, _WHOLE)).as_py())


def whole_numbers(texts: Any) -> list[int]:
    """The whole numbers among some texts that may be too large for a type."""
    wholes = texts.filter(pc.match_substring_regex(texts, _WHOLE))
    long = pc.greater_equal(pc.binary_length(wholes), LARGE_DIGITS)
    return [number_of(each) for each in wholes.filter(long).to_pylist()]


def number_of(text: bytes) -> int:
    """The whole number that a text is."""
    digits = text.strip()
    # Python refuses to read thousands of digits; they are more than 64 bits, which is enough.
    return int(digits) if len(digits) < 400 else (-1 if digits.startswith(b"-") else 1) << 400


def is_whole(text: bytes) -> bool:
    return bool(pc.match_substring_regex(pa.scalar(text, pa.binary()), _WHOLE).as_py())


def is_exact(number: int) -> bool:
    """Whether a number of a column of float64 is read as it is written."""
    return _SMALLEST <= number <= _LARGEST_UNSIGNED and int(float(number)) == number


def type_of(low: int, high: int) -> pa.DataType:
    """The type of a column of whole numbers; if none has them all, that of most columns."""
    return pa.uint64() if low >= 0 and _LARGEST < high <= _LARGEST_UNSIGNED else pa.int64()


def integer_for(low: int, high: int) -> str | None:
    """The dtype that holds whole numbers from ``low`` to ``high``, if there is one."""
    if low >= _SMALLEST and high <= _LARGEST:
        return "int64"
    return "uint64" if low >= 0 and high <= _LARGEST_UNSIGNED else None


def rounded(name: str, number: int | str) -> str:
    """What is wrong with a number that a column of float64 cannot hold."""
    return f"{name!r} has {number!s:.60}, a whole number that float64 may round"
