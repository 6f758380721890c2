"""Lists: the values of one key in many Examples, one row's behind another's."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from keepset.core.dtypes import Array, DType
from keepset.errors import ElementError

BYTES_LIST, FLOAT_LIST, INT64_LIST = 1, 2, 3
KIND_NAMES: Final = {1: "string", 2: "float32", 3: "int64"}
KINDS: Final = {name: kind for kind, name in KIND_NAMES.items()}


class Lists(NamedTuple):
    """The lists of one key: those of row ``i`` are ``values[offsets[i] : offsets[i + 1]]``.

    ``is_there`` tells which rows have a list of any kind at all.
    """

    values: Array
    offsets: Array
    is_there: Array

    @property
    def lengths(self) -> Array:
        found: Array = np.diff(self.offsets)
        return found

    def only(self, rows: Array) -> Lists:
        """Those of some rows, in their order; the values of others must be none."""
        return Lists(self.values, offsets_of(self.lengths[rows]), self.is_there[rows])


def offsets_of(counts: Array) -> Array:
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def wrong_kind(key: str, dtype: DType, kind: int, row: int) -> ElementError:
    found = KIND_NAMES.get(kind, f"kind {kind}")
    return ElementError(
        f"the feature {key!r} of Example {row} holds {found}, and {dtype.name} is wanted; change "
        "its description"
    )
