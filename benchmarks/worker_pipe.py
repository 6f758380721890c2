"""Worker: our end of the pipe to the process that runs one contender."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Contender:
    """Somebody who takes part, with the module and, if it has several, the table of its jobs."""

    name: str
    module: str
    role: Literal["subject", "yardstick", "peer"]
    python: str = sys.executable
    table: str | None = None


class WorkerError(Exception):
    """A worker failed, died or stayed silent; its text becomes the measurement's status."""


class Worker:
    """Our end of the pipe to the process that runs one contender."""

    def __init__(
        self, contender: Contender, table: str, patience_s: float, cores: int | None = None
    ) -> None:
        self.contender, self._patience_s = contender, patience_s
        self._arguments = [contender.module, contender.table or table]
        if cores is not None:
            self._arguments.append(str(cores))
        self._process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed in close)
        self._unread = b""
        self.facts: dict[str, Any] = {}
        try:
            self._start()
        except WorkerError as error:
            self.facts = {"missing": str(error)}
        self._signal(signal.SIGSTOP)

    @property
    def missing(self) -> str | None:
        missing: str | None = self.facts.get("missing")
        return missing

    def offers(self, job: str) -> bool:
        return job in self.facts.get("jobs", ())

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Send one request and wait for its answer; the process runs only in between."""
        if self._process is None:
            self._start()
        self._signal(signal.SIGCONT)
        try:
            return self._ask(do, arguments)
        finally:
            self._signal(signal.SIGSTOP)

    def _signal(self, number: int) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def _ask(self, do: str, arguments: dict[str, Any]) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do} | arguments).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self._kill()
            raise WorkerError(f"failed (its process died; {self._last_words()})") from None
        answer = self._read(self._patience_s)
        if "error" in answer:
            raise WorkerError(f"failed ({answer['error']})")
        return answer

    def close(self) -> None:
        self._kill()
        self._log.close()

    def _start(self) -> None:
        self._unread = b""
        # A session of its own, so that the processes it starts can be ended with it.
        self._process = subprocess.Popen(
            [self.contender.python, str(HERE / "worker.py"), *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )
        self.facts = self._read(self._patience_s)

    def _read(self, timeout_s: float) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._unread:
            ready, _, _ = select.select([descriptor], [], [], timeout_s)
            if not ready:
                self._kill()
                raise WorkerError(f"timed out (silent for {timeout_s:g} s)")
            piece = os.read(descriptor, 1 << 16)
            if not piece:
                self._kill()
                raise WorkerError(f"failed (its process died; {self._last_words()})")
            self._unread += piece
        line, _, self._unread = self._unread.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else "no message"

    def _kill(self) -> None:
        if self._process is None:
            return
        self._signal(signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        self._process = None
