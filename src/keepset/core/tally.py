"""Tally: how often the costly steps are taken, for tests that watch over the fast paths."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

Step: TypeAlias = Literal["chunk_decode", "rows_made", "columns_made", "array_copy", "store_read"]

_lock = threading.Lock()
_watched: list[Counter[Step]] = []


def tally(step: Step, times: int = 1) -> None:
    """Note that a step was taken. It costs next to nothing while nobody watches."""
    if _watched:
        with _lock:
            for counter in _watched:
                counter[step] += times


@contextmanager
def count_steps() -> Iterator[Counter[Step]]:
    """Count the costly steps that any thread of this process takes meanwhile.

    Example:
        >>> import numpy as np
        >>> import keepset as ks
        >>> ds = ks.Dataset.from_tensor_slices(np.zeros((256, 8)))
        >>> with count_steps() as steps:
        ...     batches = list(ds.batch(128))
        >>> steps["array_copy"]  # batches of whole arrays are views
        0
    """
    counter: Counter[Step] = Counter()
    with _lock:
        _watched.append(counter)
    try:
        yield counter
    finally:
        with _lock:
            _watched[:] = [each for each in _watched if each is not counter]
