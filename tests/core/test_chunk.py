"""Chunks: rows and columns are two views of the same elements."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keepset.core.chunk import EMPTY, Chunk, concat
from keepset.core.element import to_element
from keepset.testing import assert_elements_equal

scalars = st.integers(-9, 9) | st.floats(allow_nan=True) | st.text(max_size=3)


@st.composite
def row_lists(draw: st.DrawFn) -> list[Any]:
    """Rows of one structure whose leaves may vary in shape and dtype."""
    keys = draw(st.lists(st.sampled_from("abcd"), unique=True, min_size=1, max_size=3))
    count = draw(st.integers(1, 6))
    leaf = st.integers(0, 3).map(lambda n: np.full(n, n)) | scalars | st.just(None)
    kinds = {key: draw(st.sampled_from([scalars, leaf, st.integers(0, 3)])) for key in keys}
    none = {key for key in keys if draw(st.booleans()) and kinds[key] is leaf}
    return [
        to_element({k: None if k in none else draw(kinds[k].filter(_is_some)) for k in keys})
        for _ in range(count)
    ]


def _is_some(value: Any) -> bool:
    return value is not None


@given(row_lists())
def test_rows_made_of_columns_made_of_rows_are_the_rows(rows: list[Any]) -> None:
    chunk = Chunk.from_rows(rows)
    again = Chunk.from_columns(chunk.structure, chunk.columns, len(chunk))
    assert_elements_equal(again.rows, rows)


@given(row_lists(), st.slices(6))
def test_slices_agree_in_both_forms(rows: list[Any], part: slice) -> None:
    if part.step is not None and part.step < 0:
        part = slice(part.start, part.stop, -part.step)
    chunk = Chunk.from_rows(rows)
    columns = Chunk.from_columns(chunk.structure, chunk.columns, len(chunk))
    assert_elements_equal(columns[part].rows, rows[part])
    assert len(chunk[part]) == len(rows[part])


@given(row_lists(), st.lists(st.integers(0, 100), max_size=8))
def test_taking_agrees_in_both_forms(rows: list[Any], picks: list[int]) -> None:
    indices = np.array([pick % len(rows) for pick in picks], np.int64)
    chunk = Chunk.from_rows(rows)
    columns = Chunk.from_columns(chunk.structure, chunk.columns, len(chunk))
    expected = [rows[i] for i in indices]
    assert_elements_equal(chunk.take(indices).rows, expected)
    assert_elements_equal(columns.take(indices).rows, expected)


@given(row_lists(), st.integers(0, 6))
def test_concatenation_undoes_cutting(rows: list[Any], cut: int) -> None:
    chunk = Chunk.from_rows(rows)
    columns = Chunk.from_columns(chunk.structure, chunk.columns, len(chunk))
    for form in (chunk, columns):
        assert_elements_equal(concat([form[:cut], EMPTY, form[cut:]]).rows, rows)


@given(row_lists())
def test_chunks_travel(rows: list[Any]) -> None:
    assert_elements_equal(pickle.loads(pickle.dumps(Chunk.from_rows(rows))).rows, rows)
