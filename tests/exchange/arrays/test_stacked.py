"""Columns whose leaves are alike are one array, however they are held."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import keepset as ks
from keepset.core.jagged import Jagged
from keepset.exchange.arrays.stacked import stacked


def test_leaves_that_are_alike_are_one_array() -> None:
    column = Jagged.packed(np.arange(9), np.array([0, 2, 4, 6, 9]))
    assert stacked(column) is None
    assert stacked(column[:0]) is None
    for same in (column[:3], column.leaves()[:3], np.arange(6).reshape(3, 2)):
        found = stacked(same)
        assert found is not None
        assert found.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert stacked([np.zeros(2), np.zeros(2, np.int8)]) is None
    assert stacked([]) is None


def test_lists_that_happen_to_be_alike_can_be_written(tmp_path: Path) -> None:
    lists = ks.Ragged.from_rows([[1, 2], [3, 4], [5]])
    assert ks.Dataset.from_tensor_slices(lists).take(2).write_npy(tmp_path / "some.npy") == 2
    assert np.load(tmp_path / "some.npy").tolist() == [[1, 2], [3, 4]]
