"""Removing: a commit that stays, so that no number is used twice and the place can be opened."""

from __future__ import annotations

import json
import os
import shutil
import time
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest
from tests.snapshot.leftovers import only_the_removal_is_left
from tests.snapshot.simulated import dead_writers

import keepset as ks
from keepset.errors import PendingSnapshotError, SnapshotMissingError
from keepset.format.commit import Commit, commit_name
from keepset.format.log import Log
from keepset.snapshot.listing import list_snapshots
from keepset.snapshot.reading.opening import snapshots_below
from keepset.snapshot.upkeep.checking import check_snapshot
from keepset.snapshot.upkeep.collecting import collect, plan_collection
from keepset.snapshot.upkeep.removing import remove_snapshot
from keepset.storage import LocalStore, open_store

COUNT = 6


def kept(path: Path) -> ks.Dataset:
    ds = ks.Dataset.range(COUNT)
    return ds.snapshot(path, fingerprint="f", chunk_bytes=16, segment_bytes=20)


def numbers(elements: Any) -> list[int]:
    return [int(x) for x in elements]


def fence(number: int) -> Commit:
    return Commit(number, "fence", "0" * 16, 0.0, {"runs": ["a"]})


def test_a_place_without_commits_gets_one_that_fences_its_writers(tmp_path: Path) -> None:
    with open_store(tmp_path).writer("segments/0123456789abcdef-0.arrow") as orphan:
        orphan.write(b"left behind")
    remove_snapshot(open_store(tmp_path))
    assert only_the_removal_is_left(tmp_path)
    assert Log(open_store(tmp_path)).state().fenced == {"0123456789abcdef"}


def test_a_place_with_nothing_stays_so(tmp_path: Path) -> None:
    assert remove_snapshot(open_store(tmp_path / "nothing")) == 0
    assert not (tmp_path / "nothing").exists()


def test_removing_again_adds_nothing(tmp_path: Path) -> None:
    ks.Dataset.range(COUNT).save(tmp_path)
    for _ in range(3):
        remove_snapshot(open_store(tmp_path))
        assert Log(open_store(tmp_path)).numbers() == [1]


def test_what_was_removed_is_not_shown(tmp_path: Path) -> None:
    for name in ("a", "b"):
        ks.Dataset.range(COUNT).save(tmp_path / name)
    ks.Dataset.range(COUNT).save(tmp_path)
    root = open_store(tmp_path)
    remove_snapshot(root.sub("a/"))
    remove_snapshot(root)
    assert [each.name for each in list_snapshots(root)] == ["b"]
    assert snapshots_below(root) == ["b"]
    assert numbers(ks.load(tmp_path)) == list(range(COUNT))  # the only one that is left
    assert plan_collection(root, grace_s=0.0).removals[1:] == ()
    with pytest.raises(SnapshotMissingError, match="nothing is kept"):
        ks.load(tmp_path / "a")


@pytest.mark.parametrize("commit", [fence(1), fence(2)], ids=["old number", "next number"])
def test_who_knows_an_old_log_adds_nothing_to_the_new_one(tmp_path: Path, commit: Commit) -> None:
    """A collector or a writer that was paused while the snapshot was removed."""
    store = open_store(tmp_path)
    for _ in range(commit.number):
        ks.Dataset.range(COUNT).save(tmp_path)
    log = Log(store)
    known = log.state()
    ks.Dataset.range(COUNT).save(tmp_path)
    remove_snapshot(store)
    assert not (tmp_path / commit_name(commit.number)).exists()
    assert not log.add(known, commit)
    assert known.removal is not None
    assert log.numbers() == [commit.number + 1]
    ks.Dataset.range(COUNT).save(tmp_path)
    assert numbers(ks.load(tmp_path)) == list(range(COUNT))


def test_who_knows_an_empty_log_adds_nothing_to_the_new_one(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    log = Log(store)
    known = log.state()
    ks.Dataset.range(COUNT).save(tmp_path)
    remove_snapshot(store)
    assert not log.add(known, fence(0))
    assert log.numbers() == [1]
    assert known.next_number == 2
    assert log.add(known, fence(2))


def test_a_commit_of_a_killed_writer_below_a_removal_is_void(tmp_path: Path) -> None:
    """It was killed after it had created the commit, and before it could see the removal."""
    list(kept(tmp_path).take(2))
    append = (tmp_path / "f" / commit_name(0)).read_bytes()
    list(kept(tmp_path))
    store = open_store(tmp_path).sub("f/")
    remove_snapshot(store)
    (tmp_path / "f" / commit_name(0)).write_bytes(append)
    assert Log(store).state().removal is not None
    assert not any(damage.is_needed for damage in check_snapshot(store).damages)
    root = open_store(tmp_path)
    collect(root, plan_collection(root, grace_s=0.0))
    assert only_the_removal_is_left(tmp_path / "f")
    assert numbers(kept(tmp_path)) == list(range(COUNT))


def test_a_save_that_seemed_dead_when_nothing_was_committed_is_an_error(tmp_path: Path) -> None:
    def slow(x: Any) -> Any:
        if x == 90:  # many, since the first few are read at once
            while not list((tmp_path / "segments").glob("*.arrow")):
                time.sleep(0.01)  # it is written behind
            with dead_writers():
                remove_snapshot(open_store(tmp_path))
        return x

    ds = ks.Dataset.range(100).map(slow)
    with pytest.raises((PendingSnapshotError, ks.StorageError)):
        ds.save(tmp_path, chunk_bytes=16, segment_bytes=20)
    with pytest.raises(SnapshotMissingError):
        ks.load(tmp_path)


def test_a_power_cut_may_undo_any_of_the_deletions(tmp_path: Path) -> None:
    """File systems may write back unlinks in any order: whatever is left, the place is empty."""
    place, before = tmp_path / "place", tmp_path / "before"
    for count in (2, 4, COUNT):
        list(kept(place).take(count))
    shutil.copytree(place, before)
    remove_snapshot(open_store(place).sub("f/"))
    files = [file.relative_to(before) for file in before.rglob("*.json") if file.is_file()]
    segments = [file.relative_to(before) for file in before.rglob("*.arrow")]
    for back in chain.from_iterable(combinations(files, n) for n in range(len(files) + 1)):
        again = tmp_path / "again"
        shutil.copytree(place, again)
        for name in (*back, segments[len(back) % len(segments)]):
            (again / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(before / name, again / name)
        with pytest.raises(SnapshotMissingError):
            ks.load(again)
        assert numbers(kept(again)) == list(range(COUNT))
        assert numbers(ks.load(again)) == list(range(COUNT))
        shutil.rmtree(again)


def test_what_is_deleted_is_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ks.Dataset.range(COUNT).save(tmp_path)
    synced: list[str] = []
    monkeypatch.setattr(
        "keepset.storage.local.sync_folder", lambda folder: synced.append(Path(folder).name)
    )
    remove_snapshot(open_store(tmp_path))
    assert {"segments", "recipes", "commits"} <= set(synced[-5:])


# Clocks:


def writer_elsewhere(path: Path, beat: float) -> Path:
    """A live writer on another machine, whose source is slow: its file was not written to lately.

    The file system has just stamped its lease.
    """
    run = "0123456789abcdef"
    facts = {
        "run": run, "host": "elsewhere", "boot": "b", "pid": 1, "started": "1",
        "since": beat, "beat": beat,
    }  # fmt: skip
    (path / "leases").mkdir(parents=True, exist_ok=True)
    (path / "leases" / f"{run}.json").write_text(json.dumps(facts))
    (path / "segments").mkdir(exist_ok=True)
    unfinished = path / "segments" / ".tmp-0123"
    unfinished.write_bytes(b"half a segment")
    old = time.time() - 300
    os.utime(unfinished, (old, old))
    return unfinished


@pytest.mark.parametrize("skew_s", [0.0, 600.0, 86_400.0])
def test_a_wrong_clock_takes_nothing_from_a_live_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skew_s: float
) -> None:
    for count in (3, 4):
        ks.Dataset.range(count).save(tmp_path)
    unfinished = writer_elsewhere(tmp_path, time.time())
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + skew_s)
    root = open_store(tmp_path)
    collect(root, plan_collection(root, grace_s=0.0))
    assert unfinished.exists()
    assert (tmp_path / "leases").exists()
    with pytest.raises(PendingSnapshotError, match="elsewhere"):
        remove_snapshot(root)


@pytest.mark.parametrize("skew_s", [-600.0, 0.0, 600.0])
def test_what_a_dead_writer_left_goes_whatever_the_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skew_s: float
) -> None:
    ks.Dataset.range(3).save(tmp_path)
    unfinished = writer_elsewhere(tmp_path, time.time() - 100_000)
    silent = tmp_path / "leases" / "0123456789abcdef.json"
    os.utime(silent, (right := time.time() - 1000, right))
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + skew_s)
    root = open_store(tmp_path)
    collect(root, plan_collection(root, grace_s=0.0))
    assert not unfinished.exists()
    assert not silent.exists()


def test_the_clock_of_a_file_system(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    now = store.now_s()
    assert now is not None
    assert abs(now - time.time()) < 60
    assert list(tmp_path.iterdir()) == []
    assert LocalStore(tmp_path / "nothing").now_s() is None
