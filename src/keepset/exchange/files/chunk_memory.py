"""How much memory the elements of a chunk take, for those who hold some of them back."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.column import Column, column_rows
from keepset.core.jagged import Jagged
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse

_OBJECT_BYTES: Final = 96  # of a leaf that is an object of its own, about


def memory_of(chunk: Chunk) -> int:
    """How many bytes the elements take; unlike ``size_bytes``, every leaf is looked at."""
    return sum(map(_column_bytes, chunk.columns))


def _column_bytes(column: Column) -> int:
    if isinstance(column, np.ndarray) and not column.dtype.hasobject:
        return column.nbytes
    if isinstance(column, Jagged):
        return column.nbytes
    return sum(map(_leaf_bytes, column_rows(column)))


def _leaf_bytes(leaf: Any) -> int:
    if isinstance(leaf, bytes | str):
        return _OBJECT_BYTES + len(leaf)
    if isinstance(leaf, np.ndarray):
        texts = sum(map(_leaf_bytes, leaf.ravel().tolist())) if leaf.dtype.hasobject else 0
        return _OBJECT_BYTES + leaf.nbytes + texts
    if isinstance(leaf, Ragged):
        return leaf.row_splits.nbytes + _leaf_bytes(leaf.values)
    if isinstance(leaf, Sparse):
        return leaf.indices.nbytes + _leaf_bytes(leaf.values)
    return _OBJECT_BYTES
