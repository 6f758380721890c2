"""Shuffling what is compressed: the same order as gather, few loads, bounded memory."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.snapshot.small_data import (
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
from keepset.errors import CorruptSnapshotError
from keepset.snapshot.reading import shuffled
from keepset.snapshot.reading.opening import locate
from keepset.snapshot.reading.window import Window
from keepset.testing.equality import assert_elements_equal
from keepset.testing.resources import nothing_left_behind

FEW = 9000  # bytes: enough for some dozens of rows


def kinds(x: Any) -> dict[str, Any]:
    return {
        "number": x,
        "array": np.full((2, 3), x, np.float32),
        "text": b"x" * int(x % 7),
        "list": np.arange(x % 5),
        "matrix": np.full((x % 3, 2), x),
        "texts": np.array([b"a", b"b" * int(x % 4)], object),
        "ragged": ks.Ragged([x, x, x], [0, x % 3, 3]),
    }


def mixed(ds: ks.Dataset, seed: int = 1) -> ks.Dataset:
    return ds.shuffle(ks.GLOBAL, seed=seed, reshuffle_each_iteration=False)


def gathered(ds: ks.Dataset) -> list[Any]:
    return list(ds.gather(np.arange(len(ds))))


# The same elements in the same order:


@pytest.mark.parametrize("most_bytes", [1, FEW, shuffled.MOST_BYTES])
@pytest.mark.parametrize("compression", ["LZ4", "ZSTD", "GZIP", "SNAPPY"])
def test_shuffled_elements_are_those_that_gather_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: str, most_bytes: int
) -> None:
    monkeypatch.setattr(shuffled, "MOST_BYTES", most_bytes)
    ks.Dataset.range(200).map(kinds).save(tmp_path, compression, chunk_bytes=2000)
    ds = mixed(ks.load(tmp_path))
    assert_elements_equal(list(ds), gathered(ds))
    assert sorted(int(x["number"]) for x in ds) == list(range(200))


@pytest.mark.parametrize("sharding", SHARDINGS)
@pytest.mark.parametrize("is_remote", [True, False])
def test_any_sharding_is_shuffled_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sharding: str, is_remote: bool
) -> None:
    monkeypatch.setattr(shuffled, "MOST_BYTES", FEW)
    plain = firsts(mixed(numbers(), 4))
    location, _ = watched(saved(tmp_path, sharding=sharding), is_remote)
    assert firsts(mixed(loaded(location), 4)) == plain


def test_stages_behind_the_shuffle_choose_among_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shuffled, "MOST_BYTES", FEW)
    ds = mixed(ks.load(saved(tmp_path)), 2)
    whole = firsts(ds)
    assert firsts(ds.shard(3, 1)) == whole[1::3]
    assert firsts(ds[50:400:7]) == whole[50:400:7]
    assert firsts(ds.skip(100).take(20)) == whole[100:120]
    assert firsts(mixed(ds, 3)) == firsts(gathered(mixed(ds, 3)))
    assert [int(x) for x in ds.map(lambda x, v: x)] == whole


def test_elements_whose_shapes_vary_only_in_some_files_are_shuffled(tmp_path: Path) -> None:
    ds = ks.Dataset.range(100).map(lambda x: (x, np.full(3 if x < 50 else int(x) % 5, x)))
    kept = ds.snapshot(tmp_path, "ZSTD", fingerprint="f", chunk_bytes=300)
    assert firsts(kept) == list(range(100))
    shown = mixed(ks.load(tmp_path / "f"))
    assert_elements_equal(list(shown), gathered(shown))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_state_in_the_middle_goes_on_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    monkeypatch.setattr(shuffled, "MOST_BYTES", data.draw(st.sampled_from([1, FEW, 1 << 20])))
    path = tmp_path / os.urandom(8).hex()
    rows = data.draw(st.integers(1, 150))
    numbers(rows).save(path, "LZ4", chunk_bytes=data.draw(st.integers(1, 3000)))
    ds = mixed(ks.load(path), 7)
    whole, at = firsts(ds), data.draw(st.integers(0, rows))
    iterator = iter(ds)
    assert firsts(islice(iterator, at)) == whole[:at]
    assert firsts(ds.iterate(iterator.state())) == whole[at:]
    batches = iter(ds.batch(7))
    for _ in range(at // 7):
        next(batches)
    rest = [int(x) for batch in ds.batch(7).iterate(batches.state()) for x in batch[0]]
    assert rest == whole[at // 7 * 7 :]


# Few loads:


@pytest.mark.parametrize("compression", [None, "LZ4", "GZIP"])
def test_what_fits_in_memory_is_loaded_once_by_a_reader_of_batches(
    tmp_path: Path, compression: str | None
) -> None:
    location, store = watched(saved(tmp_path, compression))
    for _ in mixed(loaded(location)).batch(64):
        pass
    assert len(store.reads) == len(location.kept.manifest.chunks)
    assert set(store.reads.values()) == {1}


def test_what_does_not_fit_is_loaded_once_for_each_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Kept chunks would hide what a window loads.
    monkeypatch.setattr(shuffled, "MOST_BYTES", 20_000)
    location, store = watched(saved(tmp_path))
    for _ in mixed(loaded(location)).batch(64):
        pass
    rows = 20_000 // (72 + 32)
    assert max(store.reads.values()) <= -(-ROWS // rows) + 2


def test_the_first_element_needs_little(tmp_path: Path) -> None:
    location, store = watched(saved(tmp_path))
    before = len(background())
    next(iter(mixed(loaded(location))))
    assert len(store.reads) == 1
    assert len(background()) <= before


def test_a_window_is_filled_by_several_threads(tmp_path: Path) -> None:
    location, store = watched(saved(tmp_path))
    # The first chunk is looked at alone.
    store.hold_until(8, "keepset-background")
    assert len(list(mixed(loaded(location)).batch(64))) == -(-ROWS // 64)
    assert store.most_in_flight >= 8


def test_the_next_window_is_filled_while_a_slow_consumer_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shuffled, "MOST_BYTES", 30_000)
    location, store = watched(saved(tmp_path))
    chunks = len(location.kept.manifest.chunks)
    filled_ahead: list[int] = []
    # It is measured whether that is worth it, which on a busy machine it is for a consumer that is
    # slower still: one pass of several has to show it.
    pause_s = 0.02
    while len(filled_ahead) < 6 and max(filled_ahead, default=0) <= chunks:
        pause_s *= 1 if not filled_ahead else 2
        filled_ahead.append(0)
        for _ in mixed(loaded(location)).batch(16):
            before = store.reads.total()
            time.sleep(pause_s)
            filled_ahead[-1] += store.reads.total() - before
    assert max(filled_ahead) > chunks


# Bounds:


def test_windows_take_no_more_memory_than_all_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shuffled, "MOST_BYTES", FEW)
    sizes: list[int] = []
    make = Window.__init__

    def note(self: Window, kept: Any, start: int, rows: Any) -> None:
        sizes.append(len(rows))
        make(self, kept, start, rows)

    monkeypatch.setattr(Window, "__init__", note)
    ds = mixed(ks.load(saved(tmp_path)))
    first, second = iter(ds), iter(ds)
    for _ in range(300):
        next(first)
    alone, sizes[:] = max(sizes), []
    for _ in range(300):
        next(first), next(second)
    assert FEW // 2 < alone * (72 + 32) <= FEW
    assert max(sizes) <= alone // 2 + 1


MEMORY = """
    import sys
    import keepset as ks

    def anonymous():
        for line in open("/proc/self/status"):
            if line.startswith("RssAnon:"):
                return int(line.split()[1])

    most, before = 0, anonymous()
    for place, element in enumerate(ks.load(sys.argv[1]).shuffle(ks.GLOBAL, seed=1)):
        if place % 99 == 0:
            most = max(most, anonymous())
    print((most - before) // 1000)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
@pytest.mark.parametrize("is_jagged", [False, True])
def test_memory_is_bounded_where_data_is_larger(tmp_path: Path, is_jagged: bool) -> None:
    noise = np.random.default_rng(0).integers(0, 256, 1 << 16, np.uint8)

    def leaf(x: int) -> Any:
        return noise[: len(noise) - x % 9] if is_jagged else noise

    ks.Dataset.range(6400).map(lambda x: (x, leaf(int(x)))).save(tmp_path, "LZ4")  # 400 MiB
    command = [sys.executable, "-c", textwrap.dedent(MEMORY), str(tmp_path)]
    assert int(subprocess.check_output(command, text=True)) < 300


@pytest.mark.parametrize("end", ["close", "drop", "exhaust", "break"])
def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    monkeypatch.setattr(shuffled, "MOST_BYTES", FEW)
    saved(tmp_path)
    with nothing_left_behind():
        location, store = watched(tmp_path)
        iterator = iter(mixed(loaded(location)))
        for _ in range(250):
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
        assert not len(shuffled._active)
        reads = store.reads.total()
        time.sleep(0.05)
        assert store.reads.total() == reads  # threads load nothing for those who are gone
        wait_until(lambda: not background())
        del location


# Errors:


def damaged_rows(path: Path, number: int) -> set[int]:
    """Flip a bit of a chunk; the elements that it had."""
    manifest = locate(path).kept.manifest
    chunk = manifest.chunks[number]
    file = path / manifest.segments[chunk.segment].entry.name
    data = bytearray(file.read_bytes())
    data[chunk.entry.offset + chunk.entry.ends[-1] - 1] ^= 1
    file.write_bytes(data)
    return set(manifest.positions([number])[number].tolist())


@pytest.mark.parametrize("most_bytes", [1, FEW, shuffled.MOST_BYTES])
@pytest.mark.parametrize("compression", [None, "LZ4", "GZIP"])
def test_damage_comes_out_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: str, most_bytes: int
) -> None:
    monkeypatch.setattr(shuffled, "MOST_BYTES", most_bytes)
    saved(tmp_path, compression)
    whole = firsts(mixed(ks.load(tmp_path)))
    lost = damaged_rows(tmp_path, 5)
    ds = mixed(ks.load(tmp_path))
    iterator, seen = iter(ds), []
    with pytest.raises(CorruptSnapshotError, match="is damaged at byte"):
        seen.extend(firsts(iterator))
    at = next(place for place, row in enumerate(whole) if row in lost)
    assert firsts(islice(ds, at)) == whole[:at]
    with pytest.raises(CorruptSnapshotError):
        next(ds.iterate(iterator.state()))
    assert firsts(ds.ignore_errors()) == [row for row in whole if row not in lost]


@pytest.mark.parametrize("is_remote", [True, False])
def test_a_forked_process_begins_anew_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_remote: bool
) -> None:
    monkeypatch.setattr(shuffled, "MOST_BYTES", FEW)
    location, store = watched(saved(tmp_path), is_remote)
    ds = mixed(loaded(location))
    whole, iterator = firsts(ds), iter(ds)
    assert firsts(islice(iterator, 100)) == whole[:100]

    def begins_anew() -> bool:
        with pytest.raises(ks.StateError, match="forked"):
            next(iterator)
        return firsts(ds) == whole

    assert forked(begins_anew, store)
    assert firsts(iterator) == whole[100:]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def forked(claim: Callable[[], bool], store: Watched) -> bool:
    """Whether a claim is true in a forked process."""
    child = os.fork()
    if not child:
        store.__init__(store.store, store.is_remote)  # type: ignore[misc]
        code = 1
        try:
            code = 0 if claim() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
