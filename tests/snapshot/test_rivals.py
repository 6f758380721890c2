"""Writers in each other's way, and some that seem dead: nothing is mixed up, nobody is stuck."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.snapshot.simulated import dead_writers

import keepset as ks
from keepset.core import pace
from keepset.errors import PendingSnapshotError, StorageError
from keepset.format.log import Log
from keepset.snapshot.upkeep.collecting import collect, plan_collection
from keepset.snapshot.upkeep.removing import remove_snapshot
from keepset.snapshot.writing import first_pass, lease
from keepset.snapshot.writing.lease import live_holder
from keepset.storage import Store, open_store

COUNT = 40


@pytest.fixture(autouse=True)
def _commits_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_pass.FirstPass, "is_due", property(lambda self: self._added >= 5))


def kept(path: Path, offset: int = 0, **options: Any) -> ks.Dataset:
    ds = ks.Dataset.range(COUNT).map(lambda x: x + offset)
    return ds.snapshot(path, fingerprint="f", chunk_bytes=16, segment_bytes=100, **options)


def of(path: Path) -> Store:
    return open_store(path).sub("f/")


# The writer may meet others by then, or nothing.
GONE = pytest.mark.filterwarnings("ignore:.*(was removed, or moved|cannot write)")


def kinds(path: Path) -> list[str]:
    return [commit.kind for commit in Log(of(path)).history()]


def numbers(elements: Any) -> list[int]:
    return [int(x) for x in elements]


def take(it: Any, count: int) -> list[int]:
    return [int(next(it)) for _ in range(count)]


def remove_what_is_committed(store: Store) -> None:
    """Remove a snapshot although its writer lives, once the writer has committed all it can."""
    while not Log(store).numbers():
        time.sleep(0.01)
    while True:
        with suppress(PendingSnapshotError), dead_writers():  # it may just have written
            remove_snapshot(store)
            return


def test_whoever_has_lost_gives_everything_and_lets_others_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_background = first_pass.FirstPass.commit

    def at_once(self: first_pass.FirstPass, draws: dict[str, Any]) -> None:
        in_background(self, draws)
        assert self._last_cut is not None
        self._last_cut.result()

    monkeypatch.setattr(first_pass.FirstPass, "commit", at_once)
    # A writer hears that it has lost when it commits, and says so when it reads again. How much is
    # read at once depends on the clock; one by one, all of that happens before the last elements.
    monkeypatch.setattr(pace, "_LARGEST_READ", 1)
    one = iter(kept(tmp_path))
    given = take(one, 12)
    with dead_writers():
        other = iter(kept(tmp_path, on_pending="error"))
        ahead = take(other, 30)
    given += take(one, 24)
    # The first has noticed that it is not alone, and no longer says that it writes.
    runs = {holder.run for holder in lease.holders(of(tmp_path))}
    assert len(runs) == 1
    assert given + numbers(one) == list(range(COUNT))
    assert ahead + numbers(other) == list(range(COUNT))
    assert numbers(ks.load(tmp_path)) == list(range(COUNT))
    assert kinds(tmp_path).count("complete") == 1
    assert live_holder(of(tmp_path), 60.0) is None


@GONE
def test_a_removed_snapshot_does_not_come_back_in_part(tmp_path: Path) -> None:
    """A writer that seemed dead while its snapshot was removed commits nothing more.

    It may meet an error, if the file was removed that it was writing to.
    """
    it = iter(kept(tmp_path))
    given = take(it, 12)
    remove_what_is_committed(of(tmp_path))
    with suppress(StorageError):
        assert given + numbers(it) == list(range(COUNT))
    with pytest.raises(ks.SnapshotMissingError):
        ks.load(tmp_path)
    assert numbers(kept(tmp_path)) == list(range(COUNT))
    assert numbers(ks.load(tmp_path)) == list(range(COUNT))


@GONE
def test_a_removed_snapshot_that_others_began_anew_is_left_to_them(tmp_path: Path) -> None:
    it = iter(kept(tmp_path))
    given = take(it, 30)
    remove_what_is_committed(of(tmp_path))
    assert numbers(kept(tmp_path, 100).take(17)) == list(range(100, 117))
    with suppress(StorageError):
        assert given + numbers(it) == list(range(COUNT))
    assert numbers(kept(tmp_path, 100)) == list(range(100, 100 + COUNT))
    assert numbers(ks.load(tmp_path)) == list(range(100, 100 + COUNT))


@pytest.mark.parametrize("earlier", [0, 2])
def test_a_save_whose_place_was_removed_meanwhile_is_an_error(tmp_path: Path, earlier: int) -> None:
    for _ in range(earlier):
        ks.Dataset.range(3).save(tmp_path)

    def slow(x: Any) -> Any:
        if x == 30:
            with dead_writers():
                remove_snapshot(open_store(tmp_path))
        return x

    with pytest.raises((PendingSnapshotError, StorageError), match=r"save again|No such file"):
        ks.Dataset.range(COUNT).map(slow).save(tmp_path, chunk_bytes=16, segment_bytes=100)
    with pytest.raises(ks.SnapshotMissingError):
        ks.load(tmp_path)
    ks.Dataset.range(COUNT).save(tmp_path)
    assert numbers(ks.load(tmp_path)) == list(range(COUNT))


def test_segments_that_vanish_are_not_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever removed them: nothing that cannot be read becomes part of the log."""
    monkeypatch.setattr(first_pass.FirstPass, "is_due", property(lambda self: False))
    it = iter(kept(tmp_path))
    given = take(it, 30)
    segments = tmp_path / "f" / "segments"
    while not (written := [path for path in segments.iterdir() if path.suffix == ".arrow"]):
        time.sleep(0.01)
    written[0].unlink()
    with pytest.warns(UserWarning, match="was removed, or moved"):
        assert given + numbers(it) == list(range(COUNT))
    assert kinds(tmp_path) == []
    assert numbers(kept(tmp_path)) == list(range(COUNT))
    assert numbers(ks.load(tmp_path)) == list(range(COUNT))


def test_a_follower_does_not_mix_two_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that it followed is gone, and its own pipeline gives something else."""
    # As if the writer were another process: nobody follows an iterator of the same loop.
    monkeypatch.setattr(lease.Holder, "is_this_process", False)
    writer = iter(kept(tmp_path))
    take(writer, 12)
    follower = iter(kept(tmp_path, 100, on_pending="follow"))
    assert take(follower, 5) == [0, 1, 2, 3, 4]
    writer.close()
    with (
        pytest.warns(UserWarning, match="starts over"),
        pytest.raises(PendingSnapshotError, match="begun anew"),
    ):
        numbers(follower)
    assert live_holder(of(tmp_path), 60.0) is None
    assert numbers(kept(tmp_path, 100)) == list(range(100, 100 + COUNT))


@pytest.mark.filterwarnings("ignore:another iterator of this process")
def test_writing_anew_drops_nothing_unless_it_can_write(tmp_path: Path) -> None:
    assert numbers(kept(tmp_path)) == list(range(COUNT))
    held = lease.Lease(of(tmp_path), "0123456789abcdef")
    assert numbers(kept(tmp_path, 100, mode="write")) == list(range(100, 100 + COUNT))
    with pytest.raises(PendingSnapshotError, match="being written"):
        numbers(kept(tmp_path, 100, mode="write", on_pending="error"))
    assert numbers(ks.load(tmp_path)) == list(range(COUNT))
    held.release()
    with pytest.warns(UserWarning, match="starts over"):
        assert numbers(kept(tmp_path, 100, mode="write")) == list(range(100, 100 + COUNT))
    assert numbers(ks.load(tmp_path)) == list(range(100, 100 + COUNT))


def test_a_lease_that_could_not_be_removed_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(lease.Lease, "_remove", lambda self: lease.let_go(self._run))
        list(kept(tmp_path).take(7))
    assert len(list(of(tmp_path).list("leases/"))) == 1
    assert numbers(kept(tmp_path)) == list(range(COUNT))
    assert kinds(tmp_path)[-1] == "complete"
    collect(open_store(tmp_path), plan_collection(open_store(tmp_path), grace_s=0.0))
    assert not list(of(tmp_path).list("leases/"))


@pytest.mark.parametrize("what", ["a full disk", "damage"])
def test_errors_that_are_ignored_do_not_come_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """ignore_errors asks again after each of them, until there is no element left."""
    if what == "damage":
        assert numbers(kept(tmp_path)) == list(range(COUNT))
        segment = min((tmp_path / "f" / "segments").iterdir())
        data = segment.read_bytes()
        segment.write_bytes(data[: len(data) // 2])
        found = numbers(kept(tmp_path).ignore_errors())
        assert 0 < len(found) < COUNT
    else:
        monkeypatch.setattr("os.fsync", _no_room)
        found = numbers(kept(tmp_path).ignore_errors())
    assert found == sorted(set(found))
    assert set(found) <= set(range(COUNT))


def _no_room(descriptor: int) -> None:
    raise OSError(28, "No space left on device")
