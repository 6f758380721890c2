"""Tensors as ``tf.strings.format`` prints them: short, with the first and the last items."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.tf.tensors.conversion import Value


def printed(value: Value, summarize: int = 3) -> str:
    """The items in brackets, and dots for those that are left out; -1 leaves none out.

    Example:
        >>> printed(np.arange(9, dtype=np.int32)), printed(b"a")
        ('[0 1 2 ... 6 7 8]', '"a"')
    """
    if type(value) is not np.ndarray:
        return _item(value)
    return _rows(value, summarize, 1)


def _rows(value: Any, most: int, depth: int) -> str:
    """Rows of numbers on one line each, indented by their depth."""
    between = " " if value.ndim == 1 else "\n" * (value.ndim - 1) + " " * depth
    count = len(value)
    if most < 0 or count <= 2 * most:
        shown = [_part(each, most, depth) for each in value]
        return f"[{between.join(shown)}]"
    first = [_part(each, most, depth) for each in value[:most]]
    last = [_part(each, most, depth) for each in value[count - most :]]
    return f"[{between.join([*first, '...', *last])}]"


def _part(value: Any, most: int, depth: int) -> str:
    return _rows(value, most, depth + 1) if isinstance(value, np.ndarray) else _item(value)


def _item(item: Any) -> str:
    if isinstance(item, bytes):
        return f'"{item.decode("utf-8", "replace")}"'
    if isinstance(item, np.bool_):
        return str(int(item))
    if isinstance(item, np.floating):
        return _float(item)
    return str(item)


def _float(item: Any) -> str:
    """Six digits if they are exact, else as many as it takes."""
    digits = 17 if isinstance(item, np.float64) else 9
    short = f"{float(item):.{digits - 3 if digits == 9 else 15}g}"
    with np.errstate(over="ignore"):
        is_exact = type(item)(float(short)) == item or np.isnan(item)
    return short if is_exact else f"{float(item):.{digits}g}"
