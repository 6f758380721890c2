"""ProcessPool: worker processes for functions that hold the interpreter lock.

Workers are no forks of the user's process, and do not import the user's main script: functions come
to them by value. So no ``if __name__ == "__main__"`` is needed and no lock is inherited half-held.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from keepset.core.chunk import Chunk
from keepset.core.fingerprint import Difference
from keepset.errors import WorkerDiedError
from keepset.workers.agreement import Agreement
from keepset.workers.channel import Channel, Raised, Unreadable, UnreadableError, new_arena
from keepset.workers.nursery import start_process
from keepset.workers.unsendable import not_rebuilt, not_received, unsendable

_PATIENCE_S = 2.0


class Worker:
    """One process, and our end of the connection to it; ``title`` names its stage in errors."""

    def __init__(self, compute: Any, title: str, agreement: Agreement | None = None) -> None:
        self._title, self._agreement = title, agreement
        ours, theirs = socket.socketpair()
        ending, self._lifeline = os.pipe()
        arenas = [new_arena() for _ in range(3)]
        to_worker, from_worker, self._progress = arenas
        given = [arena.descriptor if arena else -1 for arena in arenas]
        descriptors = [theirs.fileno(), ending, *given]
        modules = ["numpy", "cloudpickle", "keepset.workers.child", "keepset.core.chunk"]
        modules.append("keepset.workers.agreement")
        try:
            self._process = start_process(descriptors, modules)
        except BaseException:
            ours.close()
            os.close(self._lifeline)
            for arena in arenas:
                if arena is not None:
                    arena.close()
            raise
        finally:
            theirs.close()
            os.close(ending)
        self._channel = Channel(ours, to_worker, from_worker)
        self._in_use = threading.Lock()
        # The thread whose call failed and the one that closes the pool may both end a worker.
        self._ending = threading.RLock()
        self._is_closed = False
        self._owner = os.getpid()
        try:
            self._send(compute)
        except BaseException:
            self.close()
            raise

    def _send(self, value: Any) -> None:
        try:
            self._channel.send(value)
        except (EOFError, OSError):
            raise
        except Exception as error:  # of pickling, where any object may fail in any way
            raise unsendable(value, self._title, error) from error

    def call(self, request: Any, position: int) -> Any:
        """Have the function work on a request that begins at the element ``position``."""
        with self._alive(position), self._in_use:
            agreement, self._agreement = self._agreement, None
            if agreement is not None:
                agreement.reach(self._ask)
            answer = self._ask((request, position))
        if isinstance(answer, Raised):
            raise answer.error
        return answer

    def agree(self, agreement: Agreement, position: int) -> None:
        """Have the worker compare more of what it is going to be sent."""
        with self._alive(position), self._in_use:
            agreement.reach(self._ask)

    @contextmanager
    def _alive(self, position: int) -> Iterator[None]:
        """Say at which element the process has died, if it does."""
        try:
            yield
        except (EOFError, ConnectionError) as error:
            raise WorkerDiedError(
                f"the worker process of {self._title} {self._cause()} at element "
                f"{position + self._row()}; look for a crash or a lack of memory in the function, "
                'or try executor="thread" to see it happen in this process'
            ) from error

    def _ask(self, question: Any) -> Any:
        self._send(question)
        try:
            answer = self._channel.receive()
        except UnreadableError as error:
            raise not_received(self._title, str(error)) from error
        if isinstance(answer, Unreadable):
            raise not_rebuilt(self._title, answer.reason)
        return answer

    def _cause(self) -> str:
        code = self._process.wait()
        if code is None:
            return "was lost"
        if code < 0:
            with suppress(ValueError):
                return f"was killed by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    def _row(self) -> int:
        with self._ending:
            if self._progress is None:
                return 0
            with self._progress.view(8) as shared:
                return int(struct.unpack_from("<q", shared)[0])

    def hang_up(self) -> None:
        """Tell the process to end, without waiting for it."""
        if os.getpid() != self._owner:
            return  # a fork of the owner must not end the owner's workers
        with self._ending:
            if not self._is_closed:
                self._channel.hang_up()
            if self._lifeline >= 0:
                os.close(self._lifeline)
                self._lifeline = -1

    def close(self) -> None:
        """End the process and let go of everything. Safe from several threads at once."""
        self.hang_up()
        if os.getpid() != self._owner:
            return
        with self._ending:
            if self._is_closed:
                return
            try:
                self._process.wait(_PATIENCE_S)
            except TimeoutError:
                self._process.kill()
                self._process.wait()
            # A call in another thread ends with the connection; its descriptors must not be
            # closed, and perhaps given to somebody else, before that.
            with self._in_use:
                self._channel.close()
            self._is_closed = True
            if self._progress is not None:
                self._progress.close()
                self._progress = None


class ProcessPool:
    """Worker processes that all run one function, started as calls come in."""

    def __init__(self, compute: Any, title: str, *, thorough: bool = False) -> None:
        self._compute, self._title = compute, title
        self._agreement = Agreement(compute.values(), travels=False, thorough=thorough)
        self._idle: list[Worker] = []
        self._all: list[Worker] = []
        self._lock = threading.Lock()
        self._closed = False

    @property
    def differences(self) -> Sequence[Difference]:
        """What workers have, and cannot be brought to have as this process has it."""
        return self._agreement.differences

    @property
    def unsent(self) -> Sequence[str]:
        """The variables among them that cannot be sent to a worker."""
        return self._agreement.unsent

    def call(self, chunk: Chunk, position: int) -> Any:
        """Compute a group of rows in a worker that is free, or in a new one."""
        worker = self._borrow()
        try:
            result = worker.call(chunk, position)
        except BaseException:
            with self._lock:
                if worker in self._all:
                    self._all.remove(worker)
            worker.close()
            raise
        with self._lock:
            self._idle.append(worker)
        return result

    def _borrow(self) -> Worker:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        worker = Worker(self._compute, self._title, self._agreement)
        with self._lock:
            if self._closed:
                worker.close()
                raise WorkerDiedError(f"{self._title} was closed while it was starting a worker")
            self._all.append(worker)
        return worker

    def close(self) -> None:
        """End all workers, also those in the middle of a call."""
        with self._lock:
            self._closed = True
            workers, self._all = self._all, []
        for worker in workers:
            worker.hang_up()
        for worker in workers:
            worker.close()
