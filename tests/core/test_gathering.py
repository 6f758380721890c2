"""Elements by position come in the order that was asked for, whatever groups they are in."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keepset.core.chunk import Chunk
from keepset.core.dtypes import Array
from keepset.core.gathering import gather_from
from keepset.core.structure import LEAF


@given(st.lists(st.integers(0, 5), min_size=1), st.data())
def test_each_group_is_asked_once(sizes: list[int], data: st.DataObject) -> None:
    starts = np.cumsum([0, *sizes])
    total = int(starts[-1])
    positions = st.lists(st.integers(0, total - 1), min_size=1) if total else st.just([])
    wanted = np.array(data.draw(positions), np.int64)
    asked: list[int] = []

    def gather(number: int, rows: Array) -> Chunk:
        assert ((starts[number] <= rows) & (rows < starts[number + 1])).all()
        asked.append(number)
        return Chunk.from_columns(LEAF, [rows * 10], len(rows))

    if len(wanted):
        found = gather_from(starts, wanted, gather)
        assert [int(row) for row in found.rows] == (wanted * 10).tolist()
    assert len(asked) == len(set(asked))
