"""Staging: elements that come one by one do not take much more memory than they have."""

from __future__ import annotations

import numpy as np

from keepset.core.chunk import Chunk, single
from keepset.snapshot.writing.staging import Staging, copied


def test_many_single_elements_are_joined_before_there_are_too_many() -> None:
    staging = Staging()
    for x in range(5000):
        staging.add(copied(single(np.int64(x))))
    assert len(staging._parts) + len(staging._recent) < 300
    assert (staging.rows, staging.size_bytes) == (5000, 40_000)
    first, rest = staging.take(1200), staging.take(10_000)
    assert [*first.rows, *rest.rows] == list(range(5000))
    assert (len(first), staging.rows) == (1200, 0)


def test_what_is_staged_is_a_copy() -> None:
    array = np.arange(3)
    staging = Staging()
    staging.add(copied(Chunk.from_rows([array])))
    array[:] = 9
    assert staging.take(1).rows[0].tolist() == [0, 1, 2]
