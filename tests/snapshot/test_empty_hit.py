"""What is said of a snapshot that is complete and has no elements."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import keepset as ks


def test_a_replay_of_nothing_is_warned_of_once(tmp_path: Path) -> None:
    def dataset() -> ks.Dataset:
        return ks.Dataset.range(5).filter(lambda x: x > 10).snapshot(tmp_path)

    with pytest.warns(UserWarning, match="passed none of its 5 elements"):
        assert not list(dataset())
    with pytest.warns(UserWarning, match="is a complete snapshot of no elements") as caught:
        assert not list(dataset())
    [warning] = caught
    assert str(tmp_path) in str(warning.message)
    assert warning.filename == __file__
    assert not list(dataset())


def test_what_is_stored_and_not_replayed_is_not_warned_of(tmp_path: Path) -> None:
    empty = ks.Dataset.range(0).snapshot(tmp_path / "new")
    some = ks.Dataset.range(3).snapshot(tmp_path / "some")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not list(empty)
        assert [len(list(some)), len(list(some))] == [3, 3]
