"""What the fast paths do not do, counted without a clock: decode twice, convert, or copy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.testing import count_steps

ROWS, CHUNK_ROWS, BATCH = 4096, 256, 128
CHUNKS, BATCHES = ROWS // CHUNK_ROWS, ROWS // BATCH

COLUMNS: dict[str, Any] = {
    "fixed": {"x": np.arange(ROWS * 4, dtype=np.float32).reshape(ROWS, 4), "y": np.arange(ROWS)},
    "numbers": np.arange(ROWS),
    "lists": ks.Ragged(np.arange(ROWS * 4), np.cumsum([0, *[3, 5] * (ROWS // 2)])),
}
ROW_BYTES = {"fixed": 24, "numbers": 8, "lists": 48}
LEAVES = {"fixed": 2, "numbers": 1, "lists": 1}


def consume(ds: Any) -> int:
    count = 0
    for _ in ds:
        count += 1
    return count


@pytest.fixture(params=COLUMNS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def loaded(kind: str, tmp_path: Path) -> ks.Dataset:
    chunk_bytes = ROW_BYTES[kind] * CHUNK_ROWS
    ds = ks.Dataset.from_tensor_slices(COLUMNS[kind])
    ds.save(tmp_path, chunk_bytes=chunk_bytes, segment_bytes=4 * chunk_bytes)
    assert len(ks.Snapshot(tmp_path).manifest.chunks) == CHUNKS
    return ks.load(tmp_path)


def batched(ds: ks.Dataset, kind: str, size: int = BATCH) -> ks.Dataset:
    return ds.ragged_batch(size) if kind == "lists" else ds.batch(size)


def test_elements_are_views_of_chunks_that_are_decoded_once(loaded: ks.Dataset) -> None:
    with count_steps() as steps:
        assert consume(loaded) == ROWS
    assert steps["chunk_decode"] == CHUNKS
    assert steps["array_copy"] == 0
    assert steps["columns_made"] == 0
    assert steps["rows_made"] == 0
    with count_steps() as steps:
        assert consume(loaded) == ROWS
    # One chunk may be decoded again: the first read asks for no more than one element.
    assert steps["chunk_decode"] <= 1
    assert steps["array_copy"] == 0


def test_batches_are_views_too(loaded: ks.Dataset, kind: str) -> None:
    with count_steps() as steps:
        assert consume(batched(loaded, kind)) == BATCHES
    assert steps["chunk_decode"] == CHUNKS
    assert steps["array_copy"] == 0
    assert steps["rows_made"] == 0


def test_only_a_batch_of_two_chunks_is_copied(loaded: ks.Dataset, kind: str) -> None:
    with count_steps() as steps:
        assert consume(batched(loaded, kind, 100)) == -(-ROWS // 100)
    assert steps["array_copy"] <= CHUNKS * LEAVES[kind]


def test_a_shuffle_gathers_each_stretch_at_once(loaded: ks.Dataset, kind: str) -> None:
    consume(loaded)
    with count_steps() as steps:
        assert consume(batched(loaded.shuffle(ks.GLOBAL, seed=1), kind)) == BATCHES
    assert steps["chunk_decode"] == 0
    # Lists are copied when they become a batch, everything else when it is gathered.
    assert steps["array_copy"] <= 2 * BATCHES * LEAVES[kind]
    assert steps["rows_made"] == 0


def test_single_elements_decode_nothing_twice(loaded: ks.Dataset) -> None:
    with count_steps() as steps:
        for i in range(0, ROWS, 7):
            loaded[i]
    assert steps["chunk_decode"] == CHUNKS
    assert steps["array_copy"] == 0
    assert steps["rows_made"] == 0


@pytest.mark.parametrize("compression", ["LZ4", "ZSTD", "GZIP", "SNAPPY"])
def test_compressed_chunks_are_decoded_once_for_a_pass(tmp_path: Path, compression: str) -> None:
    ds = ks.Dataset.from_tensor_slices(COLUMNS["fixed"])
    ds.save(tmp_path, compression, chunk_bytes=24 * CHUNK_ROWS)
    for order in (lambda ds: ds, lambda ds: ds.shuffle(ks.GLOBAL, seed=2)):
        with count_steps() as steps:
            assert consume(order(ks.load(tmp_path)).batch(BATCH)) == BATCHES
        assert steps["chunk_decode"] == CHUNKS


def rows_of(kind: str) -> Iterator[Any]:
    return iter(ks.Dataset.from_tensor_slices(COLUMNS[kind]))


def test_arrays_are_written_without_a_row(kind: str, tmp_path: Path) -> None:
    ds = ks.Dataset.from_tensor_slices(COLUMNS[kind])
    with count_steps() as steps:
        ds.save(tmp_path, chunk_bytes=ROW_BYTES[kind] * CHUNK_ROWS)
    assert steps["rows_made"] == 0
    assert steps["columns_made"] == 0
    assert steps["array_copy"] <= CHUNKS * LEAVES[kind]


def test_rows_of_a_generator_become_columns_as_they_come(kind: str, tmp_path: Path) -> None:
    rows = [row if isinstance(row, dict) else {"leaf": row} for row in rows_of(kind)]
    with count_steps() as steps:
        ks.Dataset.from_generator(lambda: iter(rows)).save(tmp_path)
    # The first reads are of a few rows, until it is known that the generator is quick.
    assert steps["columns_made"] <= 10
    assert steps["rows_made"] == 0
