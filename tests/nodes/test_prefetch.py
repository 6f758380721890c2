"""Prefetch: runs ahead as far as asked, passes errors on, and stops when told."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

import keepset as ks
from keepset.testing.resources import nothing_left_behind


def test_it_computes_ahead_up_to_the_buffer_and_no_further() -> None:
    calls: list[int] = []

    def slow(x: np.int64) -> np.int64:
        calls.append(int(x))
        time.sleep(0.005)
        return x

    it = iter(ks.Dataset.range(100).map(slow).prefetch(3))
    next(it)
    deadline = time.monotonic() + 60
    while len(calls) < 1 + 3 and time.monotonic() < deadline:
        time.sleep(0.005)
    # For a call too many. There is no event for a call that does not come; a slow machine can only
    # make fewer of them, so that this test may miss a defect and never fails without one.
    time.sleep(0.05)
    assert len(calls) == 1 + 3


def test_a_live_generator_is_not_run_further_ahead_than_the_buffer() -> None:
    produced: list[int] = []

    def source() -> Iterator[int]:
        for i in range(1000):
            produced.append(i)
            yield i

    it = iter(ks.Dataset.from_generator(source).prefetch(2))
    next(it)
    time.sleep(0.1)  # as above: whoever waits longer sees more, but never more than this
    assert len(produced) <= 1 + 2 + 1


def test_the_producer_works_while_the_consumer_is_busy() -> None:
    called = [threading.Event() for _ in range(10)]

    def work(x: np.int64) -> np.int64:
        called[int(x)].set()
        return x

    for x in ks.Dataset.range(10).map(work).prefetch(1):
        # The next element is computed although nobody has asked for it yet.
        assert called[min(int(x) + 1, 9)].wait(timeout=30)


def test_errors_come_in_their_place() -> None:
    def fails(x: np.int64) -> np.int64:
        if x == 4:
            raise ValueError("four")
        return x

    ds = ks.Dataset.range(8).map(fails).prefetch(3)
    seen: list[int] = []
    with pytest.raises(ValueError, match="four"):
        seen.extend(int(x) for x in ds)
    assert seen == [0, 1, 2, 3]
    assert [int(x) for x in ds.ignore_errors()] == [0, 1, 2, 3, 5, 6, 7]


def test_many_iterators_dropped_early_leave_no_thread() -> None:
    gc.collect()
    with nothing_left_behind():
        for count in range(100):
            it = iter(ks.Dataset.range(1000).map(lambda x: x).prefetch(4).batch(3))
            for _ in range(count % 3):
                next(it)
            del it


def test_autotune_gives_the_same_elements() -> None:
    ds = ks.Dataset.range(5000).map(lambda x: x + 1).prefetch(ks.AUTOTUNE)
    assert [int(x) for x in ds] == list(range(1, 5001))


def test_a_negative_buffer_is_refused() -> None:
    with pytest.raises(ks.InvalidArgumentError, match="AUTOTUNE"):
        ks.Dataset.range(3).prefetch(-2)
