"""Elements at given positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepset as ks
from keepset.nodes.chosen_rows import ChosenRows


def chosen(ds: ks.Dataset, positions: Any) -> ks.Dataset:
    return ks.Dataset(ChosenRows(parent=ds.__keepset_node__(), positions=positions))


@given(positions=st.lists(st.integers(0, 8)), again=st.lists(st.integers(0, 20)))
def test_positions_are_those_of_a_list(positions: list[int], again: list[int]) -> None:
    ds = chosen(ks.Dataset.range(9), np.array(positions, np.uint64))
    assert [int(x) for x in ds] == positions
    assert len(ds) == len(positions)
    places = [place for place in again if place < len(positions)]
    twice = chosen(ds, np.array(places, np.int64))
    assert [int(x) for x in twice] == [positions[place] for place in places]


@pytest.mark.parametrize("odd", [[9], [-1], [0.5], [[1]], ["a"]])
def test_positions_outside_are_refused(odd: Any) -> None:
    with pytest.raises(ks.InvalidArgumentError, match="positions"):
        chosen(ks.Dataset.range(9), np.array(odd))


def test_chosen_columns_are_asked_of_the_source() -> None:
    table = {"x": [1, 2, 3], "y": [4, 5, 6]}
    ds = chosen(ks.from_arrow(pa.table(table)), np.array([2, 0])).select("y")
    assert [int(row["y"]) for row in ds] == [6, 4]
    assert "select" not in ds.describe()
