"""Copies for those who change arrays in place; what is kept never changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.testing.contract import check_dataset


def row(x: int) -> dict[str, Any]:
    return {
        "x": np.full(3, x, np.float32),
        "text": str(x),
        "ragged": ks.Ragged.from_rows([[x], [x, x]]),
        "lengths": np.arange(x % 3),
    }


def rows(count: int = 6) -> ks.Dataset:
    return ks.Dataset.range(count).map(row)


def spoil(element: dict[str, Any]) -> None:
    element["x"] -= element["x"].mean() - 7
    element["ragged"].values[:] = 0
    element["lengths"][:] = -1


def expected(count: int = 6) -> list[dict[str, Any]]:
    return list(rows(count))


@pytest.mark.parametrize("chunk_bytes", [500, 1 << 20])
@pytest.mark.parametrize("compression", [None, "ZSTD", "GZIP"])
def test_loaded_elements_can_be_changed_and_nothing_kept_is(
    tmp_path: Path, compression: str | None, chunk_bytes: int
) -> None:
    rows(60).save(tmp_path, compression, chunk_bytes=chunk_bytes)
    ds = ks.load(tmp_path, writable=True)
    for _ in range(2):
        for element in ds:
            spoil(element)
    spoil(ds[3])
    spoil(next(iter(ds.gather([1, 2]))))
    for element in ds.shuffle(5):
        spoil(element)
    ks.assert_equal(ds, rows(60))
    ks.assert_equal(ks.load(tmp_path), rows(60))


def test_a_snapshot_gives_copies_in_the_first_pass_and_later(tmp_path: Path) -> None:
    ds = rows().snapshot(tmp_path, writable=True)
    for _ in range(3):
        for element in ds:
            spoil(element)
    ks.assert_equal(ds, rows())


def test_both_are_the_same_snapshot(tmp_path: Path) -> None:
    assert len(list(rows().snapshot(tmp_path, writable=True))) == 6
    assert ks.explain(rows().snapshot(tmp_path), tmp_path).hit


def test_one_element_does_not_reach_into_its_neighbour(tmp_path: Path) -> None:
    rows().save(tmp_path)
    first, second, *_ = ks.load(tmp_path, writable=True)
    first["x"][:] = 100
    assert second["x"].tolist() == [1, 1, 1]


def test_it_keeps_the_promises_of_a_stage(tmp_path: Path) -> None:
    rows().save(tmp_path)
    check_dataset(lambda: ks.load(tmp_path, writable=True), expected=expected())
    check_dataset(lambda: ks.load(tmp_path, writable=True).select("x").batch(2))


def test_a_reader_func_gives_copies_too(tmp_path: Path) -> None:
    rows().save(tmp_path)
    ds = ks.load(tmp_path, reader_func=lambda parts: parts.flat_map(lambda x: x), writable=True)
    for element in ds:
        spoil(element)
    assert sorted(int(element["x"][0]) for element in ds) == list(range(6))


def unlock(element: dict[str, Any]) -> None:
    """What a program does that thinks it may: the array is its own, or the flag cannot be set."""
    arrays = (element["x"], element["lengths"], element["ragged"].values)
    for array in arrays:
        try:
            array.flags.writeable = True
        except ValueError:
            continue
        array[...] = -1


@pytest.mark.parametrize("compression", [None, "LZ4", "ZSTD", "GZIP", "SNAPPY"])
def test_what_is_stored_cannot_be_unlocked(tmp_path: Path, compression: str | None) -> None:
    rows(60).save(tmp_path, compression, chunk_bytes=500)
    ds = ks.load(tmp_path)
    for element in ds:
        unlock(element)
    unlock(ds[3])
    unlock(ds[3])
    for element in ds.shuffle(ks.GLOBAL, seed=1):
        unlock(element)
    ks.assert_equal(ds, rows(60))
    ks.assert_equal(ks.load(tmp_path), rows(60))
