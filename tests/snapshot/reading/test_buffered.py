"""A shuffle with a buffer over kept elements: numbers wait in it, and the order is the same."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.snapshot.reading.test_shuffled import damaged_rows, kinds
from tests.snapshot.small_data import ROWS, SHARDINGS, firsts, numbers, saved

import keepset as ks
from keepset.errors import CorruptSnapshotError
from keepset.nodes import shuffle
from keepset.testing import count_steps
from keepset.testing.equality import assert_elements_equal

BUFFER = 50
ALWAYS, NEVER = 0, 1 << 60


@contextmanager
def numbers_from(size_bytes: int) -> Iterator[None]:
    """Let elements of this size be large enough to wait as numbers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shuffle, "_LARGE_BYTES", size_bytes)
        yield


@pytest.fixture(autouse=True)
def small_elements_wait_as_numbers() -> Iterator[None]:
    with numbers_from(ALWAYS):
        yield


def mixed(ds: ks.Dataset, buffer: int = BUFFER) -> ks.Dataset:
    return ds.shuffle(buffer, seed=1, reshuffle_each_iteration=False)


ORDER = firsts(mixed(numbers()))


@pytest.mark.parametrize("compression", [None, "LZ4"])
@pytest.mark.parametrize("sharding", SHARDINGS)
def test_the_order_is_that_of_the_elements(
    tmp_path: Path, compression: str | None, sharding: str
) -> None:
    whole = ks.load(saved(tmp_path, compression, sharding))
    for ds in (whole, whole.shard(3, 1), whole.take(500), whole.skip(100)):
        for buffer in (1, BUFFER, ROWS, 2 * ROWS, ks.UNKNOWN_CARDINALITY):
            by_numbers = list(mixed(ds, buffer))
            with numbers_from(NEVER):
                assert_elements_equal(by_numbers, list(mixed(ds, buffer)))


@pytest.mark.parametrize("name", list(kinds(np.int64(0))))
def test_every_kind_of_leaf_waits(tmp_path: Path, name: str) -> None:
    ks.Dataset.range(200).map(lambda x: {name: kinds(x)[name]}).save(tmp_path, chunk_bytes=700)
    ds = ks.load(tmp_path)
    by_numbers = list(mixed(ds))
    with numbers_from(NEVER):
        assert_elements_equal(by_numbers, list(mixed(ds)))


def peak_bytes(ds: ks.Dataset) -> int:
    tracemalloc.start()
    try:
        for _ in ds:
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_buffer_takes_no_memory_for_what_is_kept(tmp_path: Path) -> None:
    ks.Dataset.range(ROWS).map(lambda x: np.full(2000, x)).save(tmp_path, compression=None)
    ds = mixed(ks.load(tmp_path), ROWS).batch(10)
    whole = ROWS * 16_000
    with numbers_from(16_000):
        assert peak_bytes(ds) < whole / 3
    with numbers_from(NEVER):
        assert peak_bytes(ds) > whole


@pytest.mark.parametrize("buffer", [BUFFER, ROWS])
@given(place=st.integers(0, ROWS), now=st.booleans(), then=st.booleans())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_place_is_the_same_in_both_ways(
    tmp_path_factory: pytest.TempPathFactory, buffer: int, place: int, now: bool, then: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / f"kept{buffer}"
    if not path.exists():
        saved(path, None)
    ds = mixed(ks.load(path), buffer)
    with numbers_from(ALWAYS if now else NEVER):
        iterator = iter(ds)
        seen = firsts(islice(iterator, place))
        state = json.loads(json.dumps(iterator.state()))
    with numbers_from(ALWAYS if then else NEVER):
        assert seen + firsts(ds.iterate(state)) == firsts(mixed(numbers(), buffer))


@pytest.mark.parametrize("number", [0, 1, 30, -1])
def test_damage_is_passed_over_in_the_same_way(tmp_path: Path, number: int) -> None:
    saved(tmp_path, None)
    chunks = len(ks.Snapshot(tmp_path).manifest.chunks)
    lost = damaged_rows(tmp_path, number % chunks)
    ds = mixed(ks.load(tmp_path))
    got = firsts(ds.ignore_errors())
    assert sorted(got) == [x for x in range(ROWS) if x not in lost]
    with numbers_from(NEVER):
        assert firsts(mixed(ks.load(tmp_path)).ignore_errors()) == got
    with pytest.raises(CorruptSnapshotError, match="is damaged at byte"):
        list(mixed(ks.load(tmp_path)))
    for place in (0, 1, min(max(lost), len(got)), len(got)):
        iterator = iter(ds.ignore_errors())
        assert firsts(islice(iterator, place)) == got[:place]
        assert firsts(ds.ignore_errors().iterate(iterator.state())) == got[place:]


def test_a_snapshot_stage_gives_one_order_in_every_pass(tmp_path: Path) -> None:
    def build(**how: Any) -> ks.Dataset:
        return mixed(numbers().snapshot(str(tmp_path), compression=None, **how))

    ds = build()
    for _ in range(3):  # computed and kept; read for the first time; read again
        assert firsts(ds) == ORDER
    with count_steps() as steps:
        assert firsts(ds) == ORDER
    assert steps["chunk_decode"] == 0
    half = iter(build())
    assert firsts(islice(half, 100)) == ORDER[:100]
    assert firsts(build().iterate(half.state())) == ORDER[100:]


def test_a_reader_of_the_users_own_is_not_passed_by(tmp_path: Path) -> None:
    def backwards(parts: ks.Dataset) -> ks.Dataset:
        return parts.flat_map(lambda part: part.map(lambda x, v: (ROWS - 1 - x, v)))

    ds = numbers().snapshot(str(tmp_path), compression=None)
    list(ds)
    read = numbers().snapshot(str(tmp_path), compression=None, reader_func=backwards)
    in_order = firsts(read)
    assert in_order != list(range(ROWS))
    assert firsts(mixed(read)) == [in_order[x] for x in ORDER]
