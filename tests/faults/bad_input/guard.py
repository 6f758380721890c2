"""Guard: notes what no reader of a file may do: run code, or open files elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

# Events of Python's own audit hooks that reading a file has no use for.
_FORBIDDEN: Final = (
    *("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "pty.spawn"),
    *("pickle.find_class", "ctypes.dlopen", "socket.connect", "shutil.rmtree"),
)


class Guard:
    """Watches this process while a case is read."""

    def __init__(self, folder: Path) -> None:
        libraries = [*sys.path, sys.prefix, sys.base_prefix, os.path.dirname(os.__file__)]
        self._libraries = tuple(os.path.realpath(path) for path in libraries if path)
        self._system = ("/proc/", "/dev/null", "/dev/urandom", "/dev/zero", "/sys/")
        self._home = str(folder / "home")
        self._inside, self._may_open = "", False
        self._noted: list[str] = []
        sys.addaudithook(self._hear)

    @contextmanager
    def watching(self, case: Path, *, may_open: bool = False) -> Iterator[None]:
        self._inside, self._may_open = os.path.realpath(case), may_open
        try:
            yield
        finally:
            self._inside = ""

    def taken(self) -> list[str]:
        """What was noted since the last time."""
        noted, self._noted = self._noted, []
        return noted

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._inside:
            return
        if event in _FORBIDDEN:
            self._noted.append(f"{event}{arguments!r:.200}")
        elif event == "open" and not self._may_open and isinstance(arguments[0], str | bytes):
            path = os.path.realpath(os.fsdecode(arguments[0]))
            if not self._is_allowed(path):
                self._noted.append(f"open({path!r})")

    def _is_allowed(self, path: str) -> bool:
        # Writers sweep and list the folders around; what they make is inside.
        return path.startswith((self._inside, self._home, *self._system, *self._libraries))
