"""A terminal for a command to run at, with somebody who answers its question."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from typing import Any


def at_a_terminal(typed: str, *arguments: Any, **variables: str) -> tuple[int, str]:
    """Run a command at a terminal of 80 columns; its exit code, and all that it shows."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", **variables}
    command = [sys.executable, "-m", "keepset", *map(str, arguments)]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as running:
        os.close(theirs)
        os.write(ours, typed.encode())
        shown = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    return running.returncode, shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""  # as Linux says that the other end was closed
