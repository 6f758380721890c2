"""Reading ahead: every chunk once, several at a time, in order; errors in their places."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.snapshot.small_data import (
    CHUNK,
    NAME,
    ROWS,
    SHARDINGS,
    background,
    firsts,
    numbers,
    saved,
    wait_until,
)
from tests.snapshot.watched import Watched, loaded, watched

import keepset as ks
from keepset.errors import CorruptSnapshotError, StorageError
from keepset.snapshot import stage
from keepset.snapshot.reading import chunk_source
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.reading.opening import Location, locate
from keepset.snapshot.reading.replay import Replay
from keepset.storage import open_store
from keepset.testing.resources import nothing_left_behind
from keepset.workers.background import cores

# Every chunk once, in order:


@pytest.mark.parametrize("is_remote", [True, False])
@pytest.mark.parametrize("sharding", SHARDINGS)
@pytest.mark.parametrize("compression", [None, "LZ4", "GZIP"])
def test_a_pass_loads_each_chunk_once_and_keeps_the_order(
    tmp_path: Path, compression: str | None, sharding: str, is_remote: bool
) -> None:
    location, store = watched(saved(tmp_path, compression, sharding), is_remote)
    assert firsts(loaded(location)) == list(range(ROWS))
    assert len(store.reads) == len(location.kept.manifest.chunks) > 10
    assert set(store.reads.values()) == {1}


@pytest.mark.parametrize("sharding", SHARDINGS)
def test_a_snapshot_is_replayed_in_the_same_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sharding: str
) -> None:
    store = Watched(open_store(tmp_path))
    monkeypatch.setattr(stage, "open_store", lambda path, **options: store)
    ds = numbers().snapshot(
        tmp_path, "LZ4", shard_func=SHARDINGS[sharding], fingerprint="f", chunk_bytes=CHUNK
    )
    assert firsts(ds) == list(range(ROWS))
    store.reads.clear()
    store.hold_until(2, NAME)
    with nothing_left_behind():
        assert firsts(ds) == list(range(ROWS))
    assert len(store.reads) > 10
    assert set(store.reads.values()) == {1}
    iterator = iter(ds)
    next(iterator)
    assert firsts(ds.iterate(iterator.state())) == list(range(1, ROWS))


def test_a_shard_is_read_alone(tmp_path: Path) -> None:
    location, store = watched(saved(tmp_path, sharding="in turn"))
    for shard in (2, 0, 1):
        shown = ks.Dataset(Replay(location=location, shard=shard))
        assert firsts(shown) == list(range(shard, ROWS, 3))
    assert set(store.reads.values()) == {1}
    assert len(store.reads) == len(location.kept.manifest.chunks)


@pytest.mark.parametrize("step", [2, 7, 100, 599])
def test_every_so_manieth_element_is_read_from_the_chunks_that_have_one(
    tmp_path: Path, step: int
) -> None:
    location, store = watched(saved(tmp_path))
    ends = location.kept.chunk_ends()
    for first in (0, 1, step - 1):
        wanted = list(range(first, ROWS, step))
        store.reads.clear()
        kept = Kept(store, location.kept.manifest)
        shown = Replay(location=Location(location.url, 0, {}, True, kept), first=first, step=step)
        assert firsts(ks.Dataset(shown)) == wanted
        assert len(store.reads) == len(set(np.searchsorted(ends, wanted, side="right").tolist()))
        assert set(store.reads.values()) == {1}


def test_branches_over_one_snapshot_share_what_is_loaded(tmp_path: Path) -> None:
    location, store = watched(saved(tmp_path))
    both = ks.Dataset.zip((loaded(location), loaded(location)))
    assert [(int(a[0]), int(b[0])) for a, b in both] == [(i, i) for i in range(ROWS)]
    assert set(store.reads.values()) == {1}


def test_parts_that_are_dealt_out_share_what_is_loaded(tmp_path: Path) -> None:
    location, store = watched(saved(tmp_path))
    parts = [ks.Dataset(Replay(location=location, first=i, step=4)) for i in range(4)]
    dealt = ks.Dataset.choose_from_datasets(parts, ks.Dataset.range(4).repeat(ROWS // 4))
    assert firsts(dealt) == list(range(ROWS))
    assert set(store.reads.values()) == {1}


def test_small_data_is_loaded_in_the_first_pass_only(tmp_path: Path) -> None:
    for sharding in ("none", "in turn"):
        location, store = watched(saved(tmp_path / sharding, sharding=sharding))
        for _ in range(3):
            assert firsts(loaded(location)) == list(range(ROWS))
        assert set(store.reads.values()) == {1}


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_sharding_reads_as_a_list_from_any_place(tmp_path: Path, data: st.DataObject) -> None:
    shards = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=80))
    rows = len(shards)
    path = tmp_path / os.urandom(8).hex()
    numbers(rows).save(
        path,
        data.draw(st.sampled_from([None, "LZ4"])),
        lambda x, v: shards[x],
        chunk_bytes=data.draw(st.integers(1, 600)),
    )
    location, store = watched(path)
    ds = loaded(location)
    assert firsts(ds) == list(range(rows))
    assert set(store.reads.values()) == {1}
    turns = location.kept.turns
    for number, first in zip(turns.numbers, turns.firsts, strict=True):
        held = np.asarray(location.kept.chunk(int(number)).columns[0])
        assert (held.min(), held.max()) == (first, turns.lasts[number])
    at = data.draw(st.integers(0, rows))
    iterator = iter(ds)
    assert firsts(next(iterator) for _ in range(at)) == list(range(at))
    assert firsts(ds.iterate(iterator.state())) == list(range(at, rows))
    skipped = data.draw(st.integers(0, rows))
    assert firsts(ds.skip(skipped)) == list(range(skipped, rows))


# Several at a time:


def begin(iterator: Iterator[Any], store: Watched) -> None:
    """Read some, and wait for what is loaded ahead of it."""
    assert firsts(islice(iterator, 60)) == list(range(60))
    store.wait_for(0)


@pytest.mark.parametrize("sharding", SHARDINGS)
def test_the_next_chunks_are_loaded_at_the_same_time(tmp_path: Path, sharding: str) -> None:
    location, store = watched(saved(tmp_path, sharding=sharding))
    iterator = iter(loaded(location))
    begin(iterator, store)
    store.hold_until(8)
    assert firsts(iterator) == list(range(60, ROWS))
    assert store.most_in_flight >= 8
    assert set(store.reads.values()) == {1}


def test_local_chunks_are_loaded_at_the_same_time(tmp_path: Path) -> None:
    location, store = watched(saved(tmp_path), is_remote=False)
    iterator = iter(loaded(location))
    begin(iterator, store)
    store.hold_until(min(2, cores()))
    assert firsts(iterator) == list(range(60, ROWS))


def test_the_chunks_of_a_gather_are_loaded_at_the_same_time(tmp_path: Path) -> None:
    location, store = watched(saved(tmp_path))
    store.hold_until(8)
    wanted = np.random.default_rng(0).permutation(ROWS)[:100]
    assert firsts(loaded(location).gather(wanted)) == wanted.tolist()
    assert set(store.reads.values()) == {1}
    assert sorted(firsts(loaded(location).shuffle(ks.GLOBAL, seed=1))) == list(range(ROWS))


def test_several_connections_to_a_bucket_are_used(tmp_path: Path, s3_url: str) -> None:
    numbers().save(s3_url, "LZ4", chunk_bytes=CHUNK)
    location, store = watched(s3_url)
    iterator = iter(loaded(location))
    begin(iterator, store)
    store.hold_until(8)
    assert firsts(iterator) == list(range(60, ROWS))
    assert set(store.reads.values()) == {1}


def test_threads_that_want_the_same_chunk_load_it_once(tmp_path: Path) -> None:
    location, store = watched(saved(tmp_path))
    barrier = threading.Barrier(8)

    def read(_: int) -> int:
        barrier.wait()
        return int(location.kept.chunk(3).columns[0][0])

    store.hold_until(9)  # so that the first to come is still there when the others come
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(read, range(8))
        store.wait_for(1)
        store.release()
        assert len(set(found)) == 1
    assert set(store.reads.values()) == {1}


def test_the_first_element_waits_for_nothing_else(tmp_path: Path) -> None:
    for sharding in ("none", "in turn"):
        location, store = watched(saved(tmp_path / sharding, sharding=sharding))
        before = len(background())
        next(iter(loaded(location)))
        assert len(store.reads) == 1
        assert len(background()) <= before


@pytest.mark.parametrize("sharding", ["none", "blocks"])
def test_little_is_loaded_for_a_reader_that_stops_soon(tmp_path: Path, sharding: str) -> None:
    location, store = watched(saved(tmp_path, sharding=sharding))
    assert firsts(loaded(location).take(5)) == list(range(5))
    store.wait_for(0)
    assert len(store.reads) <= 3


def test_mapped_chunks_that_were_checked_need_no_thread(tmp_path: Path) -> None:
    ds = ks.load(saved(tmp_path, None))
    assert firsts(ds) == list(range(ROWS))
    wait_until(lambda: not background())
    seen = []
    for row in ds:
        seen.append(int(row[0]))
        assert not background()
    assert seen == list(range(ROWS))
    assert len(ds.gather(np.arange(0, ROWS, 7))) == len(range(0, ROWS, 7))
    assert not background()


@pytest.mark.parametrize("sharding", ["none", "in turn"])
def test_mapped_chunks_on_a_slow_disk_are_checked_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sharding: str
) -> None:
    monkeypatch.setattr(chunk_source, "_SLOW_CHECK_S", -1.0)  # however fast it is
    wait_until(lambda: not background())
    assert firsts(ks.load(saved(tmp_path, None, sharding))) == list(range(ROWS))
    assert background()  # they wait for more


def test_a_slow_first_pass_does_not_slow_the_next_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_source, "_SLOW_CHECK_S", -1.0)
    kept = locate(saved(tmp_path, None)).kept
    source, last = kept.source, len(kept.manifest.chunks) - 1
    for number in range(last):
        source.request(number).fetch()
        assert not source.is_all_quick or number == 0  # one slow check may be chance
    source.request(last).fetch()
    assert source.is_slow
    assert source.is_all_quick  # everything was checked: nobody waits for a check any more


# Errors:


def damage(path: Path, number: int) -> np.ndarray[Any, Any]:
    """Flip a bit of a chunk of one column; the positions of the elements that it had."""
    manifest = locate(path).kept.manifest
    chunk = manifest.chunks[number]
    file = path / manifest.segments[chunk.segment].entry.name
    data = bytearray(file.read_bytes())
    data[chunk.entry.offset + chunk.entry.ends[-1] - 1] ^= 1
    file.write_bytes(data)
    return manifest.positions([number])[number]


@pytest.mark.parametrize("sharding", SHARDINGS)
@pytest.mark.parametrize("compression", [None, "ZSTD", "SNAPPY"])
def test_damage_comes_out_behind_everything_before_it(
    tmp_path: Path, compression: str | None, sharding: str
) -> None:
    saved(tmp_path, compression, sharding)
    lost = damage(tmp_path, 5)
    ds = ks.load(tmp_path)
    iterator = iter(ds)
    assert firsts(islice(iterator, lost[0])) == list(range(lost[0]))
    with pytest.raises(CorruptSnapshotError, match="is damaged at byte"):
        next(iterator)
    with pytest.raises(CorruptSnapshotError):
        next(ds.iterate(iterator.state()))
    rest = [i for i in range(ROWS) if i not in set(lost.tolist())]
    assert firsts(ds.ignore_errors()) == rest


@pytest.mark.parametrize("sharding", ["none", "in turn"])
def test_a_read_that_failed_ahead_is_tried_again_when_it_is_needed(
    tmp_path: Path, sharding: str
) -> None:
    class Flaky(Watched):
        def read_ranges(self, name: str, ranges: Any) -> list[memoryview | bytes]:
            found = super().read_ranges(name, ranges)
            if threading.current_thread().name == NAME:
                raise StorageError("the network is down", url=self.url)
            return found

    location, _ = watched(saved(tmp_path, sharding=sharding))
    store = Flaky(open_store(tmp_path))
    kept = Kept(store, location.kept.manifest)
    assert firsts(loaded(Location(location.url, 0, {}, True, kept))) == list(range(ROWS))
    assert store.most_in_flight > 1
    assert max(store.reads.values()) == 2
