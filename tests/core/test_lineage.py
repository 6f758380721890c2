"""What a kept data set was made by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepset as ks
from keepset.core.lineage import Lineage


def double(x: Any) -> Any:
    return x * 2


def test_a_save_and_a_snapshot_tell_their_stages(tmp_path: Path) -> None:
    ks.Dataset.range(4).map(double).save(tmp_path / "saved")
    assert str(ks.Snapshot(tmp_path / "saved").lineage) == "map(double)\nrange(0, 4)"
    made = ks.load(tmp_path / "saved").batch(2).snapshot(tmp_path / "kept")
    assert len(list(made)) == 2
    kept = ks.Snapshot(tmp_path / "kept").lineage
    assert str(kept).splitlines() == ["batch(2)", f"load({str(tmp_path / 'saved')!r})"]


def test_several_inputs_branch(tmp_path: Path) -> None:
    ks.Dataset.zip(ks.Dataset.range(3), ks.Dataset.range(3).map(double)).save(tmp_path)
    assert str(ks.Snapshot(tmp_path).lineage).splitlines() == [
        "zip()",
        "├ range(0, 3)",
        "└ map(double)",
        "  range(0, 3)",
    ]


def test_a_pipeline_may_be_as_deep_as_it_runs(tmp_path: Path) -> None:
    ds = ks.Dataset.range(1)
    for number in range(200):
        ds = ds.map(double) if number % 2 else ds.concatenate(ks.Dataset.range(1))
    ds.save(tmp_path / "saved")
    assert len(list(ds.snapshot(tmp_path / "kept"))) == 101
    for name in ("saved", "kept"):
        lineage = ks.Snapshot(tmp_path / name).lineage
        assert lineage is not None
        assert len(lineage.stages) == 301


def test_an_unfinished_pass_tells_them_too(tmp_path: Path) -> None:
    ds = ks.Dataset.range(100).map(double).snapshot(tmp_path)
    it = iter(ds)
    next(it)
    del it
    assert str(ks.Snapshot(tmp_path).lineage) == "map(double)\nrange(0, 100)"


TREES = st.recursive(
    st.text(max_size=5).map(lambda title: [(title, 0)]),
    lambda inner: st.builds(
        lambda title, inputs: [(title, len(inputs)), *(each for part in inputs for each in part)],
        st.text(max_size=5),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=8,
)


@given(TREES)
def test_it_comes_back_from_json(stages: list[tuple[str, int]]) -> None:
    lineage = Lineage(stages)
    found = Lineage.from_json(json.loads(json.dumps(lineage.to_json())))
    assert found is not None
    assert found.stages == stages
    assert str(found) == str(lineage)


@pytest.mark.parametrize(
    "nonsense",
    [None, 3, "x", {}, [], [3], [["a"]], [["a", -1]], [["a", 1]], [["a", 0], ["b", 0]], [[1, 0]]],
)
def test_nonsense_is_no_lineage(nonsense: Any) -> None:
    assert Lineage.from_json(nonsense) is None
