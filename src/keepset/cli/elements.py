"""Elements as lines that people read, and as JSON that other programs do."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.cli.printable import printable
from keepset.core.dtypes import Array
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.string_text import string_text, strings_text
from keepset.core.structure import Structure, record_fields, structure_of
from keepset.format.layout import leaf_paths

_MOST_ITEMS = 16
_MOST_CHARACTERS = 80
_UNLIMITED = 1 << 30


def element_lines(element: Any) -> list[str]:
    """One line for each leaf: its name, its type and its values, abbreviated as NumPy does it.

    Example:
        >>> for line in element_lines({"label": np.int64(3), "mean": np.zeros(100, np.float32)}):
        ...     print(line)
        label  int64         3
        mean   float32[100]  [0. 0. 0. ... 0. 0. 0.]
    """
    structure: Structure = structure_of(element)
    leaves = structure.leaves(element)
    if not leaves:
        return [repr(element)]
    rows = [
        (printable(path), _type_text(leaf), _value_text(leaf))
        for path, leaf in zip(leaf_paths(structure), leaves, strict=True)
    ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return [
        "  ".join(filter(str.strip, (name.ljust(widths[0]), kind.ljust(widths[1]), value)))
        for name, kind, value in rows
    ]


def _type_text(leaf: Any) -> str:
    if isinstance(leaf, bytes | str):
        return "string" if isinstance(leaf, bytes) else "text"
    if isinstance(leaf, Ragged):
        return f"{_dtype_text(leaf.flat_values)} ragged"
    if isinstance(leaf, Sparse):
        return f"{_dtype_text(leaf.values)} sparse"
    name = _dtype_text(leaf)
    return f"{name}[{', '.join(map(str, leaf.shape))}]" if leaf.shape else name


def _dtype_text(array: Array) -> str:
    if array.dtype.kind not in "OU":
        return array.dtype.name
    return "text" if array.size and isinstance(array.item(0), str) else "string"


def _value_text(leaf: Any) -> str:
    if isinstance(leaf, bytes | str):
        return string_text(leaf, _MOST_CHARACTERS)
    if isinstance(leaf, Ragged):
        return f"{len(leaf)} rows, values {_value_text(leaf.flat_values)}"
    if isinstance(leaf, Sparse):
        return (
            f"{len(leaf.values)} entries in {list(leaf.shape)}, values {_value_text(leaf.values)}"
        )
    if not leaf.ndim:
        return str(leaf)
    short: dict[str, Any] = {"threshold": _MOST_ITEMS, "edgeitems": 3 if leaf.ndim <= 1 else 2}
    if leaf.dtype.kind in "OU":
        return strings_text(leaf, _MOST_CHARACTERS, **short)
    text = np.array2string(leaf, max_line_width=_UNLIMITED, **short)
    return " ".join(text.split())


def element_json(element: Any) -> dict[str, Any]:
    """A JSON object: an element that is one leaf is under ``value``, a tuple under ``0``, ``1``.

    Strings are text, or ``{"base64": ...}`` where they are not valid UTF-8. What JSON has no number
    for is a string: ``"NaN"``, ``"Infinity"``, ``"-Infinity"``.

    Example:
        >>> element_json((np.float32("nan"), b"cat", b"\\xff"))
        {'0': 'NaN', '1': 'cat', '2': {'base64': '/w=='}}
    """
    value, kind = _json(element), structure_of(element).kind
    if kind == "tuple":
        return {str(number): item for number, item in enumerate(value)}
    return value if kind in ("dict", "record") else {"value": value}


def _json(value: Any) -> Any:
    structure = structure_of(value)
    if value is None:
        return None
    if structure.kind == "dict":
        return {str(key): _json(item) for key, item in value.items()}
    if structure.kind == "record":
        return {name: _json(getattr(value, name)) for name in record_fields(type(value))}
    if structure.kind == "tuple":
        return [_json(item) for item in value]
    return _leaf_json(value)


def _leaf_json(leaf: Any) -> Any:
    if isinstance(leaf, bytes | str):
        return _string_json(leaf)
    if isinstance(leaf, Ragged):
        return [_leaf_json(row) for row in leaf]
    if isinstance(leaf, Sparse):
        parts = {"indices": leaf.indices, "values": leaf.values, "dense_shape": leaf.dense_shape}
        return {name: _leaf_json(part) for name, part in parts.items()}
    return _array_json(np.asarray(leaf))


def _string_json(data: bytes | str) -> Any:
    if isinstance(data, str):
        return data
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _array_json(array: Array) -> Any:
    kind = array.dtype.kind
    if kind in "OU":
        return _nested(array.tolist(), _string_json)
    if kind in "mM":
        # Not by tolist, which gives numbers for some units and dates for others.
        return array.astype(str).tolist()
    if kind == "c":
        return _nested(array.tolist(), lambda z: {"real": _float(z.real), "imag": _float(z.imag)})
    if kind in "biu":
        return array.tolist()
    # The small kinds of ml_dtypes and long doubles: exact as a double, or as near as it gets.
    wide = array.astype(np.int64) if "int" in array.dtype.name else array.astype(np.float64)
    return wide.tolist() if np.isfinite(wide).all() else _nested(wide.tolist(), _float)


def _float(value: Any) -> float | str:
    number = float(value)
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _nested(value: Any, item: Callable[[Any], Any]) -> Any:
    """Nested lists with every item turned by a function."""
    if isinstance(value, list):
        return [_nested(part, item) for part in value]
    return item(value)
