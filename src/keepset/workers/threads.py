"""Threads shared by all stages of one run, and lanes that limit how many a stage takes.

A task that nobody begins is run by whoever waits for it, so that a stage which waits inside another
stage's task can never block for want of a free thread.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from functools import partial
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")

# How long closing waits for a function that is still running; its thread is left behind after that.
_PATIENCE_S = 5.0
# How long threads get to begin one of several tasks before the waiting thread takes one itself.
_HELP_AFTER_S = 0.05


class Task:
    """A call that is made once, by a pool thread or by the thread that needs its result."""

    __slots__ = ("__weakref__", "_begun", "_call", "_done", "_signal", "error", "value")

    def __init__(self, call: Callable[[], Any], signal: threading.Event | None = None) -> None:
        self._call: Callable[[], Any] | None = call
        self._signal = signal
        self._begun = threading.Lock()
        self._done = threading.Event()
        self.value: Any = None
        self.error: BaseException | None = None

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

    @property
    def has_begun(self) -> bool:
        return self._begun.locked()

    def run(self) -> None:
        """Make the call unless somebody has begun it already."""
        if not self._begun.acquire(blocking=False):
            return
        call, self._call = self._call, None
        try:
            assert call is not None
            self.value = call()
        except BaseException as error:
            self.error = error
        finally:
            self._done.set()
            if self._signal is not None:
                self._signal.set()

    def cancel(self) -> bool:
        """Make sure that nobody begins the call; False if somebody has."""
        cancelled = self._begun.acquire(blocking=False)
        if cancelled:
            self._done.set()
        return cancelled

    def wait(self) -> None:
        """Wait until somebody who has begun the call is through with it."""
        self._done.wait()

    def result(self) -> Any:
        """The call's value, waited for; its error is raised here."""
        # Every thread may be busy with somebody who waits for us, so a task that nobody begins
        # for a while is begun here.
        while not self._done.wait(_HELP_AFTER_S):
            self.run()
        if self.error is not None:
            raise self.error
        return self.value


def first_done(tasks: list[Task], signal: threading.Event) -> Task:
    """Wait for whichever task is done first; all of them set ``signal`` when they are."""
    while True:
        signal.clear()
        for task in tasks:
            if task.is_done:
                return task
        if not signal.wait(_HELP_AFTER_S) and not any(task.has_begun for task in tasks):
            tasks[0].run()


class ThreadPool:
    """Daemon threads, started when there is work for them and ended by ``close``."""

    def __init__(self) -> None:
        self._tasks: deque[Task] = deque()
        self._change = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._capacity = 0
        self._closed = False

    def reserve(self, threads: int) -> None:
        """Allow this many threads more."""
        with self._change:
            self._capacity += threads

    def submit(self, call: Callable[[], Any]) -> Task:
        """Have a thread make a call, unless somebody else is quicker."""
        task = Task(call)
        with self._change:
            self._tasks.append(task)
            if self._idle >= len(self._tasks):
                self._change.notify()
            elif len(self._threads) < self._capacity and not self._closed:
                self._start_thread()
        return task

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._work, name="keepset", daemon=True)
        # Where there are no more threads to be had, the thread that waits for a task runs it.
        with suppress(RuntimeError, MemoryError):
            thread.start()
            self._threads.append(thread)

    def _work(self) -> None:
        while True:
            with self._change:
                self._idle += 1
                while not self._tasks and not self._closed:
                    self._change.wait()
                self._idle -= 1
                if self._closed:
                    return
                task = self._tasks.popleft()
            task.run()
            # Holding on to the last task would keep its result alive while this thread waits.
            del task

    def close(self) -> None:
        """Drop what has not begun, wait for what has, and end the threads."""
        with self._change:
            self._closed = True
            self._tasks.clear()
            self._change.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(_PATIENCE_S)


def map_at_once(call: Callable[[A], B], values: Iterable[A], threads: int) -> list[B]:
    """What a call gives for each value, in order, made by several threads.

    Executors of Python are refused to threads that go on when the main thread has ended.
    """
    with closing(ThreadPool()) as pool:
        pool.reserve(threads)
        tasks = [pool.submit(partial(call, value)) for value in values]
        return [task.result() for task in tasks]


class Lanes:
    """Runs the tasks of one stage in order, at most ``limit`` of them at a time.

    A thread that has finished a task goes on to the next by itself: it does not wait until the
    consumer has noticed.
    """

    def __init__(self, pool: ThreadPool, limit: int) -> None:
        self._pool, self.limit = pool, limit
        self._waiting: deque[Task] = deque()
        self._active = 0
        self._lock = threading.Lock()

    def add(self, task: Task) -> None:
        with self._lock:
            self._waiting.append(task)
            if self._active >= self.limit:
                return
            self._active += 1
        self._pool.submit(self._work)

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting or self._active > self.limit:
                    self._active -= 1
                    return
                task = self._waiting.popleft()
            task.run()
            del task  # its result is not ours to keep alive
