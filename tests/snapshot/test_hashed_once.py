"""How often a pass hashes an array and looks at a file, to know what its pipeline is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.core.fingerprint import arrays
from keepset.snapshot.identity import unfilled_state
from keepset.storage import files

SIZE = 300_000  # numbers of eight bytes, above the size from which content counts as large


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ids of the arrays that are hashed as a whole, each time."""
    found: list[int] = []
    original = arrays._large_content

    def counting(value: Any) -> bytes:
        found.append(id(value))
        return original(value)

    monkeypatch.setattr(arrays, "_large_content", counting)
    return found


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files whose size and times are asked for, each time."""
    found: list[str] = []
    # A file that was changed a moment ago is waited for, and looked at again.
    monkeypatch.setattr(files, "_until_settled_s", lambda facts: 0)
    original = files._facts_of

    def counting(paths: Any, *args: Any, **named: Any) -> Any:
        paths = list(paths)
        found.extend(Path(os.fsdecode(path)).name for path in paths)
        return original(paths, *args, **named)

    monkeypatch.setattr(files, "_facts_of", counting)
    return found


def times(work: Callable[[], Any], noted: list[Any]) -> int:
    """How often something is noted while some work is done."""
    before = len(noted)
    work()
    return len(noted) - before


def uses(data: Any) -> dict[str, ks.Dataset]:
    """Pipelines that have an array in each of the ways in which it may get there."""
    return {
        "captured": ks.Dataset.range(20).map(lambda i: data[i]),
        "source": ks.Dataset.from_tensor_slices(data).take(20),
        "twice": ks.Dataset.range(20).map(lambda i: data[i]).map(lambda x: x + data[-1]),
        "both": ks.Dataset.from_tensor_slices(data).take(20).map(lambda x: x + data[0]),
    }


@pytest.mark.parametrize("use", uses(np.zeros(1)))
def test_a_writable_array_is_hashed_twice_in_a_first_pass_and_once_in_a_replay(
    tmp_path: Path, hashed: list[int], use: str
) -> None:
    data = np.arange(SIZE, dtype=np.float64)
    ds = uses(data)[use].snapshot(tmp_path)
    assert times(lambda: list(ds), hashed) == 2
    for each in (ds, ds, uses(data)[use].snapshot(tmp_path)):
        assert times(lambda each=each: list(each), hashed) == 1  # type: ignore[misc]
        assert ks.explain(each, tmp_path).hit


def test_a_pass_of_many_commits_hashes_no_more(
    tmp_path: Path, hashed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from keepset.snapshot.writing import first_pass

    monkeypatch.setattr(first_pass.FirstPass, "is_due", property(lambda self: self._added >= 2))
    data = np.arange(SIZE, dtype=np.float64)
    ds = ks.Dataset.range(20).map(lambda i: data[i]).snapshot(tmp_path)
    assert times(lambda: list(ds), hashed) == 2


@pytest.mark.parametrize("use", uses(np.zeros(1)))
def test_an_array_that_nothing_can_write_to_is_hashed_once_in_a_process(
    tmp_path: Path, hashed: list[int], use: str
) -> None:
    data = np.arange(SIZE, dtype=np.float64)
    data.flags.writeable = False
    ds = uses(data)[use].snapshot(tmp_path)
    # from_tensor_slices has a view of it, which is another object.
    assert times(lambda: list(ds), hashed) == len(set(hashed)) <= 2
    for each in (ds, uses(data)[use].snapshot(tmp_path / "other")):
        assert times(lambda each=each: list(each), hashed) == 0  # type: ignore[misc]


def test_files_are_looked_at_once_for_each_dataset_and_once_before_completion(
    tmp_path: Path, looked_at: list[str]
) -> None:
    names = [f"{i}.txt" for i in range(5)]
    for name in names:
        (tmp_path / name).write_text(name)

    def make() -> ks.Dataset:
        found = ks.Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)
        return found.snapshot(tmp_path / "stored")

    ds = make()
    list(ds)
    assert sorted(looked_at) == sorted(2 * names)
    del looked_at[:]
    for _ in range(3):
        list(ds)
    assert looked_at == []
    other = make()
    for _ in range(3):
        list(other)
        assert ks.explain(other, tmp_path / "stored").hit
    assert sorted(looked_at) == names


@pytest.mark.parametrize("is_any_unfilled", [False, True])
def test_each_of_two_snapshots_in_a_row_hashes_an_array_for_itself(
    tmp_path: Path, hashed: list[int], is_any_unfilled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They begin and end at different times, between which functions and the loop run."""
    if is_any_unfilled:  # by a replay of another pipeline, so that functions are looked at for it
        unfilled = unfilled_state.Unfilled("global VOCAB", "", None, False)
        monkeypatch.setitem(unfilled_state._unfilled, ("global", "VOCAB"), unfilled)
    data = np.arange(SIZE, dtype=np.float64)
    ds = ks.Dataset.range(20).map(lambda i: data[i]).snapshot(tmp_path / "first")
    ds = ds.map(lambda x: x + 1).snapshot(tmp_path / "second")
    assert times(lambda: list(ds), hashed) <= 4
    assert times(lambda: list(ds), hashed) == 1
