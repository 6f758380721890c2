"""Nursery: a process that has imported what workers need, and forks them.

To start an interpreter and to import NumPy takes longer than many a function that a worker is for,
and every pass has workers of its own. A fork of a process that has just done so takes milliseconds.
Nothing else ever happens in that process: it has one thread, holds no lock and runs no function of
the user's, so that a fork finds nothing that is half done. This is our end of it; ``nursing`` is
the other.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Protocol

from keepset.workers.nursing import HEADER, KILL, MADE, START, STATUS

_BOOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "boot.py")
# Several workers that each start a BLAS thread per core only get in each other's way, and starting
# those threads is half of what importing NumPy costs. Whoever sets these decides for himself.
_THREAD_LIMITS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_PATIENCE_S = 2.0
_STRETCH_S = 0.02
_OUTPUT = (1, 2)


class Process(Protocol):
    """A worker process: how it ended, and a way to end it. Safe to use from several threads."""

    def wait(self, timeout: float | None = None) -> int | None:
        """How it ended: its exit code, minus the signal that killed it, or None if none can tell.

        Raises:
            TimeoutError: It has not, within so many seconds.
        """

    def kill(self) -> None:
        """End it at once, unless it has ended."""


class _Fresh:
    """An interpreter of its own."""

    def __init__(self, descriptors: Sequence[int]) -> None:
        self._process = subprocess.Popen(
            [*_command(), "worker", *map(str, descriptors)],
            pass_fds=[fd for fd in descriptors if fd >= 0],
            stdin=subprocess.DEVNULL,
            env=_environment(),
            process_group=0,  # Ctrl-C in a terminal is the parent's to handle
        )

    def wait(self, timeout: float | None = None) -> int | None:
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(str(error)) from error

    def kill(self) -> None:
        self._process.kill()


class _Forked:
    """A fork of a nursery, which writes to ``status`` that it was made, and then how it ended."""

    def __init__(self, nursery: Nursery, number: int, status: int) -> None:
        self._nursery, self._number, self._status = nursery, number, status
        self._lock = threading.Lock()
        self._code: int | None = None
        try:
            if os.read(status, len(MADE)) != MADE:
                raise ConnectionError("the nursery is gone")
        except BaseException:
            os.close(status)
            raise

    def wait(self, timeout: float | None = None) -> int | None:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            # In short stretches, since several may wait.
            with self._lock:
                if self._status < 0 or self._is_said(_STRETCH_S):
                    return self._code
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"the process has not ended within {timeout} s")

    def _is_said(self, timeout: float) -> bool:
        ready = select.poll()  # not select, which takes no large descriptors
        ready.register(self._status, select.POLLIN)
        if not ready.poll(timeout * 1000):
            return False
        # Nothing is said if the nursery itself is gone.
        said = os.read(self._status, STATUS.size)
        self._code = STATUS.unpack(said)[0] if said else None
        os.close(self._status)
        self._status = -1
        return True

    def kill(self) -> None:
        self._nursery.kill(self._number)


class Nursery:
    """Starts workers by forking a process of their kind."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._ours, theirs = socket.socketpair()
        self._numbers, self._lock = count(), threading.Lock()
        try:
            self._process = subprocess.Popen(
                [*_command(), "nursery", str(theirs.fileno()), *modules],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=_environment(),
                process_group=0,
            )
        except BaseException:
            self._ours.close()
            raise
        finally:
            theirs.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def descriptor(self) -> int:
        return self._ours.fileno()

    def start(self, descriptors: Sequence[int]) -> Process:
        """Fork a worker.

        It has our folder, environment, module search path, cores and output of now.
        """
        wanted = [*descriptors, *(fd if _is_output(fd) else -1 for fd in _OUTPUT)]
        told, tells = os.pipe()
        try:
            number = next(self._numbers)
            facts = {
                "number": number,
                "has": [fd >= 0 for fd in wanted],
                "path": _search_path(),
                "folder": _folder(),
                "environment": _environment(),
                "cores": sorted(os.sched_getaffinity(0)),
            }
            given = [fd for fd in wanted if fd >= 0]
            self._say(START, json.dumps(facts).encode(), [tells, *given])
        except BaseException:
            os.close(told)
            raise
        finally:
            os.close(tells)
        # Waits until the nursery has imported everything, if it is new.
        return _Forked(self, number, told)

    def kill(self, number: int) -> None:
        with suppress(OSError):  # if it is gone, nobody can be asked
            self._say(KILL, struct.pack("<Q", number))

    def _say(self, what: bytes, body: bytes, descriptors: Sequence[int] = ()) -> None:
        with self._lock:
            try:
                socket.send_fds(self._ours, [HEADER.pack(what, len(body))], descriptors)
                self._ours.sendall(body)
            except BaseException:
                self._ours.close()  # what comes next would be taken for the rest of this
                raise

    def let_go(self) -> None:
        """For a fork of its owner: whether the nursery goes on is the owner's to decide."""
        self._ours.close()

    def close(self) -> None:
        """End it. Workers that are still there end by themselves, with us."""
        self._ours.close()
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


_lock = threading.Lock()
_open: dict[int, Nursery] = {}  # by the process that it belongs to: at most one


def start_process(descriptors: Sequence[int], modules: Sequence[str]) -> Process:
    """Start a worker that gets these descriptors, or -1 where there is none.

    It is forked by a nursery that is there, or by a new one that has imported ``modules``. It is an
    interpreter of its own where the system's libraries, or threads of BLAS, may not be forked.
    """
    if sys.platform != "linux" or any(os.environ.get(name, "1") != "1" for name in _THREAD_LIMITS):
        return _Fresh(descriptors)
    with _lock:
        nursery = _open.get(os.getpid())
        if nursery is not None:
            with suppress(ConnectionError):
                if nursery.descriptor >= 0:
                    return nursery.start(descriptors)
            _open.pop(os.getpid()).close()  # somebody has killed it, or interrupted us
        nursery = _open[os.getpid()] = Nursery(modules)
        return nursery.start(descriptors)


def belongings() -> tuple[int, int] | None:
    """The nursery of this process, and the descriptor of our end; None if it has none."""
    nursery = _open.get(os.getpid())
    return None if nursery is None else (nursery.pid, nursery.descriptor)


def close_nursery() -> None:
    """End the nursery of this process, if it has one; the next worker starts another."""
    with _lock:
        nursery = _open.pop(os.getpid(), None)
    if nursery is not None:
        nursery.close()


def _after_fork() -> None:
    global _lock  # somebody who is not here may hold it
    _lock = threading.Lock()
    while _open:
        _open.popitem()[1].let_go()


def _command() -> list[str]:
    """What starts an interpreter that runs a worker's first lines."""
    return [sys.executable, _BOOT, json.dumps(_search_path())]


def _search_path() -> list[str]:
    return [os.path.abspath(entry) for entry in sys.path]


def _is_output(descriptor: int) -> bool:
    """Whether output still goes there: if it was closed, any file may have got its number."""
    try:
        return os.get_inheritable(descriptor)  # which files that Python opens are not
    except OSError:
        return False


def _folder() -> str | None:
    try:
        return os.getcwd()
    except FileNotFoundError:  # somebody has removed it
        return None


def _environment() -> dict[str, str]:
    return {**dict.fromkeys(_THREAD_LIMITS, "1"), **os.environ}


os.register_at_fork(after_in_child=_after_fork)
atexit.register(close_nursery)
