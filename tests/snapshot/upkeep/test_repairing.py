"""verify and repair: damage is found, named and dropped, and only that is computed again."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepset as ks
from keepset.core.ranges import ranges_of
from keepset.errors import CorruptSnapshotError, PendingSnapshotError, SnapshotMissingError
from keepset.format.commit import Commit
from keepset.format.log import Log
from keepset.snapshot.upkeep.checking import Report, check_snapshot
from keepset.snapshot.upkeep.removing import remove_snapshot
from keepset.snapshot.upkeep.repairing import repair_snapshot
from keepset.snapshot.writing import first_pass
from keepset.snapshot.writing.lease import Lease
from keepset.storage import Store, open_store

COUNT = 300


class Computed:
    """A pipeline that notes which elements it computes."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def __call__(self, x: np.int64) -> dict[str, Any]:
        self.seen.append(int(x))
        return {"x": x, "v": np.full(int(x) % 3 + 1, x, np.float32)}


def kept(path: Any, function: Any, **options: Any) -> ks.Dataset:
    ds = ks.Dataset.range(COUNT).map(function)
    return ds.snapshot(path, fingerprint="f", chunk_bytes=500, **options)


def of_pipeline(path: Any) -> Store:
    return open_store(path).sub("f/")


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def chunk_place(store: Store, number: int) -> tuple[str, int]:
    report = check_snapshot(store)
    chunk = report.manifest.chunks[number]
    return report.manifest.segments[chunk.segment].entry.name, chunk.entry.offset


def xs(elements: Any) -> list[int]:
    found = []
    for element in elements:
        x = int(element["x"])
        assert element["v"].tolist() == [float(x)] * (x % 3 + 1)
        found.append(x)
    return found


def lost(report: Report) -> set[int]:
    ranges = [r for damage in report.damages for r in damage.elements]
    return {x for start, stop in ranges for x in range(start, stop)}


@pytest.mark.parametrize("compression", [None, "LZ4", "GZIP"])
@pytest.mark.parametrize("number", [0, 3, -1])
def test_only_the_damaged_elements_are_computed_again(
    tmp_path: Path, compression: str | None, number: int
) -> None:
    list(kept(tmp_path, Computed(), compression=compression))
    store = of_pipeline(tmp_path)
    assert check_snapshot(store).is_sound
    name, offset = chunk_place(store, number)
    flip(tmp_path / "f" / name, offset + 20)

    report = check_snapshot(store)
    (damage,) = report.damages
    assert (damage.name, damage.byte) == (name, offset)
    with pytest.raises(CorruptSnapshotError, match="verify --repair"):
        list(ks.load(tmp_path))
    repair = repair_snapshot(store, report)
    assert repair.dropped == damage.elements
    assert repair.computed_again
    assert "next run" in str(repair)
    assert check_snapshot(store).is_sound
    assert check_snapshot(store).waiting == damage.elements
    with pytest.raises(PendingSnapshotError, match="lacks"):
        ks.load(tmp_path)

    computed = Computed()
    assert xs(kept(tmp_path, computed)) == list(range(COUNT))
    # One element on either side is compared with what is kept.
    extra = set(computed.seen) - lost(report)
    assert lost(report) <= set(computed.seen)
    assert len(extra) <= 2
    again = Computed()
    assert xs(kept(tmp_path, again)) == list(range(COUNT))
    assert again.seen == []
    assert check_snapshot(store).is_sound


@pytest.mark.parametrize(
    "shards", [lambda e: e["x"] % 3, lambda e: e["x"] // 100], ids=["in turn", "in runs"]
)
def test_shards_are_repaired_in_their_places(tmp_path: Path, shards: Any) -> None:
    list(kept(tmp_path, Computed(), shard_func=shards))
    store = of_pipeline(tmp_path)
    damaged = [2, 7, 8]
    for name, offset in [chunk_place(store, number) for number in damaged]:
        flip(tmp_path / "f" / name, offset + 40)
    report = check_snapshot(store)
    assert sorted(d.chunk for d in report.damages if d.chunk is not None) == damaged
    repair_snapshot(store, report)
    computed = Computed()
    assert xs(kept(tmp_path, computed, shard_func=shards)) == list(range(COUNT))
    assert xs(ks.load(tmp_path)) == list(range(COUNT))
    by_shard = ks.load(tmp_path, reader_func=lambda parts: parts.flat_map(lambda part: part))
    grouped = sorted(range(COUNT), key=lambda x: (int(shards({"x": x})), x))
    assert xs(by_shard) == grouped


def test_an_unseeded_shuffle_is_repaired_in_its_order(tmp_path: Path) -> None:
    def shuffled(function: Any) -> ks.Dataset:
        ds = ks.Dataset.range(COUNT).shuffle(50).map(function)
        return ds.snapshot(tmp_path, fingerprint="f", chunk_bytes=500)

    before = xs(shuffled(Computed()))
    store = of_pipeline(tmp_path)
    name, offset = chunk_place(store, 4)
    flip(tmp_path / "f" / name, offset + 40)
    repair_snapshot(store, check_snapshot(store))
    computed = Computed()
    assert xs(shuffled(computed)) == before
    assert len(computed.seen) < COUNT


def test_a_pipeline_that_changed_behind_its_name_starts_over(tmp_path: Path) -> None:
    list(kept(tmp_path, Computed()))
    store = of_pipeline(tmp_path)
    name, offset = chunk_place(store, 4)
    flip(tmp_path / "f" / name, offset + 40)
    repair_snapshot(store, check_snapshot(store))
    other = ks.Dataset.range(COUNT).map(lambda x: {"x": x, "v": np.full(int(x) % 3 + 1, -x, "f4")})
    with pytest.warns(UserWarning, match="starts over"):
        found = list(other.snapshot(tmp_path, fingerprint="f"))
    assert [e["v"][0] for e in found] == [-float(x) for x in range(COUNT)]


@pytest.mark.parametrize("commits_every_s", [0.0, 1e9])
def test_an_unfinished_pass_is_repaired_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits_every_s: float
) -> None:
    monkeypatch.setattr(first_pass, "_FIRST_COMMIT_S", commits_every_s)
    monkeypatch.setattr(first_pass, "_LONGEST_INTERVAL_S", 1e9)
    list(kept(tmp_path, Computed()).take(200))
    store = of_pipeline(tmp_path)
    before = check_snapshot(store)
    assert before.elements >= 200
    # Each commit ends a chunk, and how many come depends on the clock: one in the middle is there.
    name, offset = chunk_place(store, before.chunks // 2)
    flip(tmp_path / "f" / name, offset + 10)
    report = check_snapshot(store)
    repair_snapshot(store, report)
    computed = Computed()
    assert xs(kept(tmp_path, computed)) == list(range(COUNT))
    assert lost(report) <= set(computed.seen)
    assert len(set(computed.seen) & set(range(190))) <= len(lost(report)) + 2
    assert xs(ks.load(tmp_path)) == list(range(COUNT))


def test_a_saved_data_set_keeps_what_is_sound(tmp_path: Path) -> None:
    ds = ks.Dataset.range(COUNT).map(Computed())
    ds.save(tmp_path, chunk_bytes=500, shard_func=lambda e: e["x"] % 2)
    store = open_store(tmp_path)
    name, offset = chunk_place(store, 4)
    flip(tmp_path / name, offset + 40)
    report = check_snapshot(store)
    repair = repair_snapshot(store, report)
    assert not repair.computed_again
    assert "save the data set again" in str(repair)
    rest = [x for x in range(COUNT) if x not in lost(report)]
    assert 0 < len(rest) < COUNT
    assert xs(ks.load(tmp_path)) == rest
    assert check_snapshot(store).is_sound


@pytest.mark.parametrize("what", ["gone", "cut", "longer"])
def test_missing_and_cut_segments(tmp_path: Path, what: str) -> None:
    list(kept(tmp_path, Computed(), segment_bytes=3000))
    store = of_pipeline(tmp_path)
    victim = sorted((tmp_path / "f" / "segments").iterdir())[1]
    if what == "gone":
        victim.unlink()
    elif what == "cut":
        victim.write_bytes(victim.read_bytes()[:-1500])
    else:
        victim.write_bytes(victim.read_bytes() + b"more")
    report = check_snapshot(store)
    assert not report.is_sound
    assert {damage.name for damage in report.damages} == {f"segments/{victim.name}"}
    repair = repair_snapshot(store, report)
    assert bool(lost(report)) == (what != "longer")
    assert bool(repair.rewritten) == (what != "gone")
    computed = Computed()
    assert xs(kept(tmp_path, computed)) == list(range(COUNT))
    assert lost(report) <= set(computed.seen)
    assert check_snapshot(store).is_sound


@pytest.mark.parametrize("end", ["head", "foot"])
def test_damage_around_the_chunks_costs_no_element(tmp_path: Path, end: str) -> None:
    ks.Dataset.range(100).save(tmp_path)
    (segment,) = (tmp_path / "segments").iterdir()
    flip(segment, 20 if end == "head" else -20)
    store = open_store(tmp_path)
    report = check_snapshot(store)
    (damage,) = report.damages
    assert end in damage.what
    assert not lost(report)
    repair = repair_snapshot(store, report)
    assert repair.rewritten == (f"segments/{segment.name}",)
    assert [int(x) for x in ks.load(tmp_path)] == list(range(100))
    assert check_snapshot(store).is_sound


def test_a_damaged_commit_is_dropped_and_what_came_before_counts(tmp_path: Path) -> None:
    ks.Dataset.range(10).save(tmp_path)
    ks.Dataset.range(20).save(tmp_path)
    flip(tmp_path / "commits" / "00000001.json", 30)
    with pytest.raises(CorruptSnapshotError, match="damaged"):
        ks.load(tmp_path)
    store = open_store(tmp_path)
    report = check_snapshot(store)
    (damage,) = report.damages
    assert damage.name == "commits/00000001.json"
    assert damage.is_needed
    repair = repair_snapshot(store, report)
    assert repair.dropped_commits == ("commits/00000001.json",)
    assert len(list(ks.load(tmp_path))) == 10
    # It stays, and its number stays taken: the repair is a commit behind it.
    newest = Log(store).read(2)
    assert (newest.kind, newest.body["void"]) == ("replace", 1)
    again = check_snapshot(store)
    assert again.is_sound
    assert [damage.is_void for damage in again.damages] == [True]
    ks.Dataset.range(30).save(tmp_path)
    assert Log(store).numbers() == [0, 1, 2, 3]
    assert next(Log(store).backwards()).number == 3


def test_a_repair_by_an_old_report_does_not_undo_a_newer_save(tmp_path: Path) -> None:
    ks.Dataset.range(10).save(tmp_path)
    ks.Dataset.range(20).save(tmp_path)
    flip(tmp_path / "commits" / "00000001.json", 30)
    store = open_store(tmp_path)
    old = check_snapshot(store)
    repair_snapshot(store, check_snapshot(store))
    ks.Dataset.range(30).save(tmp_path)
    with pytest.raises(PendingSnapshotError, match="verify it again"):
        repair_snapshot(store, old)
    assert len(list(ks.load(tmp_path))) == 30


def test_a_save_from_before_the_damage_does_not_take_a_dropped_number(tmp_path: Path) -> None:
    """A commit that is damaged may have fenced it, which cannot be told any more."""
    ks.Dataset.range(10).save(tmp_path)
    store = open_store(tmp_path)
    log = Log(store)
    state = log.state()
    ks.Dataset.range(20).save(tmp_path)
    flip(tmp_path / "commits" / "00000001.json", 30)
    repair_snapshot(store, check_snapshot(store))
    assert not log.add(state, Commit(1, "reset", "0" * 16, 0.0, {"generation": 9}))
    with pytest.raises(CorruptSnapshotError, match=r"00000001\.json"):
        log.follow(state)
    assert len(list(ks.load(tmp_path))) == 10


def test_a_commit_behind_one_that_was_damaged_stays_for_a_repair(tmp_path: Path) -> None:
    """If it were taken back, a repair that has looked at it would have said too much."""
    ks.Dataset.range(10).save(tmp_path)
    store = open_store(tmp_path)
    log = Log(store)
    state = log.state()
    flip(tmp_path / "commits" / "00000000.json", 30)
    reset = Commit(1, "reset", "0" * 16, 0.0, {"generation": 2})
    with pytest.raises(CorruptSnapshotError, match=r"00000000\.json"):
        log.add(state, reset)
    assert check_snapshot(store).is_sound
    assert log.state().last == log.read(1)


def test_an_unfinished_pass_goes_on_behind_a_damaged_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_pass, "_FIRST_COMMIT_S", 0.0)
    for stop in (100, 150):
        list(kept(tmp_path, Computed()).take(stop))
    newest = max((tmp_path / "f" / "commits").iterdir())
    flip(newest, 30)
    store = of_pipeline(tmp_path)
    repair_snapshot(store, check_snapshot(store))
    elements = check_snapshot(store).elements
    assert elements >= 100
    with pytest.raises(PendingSnapshotError, match=f"not finished: {elements} elements"):
        ks.load(tmp_path)
    computed = Computed()
    assert xs(kept(tmp_path, computed)) == list(range(COUNT))
    # One element is compared with what is kept.
    assert min(computed.seen) >= elements - 1


def test_where_all_commits_are_damaged_nothing_is_left(tmp_path: Path) -> None:
    ks.Dataset.range(10).save(tmp_path)
    flip(tmp_path / "commits" / "00000000.json", 30)
    store = open_store(tmp_path)
    repair_snapshot(store, check_snapshot(store))
    with pytest.raises(SnapshotMissingError):
        ks.load(tmp_path)
    ks.Dataset.range(20).save(tmp_path)
    assert len(list(ks.load(tmp_path))) == 20
    assert Log(store).numbers() == [0, 1, 2]


def test_an_empty_data_set_is_still_there_behind_a_damaged_commit(tmp_path: Path) -> None:
    ks.Dataset.range(0).save(tmp_path)
    ks.Dataset.range(10).save(tmp_path)
    flip(tmp_path / "commits" / "00000001.json", 30)
    store = open_store(tmp_path)
    repair_snapshot(store, check_snapshot(store))
    assert list(ks.load(tmp_path)) == []


def test_what_was_removed_stays_removed(tmp_path: Path) -> None:
    ks.Dataset.range(10).save(tmp_path)
    store = open_store(tmp_path)
    remove_snapshot(store)
    ks.Dataset.range(20).save(tmp_path)
    flip(tmp_path / "commits" / "00000002.json", 30)
    repair_snapshot(store, check_snapshot(store))
    assert Log(store).state().removal is not None
    with pytest.raises(SnapshotMissingError):
        ks.load(tmp_path)


def test_who_reads_along_does_not_mix_what_a_repair_has_dropped(tmp_path: Path) -> None:
    list(kept(tmp_path, Computed()).take(50))
    list(kept(tmp_path, Computed()).take(100))
    store = of_pipeline(tmp_path)
    log = Log(store)
    beside, behind = log.state(), log.state()
    behind.next_number, behind.last = 1, log.read(0)  # of one that has read no further
    flip(tmp_path / "f" / "commits" / "00000001.json", 30)
    repair_snapshot(store, check_snapshot(store))
    generation = beside.generation
    log.follow(beside)
    assert beside.damaged is not None
    assert beside.generation != generation
    with pytest.raises(CorruptSnapshotError):
        log.follow(behind)


def test_a_damaged_commit_that_nobody_needs_is_told_and_left(tmp_path: Path) -> None:
    ks.Dataset.range(10).save(tmp_path)
    ks.Dataset.range(20).save(tmp_path)
    flip(tmp_path / "commits" / "00000000.json", 30)
    store = open_store(tmp_path)
    report = check_snapshot(store)
    assert [damage.is_needed for damage in report.damages] == [False]
    assert repair_snapshot(store, report).dropped_commits == ()
    assert len(list(ks.load(tmp_path))) == 20


def test_a_lost_commit_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_pass, "_FIRST_COMMIT_S", 0.0)
    list(kept(tmp_path, Computed()).take(200))
    commits = sorted((tmp_path / "f" / "commits").iterdir())
    assert len(commits) > 4
    commits[2].unlink()
    store = of_pipeline(tmp_path)
    with pytest.raises(CorruptSnapshotError, match="lacks"):
        list(kept(tmp_path, Computed()))
    repair = repair_snapshot(store, check_snapshot(store))
    assert len(repair.dropped_commits) == len(commits) - 3
    computed = Computed()
    assert xs(kept(tmp_path, computed)) == list(range(COUNT))
    assert computed.seen[0] > 0


def test_every_object_lost_is_found(tmp_path: Path) -> None:
    """Whatever one byte is changed, verify finds it, and repair and a run make it right."""
    list(kept(tmp_path / "good", Computed(), segment_bytes=3000))
    files = [p for p in sorted((tmp_path / "good").rglob("*")) if p.is_file()]
    assert len(files) > 3
    for number, file in enumerate(files):
        place = tmp_path / f"copy{number}"
        _copy(tmp_path / "good", place)
        copy = place / file.relative_to(tmp_path / "good")
        flip(copy, len(copy.read_bytes()) // 2)
        store = of_pipeline(place)
        report = check_snapshot(store)
        assert {d.name for d in report.damages} == {str(copy.relative_to(place / "f"))}
        repair_snapshot(store, report)
        assert xs(kept(place, Computed())) == list(range(COUNT))
        assert check_snapshot(store).is_sound


def _copy(source: Path, target: Path) -> None:
    for file in source.rglob("*"):
        if file.is_file():
            copy = target / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())


def test_nothing_is_repaired_while_somebody_writes(tmp_path: Path) -> None:
    list(kept(tmp_path, Computed()))
    store = of_pipeline(tmp_path)
    lease = Lease(store, "0123456789abcdef")
    try:
        with pytest.raises(PendingSnapshotError, match="being written"):
            repair_snapshot(store, check_snapshot(store))
    finally:
        lease.release()


def test_a_repair_that_somebody_got_ahead_of_changes_nothing(tmp_path: Path) -> None:
    ks.Dataset.range(COUNT).map(Computed()).save(tmp_path, chunk_bytes=500)
    store = open_store(tmp_path)
    name, offset = chunk_place(store, 4)
    flip(tmp_path / name, offset + 40)
    report = check_snapshot(store)
    ks.Dataset.range(5).save(tmp_path)
    with pytest.raises(PendingSnapshotError, match="verify it again"):
        repair_snapshot(store, report)
    assert len(list(ks.load(tmp_path))) == 5


def test_in_a_bucket(s3_url: str) -> None:
    list(kept(s3_url, Computed()))
    store = of_pipeline(s3_url)
    name, offset = chunk_place(store, 2)
    data = bytearray(store.read(name))
    data[offset + 40] ^= 1
    store.put(name, bytes(data))
    report = check_snapshot(store)
    assert len(report.damages) == 1
    repair_snapshot(store, report)
    computed = Computed()
    assert xs(kept(s3_url, computed)) == list(range(COUNT))
    assert len(computed.seen) <= len(lost(report)) + 2


def test_a_repair_is_a_commit_that_says_what_it_did(tmp_path: Path) -> None:
    list(kept(tmp_path, Computed()))
    store = of_pipeline(tmp_path)
    name, offset = chunk_place(store, 2)
    flip(tmp_path / "f" / name, offset + 40)
    repair_snapshot(store, check_snapshot(store))
    newest = max((tmp_path / "f" / "commits").iterdir())
    facts = json.loads(newest.read_bytes())
    assert (facts["kind"], facts["damaged"], facts["resume"]) == ("repair", [2], None)
    assert Log(store).state().damaged is not None


@given(st.lists(st.lists(st.integers(0, 60), max_size=12), max_size=4))
def test_ranges_hold_just_these_positions(positions: list[list[int]]) -> None:
    ranges = ranges_of(np.array(p, np.int64) for p in positions)
    assert [x for a, b in ranges for x in range(a, b)] == sorted({x for p in positions for x in p})
    assert all(b < c for (_, b), (c, _) in pairwise(ranges))
