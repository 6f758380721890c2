"""Background threads: shared, few, gone when idle; jobs that nobody holds are not run."""

from __future__ import annotations

import threading
import time

import pytest

from keepset.workers import background
from keepset.workers.background import BackgroundThreads, background_threads

PATIENCE_S = 10.0


class Job:
    """Notes its thread, and stays until it may go."""

    def __init__(self, may_end: threading.Event) -> None:
        self.began, self.ended, self._may_end = threading.Event(), threading.Event(), may_end
        self.thread: int | None = None

    def run(self) -> None:
        self.thread = threading.get_ident()
        self.began.set()
        self._may_end.wait(PATIENCE_S)
        self.ended.set()


def opened() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


def alive() -> int:
    return sum(thread.name == "keepset-background" for thread in threading.enumerate())


def test_no_more_jobs_run_at_once_than_there_may_be_threads() -> None:
    threads, may_end = BackgroundThreads(3), threading.Event()
    jobs = [Job(may_end) for _ in range(10)]
    for job in jobs:
        threads.submit(job)
    assert all(job.began.wait(PATIENCE_S) for job in jobs[:3])
    assert not any(job.began.is_set() for job in jobs[3:])
    may_end.set()
    assert all(job.ended.wait(PATIENCE_S) for job in jobs)
    assert len({job.thread for job in jobs}) <= 3


def test_a_job_that_everybody_has_let_go_of_is_not_run() -> None:
    threads, may_end, ran = BackgroundThreads(1), threading.Event(), []

    class Noted(Job):
        def run(self) -> None:
            ran.append(1)
            super().run()

    first, dropped, last = Job(may_end), Noted(opened()), Job(opened())
    for job in (first, dropped, last):
        threads.submit(job)
    assert first.began.wait(PATIENCE_S)
    del job, dropped
    may_end.set()
    assert last.ended.wait(PATIENCE_S)
    assert not ran


def test_a_thread_does_not_keep_the_last_job_alive() -> None:
    threads, gone = BackgroundThreads(1), threading.Event()

    class Large(Job):
        def __del__(self) -> None:
            gone.set()

    job = Large(opened())
    threads.submit(job)
    assert job.ended.wait(PATIENCE_S)
    del job
    assert gone.wait(PATIENCE_S)


def test_threads_end_when_there_is_nothing_to_do_and_begin_again() -> None:
    threads = BackgroundThreads(2)
    for _ in range(2):
        jobs = [Job(opened()) for _ in range(4)]
        for job in jobs:
            threads.submit(job)
        assert all(job.ended.wait(PATIENCE_S) for job in jobs)
        deadline = time.monotonic() + PATIENCE_S
        while alive():
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_a_job_that_comes_while_threads_end_is_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background, "_LINGER_S", 0.0005)
    threads = BackgroundThreads(2)
    for _ in range(1000):
        job = Job(opened())
        threads.submit(job)
        assert job.ended.wait(PATIENCE_S)
        time.sleep(0.0005)


def test_a_job_that_raises_ends_its_thread_and_not_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda arguments: None)
    threads = BackgroundThreads(1)

    class Failing(Job):
        def run(self) -> None:
            super().run()
            raise ValueError

    for _ in range(3):
        job = Failing(opened())
        threads.submit(job)
        assert job.ended.wait(PATIENCE_S)
    last = Job(opened())
    threads.submit(last)
    assert last.ended.wait(PATIENCE_S)


def test_closing_waits_for_what_has_begun_and_takes_nothing_more() -> None:
    threads, may_end = BackgroundThreads(1), threading.Event()
    job, late = Job(may_end), Job(opened())
    threads.submit(job)
    assert job.began.wait(PATIENCE_S)
    threading.Timer(0.05, may_end.set).start()
    threads.close()
    assert job.ended.is_set()
    threads.submit(late)
    assert not late.began.wait(0.05)


def test_everybody_shares_the_threads() -> None:
    assert background_threads(3) is background_threads(3)
    assert background_threads(3).limit == 3
