"""Staging: copies of elements, in little more memory than they take, which is used again."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from keepset.core.chunk import Chunk, single
from keepset.core.column import Column
from keepset.snapshot.writing.staging import (
    Block,
    Form,
    Staging,
    copied,
    is_read_only,
    loose_columns,
)


def form_of(chunk: Chunk) -> Form:
    form = Form.of(chunk.structure, chunk.columns)
    assert form is not None
    return form


def test_many_single_elements_are_joined_before_there_are_too_many() -> None:
    staging = Staging()
    for x in range(5000):
        staging.add(copied(single(np.int64(x))))
    assert len(staging._parts) + len(staging._recent) < 300
    assert (staging.rows, staging.size_bytes) == (5000, 40_000)
    (first, _), (rest, _) = staging.take(1200), staging.take(10_000)
    assert [*first.rows, *rest.rows] == list(range(5000))
    assert (len(first), staging.rows) == (1200, 0)


def test_what_is_staged_is_a_copy() -> None:
    array = np.arange(3)
    staging = Staging()
    staging.add(copied(Chunk.from_rows([array])))
    array[:] = 9
    assert staging.take(1)[0].rows[0].tolist() == [0, 1, 2]


def test_a_block_holds_copies_and_is_given_back_with_them() -> None:
    chunk = Chunk.from_rows([{"x": np.full(3, i), "y": np.float32(i)} for i in range(5)])
    columns = chunk.columns
    staging, block = Staging(), Block(form_of(chunk), 4)
    assert not staging.has_room_for(block.form)
    staging.open_block(block)
    assert staging.has_room_for(block.form)
    assert staging.fill(columns, 0) == 4
    assert not staging.has_room_for(block.form)
    assert (staging.rows, staging.size_bytes) == (4, 4 * 28)
    for column in columns:
        assert isinstance(column, np.ndarray)
        column[:] = 0
    full, used = staging.take(4)
    assert used is block
    assert [(row["x"].tolist(), float(row["y"])) for row in full.rows] == [
        ([i, i, i], i) for i in range(4)
    ]
    assert (staging.rows, staging.size_bytes) == (0, 0)
    block.used = 0
    staging.open_block(block)
    assert staging.fill(columns, 4) == 1
    rest, used = staging.take(4)
    assert used is block
    assert len(rest) == 1


def test_blocks_and_other_elements_keep_their_order() -> None:
    def numbers(*values: int) -> Chunk:
        return Chunk.from_rows([np.int64(value) for value in values])

    staging = Staging()
    form = form_of(numbers(0))
    staging.add(copied(numbers(0, 1)))
    staging.open_block(Block(form, 8))
    staging.fill(numbers(2, 3).columns, 0)
    staging.add(copied(numbers(4)))
    staging.open_block(Block(form, 8))
    staging.fill(numbers(5, 6).columns, 0)
    assert staging.rows == 7
    chunk, used = staging.take(6)
    assert used is None  # a copy of what several places held
    assert [int(x) for x in chunk.rows] == [0, 1, 2, 3, 4, 5]
    assert [int(x) for x in staging.take(6)[0].rows] == [6]


def test_large_rows_are_copied_without_being_stacked_first() -> None:
    rows: list[dict[str, Any]] = [{"x": np.full(1000, i), "y": np.int64(i)} for i in range(3)]
    chunk = Chunk.from_rows(rows)
    columns = loose_columns(chunk)
    assert not chunk.has_columns
    form = Form.of(chunk.structure, columns)
    assert form == form_of(Chunk.from_rows(rows))
    assert form is not None
    block = Block(form, 2)
    assert [block.fill(columns, 0), block.fill(columns, 2)] == [2, 0]
    rows[0]["x"][:] = 7
    assert [int(row["x"][999]) for row in block.chunk().rows] == [0, 1]


@pytest.mark.parametrize("dtype", ["u1", "f4", "?", "c16", "M8[ns]", ml_dtypes.bfloat16], ids=str)
@pytest.mark.parametrize("size", [1, 511, 4096, 70_000])
def test_rows_of_every_size_and_order_are_copied_as_they_are(dtype: Any, size: int) -> None:
    numbers = np.arange(6 * size, dtype=np.uint8).reshape(3, size, 2).astype(dtype)
    rows = [numbers[0], np.asfortranarray(numbers[1]), numbers[2, ::-1]]
    columns: list[Column] = [rows]
    form = Form.of(single(rows[0]).structure, columns)
    assert form is not None
    block = Block(form, 3)
    assert block.fill(columns, 0) == 3
    for copy, row in zip(block.chunk().rows, rows, strict=True):
        assert copy.tobytes() == row.tobytes()


@pytest.mark.parametrize(
    "columns",
    [
        [np.array([b"a", b"b"], object)],
        [[np.zeros(1000), np.zeros(1001)]],
        [[np.zeros(1000), np.zeros(1000, np.float32)]],
        [[b"a", b"b"]],
        [[np.zeros(1000), np.float64(1)]],
        [],
    ],
)
def test_what_differs_has_no_form(columns: list[Column]) -> None:
    assert Form.of(single({"x": np.int64(0)}).structure, columns) is None


def test_only_columns_that_nobody_can_write_to_are_read_only() -> None:
    def chunk(*columns: Any) -> Chunk:
        structure = single(tuple(np.int64(0) for _ in columns)).structure
        return Chunk.from_columns(structure, list(columns), 3)

    closed = np.arange(3)
    closed.flags.writeable = False
    assert is_read_only(chunk(closed, closed[::-1]))
    assert not is_read_only(chunk(closed, np.arange(3)))
    assert not is_read_only(chunk([np.arange(2)] * 3))
    assert not is_read_only(Chunk.from_rows([closed, closed, closed]))
