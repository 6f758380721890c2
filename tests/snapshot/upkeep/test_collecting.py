"""gc and rm: what is not needed goes, what anybody needs stays, and nobody is tricked."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.snapshot.leftovers import only_the_removal_is_left

import keepset as ks
from keepset.errors import PendingSnapshotError, SnapshotMissingError
from keepset.format.commit import Commit, commit_name
from keepset.format.log import Log, LogState
from keepset.snapshot.reading.opening import snapshots_below
from keepset.snapshot.upkeep.collecting import collect, plan_collection
from keepset.snapshot.upkeep.removing import remove_snapshot
from keepset.snapshot.writing import first_pass, lease
from keepset.snapshot.writing.lease import Lease
from keepset.storage import Store, open_store


@pytest.fixture(params=["local", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "local":
        return str(tmp_path / "kept")
    url: str = request.getfixturevalue("s3_url")
    return url


def segments(store: Store) -> set[str]:
    return {info.name for info in store.list("segments/")}


def gc(path: str, **options: Any) -> tuple[set[str], int]:
    root = open_store(path)
    plan = plan_collection(root, **{"grace_s": 0.0, **options})
    return {removal.name for removal in plan.removals}, collect(root, plan)


def test_old_versions_go_and_the_newest_stays(place: str) -> None:
    for count in (10, 20, 30):
        ks.Dataset.range(count).save(place)
    store = open_store(place)
    assert len(segments(store)) == 3
    names, removed = gc(place)
    assert sorted(name.partition("/")[0] for name in names) == ["recipes"] * 2 + ["segments"] * 2
    assert removed > 0
    assert len(segments(store)) == 1
    assert len(list(ks.load(place))) == 30
    recipe = ks.load(place).recipe
    assert recipe is not None
    assert recipe.stages[0]["stop"] == 30
    assert gc(place) == (set(), 0)


def test_the_grace_counts_from_when_something_was_superseded(tmp_path: Path) -> None:
    ks.Dataset.range(10).save(tmp_path)
    old = time.time() - 10_000
    for segment in (tmp_path / "segments").iterdir():
        os.utime(segment, (old, old))
    ks.Dataset.range(20).save(tmp_path)
    plan = plan_collection(open_store(tmp_path), grace_s=100.0)
    assert plan.removals == ()
    assert len(plan.spared) == 2
    assert all("superfluous" in spared.why for spared in plan.spared)
    assert collect(open_store(tmp_path), plan) == 0


def test_a_plan_changes_nothing(place: str) -> None:
    ks.Dataset.range(10).save(place)
    ks.Dataset.range(20).save(place)
    before = [(i.name, i.size_bytes) for i in open_store(place).list("")]
    assert plan_collection(open_store(place), grace_s=0.0).removals
    assert [(i.name, i.size_bytes) for i in open_store(place).list("")] == before


def test_what_a_reader_holds_open_on_a_disk_stays_readable(tmp_path: Path) -> None:
    ks.Dataset.range(1000).save(tmp_path)
    it = iter(ks.load(tmp_path))
    assert int(next(it)) == 0
    ks.Dataset.range(5).save(tmp_path)
    gc(str(tmp_path))
    assert [int(x) for x in it] == list(range(1, 1000))


KILLED = """
import os, signal, sys
import keepset as ks
from keepset.snapshot.writing import first_pass
first_pass._FIRST_COMMIT_S = 0.0
ds = ks.Dataset.range(1000)
ds = ds.snapshot(sys.argv[1], fingerprint="f", chunk_bytes=80, segment_bytes=200)
for i, _ in enumerate(ds):
    if i == 500:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_writer_left_goes_and_its_commits_stay(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    store = open_store(tmp_path).sub("f/")
    state = Log(store).state()
    assert state.kept is not None
    orphan = store.writer("segments/0000000000000000-7.arrow")
    orphan.write(b"unfinished")
    orphan.close()
    old = time.time() - 1000
    for unfinished in (tmp_path / "f").rglob(".tmp-*"):
        os.utime(unfinished, (old, old))
    names, _ = gc(str(tmp_path))
    assert any(name.startswith("f/leases/") for name in names)
    assert "f/segments/0000000000000000-7.arrow" in names
    assert not list(store.list("leases/"))
    kept = {s.entry.name for s in state.kept.segments}
    assert segments(store) == kept
    assert not list((tmp_path / "f").rglob(".tmp-*"))
    ds = ks.Dataset.range(1000).snapshot(tmp_path, fingerprint="f")
    assert [int(x) for x in ds] == list(range(1000))


def test_a_live_writer_is_safe(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first pass is collected around at every element, and still keeps all of them."""
    monkeypatch.setattr(first_pass, "_FIRST_COMMIT_S", 0.0)
    ds = ks.Dataset.range(30).map(lambda x: x)
    ds = ds.snapshot(place, fingerprint="f", chunk_bytes=8)
    store = open_store(place).sub("f/")
    given = []
    for x in ds:
        given.append(int(x))
        if x % 3 == 0:
            # Something to remove each time, so that a fence is put in the writer's way.
            with store.writer(f"segments/{int(x):016x}-0.arrow") as orphan:
                orphan.write(b"left behind")
            names, _ = gc(place)
            assert f"f/segments/{int(x):016x}-0.arrow" in names
    assert given == list(range(30))
    assert [int(x) for x in ks.load(place)] == given
    kinds = {commit.kind for commit in Log(store).history()}
    assert {"append", "fence", "complete"} <= kinds


def test_a_live_save_is_safe(place: str) -> None:
    def slow(x: Any) -> Any:
        if x == 50:
            names, _ = gc(place)
            assert not [name for name in names if "segments" in name]
        return x

    ks.Dataset.range(100).map(slow).save(place, chunk_bytes=80, segment_bytes=200)
    assert [int(x) for x in ks.load(place)] == list(range(100))


def test_a_save_that_was_taken_for_dead_cannot_publish_what_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ks.Dataset.range(3).save(tmp_path)

    def gets_lost(x: Any) -> Any:
        if x == 50:
            # As if this were another machine whose last beat was long ago.
            monkeypatch.setattr(lease.Holder, "is_alive", lambda self, expiry_s: False)
            while len(segments(open_store(tmp_path))) < 2:
                time.sleep(0.01)  # they are written behind
            _, removed = gc(str(tmp_path))
            assert removed > 0
            ks.Dataset.range(4).save(tmp_path)
        return x

    ds = ks.Dataset.range(100).map(gets_lost)
    with pytest.raises(PendingSnapshotError, match="save again"):
        ds.save(tmp_path, chunk_bytes=80, segment_bytes=200)
    assert len(list(ks.load(tmp_path))) == 4


def test_a_first_pass_that_was_taken_for_dead_keeps_nothing_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_pass, "_FIRST_COMMIT_S", 0.0)
    ds = ks.Dataset.range(100).map(lambda x: x)
    ds = ds.snapshot(tmp_path, fingerprint="f", chunk_bytes=80, segment_bytes=100)
    given = []
    store = open_store(tmp_path).sub("f/")
    for x in ds:
        given.append(int(x))
        if x == 50:
            with monkeypatch.context() as patch:
                patch.setattr(lease.Holder, "is_alive", lambda self, expiry_s: False)
                with store.writer("segments/0000000000000000-0.arrow") as orphan:
                    orphan.write(b"left behind")
                gc(str(tmp_path))
    assert given == list(range(100))
    again = ks.Dataset.range(100).map(lambda x: x).snapshot(tmp_path, fingerprint="f")
    assert [int(x) for x in again] == given
    assert [int(x) for x in ks.load(tmp_path)] == given


def snapshots(path: str, counts: list[int]) -> list[str]:
    names = []
    for count in counts:
        list(ks.Dataset.range(count).snapshot(path, fingerprint=f"f{count}"))
        names.append(f"f{count}")
        time.sleep(0.02)  # longer than a tick of the clock that stamps files, which orders them
    return names


def test_old_fingerprints_go_by_number(tmp_path: Path) -> None:
    snapshots(str(tmp_path), [10, 20, 30])
    names, _ = gc(str(tmp_path), keep_latest=2)
    assert names == {"f10/"}
    assert snapshots_below(open_store(tmp_path)) == ["f20", "f30"]
    assert only_the_removal_is_left(tmp_path / "f10")
    assert len(list(ks.load(tmp_path, fingerprint="f20"))) == 20


def test_old_fingerprints_go_by_size(tmp_path: Path) -> None:
    snapshots(str(tmp_path), [10, 20, 30])
    size = sum(p.stat().st_size for p in (tmp_path / "f30").rglob("*") if p.is_file())
    names, _ = gc(str(tmp_path), max_bytes=size + 10)
    assert names == {"f10/", "f20/"}
    names, _ = gc(str(tmp_path), max_bytes=1)
    assert names == set()  # the newest stays


def test_other_pipelines_and_what_was_saved_stay(tmp_path: Path) -> None:
    snapshots(str(tmp_path / "one"), [10, 20])
    snapshots(str(tmp_path / "two"), [5])
    ks.Dataset.range(7).save(tmp_path / "saved")
    ks.Dataset.range(8).save(tmp_path / "also")
    names, _ = gc(str(tmp_path), keep_latest=1)
    assert names == {"one/f10/"}
    snapshots(str(tmp_path / "one"), [30])
    names, _ = gc(str(tmp_path), max_bytes=1)
    assert names == {"one/f20/"}
    assert len(list(ks.load(tmp_path / "saved"))) == 7


def test_an_old_fingerprint_that_is_being_written_stays(tmp_path: Path) -> None:
    snapshots(str(tmp_path), [10, 20])
    held = Lease(open_store(tmp_path).sub("f10/"), "0123456789abcdef")
    try:
        plan = plan_collection(open_store(tmp_path), grace_s=0.0, keep_latest=1)
        assert plan.removals == ()
        assert [each.name for each in plan.spared] == ["f10/"]
        assert "writes to it" in plan.spared[0].why
    finally:
        held.release()


def test_gc_while_writers_and_readers_are_at_work(tmp_path: Path) -> None:
    """Saves, loads and collections at once: every load gives a whole version."""
    path = str(tmp_path)
    ks.Dataset.range(100).save(path)
    stop = threading.Event()
    errors: list[BaseException] = []
    often = 25
    done: Counter[Any] = Counter()

    def forever(action: Any) -> None:
        try:
            while not stop.is_set():
                action()
                done[action] += 1
                if len(done) == len(actions) and min(done.values()) >= often:
                    stop.set()
        except BaseException as error:
            errors.append(error)
            stop.set()

    def read() -> None:
        try:
            found = [int(x) for x in ks.load(path)]
        except ks.ObjectMissingError:
            return  # without grace, a version may go between its being found and being opened
        assert found == list(range(100))

    actions = [lambda: ks.Dataset.range(100).save(path), read, lambda: gc(path)]
    threads = [threading.Thread(target=forever, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    gc(path)
    assert [int(x) for x in ks.load(path)] == list(range(100))
    assert len(segments(open_store(path))) == 1


# rm:


def test_a_removed_snapshot_is_gone(place: str) -> None:
    snapshots(place, [10, 20])
    assert remove_snapshot(open_store(place).sub("f10/")) > 0
    assert [info.name for info in open_store(place).sub("f10/").list("")] == [commit_name(1)]
    assert snapshots_below(open_store(place)) == ["f20"]
    with pytest.raises(SnapshotMissingError):
        ks.load(place, fingerprint="f10")
    assert len(list(ks.load(place))) == 20
    assert len(list(ks.Dataset.range(10).snapshot(place, fingerprint="f10"))) == 10
    assert len(list(ks.load(place, fingerprint="f10"))) == 10


def test_removing_leaves_what_is_not_ours(tmp_path: Path) -> None:
    ks.Dataset.range(10).save(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "empty").mkdir()
    remove_snapshot(open_store(tmp_path))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["commits", "empty", "notes.txt"]


def test_removing_is_refused_while_somebody_writes(tmp_path: Path) -> None:
    ks.Dataset.range(10).save(tmp_path)
    held = Lease(open_store(tmp_path), "0123456789abcdef")
    try:
        with pytest.raises(PendingSnapshotError, match="stop that first"):
            remove_snapshot(open_store(tmp_path))
    finally:
        held.release()
    assert len(list(ks.load(tmp_path))) == 10


def test_a_damaged_log_can_be_removed(tmp_path: Path) -> None:
    ks.Dataset.range(10).save(tmp_path)
    (tmp_path / "commits" / "00000000.json").write_bytes(b"nonsense")
    remove_snapshot(open_store(tmp_path))
    assert only_the_removal_is_left(tmp_path)


@pytest.mark.parametrize("after", range(1, 6))
def test_a_removal_that_is_cut_short_never_gives_wrong_elements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    for count in (10, 20):
        ks.Dataset.range(count).save(tmp_path)
    real, calls = os.unlink, iter(range(100))

    def fails(*args: Any, **kwargs: Any) -> None:
        if next(calls) >= after:
            raise OSError(5, "the machine went down")
        real(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", fails)
        with pytest.raises(OSError, match="went down"):
            remove_snapshot(open_store(tmp_path))
    with pytest.raises(SnapshotMissingError):
        ks.load(tmp_path)
    remove_snapshot(open_store(tmp_path))
    assert only_the_removal_is_left(tmp_path)


def test_a_log_whose_oldest_commits_are_gone(tmp_path: Path) -> None:
    ks.Dataset.range(10).save(tmp_path)
    ks.Dataset.range(20).save(tmp_path)
    (tmp_path / "commits" / "00000000.json").unlink()
    assert len(list(ks.load(tmp_path))) == 20
    store = open_store(tmp_path)
    state = Log(store).state()
    commit = Commit(state.next_number, "fence", "0" * 16, 0.0, {"runs": ["a"]})
    assert Log(store).add(state, commit)
    assert Log(store).state().fenced == {"a"}
    assert not Log(store).add(LogState(1), Commit(1, "fence", "b", 0.0, {"runs": []}))
