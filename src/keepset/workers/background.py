"""Background threads: a few for the whole process, for work that somebody will need soon.

They begin when there is work and end soon after there is none, so that nobody has to close them. A
job is anything with ``run``, and the threads do not keep it alive: what everybody has let go of
before it began is never done.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from contextlib import suppress
from contextvars import Context, copy_context
from typing import Protocol
from weakref import ref

# How long a thread waits for more work: starting one takes about a tenth of a millisecond.
_LINGER_S = 0.2
# How long the end of the process waits for work that has begun.
_PATIENCE_S = 5.0


class Job(Protocol):
    def run(self) -> object: ...


class BackgroundThreads:
    """At most ``limit`` daemon threads."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._jobs: deque[tuple[ref[Job], Context]] = deque()
        self._change = threading.Condition()
        self._threads: set[threading.Thread] = set()
        self._idle = 0
        self._closed = False

    def submit(self, job: Job) -> None:
        """Have a thread run the job, if one gets to it while somebody still holds it."""
        with self._change:
            if self._closed:
                return
            self._jobs.append((ref(job), copy_context()))
            if self._idle >= len(self._jobs):
                self._change.notify()
            elif len(self._threads) < self.limit:
                self._start_thread()

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._work, name="keepset-background", daemon=True)
        # Where there are no more threads to be had, whoever needs a job runs it.
        with suppress(RuntimeError, MemoryError):
            thread.start()
            self._threads.add(thread)

    def _work(self) -> None:
        try:
            while (waiting := self._next_job()) is not None:
                reference, context = waiting
                job = reference()
                if job is not None:
                    context.run(job.run)
                # Holding on to the last job would keep its result alive while this thread waits.
                del job, context, waiting
        finally:
            with self._change:
                self._threads.discard(threading.current_thread())
                # After an error nobody may be left for jobs that came meanwhile.
                if self._jobs and not self._closed and len(self._threads) < self.limit:
                    self._start_thread()

    def _next_job(self) -> tuple[ref[Job], Context] | None:
        """Wait for a job; None if there is none for a while, and the thread is to end."""
        with self._change:
            self._idle += 1
            while not self._jobs and not self._closed:
                if not self._change.wait(_LINGER_S):
                    break
            self._idle -= 1
            if self._jobs and not self._closed:
                return self._jobs.popleft()
            # Before anybody else looks: a job that comes now needs another thread.
            self._threads.discard(threading.current_thread())
            return None

    def close(self) -> None:
        """Take no more jobs, and wait for those that have begun."""
        with self._change:
            self._closed = True
            self._jobs.clear()
            self._change.notify_all()
            threads = list(self._threads)
        for thread in threads:
            thread.join(_PATIENCE_S)


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_shared: dict[int, BackgroundThreads] = {}
_lock = threading.Lock()


def background_threads(limit: int) -> BackgroundThreads:
    """The threads that everybody in this process shares who asks for this many."""
    with _lock:
        if limit not in _shared:
            _shared[limit] = BackgroundThreads(limit)
        return _shared[limit]


def _begin_anew() -> None:
    """A child of a fork has none of its parent's threads, and its locks may be held for ever."""
    global _shared, _lock
    _shared, _lock = {}, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


@atexit.register
def _close_all() -> None:
    # A daemon thread that comes back from a library while the interpreter is taken down can bring
    # the process down with it.
    for threads in list(_shared.values()):
        threads.close()
