"""Logs of which any commits are lost, damaged or nonsense: verify says so, and repair mends them.

By default every fifth combination; KEEPSET_KILLS of more than 100 tries all of them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

import keepset as ks
from keepset.errors import KeepsetError
from keepset.format.commit import Commit, commit_name
from keepset.format.log import Log
from keepset.snapshot.upkeep.checking import check_snapshot
from keepset.snapshot.upkeep.collecting import collect, plan_collection
from keepset.snapshot.upkeep.repairing import repair_snapshot
from keepset.storage import open_store

STEP = 1 if int(os.environ.get("KEEPSET_KILLS", "0")) > 100 else 5
COUNT = 8


def pipeline(path: Path, mode: str = "auto") -> ks.Dataset:
    return ks.Dataset.range(COUNT).snapshot(path, fingerprint="f", mode=mode, chunk_bytes=16)


def fence(path: Path) -> None:
    with open_store(path / "f").writer("segments/0123456789abcdef-0.arrow") as orphan:
        orphan.write(b"left behind")
    root = open_store(path)
    collect(root, plan_collection(root, grace_s=0.0))


def a_pass(path: Path) -> None:
    list(pipeline(path).take(2))
    list(pipeline(path).take(4))
    fence(path)
    list(pipeline(path))


def unfinished(path: Path) -> None:
    list(pipeline(path).take(2))
    fence(path)
    list(pipeline(path).take(4))
    list(pipeline(path).take(6))


def begun_anew(path: Path) -> None:
    list(pipeline(path).take(2))
    with pytest.warns(UserWarning, match="starts over"):
        list(pipeline(path, mode="write").take(2))
    list(pipeline(path))


def saved(path: Path) -> None:
    for _ in range(3):
        ks.Dataset.range(COUNT).save(path / "f", chunk_bytes=16)
    fence(path)


def spoil(path: Path, number: int, how: str) -> None:
    commit = path / "f" / commit_name(number)
    if how == "lost":
        commit.unlink()
    elif how == "damaged":
        commit.write_bytes(commit.read_bytes()[:-1] + b" ")
    elif how == "nonsense":
        body = {"part": 0, "start": 70, "stop": 71, "manifest": {}, "resume": {}}
        commit.write_bytes(Commit(number, "append", "0" * 16, 0.0, body).to_bytes())


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("make", [a_pass, unfinished, begun_anew, saved])
def test_any_log_can_be_mended(tmp_path: Path, make: Callable[[Path], None]) -> None:
    sound, place = tmp_path / "sound", tmp_path / "spoiled"
    make(sound)
    commits = len(Log(open_store(sound / "f")).numbers())
    assert commits == 4
    ways = list(product(("right", "lost", "damaged", "nonsense"), repeat=commits))
    for how in ways[1::STEP]:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(sound, place)
        for number in range(commits):
            spoil(place, number, how[number])
        check_mended(place, how, is_saved=make is saved)


def check_mended(place: Path, how: tuple[str, ...], is_saved: bool) -> None:
    store = open_store(place / "f")
    report = check_snapshot(store)
    needed = [d for d in report.damages if d.is_needed and d.name.startswith("commits/")]
    try:
        state = Log(store).state()
    except KeepsetError:
        assert needed, how
    else:
        assert not needed, how
        assert state == report.state, how
    repair_snapshot(store, report)
    again = check_snapshot(store)
    assert not any(damage.is_needed for damage in again.damages), how
    state = Log(store).state()
    if is_saved:
        if state.version is not None:
            assert [int(x) for x in ks.load(place / "f")] == list(range(COUNT)), how
        return
    assert [int(x) for x in pipeline(place)] == list(range(COUNT)), how
    assert [int(x) for x in ks.load(place)] == list(range(COUNT)), how


def test_a_stray_number_does_not_take_for_ever(tmp_path: Path) -> None:
    saved(tmp_path)
    (tmp_path / "f" / "commits" / "99999999.json").write_bytes(b"{}")
    store = open_store(tmp_path / "f")
    with pytest.raises(ks.CorruptSnapshotError, match=r"99999999\.json is damaged"):
        ks.load(tmp_path / "f")
    report = check_snapshot(store)
    assert not report.is_sound
    repair_snapshot(store, report)
    assert [int(x) for x in ks.load(tmp_path / "f")] == list(range(COUNT))
