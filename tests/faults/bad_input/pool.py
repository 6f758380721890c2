"""Pool: reader processes that mutated files are given to, and what is too much for a case."""

from __future__ import annotations

import json
import os
import queue
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import keepset as ks

MOST_SECONDS: Final = 10.0
# Making and reading the sound files of a kind, on a machine that does other things as well.
_PREPARING_S: Final = 120.0
_FIXED_BYTES: Final = 200 << 20
_TIMES_THE_FILE: Final = 4
_AT_ONCE: Final = 500
_ROOT: Final = Path(__file__).parents[3]


@dataclass
class Tally:
    """What came of all cases."""

    mutations: int = 0
    refused: int = 0
    kinds: set[str] = field(default_factory=set)
    errors: dict[str, int] = field(default_factory=dict)
    slowest_s: float = 0.0
    largest_growth_bytes: int = 0
    failures: list[str] = field(default_factory=list)
    outcomes: dict[tuple[str, int | str], str | None] = field(default_factory=dict)

    def add(self, kind: str, seed: int | str, outcome: dict[str, Any]) -> None:
        self.mutations += 1
        self.kinds.add(kind)
        error = self.outcomes[kind, seed] = outcome.get("error")
        self.refused += error is not None
        if error is not None:
            self.errors[error] = self.errors.get(error, 0) + 1
        self.slowest_s = max(self.slowest_s, outcome.get("seconds", 0.0))
        self.largest_growth_bytes = max(self.largest_growth_bytes, outcome.get("grew", 0))
        self.failures += [f"{kind!r}, seed {seed!r}: {what}" for what in complaints(outcome)]

    def facts(self) -> dict[str, Any]:
        """What is printed, and appended to the file of tallies."""
        return {
            "mutations": self.mutations,
            "kinds": len(self.kinds),
            "read": self.mutations - self.refused,
            "refused": self.refused,
            "errors": dict(sorted(self.errors.items(), key=lambda pair: -pair[1])),
            "slowest_s": round(self.slowest_s, 2),
            "largest_growth_mb": round(self.largest_growth_bytes / 2**20, 1),
            "failures": len(self.failures),
        }


def complaints(outcome: dict[str, Any]) -> list[str]:
    """What a case did that none may do."""
    found = []
    if outcome.get("died"):
        found.append(str(outcome["died"]))
    if outcome.get("trace"):
        found.append(f"an error that is not Keepset's own:\n{outcome['trace']}")
    if outcome.get("seconds", 0.0) > MOST_SECONDS:
        found.append(f"took {outcome['seconds']:.1f} s")
    limit = _TIMES_THE_FILE * outcome.get("size", 0) + _FIXED_BYTES
    if outcome.get("grew", 0) > limit:
        found.append(f"took {outcome['grew'] >> 20} MB, more than {limit >> 20} MB")
    found += [f"did {what}" for what in outcome.get("forbidden", ())]
    return found


class Reader:
    """One process that reads cases, started anew when it has died of one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._said = b""

    def read(self, kind: str, seed: int | str) -> dict[str, Any]:
        if self._process is None:
            self._process = self._started()
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([kind, seed]).encode() + b"\n")
        self._process.stdin.flush()
        begun = self._line(_PREPARING_S)
        if begun is None:
            return self._ended("while the corpus was made")
        # The limit itself is judged by the process, whose clock does not count our waiting.
        outcome = self._line(MOST_SECONDS + 5)
        return self._ended("") if outcome is None else outcome

    def _started(self) -> subprocess.Popen[bytes]:
        place = tempfile.mkdtemp(dir=self._folder)
        home = Path(place) / "home"
        home.mkdir()
        # The library that is tested here, however this process came to it.
        library = str(Path(ks.__file__).parents[1])
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([library, os.environ.get("PYTHONPATH", "")]),
            "XDG_CACHE_HOME": str(home),
            "HOME": str(home),
        }
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.faults.bad_input.reader"]
        with open(Path(place) / "errors", "wb") as errors:
            self._errors = Path(place) / "errors"
            return subprocess.Popen(
                [*command, place],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=_ROOT,
                env=environment,
            )

    def _line(self, seconds: float) -> dict[str, Any] | None:
        """The next line that the process says; None if it says none in time or has ended."""
        assert self._process is not None
        assert self._process.stdout is not None
        deadline = time.monotonic() + seconds
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._said:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                return None
            piece = os.read(descriptor, 1 << 16)
            if not piece:
                return None
            self._said += piece
        line, _, self._said = self._said.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def _ended(self, when: str) -> dict[str, Any]:
        assert self._process is not None
        code = self._process.poll()
        if code is None:
            try:
                code = self._process.wait(0.5)  # it may be on its way out
            except subprocess.TimeoutExpired:
                code = None
        self.close()
        if code is None:
            return {"died": f"went on for more than {MOST_SECONDS:.0f} s {when}"}
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        said = self._errors.read_text(errors="replace")[-2500:]
        return {"died": f"ended the process with {name} {when}:\n{said}"}

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process, self._said = None, b""


def read_all(cases: Mapping[str, Iterable[int | str]], folder: Path, processes: int = 2) -> Tally:
    """Read mutated files, which are the seeds of each kind."""
    waiting: queue.SimpleQueue[tuple[str, list[int | str]]] = queue.SimpleQueue()
    for kind, seeds in cases.items():
        left = list(seeds)
        # As a rule one process reads all of a kind, for it has to make the sound files first.
        for start in range(0, len(left), _AT_ONCE):
            waiting.put((kind, left[start : start + _AT_ONCE]))
    tally, lock = Tally(), threading.Lock()

    def work() -> None:
        reader = Reader(folder)
        try:
            while True:
                kind, seeds = waiting.get(block=False)
                for seed in seeds:
                    outcome = reader.read(kind, seed)
                    with lock:
                        tally.add(kind, seed, outcome)
        except queue.Empty:
            return
        finally:
            reader.close()

    threads = [threading.Thread(target=work) for _ in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tally
