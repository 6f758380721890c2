"""A Jagged does what a list of arrays does, without a copy until one is needed."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset.core import column
from keepset.core.chunk import Chunk, concat
from keepset.core.column import (
    column_batches,
    column_concat,
    column_of,
    column_spec,
    column_take,
    column_unbatch,
)
from keepset.core.jagged import Jagged
from keepset.core.ragged import Ragged
from keepset.core.spec import TensorSpec
from keepset.core.structure import LEAF
from keepset.errors import ElementError

LENGTHS = st.lists(st.integers(0, 5), min_size=1, max_size=12)


def leaves_of(lengths: list[int], inner: tuple[int, ...] = ()) -> list[Any]:
    counter = iter(range(10_000))
    return [
        np.array([next(counter) for _ in range(n * int(np.prod(inner)))], np.int32).reshape(
            n, *inner
        )
        for n in lengths
    ]


def same(column: Any, leaves: list[Any]) -> bool:
    found = list(column)
    return len(found) == len(leaves) and all(
        a.dtype == b.dtype and a.shape == b.shape and (a == b).all()
        for a, b in zip(found, leaves, strict=True)
    )


@given(LENGTHS, st.sampled_from([(), (2,)]), st.data())
def test_it_is_cut_and_chosen_from_like_a_list(
    lengths: list[int], inner: tuple[int, ...], data: st.DataObject
) -> None:
    leaves = leaves_of(lengths, inner)
    column = Jagged.of(leaves)
    assert same(column, leaves)
    assert same([column[i] for i in range(-len(leaves), len(leaves))], leaves + leaves)
    cut = slice(data.draw(st.integers(0, 12)), data.draw(st.integers(0, 12)))
    assert same(column[cut], leaves[cut])
    places = st.lists(st.integers(0, len(leaves) - 1), max_size=20)
    chosen = data.draw(places)
    taken = column_take(column, np.array(chosen, np.int64))
    expected = [leaves[i] for i in chosen]
    assert same(taken, expected)
    assert isinstance(taken, Jagged)
    assert same(taken.copy(), expected)
    assert same(pickle.loads(pickle.dumps(taken)), expected)
    whole = np.concatenate([*expected, column.values[:0]])
    assert (taken.joined() == whole).all()
    assert taken.offsets().tolist() == np.cumsum([0, *map(len, expected)]).tolist()
    assert taken.nbytes == whole.nbytes + 16 * len(expected)
    again = column_concat([taken, column[cut], taken])
    assert same(again, [*expected, *leaves[cut], *expected])
    assert isinstance(again, Jagged)
    other = Jagged.of([leaf + 1 for leaf in leaves])
    assert same(column_concat([column, other]), [*leaves, *(leaf + 1 for leaf in leaves)])


def test_nothing_is_copied_before_it_must_be() -> None:
    column = Jagged.of(leaves_of([3, 0, 2]))
    taken = column[1:].take(np.array([1, 0, 1]))
    assert taken.values is column.values
    assert np.shares_memory(column[1:].joined(), column.values)
    copy = column.copy()
    assert not np.shares_memory(copy.values, column.values)
    assert not np.shares_memory(taken.copy().values, column.values)
    # The whole file's values do not travel with a few leaves.
    assert len(pickle.loads(pickle.dumps(column[:1])).values) == 3


def test_columns_that_differ_become_a_list() -> None:
    column = Jagged.of(leaves_of([3, 1]))
    for other in (Jagged.of([np.zeros(2)]), np.zeros((2, 2)), np.zeros(2, np.int32), [np.zeros(1)]):
        assert isinstance(column_concat([column, other]), list)
        assert isinstance(column_concat([other, column]), list)


@given(LENGTHS, st.integers(1, 3), st.integers(0, 3))
def test_rows_of_an_array_join_lists_as_lists(lengths: list[int], rows: int, size: int) -> None:
    leaves = leaves_of(lengths)
    array = np.arange(rows * size, dtype=np.int32).reshape(rows, size)
    one: list[Any] = [Jagged.of(leaves), array]
    for parts in (one, one[::-1]):
        joined = column_concat(parts)
        assert isinstance(joined, Jagged)
        assert same(joined, [leaf for part in parts for leaf in part])


@given(LENGTHS)
def test_its_spec_is_that_of_the_leaves(lengths: list[int]) -> None:
    size = lengths[0] if len(set(lengths)) == 1 else None
    assert column_spec(Jagged.of(leaves_of(lengths))) == TensorSpec((size,), np.int32)
    assert column_spec(Jagged.of(leaves_of(lengths))[:0]) is None


def test_leaves_of_one_length_can_be_batched_and_others_cannot() -> None:
    batched = column_batches(Jagged.of(leaves_of([2, 2, 2, 2])), 2)
    assert np.array(batched).tolist() == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    with pytest.raises(ElementError, match="ragged_batch"):
        column_batches(Jagged.of(leaves_of([2, 1])), 2)


@given(LENGTHS, st.data())
def test_taking_it_apart_gives_the_values(lengths: list[int], data: st.DataObject) -> None:
    leaves = leaves_of(lengths)
    order = data.draw(st.permutations(range(len(leaves))))
    rows, sizes = column_unbatch(Jagged.of(leaves).take(np.array(order)))
    assert list(rows) == [x for i in order for x in leaves[i].tolist()]
    assert list(np.atleast_1d(sizes)) == [lengths[i] for i in order]


def test_a_chunk_has_rows_and_sizes_of_it() -> None:
    leaves = leaves_of([1, 3, 2])
    chunk = Chunk.from_columns(LEAF, [Jagged.of(leaves)], 3)
    assert same(chunk.rows, leaves)
    assert chunk.size_bytes == 6 * 4 + 3 * 16
    rows, left = chunk.iterate()
    next(rows)
    assert left.__length_hint__() == 2
    both = concat([chunk, chunk[1:]])
    assert same(both.rows, leaves + leaves[1:])
    assert isinstance(both.columns[0], Jagged)
    assert isinstance(column_of(leaves), list)


def test_leaves_that_are_no_arrays_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []

    def counted(leaves: list[Any]) -> column.Column:
        looks.append(len(leaves))
        return column_of(leaves)

    monkeypatch.setattr(column, "column_of", counted)
    batch = column.stack_leaves([Ragged.from_rows([np.arange(n)]) for n in range(3)])
    assert isinstance(batch, Ragged)
    assert looks == [3]
    looks.clear()
    typed = column.stack_leaves([np.empty(0), np.empty(0, np.int64)])
    assert (typed.dtype, looks) == (np.int64, [2, 2])
