"""ThreadPool: threads shared by all stages of one run.

A task that nobody has begun is run by whoever waits for it. So a stage that waits inside another
stage's task can never block for want of a free thread, and a result that is needed at once does
not pay for waking somebody up.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

# How long closing waits for a function that is still running; its thread is left behind after that.
_PATIENCE_S = 5.0
# How long threads get to begin one of several tasks before the waiting thread takes one itself.
_HELP_AFTER_S = 0.05


class Task:
    """A call that is made once, by a pool thread or by the thread that needs its result."""

    __slots__ = ("_begun", "_call", "_done", "_signal", "error", "value")

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
        if not self._done.is_set():
            self.run()
            self._done.wait()
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
        if any(task.has_begun for task in tasks):
            signal.wait()
        elif not signal.wait(_HELP_AFTER_S) and not any(task.has_begun for task in tasks):
            tasks[0].run()  # every thread may be busy with somebody who waits for us


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

    def submit(self, call: Callable[[], Any], signal: threading.Event | None = None) -> Task:
        task = Task(call, signal)
        self.enqueue(task)
        return task

    def enqueue(self, task: Task) -> None:
        """Have a thread run ``task``, unless somebody else is quicker."""
        with self._change:
            self._tasks.append(task)
            if self._idle >= len(self._tasks):
                self._change.notify()
            elif len(self._threads) < self._capacity and not self._closed:
                self._start_thread()

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._work, name="keepset", daemon=True)
        self._threads.append(thread)
        thread.start()

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
