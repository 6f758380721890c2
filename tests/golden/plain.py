"""Elements as plain JSON, bit for bit: what the golden files are compared by.

Numbers are their bytes in hexadecimal digits, the least significant byte first, beside their dtype
and shape; strings are their bytes; containers say what they are.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from keepset.core.dtypes import is_text
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse


def plain(element: Any) -> Any:
    if element is None:
        return None
    if isinstance(element, dict):
        return {"dict": [[key, plain(item)] for key, item in element.items()]}
    if isinstance(element, tuple) and hasattr(element, "_fields"):
        fields = zip(element._fields, map(plain, element), strict=True)
        return {"record": type(element).__name__, "fields": [list(field) for field in fields]}
    if isinstance(element, tuple):
        return {"tuple": list(map(plain, element))}
    if isinstance(element, Ragged):
        return {"ragged": {"values": plain(element.values), "splits": plain(element.row_splits)}}
    if isinstance(element, Sparse):
        parts = {name: plain(getattr(element, name)) for name in Sparse.__slots__}
        return {"sparse": parts}
    if isinstance(element, bytes):
        return {"string": element.hex()}
    if isinstance(element, str):
        return {"text": element.encode().hex()}
    return _array(np.asarray(element), isinstance(element, np.ndarray))


def _array(array: Any, is_array: bool) -> Any:
    facts = {"dtype": array.dtype.name, "shape": list(array.shape)}
    if array.dtype == object and is_text(array):
        return {"texts": [item.encode().hex() for item in array.ravel()], "shape": facts["shape"]}
    if array.dtype == object:
        return {"strings": [item.hex() for item in array.ravel()], "shape": list(array.shape)}
    if sys.byteorder != "little":
        array = array.byteswap()
    return {"array" if is_array else "number": {**facts, "bytes": array.tobytes().hex()}}
