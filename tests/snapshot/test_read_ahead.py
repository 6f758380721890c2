"""Reading ahead: every chunk once, several at a time, in order, within bounds, nothing left."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.snapshot.watched import PATIENCE_S, Watched, loaded, watched

import keepset as ks
from keepset.errors import CorruptSnapshotError, StorageError
from keepset.snapshot import read_ahead
from keepset.snapshot.kept import Kept
from keepset.snapshot.opening import Location, locate
from keepset.snapshot.replay import Replay
from keepset.storage import open_store
from keepset.testing.resources import nothing_left_behind
from keepset.workers.background import cores

ROWS = 600
CHUNK = 2048  # of bytes; one row takes 72
NAME = "keepset-background"

SHARDINGS: dict[str, Callable[..., int] | None] = {
    "none": None,
    "in turn": lambda x, v: x % 3,
    "many": lambda x, v: x % 100,
    "blocks": lambda x, v: x // 150,
    "at random": lambda x, v: (int(x) * 2654435761 >> 7) % 5,
    "one large": lambda x, v: 7 if x % 50 else 3,
}


def numbers(count: int = ROWS) -> ks.Dataset:
    return ks.Dataset.range(count).map(lambda x: (x, np.full(8, x, np.float64)))


def saved(path: Path, compression: str | None = "LZ4", sharding: str = "none") -> Path:
    numbers().save(path, compression, SHARDINGS[sharding], chunk_bytes=CHUNK)
    return path


def firsts(rows: Any) -> list[int]:
    return [int(row[0]) for row in rows]


def background() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == NAME]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.001)


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
    assert firsts(loaded(location).take(10)) == list(range(10))
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


# Bounds:


@pytest.mark.parametrize("sharding", ["none", "in turn"])
def test_no_more_is_loaded_ahead_than_the_bound_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sharding: str
) -> None:
    rows, row_bytes = 100, 1 << 20
    noise = np.random.default_rng(0).integers(0, 256, row_bytes, np.uint8)
    ds = ks.Dataset.range(rows).map(lambda x: (x, np.roll(noise, x)))
    ds.save(tmp_path, "ZSTD", SHARDINGS[sharding], chunk_bytes=4 << 20)
    bound = 12 << 20
    monkeypatch.setattr(read_ahead, "_MOST_BYTES", bound)
    location, store = watched(tmp_path)
    in_chunk = {
        (location.kept.manifest.segments[chunk.segment].entry.name, chunk.entry.offset): (
            chunk.entry.rows * row_bytes
        )
        for chunk in location.kept.manifest.chunks
    }
    in_use = 3 * (4 << 20) if sharding == "in turn" else 4 << 20
    ahead = []
    for given_rows, _ in enumerate(loaded(location), start=1):
        if given_rows % 9 == 0:  # let it run as far as it will
            time.sleep(0.02)
            store.wait_for(0)
        loaded_bytes = sum(in_chunk[key] for key in list(store.reads))
        ahead.append(loaded_bytes - given_rows * row_bytes)
    assert max(ahead) <= bound + in_use
    assert max(ahead) >= bound - (4 << 20)  # the bound is used
    assert set(store.reads.values()) == {1}


def test_readers_that_stand_still_take_no_more_than_their_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location, store = watched(saved(tmp_path, "GZIP", "many"))
    size = location.kept.source.expected_bytes
    location.kept.chunk(0)
    monkeypatch.setattr(read_ahead, "_MOST_BYTES_OF_ALL", 50 * size(0))
    iterators = [iter(ks.Dataset(Replay(location=location, shard=i))) for i in range(100)]
    for iterator in iterators:
        next(iterator)
        next(iterator)
    store.wait_for(0)
    # The chunks that are in use, and of each reader at most its share ahead.
    assert len(store.reads) <= 100 + 50 + 25
    for iterator in iterators:
        iterator.close()
    assert not len(read_ahead._active)


def test_a_thousand_readers_have_few_threads(tmp_path: Path) -> None:
    count = 1000
    ks.Dataset.range(4 * count).save(
        tmp_path, "LZ4", lambda x: x % count, chunk_bytes=16, progress=False
    )
    most = 0

    def reader(shards: ks.Dataset) -> ks.Dataset:
        return shards.interleave(lambda shard: shard, cycle_length=count)

    before = threading.active_count()
    seen = []
    for batch in ks.load(tmp_path, reader_func=reader).batch(100):
        seen += batch.tolist()
        most = max(most, threading.active_count())
    assert seen == list(range(4 * count))
    assert most <= before + cores()


# Nothing is left:


@pytest.mark.parametrize("end", ["close", "drop", "exhaust", "break"])
@pytest.mark.parametrize("sharding", ["none", "in turn"])
def test_nothing_is_left_behind(tmp_path: Path, sharding: str, end: str) -> None:
    saved(tmp_path, sharding=sharding)
    with nothing_left_behind():
        location, store = watched(tmp_path)
        iterator = iter(loaded(location))
        for _ in range(50):
            next(iterator)
        if end == "close":
            iterator.close()
        elif end == "exhaust":
            list(iterator)
        elif end == "break":
            for _ in iterator:
                break
        del iterator
        store.wait_for(0)
        if end != "exhaust":
            reads = len(store.reads)
            assert reads < len(location.kept.manifest.chunks)
            time.sleep(0.05)
            assert len(store.reads) == reads
        del location
    assert not len(read_ahead._active)


def test_loads_that_nobody_wants_any_more_are_not_begun(tmp_path: Path) -> None:
    location, store = watched(saved(tmp_path), is_remote=False)
    iterator = iter(loaded(location))
    next(iterator)
    store.hold_until(1000)  # the threads are held up by their first reads
    next(iterator)
    store.wait_for(cores())
    reads = len(store.reads)
    iterator.close()
    store.release()
    store.wait_for(0)
    wait_until(lambda: not background())
    assert len(store.reads) == reads


@pytest.mark.parametrize("sharding", ["none", "in turn"])
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_reads_on_by_itself(tmp_path: Path, sharding: str) -> None:
    location, store = watched(saved(tmp_path, sharding=sharding))
    ds = loaded(location)
    iterator = iter(ds)
    given = len(firsts(islice(iterator, 10)))
    store.wait_for(0)
    store.hold_until(1000, NAME)
    while store.in_flight < 2:  # threads that the child will not have
        next(iterator)
        given += 1
        time.sleep(0.001)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        store.__init__(open_store(tmp_path))  # type: ignore[misc]
        store.hold_until(2, NAME)
        rest = firsts(iterator) == list(range(given, ROWS))
        whole = firsts(ds) == list(range(ROWS))
        os._exit(0 if rest and whole and store.most_in_flight > 1 else 1)
    store.release()
    assert firsts(iterator) == list(range(given, ROWS))
    assert exit_code(child) == 0


def exit_code(child: int) -> int:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the forked process hangs")
