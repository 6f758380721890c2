"""What is said of stages without a seed before a snapshot: the calls that a user has written."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import keepset as ks


def said(ds: ks.Dataset, path: Path) -> str:
    with pytest.warns(UserWarning, match="has no seed") as caught:
        ds.snapshot(path)
    [warning] = caught
    return str(warning.message)


def test_list_files_is_named_with_what_to_pass(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    pattern = str(tmp_path / "*.txt")
    for ds in (ks.Dataset.list_files(pattern), ks.Dataset.list_files(pattern, shuffle=True)):
        text = said(ds, tmp_path)
        assert text.startswith("list_files(shuffle=True) has no seed")
        assert "seed=" in text
        assert "shuffle=False" in text
        assert "shuffle_global" not in text


def test_a_shuffle_of_everything_is_named_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    listed = ks.Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)
    for ds in (ks.Dataset.range(9), listed):
        text = said(ds.shuffle(ks.GLOBAL), tmp_path)
        assert text.startswith("shuffle(ks.GLOBAL) has no seed")
        assert "list_files" not in text


def test_a_seed_leaves_nothing_to_say(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in ({"seed": 1}, {"shuffle": False}):
            ks.Dataset.list_files(str(tmp_path / "*.txt"), **given).snapshot(tmp_path)
