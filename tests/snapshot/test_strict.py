"""Versions of libraries: recorded always, told by explain, and counted where that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks


def sort(x: Any) -> Any:
    return np.sort(np.full(2, x))


@pytest.fixture
def another_numpy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A way to let NumPy have another version."""

    def install() -> None:
        monkeypatch.setattr(
            "keepset.core.fingerprint.value.library_version", lambda name: (name, "99.0")
        )

    return install


def kept(path: Path, **settings: Any) -> ks.Dataset:
    return ks.Dataset.range(4).map(sort).snapshot(path, **settings)


def test_another_version_does_not_count_but_explain_mentions_it(
    tmp_path: Path, another_numpy: Any
) -> None:
    assert len(list(kept(tmp_path))) == 4
    assert ks.explain(kept(tmp_path), tmp_path).versions == []
    another_numpy()
    why = ks.explain(kept(tmp_path), tmp_path)
    assert why.hit
    assert str(why).splitlines()[1:] == [
        f"also another version, which does not count: version of numpy: {np.__version__} -> 99.0"
    ]


def test_a_miss_mentions_it_beside_what_has_changed(tmp_path: Path, another_numpy: Any) -> None:
    assert len(list(kept(tmp_path))) == 4
    another_numpy()
    why = ks.explain(ks.Dataset.range(5).map(sort), tmp_path)
    assert not why.hit
    assert [change.path for change in why.changes] == ["map > range > stop"]
    assert [str(each) for each in why.versions] == [f"version of numpy: {np.__version__} -> 99.0"]


def test_strict_counts_it(tmp_path: Path, another_numpy: Any) -> None:
    assert len(list(kept(tmp_path, strict=True))) == 4
    assert ks.explain(kept(tmp_path, strict=True), tmp_path).hit
    # A pipeline without a snapshot does not say whether versions count: either is a hit.
    assert ks.explain(ks.Dataset.range(4).map(sort), tmp_path).hit
    another_numpy()
    why = ks.explain(kept(tmp_path, strict=True), tmp_path)
    assert not why.hit
    assert [str(change) for change in why.changes] == [
        f"map > version of numpy: {np.__version__} -> 99.0"
    ]
    assert why.versions == []
    assert len(list(kept(tmp_path, strict=True))) == 4
    assert len(list(tmp_path.iterdir())) == 2


def test_strict_and_loose_are_two_snapshots(tmp_path: Path) -> None:
    assert len(list(kept(tmp_path))) == 4
    assert not ks.explain(kept(tmp_path, strict=True), tmp_path).hit


def test_files_count_in_a_strict_fingerprint_too(tmp_path: Path, another_numpy: Any) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "a.txt").write_text("a")

    def names(**settings: Any) -> ks.Dataset:
        listed = ks.Dataset.list_files(str(files / "*"), shuffle=False)
        return listed.map(np.asarray).snapshot(tmp_path / "kept", strict=True, **settings)

    assert len(list(names())) == 1
    assert ks.explain(names(), tmp_path / "kept").hit
    (files / "a.txt").write_text("more")
    assert not ks.explain(names(), tmp_path / "kept").hit
    (files / "a.txt").write_text("a")
    assert ks.explain(names(), tmp_path / "kept").hit
    another_numpy()
    assert not ks.explain(names(), tmp_path / "kept").hit


def test_a_fingerprint_of_your_own_cannot_be_strict(tmp_path: Path) -> None:
    with pytest.raises(ks.InvalidArgumentError, match="takes its place"):
        kept(tmp_path, strict=True, fingerprint="mine")


@pytest.mark.parametrize("kind", [list, iter])
def test_a_strict_snapshot_is_stored_and_replayed(
    tmp_path: Path, kind: Callable[[list[str]], Iterable[str]]
) -> None:
    calls: list[int] = []

    def function(x: Any) -> Any:
        calls.append(int(x))
        return np.sqrt(x)

    ignore = kind(["captured calls"])
    ds = ks.Dataset.range(4).map(function).snapshot(tmp_path, strict=True, ignore=ignore)
    for _ in range(3):
        assert len(list(ds)) == 4
    assert calls == [0, 1, 2, 3]
