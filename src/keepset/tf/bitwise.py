"""``tf.bitwise``: functions of the bits of whole numbers."""

from __future__ import annotations

from keepset.tf.functions.math_table import FUNCTIONS, IN_BITWISE
from keepset.tf.not_covered import not_covered

globals().update({name: FUNCTIONS[name] for name in IN_BITWISE})

__all__ = sorted(IN_BITWISE)

__getattr__ = not_covered("tf.bitwise")
