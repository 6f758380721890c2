"""Parallel map: order, limits, errors and the choice of parallelism."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import keepset as ks

# How long something may take that comes at once where the machine is idle.
PATIENCE_S = 60


def test_threads_keep_the_order() -> None:
    def jitter(x: np.int64) -> np.int64:
        time.sleep(0.002 * (int(x) % 3))
        return x

    ds = ks.Dataset.range(60).map(jitter, num_parallel_calls=4)
    assert [int(x) for x in ds] == list(range(60))


def overtaken(released: threading.Event) -> Callable[[np.int64], np.int64]:
    """A function that waits with the first element until the consumer has another one."""

    def wait_with_first(x: np.int64) -> np.int64:
        if x == 0:
            assert released.wait(PATIENCE_S), "no other element came first"
        return x

    return wait_with_first


def test_results_may_overtake_each_other_if_allowed() -> None:
    released = threading.Event()
    ds = ks.Dataset.range(8).map(overtaken(released), num_parallel_calls=4, deterministic=False)
    it = iter(ds)
    first = int(next(it))
    released.set()
    assert first != 0
    assert sorted([first, *map(int, it)]) == list(range(8))


def test_the_option_of_the_pipeline_is_used_where_the_stage_says_nothing() -> None:
    released = threading.Event()
    ds = ks.Dataset.range(8).map(overtaken(released), num_parallel_calls=4)
    it = iter(ds.with_options(ks.Options(deterministic=False)))
    first = int(next(it))
    released.set()
    assert first != 0
    it.close()
    assert [int(x) for x in ds] == list(range(8))


@pytest.mark.parametrize("calls", [1, 3])
def test_no_more_calls_at_once_than_asked_for(calls: int) -> None:
    lock, now, most = threading.Lock(), [0], [0]
    together = threading.Barrier(calls)

    def work(x: np.int64) -> np.int64:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        if x < calls:
            together.wait(PATIENCE_S)  # the first ones are under way at once
        time.sleep(0.003)
        with lock:
            now[0] -= 1
        return x

    assert len(list(ks.Dataset.range(40).map(work, num_parallel_calls=calls))) == 40
    assert most[0] == calls


@pytest.mark.parametrize("calls", [None, 1, 2, 4, ks.AUTOTUNE])
def test_every_element_is_computed_once(calls: int | None) -> None:
    seen: Counter[int] = Counter()

    def work(x: np.int64) -> np.int64:
        seen[int(x)] += 1
        return x

    list(ks.Dataset.range(3000).map(work, num_parallel_calls=calls).batch(7))
    assert seen == Counter(range(3000))


def test_an_expensive_function_runs_at_most_one_element_ahead() -> None:
    calls: list[int] = []

    def slow(x: np.int64) -> np.int64:
        calls.append(int(x))
        time.sleep(0.01)
        return x

    it = iter(ks.Dataset.range(100).map(slow).map(lambda x: x).batch(1))
    for given in range(1, 15):
        next(it)
        assert len(calls) <= given + 1


def test_groups_do_not_outgrow_their_function_while_small_ones_are_under_way() -> None:
    calls: list[int] = []

    def waits(x: np.int64) -> np.int64:
        calls.append(int(x))
        time.sleep(0.001)
        return x

    it = iter(ks.Dataset.range(4000).map(waits, num_parallel_calls=16))
    for _ in range(600):
        next(it)
    # Two groups for each thread, of as many milliseconds as one is meant to take. A call takes at
    # least one; where the machine is busy they take longer, and groups are smaller.
    assert len(calls) - 600 <= 2 * 16 * 8


def test_parallel_calls_run_ahead_only_as_far_as_they_were_asked_to() -> None:
    calls: list[int] = []

    def slow(x: np.int64) -> np.int64:
        calls.append(int(x))
        time.sleep(0.01)
        return x

    it = iter(ks.Dataset.range(100).map(slow, num_parallel_calls=2))
    next(it)
    # There is no event for a call that does not come; a slow machine can only make fewer of them.
    time.sleep(0.2)
    assert len(calls) <= 1 + 2 * 2


def test_rows_before_an_error_are_given_first_and_those_behind_it_can_be_had() -> None:
    def fails(x: np.int64) -> np.int64:
        time.sleep(0.0005)
        if x in (3, 4, 11):
            raise ValueError(int(x))
        return x

    ds = ks.Dataset.range(20).map(fails, num_parallel_calls=3)
    seen: list[int] = []
    with pytest.raises(ValueError, match="3") as caught:
        seen.extend(int(x) for x in ds)
    assert seen == [0, 1, 2]
    assert caught.value.__notes__ == ["in map(fails), at element 3"]
    assert [int(x) for x in ds.ignore_errors()] == [x for x in range(20) if x not in (3, 4, 11)]


def test_an_error_of_the_input_comes_after_the_elements_before_it() -> None:
    def source() -> Iterator[int]:
        yield from range(5)
        raise OSError("gone")

    seen: list[int] = []
    ds = ks.Dataset.from_generator(source).map(lambda x: x, num_parallel_calls=2)
    with pytest.raises(OSError, match="gone"):
        seen.extend(int(x) for x in ds)
    assert seen == list(range(5))


def test_waiting_functions_overlap_on_threads() -> None:
    together = threading.Barrier(8)

    def wait(x: np.int64) -> np.int64:
        if x < 8:
            together.wait(timeout=30)  # passes only if eight calls are under way at once
        return x

    assert len(list(ks.Dataset.range(40).map(wait, num_parallel_calls=8))) == 40


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"num_parallel_calls": 0}, "at least 1"),
        ({"num_parallel_calls": -7}, "at least 1"),
        ({"num_parallel_calls": 2, "executor": "fiber"}, "'thread' or 'process'"),
        ({"num_parallel_calls": "many"}, "integer"),
    ],
)
def test_bad_arguments_are_refused_when_the_pipeline_is_built(
    kwargs: dict[str, Any], words: str
) -> None:
    with pytest.raises(ks.InvalidArgumentError, match=words):
        ks.Dataset.range(3).map(lambda x: x, **kwargs)
