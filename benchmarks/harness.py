"""Measure contenders side by side: check their outputs, then time them in interleaved rounds.

Each contender lives in a worker process of its own (``worker.py``), so that no library's settings
disturb another. All of them stay alive while they take turns, but only the one whose turn it is
runs: the others are stopped, since some keep threads that wake up now and then. A round runs each
contender once; the order rotates from round to round. Rates are medians with their spread. A ratio
is the median of the ratios of each round, whose two sides were measured seconds apart, so that a
machine that is slow for a minute is slow for both.
"""

from __future__ import annotations

import json
import os
import platform
import select
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class Goal:
    """Our rate must be at least ``minimum`` times that of ``against``.

    ``against`` is a contender, or ``BEST_PEER``; with ``job`` its rate there is taken.
    """

    against: str
    minimum: float
    job: str | None = None


BEST_PEER = "best peer"


@dataclass(frozen=True)
class Job:
    """One thing to measure. Jobs with the same ``group`` share their rounds."""

    name: str
    what: str
    elements: int
    goals: tuple[Goal, ...] = ()
    shuffled: bool = False
    check_elements: int = 10_000
    cap_s: float | None = None
    group: str = ""


@dataclass(frozen=True)
class Settings:
    """How long to measure."""

    rounds: int = 9
    cap_s: float = 2.0
    check_elements: int = 10_000
    # For one answer of a worker; a contender that is silent for longer is given up on that job.
    patience_s: float = 120.0


@dataclass
class Measurement:
    """What one contender did on one job; without rates, ``status`` says why."""

    contender: str
    job: str
    status: str = "ok"
    n: int = 0
    passes: int = 1
    note: str = ""
    seconds: list[float] = field(default_factory=list)

    @property
    def rates(self) -> list[float]:
        """Elements per second, one per round."""
        if self.status != "ok":
            return []
        return [self.n * self.passes / seconds for seconds in self.seconds]

    @property
    def median(self) -> float | None:
        return statistics.median(self.rates) if self.rates else None

    def as_json(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"contender": self.contender, "status": self.status}
        if self.note:
            facts["note"] = self.note
        if self.rates:
            facts |= {"n": self.n, "passes": self.passes, "seconds": self.seconds}
            facts["elements_per_s"] = {
                "median": self.median,
                "min": min(self.rates),
                "max": max(self.rates),
            }
        return facts


class WorkerError(Exception):
    """A worker failed, died or stayed silent; its text becomes the measurement's status."""


class Worker:
    """Our end of the pipe to the process that runs one contender."""

    def __init__(self, contender: Contender, table: str, settings: Settings) -> None:
        self.contender, self._table, self._settings = contender, table, settings
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
        answer = self._read(self._settings.patience_s)
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
            [self.contender.python, str(HERE / "worker.py"), self.contender.module, self._table],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )
        self.facts = self._read(self._settings.patience_s)

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


@dataclass
class Run:
    """Everything that was measured, and on what."""

    settings: Settings
    machine: dict[str, Any]
    versions: dict[str, dict[str, str]]
    measurements: list[Measurement]

    def of(self, job: str) -> list[Measurement]:
        return [m for m in self.measurements if m.job == job]

    def rates(self, job: str, contender: str) -> list[float]:
        """One per round; none if the job could not be done."""
        found = (m.rates for m in self.of(job) if m.contender == contender)
        return next(found, [])

    def median(self, job: str, contender: str) -> float | None:
        rates = self.rates(job, contender)
        return statistics.median(rates) if rates else None

    def ratio(self, ours: tuple[str, str], theirs: tuple[str, str]) -> float | None:
        """The median over the rounds of one rate over another; each is a job and a contender."""
        pairs = list(zip(self.rates(*ours), self.rates(*theirs), strict=False))
        return statistics.median(a / b for a, b in pairs) if pairs else None


def run(
    jobs: Sequence[Job],
    contenders: Sequence[Contender],
    table: str,
    settings: Settings,
    tell: Callable[[str], None],
) -> Run:
    """Measure every job with every contender; ``tell`` hears a line per finding."""
    facts = machine()
    with ExitStack() as stack:
        workers = []
        for contender in contenders:
            worker = Worker(contender, contender.table or table, settings)
            stack.callback(worker.close)
            workers.append(worker)
        versions = {w.contender.name: w.facts.get("versions", {}) for w in workers}
        for worker in workers:
            known = ", ".join(f"{k} {v}" for k, v in versions[worker.contender.name].items())
            tell(f"{worker.contender.name}: {worker.missing or known}")
        measurements = []
        for group in _groups(jobs):
            for measurement in _measure_group(group, workers, settings):
                tell(_line(measurement))
                measurements.append(measurement)
    return Run(settings, facts, versions, measurements)


def _groups(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.group or job.name, []).append(job)
    yield from groups.values()


Entry = tuple[Job, Worker, Measurement]


def _measure_group(
    group: list[Job], workers: Sequence[Worker], settings: Settings
) -> list[Measurement]:
    entries: list[Entry] = [
        (job, worker, Measurement(worker.contender.name, job.name))
        for job in group
        for worker in workers
    ]
    for job in group:
        _check([entry for entry in entries if entry[0] is job], settings)
    for entry in entries:
        _calibrate(entry, settings)
    for number in range(settings.rounds):
        first = number % len(entries)
        for entry in entries[first:] + entries[:first]:
            _time(entry)
    for worker in workers:
        if not worker.missing:
            with suppress(WorkerError):
                worker.ask("forget")
    return [measurement for _, _, measurement in entries]


def _check(entries: list[Entry], settings: Settings) -> None:
    """Compare every output with that of the first contender that has the job."""
    expected: str | None = None
    for job, worker, measurement in entries:
        if worker.missing:
            measurement.status = worker.missing
            continue
        if not worker.offers(job.name):
            measurement.status = "not offered"
            continue
        measurement.note = worker.facts["notes"].get(job.name, "")
        n = min(job.elements, job.check_elements, settings.check_elements)
        try:
            answer = worker.ask("check", job=job.name, n=n, shuffled=job.shuffled)
        except WorkerError as error:
            measurement.status = str(error)
            continue
        expected = expected or answer["digest"]
        if answer["digest"] != expected:
            measurement.status = f"wrong output ({answer['digest']} instead of {expected})"
        elif job.shuffled and answer["moved"] < 0.5:
            measurement.status = f"wrong output (only {answer['moved']:.0%} of the rows moved)"


def _calibrate(entry: Entry, settings: Settings) -> None:
    job, worker, measurement = entry
    if measurement.status != "ok":
        return
    try:
        cap_s = job.cap_s or settings.cap_s
        answer = worker.ask("calibrate", job=job.name, n=job.elements, cap_s=cap_s)
        measurement.n, measurement.passes = answer["n"], answer["passes"]
    except WorkerError as error:
        measurement.status = str(error)


def _time(entry: Entry) -> None:
    job, worker, measurement = entry
    if measurement.status != "ok":
        return
    try:
        answer = worker.ask("time", job=job.name, n=measurement.n, passes=measurement.passes)
        measurement.seconds.append(answer["seconds"])
    except WorkerError as error:
        measurement.status = str(error)


def _line(measurement: Measurement) -> str:
    head = f"{measurement.job:<26} {measurement.contender:<12}"
    if not measurement.rates:
        return f"{head} {measurement.status}"
    rates = measurement.rates
    spread = f"{short(min(rates))} .. {short(max(rates))}"
    return f"{head} {short(measurement.median):>7}/s  ({spread}, n={measurement.n:,})"


def short(rate: float | None) -> str:
    """A rate in three or four characters: 930, 4.1k, 25.3M."""
    if rate is None:
        return "-"
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= size * 0.9995:
            value = rate / size
            return f"{value:.0f}{unit}" if value >= 99.95 else f"{value:.1f}{unit}"
    return f"{rate:.0f}"


def machine() -> dict[str, Any]:
    """What a reader needs to place the figures; nothing that names the machine."""
    return {
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
        "cpus_usable": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
    }


def _cpu_model() -> str:
    with suppress(OSError), open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
