"""A form of elements that is equal only for those that are the same to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse


def bits(element: Any) -> Any:
    if isinstance(element, dict):
        return [(key, bits(item)) for key, item in element.items()]
    if isinstance(element, tuple):
        return (type(element).__name__, *map(bits, element))
    if isinstance(element, Ragged):
        return ("ragged", bits(element.row_splits), bits(element.values))
    if isinstance(element, Sparse):
        return ("sparse", *map(bits, (element.indices, element.values, element.dense_shape)))
    if isinstance(element, np.ndarray) and element.dtype == object:
        return ("strings", element.shape, element.ravel().tolist())
    if isinstance(element, np.ndarray | np.generic):
        data = repr(element.tolist()) if element.dtype.char in "gG" else element.tobytes()
        # Six bytes of an 80-bit number are padding, which NumPy itself does not copy.
        return (isinstance(element, np.ndarray), element.dtype, element.shape, data)
    return element
