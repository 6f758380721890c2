"""Gathering: elements by position, out of groups that each give many at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from keepset.core.chunk import Chunk, concat
from keepset.core.dtypes import Array


def gather_from(starts: Array, positions: Array, gather: Callable[[int, Array], Chunk]) -> Chunk:
    """The elements at some positions, in their order, of groups that lie one behind the other.

    Args:
        starts: Before which position each group begins, and the number of all.
        positions: Those that are wanted.
        gather: Gives elements of the group with a number, at positions of all; it is called once
            for each group that has some.
    """
    groups = np.searchsorted(starts, positions, side="right") - 1
    numbers = np.unique(groups).tolist()
    if len(numbers) == 1:
        return gather(numbers[0], positions)
    places = [np.flatnonzero(groups == number) for number in numbers]
    parts = [
        gather(number, positions[place]) for number, place in zip(numbers, places, strict=True)
    ]
    back = np.empty(len(positions), np.int64)
    back[np.concatenate(places)] = np.arange(len(positions))
    return concat(parts).take(back)
