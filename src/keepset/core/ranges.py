"""Ranges: positions written as from where to where, for people to read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from keepset.core.dtypes import Array

Ranges: TypeAlias = tuple[tuple[int, int], ...]

_MOST_SHOWN = 5


def ranges_of(positions: Iterable[Array]) -> Ranges:
    """The fewest ranges, each a start and a stop, that hold all these positions.

    Example:
        >>> import numpy as np
        >>> ranges_of([np.array([7, 8]), np.array([1, 2, 3])])
        ((1, 4), (7, 9))
    """
    found = np.unique(np.concatenate([np.empty(0, np.int64), *positions]))
    if not len(found):
        return ()
    parts = np.split(found, np.flatnonzero(np.diff(found) != 1) + 1)
    return tuple((int(part[0]), int(part[-1]) + 1) for part in parts)


def ranges_text(ranges: Ranges) -> str:
    """Ranges of elements in words.

    Example:
        >>> ranges_text(((0, 1), (5, 8)))
        '4 elements: 0, 5 to 7'
    """
    count = sum(stop - start for start, stop in ranges)
    shown = [str(a) if b == a + 1 else f"{a} to {b - 1}" for a, b in ranges[:_MOST_SHOWN]]
    if len(ranges) > _MOST_SHOWN:
        shown.append("and more")
    unit = "element" if count == 1 else "elements"
    return f"{count:,} {unit}: {', '.join(shown)}" if ranges else "no elements"
