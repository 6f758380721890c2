"""Columns for formats in which all rows are alike."""

from __future__ import annotations

import numpy as np

from keepset.core.column import Column, column_of, column_rows
from keepset.core.dtypes import Array
from keepset.core.jagged import Jagged
from keepset.core.spec import LeafSpec, spec_of


def stacked(column: Column) -> Array | None:
    """The leaves as one array; None if their shapes or types differ.

    A column may be held as leaves of different lengths, though those that are left of it are not.
    """
    if isinstance(column, Jagged):
        lengths = column.lengths
        if not len(lengths) or (lengths != lengths[0]).any():
            return None
        values = column.joined()
        return values.reshape(len(lengths), int(lengths[0]), *values.shape[1:])
    found = column_of(column) if isinstance(column, list) and column else column
    return found if isinstance(found, np.ndarray) else None


def first_unlike(column: Column, spec: LeafSpec) -> tuple[int, LeafSpec]:
    """The row and the spec of the first leaf that is not exactly of a spec."""
    specs = enumerate(map(spec_of, column_rows(column)))
    return next((row, found) for row, found in specs if found != spec)
