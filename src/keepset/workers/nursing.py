"""What runs inside a nursery: imports, and then forks for those who ask.

Few imports, because each worker has them too. See ``nursery``.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

HEADER: Final = struct.Struct("<cI")  # what is wanted, and how many bytes tell more
START: Final = b"s"
KILL: Final = b"k"
MADE: Final = b"+"
STATUS: Final = struct.Struct("<i")
_MOST_DESCRIPTORS = 16


def main(control: int, modules: list[str]) -> None:
    """Serve until the owner closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the owner decides when to stop
    for name in modules:
        with suppress(ImportError):  # whoever needs it will say so
            import_module(name)
    Nursing(socket.socket(fileno=control)).serve()


class Nursing:
    """The processes that were forked, and whom to tell how they end."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._pids: dict[int, int] = {}  # by their numbers
        self._statuses: dict[int, int] = {}  # descriptors, by process
        self.woken, self._wakes = os.pipe()
        for end in (self.woken, self._wakes):
            os.set_blocking(end, False)
        # A handler has to be there for the wakeup to come.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Do what is asked for, for ever."""
        ready = select.poll()
        for end in (self._control.fileno(), self.woken):
            ready.register(end, select.POLLIN)
        while True:
            found = {end for end, _ in ready.poll()}
            if self.woken in found:
                with suppress(BlockingIOError):
                    os.read(self.woken, 4096)
                self._bury()
            if self._control.fileno() in found:
                self.answer()

    def answer(self) -> None:
        """Do what is asked for next."""
        try:
            head, given, _, _ = socket.recv_fds(self._control, HEADER.size, _MOST_DESCRIPTORS)
            if not head:
                os._exit(0)
            what, size = HEADER.unpack(head + self._exactly(HEADER.size - len(head)))
            body = self._exactly(size)
        except (EOFError, ConnectionError):
            os._exit(0)
        if what == KILL:
            # One that is not buried yet keeps its number, so that this kills nobody else.
            pid = self._pids.get(struct.unpack("<Q", body)[0])
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
            return
        facts = json.loads(body)
        status, *others = given
        try:
            pid = os.fork()
        except OSError:  # too many processes, or too little memory
            traceback.print_exc()
            _tell(status, MADE + STATUS.pack(os.EX_OSERR))
            others.append(status)
        else:
            if pid == 0:
                self._become_worker(facts, status, others)
            _tell(status, MADE)
            self._pids[facts["number"]], self._statuses[pid] = pid, status
        for end in others:
            os.close(end)

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self._control.recv(count - len(data))
            if not more:
                raise EOFError("the owner is gone")
            data += more
        return data

    def _bury(self) -> None:
        """Tell of those that have ended."""
        while self._statuses:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            told = self._statuses.pop(pid)
            self._pids = {number: each for number, each in self._pids.items() if each != pid}
            _tell(told, STATUS.pack(os.waitstatus_to_exitcode(status)))
            os.close(told)

    def _become_worker(self, facts: dict[str, Any], status: int, given: list[int]) -> None:
        """Never returns."""
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for end in (status, self.woken, self._wakes, *self._statuses.values()):
                os.close(end)
            self._control.close()
            os.setpgid(0, 0)
            left = iter(given)
            *descriptors, out, err = [next(left) if has else -1 for has in facts["has"]]
            for end, place in ((out, 1), (err, 2)):
                if end >= 0:
                    os.dup2(end, place)
                    os.close(end)
            with suppress(OSError):  # they may have been taken away meanwhile
                os.sched_setaffinity(0, facts["cores"])
            if facts["folder"] is not None:
                os.chdir(facts["folder"])
            os.environ.clear()
            os.environ.update(facts["environment"])
            sys.path[:] = facts["path"]
            import_module("keepset.workers.child").main(*descriptors)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(1)


def _tell(status: int, what: bytes) -> None:
    with suppress(BrokenPipeError):  # nobody wants to know any more
        os.write(status, what)
