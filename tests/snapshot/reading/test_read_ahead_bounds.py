"""Reading ahead takes bounded memory, few threads, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from tests.snapshot.small_data import (
    NAME,
    ROWS,
    SHARDINGS,
    background,
    firsts,
    saved,
    wait_until,
)
from tests.snapshot.watched import PATIENCE_S, loaded, watched

import keepset as ks
from keepset.snapshot.reading import read_ahead
from keepset.snapshot.reading.replay import Replay
from keepset.storage import open_store
from keepset.testing.resources import nothing_left_behind
from keepset.workers.background import cores

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


MEMORY = """
    import sys
    import keepset as ks

    def anonymous():
        for line in open("/proc/self/status"):
            if line.startswith("RssAnon:"):
                return int(line.split()[1])

    most, before = 0, anonymous()
    for position, (number, _) in enumerate(ks.load(sys.argv[1])):
        assert number == position
        most = max(most, anonymous())
    print((most - before) // 1024)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
def test_many_shards_in_turn_take_little_memory(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, 1 << 16, np.uint8)
    ds = ks.Dataset.range(6400).map(lambda x: (x, np.roll(noise, x)))  # 400 MiB
    ds.save(tmp_path, "LZ4", lambda x, v: (int(x) * 2654435761 >> 7) % 64)
    command = [sys.executable, "-c", textwrap.dedent(MEMORY), str(tmp_path)]
    assert int(subprocess.check_output(command, text=True)) < 230


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


END = """
    import sys
    import keepset as ks

    iterator = iter(ks.load(sys.argv[1]))
    for _ in range(int(sys.argv[2])):
        next(iterator)
"""


def test_a_process_may_end_in_the_middle(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, 1 << 16, np.uint8)
    ks.Dataset.range(500).map(lambda x: (x, np.roll(noise, x))).save(tmp_path, "ZSTD")
    for count in (1, 2, 40, 200):
        command = [sys.executable, "-c", textwrap.dedent(END), str(tmp_path), str(count)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S * 6)
        assert (done.returncode, done.stderr) == (0, "")


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
def test_a_forked_process_begins_anew_by_itself(tmp_path: Path, sharding: str) -> None:
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
        code = 1
        try:
            with pytest.raises(ks.StateError, match="forked"):
                next(iterator)
            whole = firsts(ds) == list(range(ROWS))
            code = 0 if whole and store.most_in_flight > 1 else 2
        finally:
            os._exit(code)
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
