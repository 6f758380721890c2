"""Clocks that jump by hours, between runs and during them: leases, grace and commits stay right."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.format.log import Log
from keepset.snapshot.upkeep.collecting import collect, plan_collection
from keepset.snapshot.writing import first_pass
from keepset.snapshot.writing.lease import Holder, Lease
from keepset.storage import open_store

COUNT = 60
HOUR_S = 3600.0
REAL = time.time


class Clock:
    """What time.time() gives: the real time, and so many seconds more or less."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def __call__(self) -> float:
        return REAL() + self.ahead_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    jumping = Clock()
    monkeypatch.setattr(time, "time", jumping)
    return jumping


class Counted:
    def __init__(self, before: Callable[[], None] = lambda: None) -> None:
        self.calls, self.before = 0, before

    def __call__(self, x: np.int64) -> Any:
        self.calls += 1
        self.before()
        return x * 2


def kept(path: Path, function: Counted, **options: Any) -> ks.Dataset:
    ds = ks.Dataset.range(COUNT).map(function)
    return ds.snapshot(path, fingerprint="f", chunk_bytes=40, **options)


def check(elements: Any) -> None:
    assert [int(x) for x in elements] == list(range(0, 2 * COUNT, 2))


def write_lease(path: Path, run: str, beat: float) -> None:
    """As a writer on another machine leaves it, whether that is alive or not."""
    holder = Holder(run, "elsewhere", "boot", 1, "1", beat, beat)
    open_store(path).sub("f/").put(f"leases/{run}.json", json.dumps(vars(holder)).encode())


def test_a_pass_during_which_the_clock_jumps(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_pass.FirstPass, "is_due", property(lambda self: self._added >= 7))
    choose = random.Random(1)

    def jump() -> None:
        clock.ahead_s = choose.choice([-1, 1]) * choose.uniform(0, 100) * HOUR_S

    function = Counted(jump)
    for stop in (10, 30, 50):
        list(kept(tmp_path, function).take(stop))
        jump()
    check(kept(tmp_path, function))
    assert function.calls <= COUNT + 4 * 8  # what was kept was not computed again
    check(ks.load(tmp_path))
    kinds = [commit.kind for commit in Log(open_store(tmp_path).sub("f/")).history()]
    assert set(kinds) == {"append", "complete"}


@pytest.mark.parametrize("ahead_s", [-10 * HOUR_S, 10 * HOUR_S])
@pytest.mark.filterwarnings("ignore:another iterator of this process")
def test_a_writer_here_is_alive_whatever_the_clock_says(
    tmp_path: Path, clock: Clock, ahead_s: float
) -> None:
    writing = iter(kept(tmp_path, Counted()))
    next(writing)
    clock.ahead_s = ahead_s
    check(kept(tmp_path, Counted()))  # passes through
    with pytest.raises(ks.PendingSnapshotError):
        list(kept(tmp_path, Counted(), on_pending="error"))
    assert len(list(writing)) == COUNT - 1
    check(ks.load(tmp_path))


@pytest.mark.parametrize("pending", ["wait", "follow"])
@pytest.mark.parametrize("ahead_s", [-10 * HOUR_S, 0.0, 10 * HOUR_S])
def test_a_silent_writer_elsewhere_is_not_waited_for_until_the_clocks_agree(
    tmp_path: Path, clock: Clock, ahead_s: float, pending: str
) -> None:
    write_lease(tmp_path, "0123456789abcdef", REAL())
    clock.ahead_s = ahead_s
    began = time.monotonic()
    check(kept(tmp_path, Counted(), on_pending=pending, pending_snapshot_expiry_seconds=0.4))
    assert time.monotonic() - began < 60  # the clocks agree in ten hours
    check(ks.load(tmp_path))


def test_a_writer_elsewhere_that_beats_is_waited_for(tmp_path: Path, clock: Clock) -> None:
    """Its clock is an hour ahead of ours: that it beats is all that counts."""
    beats = 0

    def sleep(seconds: float) -> None:
        nonlocal beats
        beats += 1
        real_sleep(0.1)
        if beats < 12:
            write_lease(tmp_path, "0123456789abcdef", REAL() + HOUR_S)

    real_sleep = time.sleep
    write_lease(tmp_path, "0123456789abcdef", REAL() + HOUR_S)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", sleep)
        check(kept(tmp_path, Counted(), on_pending="wait", pending_snapshot_expiry_seconds=0.5))
    assert beats > 12


def test_of_two_that_begin_at_once_one_is_the_earlier(tmp_path: Path, clock: Clock) -> None:
    """Also if the clock went back in between; and if both write, the log tells who was first."""
    path = tmp_path / "kept"
    one = iter(kept(path, Counted()))
    first = int(next(one))
    clock.ahead_s = -HOUR_S
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Holder, "is_alive", lambda self, expiry_s: False)
        other = iter(kept(path, Counted()))
        assert int(next(other)) == 0
    check([first, *one])
    check([0, *other])
    kinds = [commit.kind for commit in Log(open_store(path).sub("f/")).history()]
    assert kinds.count("complete") == 1
    check(ks.load(path))


def test_versions_are_in_the_order_of_their_commits(tmp_path: Path, clock: Clock) -> None:
    for count, ahead_s in ((3, 0.0), (4, -5 * HOUR_S), (5, -9 * HOUR_S)):
        clock.ahead_s = ahead_s
        ks.Dataset.range(count).save(tmp_path)
    assert len(ks.load(tmp_path)) == 5


@pytest.mark.parametrize("ahead_s", [-10 * HOUR_S, 0.0])
def test_the_grace_is_never_shorter_than_was_asked_for(
    tmp_path: Path, clock: Clock, ahead_s: float
) -> None:
    ks.Dataset.range(10).save(tmp_path)
    ks.Dataset.range(20).save(tmp_path)
    clock.ahead_s = ahead_s
    plan = plan_collection(open_store(tmp_path), grace_s=HOUR_S)
    assert plan.removals == ()
    assert collect(open_store(tmp_path), plan) == 0
    assert len(list((tmp_path / "segments").iterdir())) == 2


def test_a_clock_far_ahead_costs_no_element(tmp_path: Path, clock: Clock) -> None:
    list(kept(tmp_path, Counted()).take(20))
    ks.Dataset.range(10).save(tmp_path / "saved")
    held = Lease(open_store(tmp_path).sub("f/"), "0123456789abcdef")
    try:
        clock.ahead_s = 1000 * HOUR_S
        for path in (tmp_path, tmp_path / "saved"):
            plan = plan_collection(open_store(path), grace_s=HOUR_S)
            assert collect(open_store(path), plan) == 0
    finally:
        held.release()
    function = Counted()
    check(kept(tmp_path, function))
    assert function.calls <= COUNT - 20 + 1
    assert len(ks.load(tmp_path / "saved")) == 10
