"""Several chunks as one: whatever is done with it gives what the joined chunk gives."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keepset.core.chunk import Chunk, concat, left_of
from keepset.core.jagged import Jagged
from keepset.core.several import Several
from keepset.core.structure import LEAF, structure_of
from keepset.testing import assert_elements_equal


class Pair(NamedTuple):
    a: Any
    b: Any


LENGTHS = st.lists(st.integers(1, 5), min_size=1, max_size=6)
KINDS = st.sampled_from(["leaf", "dict", "record", "jagged"])


def parts_of(lengths: list[int], kind: str) -> list[Chunk]:
    parts, first = [], 0
    for length in lengths:
        a = np.arange(first, first + length)
        b = np.arange(2 * length, dtype=np.float32).reshape(length, 2) + first
        match kind:
            case "leaf":
                chunk = Chunk.from_columns(LEAF, [a], length)
            case "dict":
                structure = structure_of({"a": 0, "b": 0})
                chunk = Chunk.from_columns(structure, [a, b], length)
            case "record":
                chunk = Chunk.from_columns(structure_of(Pair(0, 0)), [a, b], length)
            case _:
                lists = [np.arange(i % 3) for i in range(first, first + length)]
                structure = structure_of({"a": 0, "b": 0})
                chunk = Chunk.from_columns(structure, [Jagged.of(lists), a], length)
        parts.append(chunk)
        first += length
    return parts


@given(LENGTHS, KINDS, st.data())
def test_it_is_what_the_joined_chunk_is(lengths: list[int], kind: str, data: st.DataObject) -> None:
    parts = parts_of(lengths, kind)
    several, joined = Several(parts), concat(parts_of(lengths, kind))
    expected = joined.rows
    count = len(expected)
    assert len(several) == count
    assert several.has_columns
    assert several.size_bytes == sum(part.size_bytes for part in parts)
    start, stop = data.draw(st.integers(0, count)), data.draw(st.integers(0, count))
    cut = several[start:stop]
    assert len(cut) == len(expected[start:stop])
    assert_elements_equal(cut.rows, expected[start:stop])
    assert_elements_equal(several[start:stop:2].rows, expected[start:stop:2])
    places = data.draw(st.lists(st.integers(0, count - 1), max_size=8))
    taken = several.take(np.array(places, np.int64))
    assert_elements_equal(taken.rows, [expected[i] for i in places])
    both = concat([several, cut, parts[0]])
    assert_elements_equal(both.rows, expected + expected[start:stop] + parts[0].rows)
    assert_elements_equal(pickle.loads(pickle.dumps(several)).rows, expected)
    if kind in ("dict", "jagged"):
        assert_elements_equal(several.select(["b"]).rows, joined.select(["b"]).rows)
    assert_elements_equal(several.rows, expected)


@given(LENGTHS, KINDS, st.data())
def test_it_knows_how_many_elements_are_left(
    lengths: list[int], kind: str, data: st.DataObject
) -> None:
    several = Several(parts_of(lengths, kind))
    rows, left = several.iterate()
    taken = data.draw(st.integers(0, len(several)))
    found = [next(rows) for _ in range(taken)]
    assert left.__length_hint__() == len(several) - taken
    assert_elements_equal(found, concat(parts_of(lengths, kind)).rows[:taken])


def test_elements_are_views_of_the_parts() -> None:
    parts = parts_of([3, 2], "dict")
    rows, _ = Several(parts).iterate()
    for number, row in enumerate(rows):
        assert np.shares_memory(row["b"], parts[number // 3].columns[1])


def test_iterators_tell_how_many_leaves_they_have() -> None:
    flat = np.arange(4).flat
    next(flat)
    assert left_of(flat) == 3
    assert left_of(iter([1, 2])) == 2
