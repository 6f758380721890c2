"""Rows that were handed back, and places of rows read long ago."""

import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, State
from keepset.nodes import trail as trail_module
from keepset.nodes.trail import Trail


class Numbers(Cursor):
    """0 up to ``length``, at most ``most`` per read; numbers in ``bad`` fail."""

    def __init__(self, length: int, most: int, bad: frozenset[int] = frozenset()) -> None:
        self.length, self.most, self.bad, self.next = length, most, bad, 0

    def read(self, max_rows: int) -> Chunk:
        if self.next in self.bad:
            self.next += 1
            raise ValueError(f"{self.next - 1} is bad")
        stop = min(self.next + min(max_rows, self.most), self.length)
        stop = min((b for b in self.bad if self.next < b < stop), default=stop)
        rows: list[Any] = [np.int64(n) for n in range(self.next, stop)]
        self.next = max(stop, self.next)
        return Chunk.from_rows(rows) if rows else EMPTY

    def state(self) -> State:
        return {"next": self.next}

    def restore(self, state: State) -> None:
        self.next = state["next"]


@pytest.fixture(params=[0.0, 1000.0], ids=["noted always", "noted seldom"], autouse=True)
def note_interval(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trail_module, "_NOTE_INTERVAL_S", request.param)


def rest_from(state: State, length: int, bad: frozenset[int]) -> list[int]:
    trail = Trail(Numbers(length, 5, bad))
    trail.restore(json.loads(json.dumps(state)))
    return [int(n) for _, chunk in trail.replay(length) for n in chunk.rows]


@given(
    steps=st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), max_size=12),
    most=st.integers(1, 5),
    bad=st.frozensets(st.integers(0, 29), max_size=4),
)
def test_every_row_that_was_not_released_can_be_found_again(steps, most, bad) -> None:
    length, oldest = 30, 0
    trail = Trail(Numbers(length, most, bad))
    for count, released in steps:
        with suppress(ValueError):
            trail.read(count)
        oldest = min(trail.position, oldest + released)
        trail.release(oldest)
        for position in range(oldest, trail.position + 1):
            expected = [n for n in range(position, length) if n not in bad]
            assert rest_from(trail.state(position), length, bad) == expected


def test_rows_over_several_reads_can_be_handed_back() -> None:
    trail = Trail(Numbers(9, 2))
    chunks = [trail.read(2) for _ in range(3)]
    trail.unread(chunks[2])
    trail.unread(chunks[1][1:])
    assert trail.position == 3
    assert rest_from(trail.state(), 9, frozenset()) == [3, 4, 5, 6, 7, 8]
    assert [int(n) for n in trail.read(9).rows] == [3, 4, 5]


def test_the_number_of_places_stays_small() -> None:
    trail = Trail(Numbers(5000, 1))
    while trail.read(1):
        pass
    assert len(trail._places) <= trail_module._MOST_PLACES
    assert rest_from(trail.state(0), 5000, frozenset()) == list(range(5000))


def test_skipping_counts_what_was_there() -> None:
    trail = Trail(Numbers(9, 2))
    trail.unread(trail.read(2)[1:])
    assert trail.skip(3) == 3
    assert trail.position == 4
    assert trail.skip(100) == 5
