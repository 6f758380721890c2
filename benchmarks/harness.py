"""Measure contenders side by side: check their outputs, then time them in interleaved rounds.

Each contender lives in a worker process of its own (``worker.py``), so that no library's settings
disturb another. All of them stay alive while they take turns, but only the one whose turn it is
runs: the others are stopped, since some keep threads that wake up now and then. A round runs each
contender once; the order rotates from round to round. Rates are medians with their spread. A ratio
is the median of the ratios of each round, whose two sides were measured seconds apart, so that a
machine that is slow for a minute is slow for both.
"""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

from worker_pipe import HERE, Contender, Worker, WorkerError

__all__ = ["BEST_PEER", "HERE", "Contender", "Goal", "Job", "Run", "Settings", "run", "short"]


@dataclass(frozen=True)
class Goal:
    """Our rate must be at least ``minimum`` times that of ``against``.

    ``against`` is a contender, ``BEST_PEER``, or ``A_SECOND`` for a rate that needs no other; with
    ``job`` its rate there is taken.
    """

    against: str
    minimum: float
    job: str | None = None


BEST_PEER = "best peer"
A_SECOND = "a second"


@dataclass(frozen=True)
class Job:
    """One thing to measure. Jobs with the same ``group`` share their rounds.

    ``cores`` binds the processes to so many. A ``whole`` job is not cut short: all its elements
    are gone through in every round, however long it takes, in at most so many rounds.
    """

    name: str
    what: str
    elements: int
    goals: tuple[Goal, ...] = ()
    shuffled: bool = False
    check_elements: int = 10_000
    cap_s: float | None = None
    group: str = ""
    cores: int | None = None
    whole: int | None = None
    # What an element takes in memory, to tell bytes per second.
    element_bytes: float | None = None


@dataclass(frozen=True)
class Settings:
    """How long to measure."""

    rounds: int = 9
    cap_s: float = 2.0
    check_elements: int = 10_000
    # For one answer of a worker; a contender that is silent for longer is given up on that job.
    patience_s: float = 120.0
    # For peers, if they are given less time; what they are far from needs no fine measurement.
    peer_rounds: int | None = None
    peer_cap_s: float | None = None

    def rounds_of(self, job: Job, contender: Contender) -> int:
        limits = [self.rounds, job.whole]
        if contender.role == "peer":
            limits.append(self.peer_rounds)
        return min(limit for limit in limits if limit is not None)

    def cap_of(self, job: Job, contender: Contender) -> float:
        if job.cap_s is None and contender.role == "peer":
            return self.peer_cap_s or self.cap_s
        return job.cap_s or self.cap_s


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
    # Seconds from the beginning of each round to a point that the job names.
    marks: dict[str, list[float]] = field(default_factory=dict)
    # Of one element, in the files that the job reads, if there are any.
    stored_bytes: float | None = None

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
        if self.marks:
            facts["marks"] = self.marks
        if self.rates:
            facts |= {"n": self.n, "passes": self.passes, "seconds": self.seconds}
            facts["elements_per_s"] = {
                "median": self.median,
                "min": min(self.rates),
                "max": max(self.rates),
            }
        return facts


@dataclass
class Run:
    """Everything that was measured, and on what."""

    settings: Settings
    machine: dict[str, Any]
    versions: dict[str, dict[str, str]]
    measurements: list[Measurement]

    def joined(self, other: Run) -> Run:
        """This run with what another one measured afterwards."""
        versions = {
            name: self.versions.get(name, {}) | other.versions.get(name, {})
            for name in self.versions | other.versions
        }
        return Run(self.settings, self.machine, versions, self.measurements + other.measurements)

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
    between: Callable[[Sequence[Job]], None] = lambda done: None,
) -> Run:
    """Measure every job with every contender; ``tell`` hears a line per finding.

    ``between`` is called with the jobs that were measured last, while all workers stand still.
    """
    facts = machine()
    with ExitStack() as stack:
        crews = _Crews(contenders, table, settings, stack)
        workers = crews.bound_to(None)
        versions = {w.contender.name: w.facts.get("versions", {}) for w in workers}
        for worker in workers:
            known = ", ".join(f"{k} {v}" for k, v in versions[worker.contender.name].items())
            tell(f"{worker.contender.name}: {worker.missing or known}")
        measurements = []
        for group in _groups(jobs):
            for measurement in _measure_group(group, crews, settings):
                if measurement.status != "not offered":
                    tell(_line(measurement))
                measurements.append(measurement)
            between(group)
    return Run(settings, facts, versions, measurements)


class _Crews:
    """One worker for each contender, and others of those that a job binds to fewer cores."""

    def __init__(
        self, contenders: Sequence[Contender], table: str, settings: Settings, stack: ExitStack
    ) -> None:
        self._contenders, self._table, self._stack = contenders, table, stack
        self._patience_s = settings.patience_s
        self._crews: dict[int | None, list[Worker]] = {}

    def bound_to(self, cores: int | None) -> list[Worker]:
        if cores not in self._crews:
            crew = self._crews[cores] = []
            for contender in self._contenders:
                # Peers are measured with all the cores there are.
                if cores is None or contender.role != "peer":
                    worker = Worker(contender, self._table, self._patience_s, cores)
                    self._stack.callback(worker.close)
                    crew.append(worker)
        return self._crews[cores]


def _groups(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.group or job.name, []).append(job)
    yield from groups.values()


Entry = tuple[Job, Worker, Measurement]


def _measure_group(group: list[Job], crews: _Crews, settings: Settings) -> list[Measurement]:
    entries: list[Entry] = [
        (job, worker, Measurement(worker.contender.name, job.name))
        for job in group
        for worker in crews.bound_to(job.cores)
    ]
    for job in group:
        _check([entry for entry in entries if entry[0] is job], settings)
    for entry in entries:
        _calibrate(entry, settings)
    for number in range(settings.rounds):
        first = number % len(entries)
        for entry in entries[first:] + entries[:first]:
            if number < settings.rounds_of(entry[0], entry[1].contender):
                _time(entry)
    for worker in {id(worker): worker for _, worker, _ in entries}.values():
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
        measurement.stored_bytes = answer.get("stored_bytes")
        if answer["digest"] is None:
            # A limit that does a part of the work gives nothing that could be compared.
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
        if job.whole is not None:
            measurement.n = job.elements
            return
        cap_s = settings.cap_of(job, worker.contender)
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
        for name, seconds in answer["marks"].items():
            measurement.marks.setdefault(name, []).append(seconds)
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
