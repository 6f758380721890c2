"""The thread pool: tasks run once, waiters help, closing leaves nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import keepset as ks
from keepset.testing.resources import nothing_left_behind
from keepset.workers.threads import Task, ThreadPool


def test_a_task_runs_once_whoever_comes_first() -> None:
    calls: list[int] = []

    def call() -> int:
        calls.append(1)
        return 42

    task = Task(call)
    threads = [threading.Thread(target=task.run) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert task.result() == 42
    for thread in threads:
        thread.join()
    assert calls == [1]


def test_an_error_is_raised_where_the_result_is_asked_for() -> None:
    def fail() -> None:
        raise KeyError("x")

    task = Task(fail)
    task.run()
    with pytest.raises(KeyError):
        task.result()


def test_waiting_for_a_task_of_a_full_pool_runs_it_in_the_waiting_thread() -> None:
    pool = ThreadPool()
    pool.reserve(1)
    gate = threading.Event()
    blocked = pool.submit(gate.wait)
    waiting = pool.submit(threading.current_thread)
    assert waiting.result() is threading.current_thread()
    gate.set()
    assert blocked.result()
    pool.close()


def test_nested_tasks_deeper_than_the_pool_do_not_deadlock() -> None:
    pool = ThreadPool()
    pool.reserve(2)

    def count_down(n: int) -> int:
        return 0 if n == 0 else 1 + pool.submit(lambda: count_down(n - 1)).result()

    assert pool.submit(lambda: count_down(50)).result() == 50
    pool.close()


def test_a_cancelled_task_never_runs() -> None:
    calls: list[int] = []
    task = Task(lambda: calls.append(1))
    assert task.cancel()
    task.run()
    assert calls == []


def test_closing_drops_what_has_not_begun_and_ends_the_threads() -> None:
    with nothing_left_behind():
        pool = ThreadPool()
        pool.reserve(4)
        for _ in range(100):
            pool.submit(lambda: time.sleep(0.001))
        pool.close()


def _no_more_threads(self: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


PIPELINES: dict[str, Callable[[ks.Dataset], ks.Dataset]] = {
    "map": lambda ds: ds.map(lambda x: x + 1, num_parallel_calls=8),
    "map in any order": lambda ds: ds.map(
        lambda x: x + 1, num_parallel_calls=8, deterministic=False
    ),
    "interleave": lambda ds: ds.interleave(
        lambda x: ks.Dataset.range(x, x + 2), cycle_length=4, num_parallel_calls=4
    ),
    "batch": lambda ds: ds.batch(3, num_parallel_calls=4).unbatch(),
}


@pytest.mark.parametrize("stage", PIPELINES)
def test_a_system_without_more_threads_gives_the_same_elements(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of processes or memory; the thread that reads does the work itself."""
    ds = PIPELINES[stage](ks.Dataset.range(20))
    expected = sorted(int(x) for x in ds)
    monkeypatch.setattr(threading.Thread, "start", _no_more_threads)
    assert sorted(int(x) for x in ds) == expected


@pytest.mark.parametrize("stage", ["prefetch", "snapshot"])
def test_a_stage_that_needs_a_thread_says_that_there_is_none(
    stage: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ds = ks.Dataset.range(20).map(lambda x: x + 1, num_parallel_calls=8)
    ds = ds.prefetch(4) if stage == "prefetch" else ds.snapshot(tmp_path / "kept")
    monkeypatch.setattr(threading.Thread, "start", _no_more_threads)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        list(ds)
    monkeypatch.undo()
    assert [int(x) for x in ds] == list(range(1, 21))
