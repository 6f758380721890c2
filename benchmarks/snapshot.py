"""Kept data: how fast each tool writes and reads it, beside what NumPy and Arrow give by hand.

    python benchmarks/snapshot.py                    every workload and tool; kept as JSON
    python benchmarks/snapshot.py --only "W2 batch"  the jobs with that in their name
    python benchmarks/snapshot.py --only lance       Keepset, the yardsticks and that peer
    python benchmarks/snapshot.py --quick            to see that all of it runs
    python benchmarks/snapshot.py --list             the names of jobs, peers and figures

Each peer has an environment of its own, which is made when it is first needed. Data is written once
for each tool, below ``--folder``, and removed when its workload is over, or kept for a later run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import report
from choosing import Choice, choose
from figures import Figure, lines
from fresh import first_elements, footprints, many_segments
from harness import BEST_PEER, HERE, Job, Run, Settings, run
from kept.workloads import data_folder
from kept_contenders import PEERS, contenders, jpeg_contenders
from kept_jobs import JPEGS, KEEPSET, all_jobs, workload_of
from limits import limits, throughput

RESULTS = HERE / "results" / "snapshot.json"
FOLDER = HERE / ".data"
COMPARED = ("numpy", "numpy durable", "arrow", "codec", BEST_PEER)
# Groups of figures that can be asked for by name.
FIGURES = ("fresh process", "many segments", "memory")


# Whose memory is looked at; the number of elements is that of the job.
_WATCHED = ("W1 batches", "W1 write from arrays", "W1 write from a generator")
# Whose first element is waited for.
_FIRST = "W5"


def tell(line: str) -> None:
    print(line, flush=True)


class Session:
    """One run of the benchmark: jobs, and the figures of each workload while its data is there."""

    def __init__(self, choice: Choice[Job], settings: Settings, folder: Path, keep: bool) -> None:
        self._choice, self._settings, self._folder, self._keep = choice, settings, folder, keep
        self.contenders = contenders(choice.peers)
        self.figures: list[Figure] = []

    def measure(self) -> Run:
        """Two runs as one: the expensive map has contenders of its own, with the same names."""
        jobs = self._choice.jobs
        plain = [job for job in jobs if job.whole is None]
        costly = [job for job in jobs if job.whole is not None]
        # Starting all of them takes a minute: not for nothing.
        taking_part = self.contenders if plain else []
        result = run(plain, taking_part, "KEPT", self._settings, tell, self._between)
        for workload in ("W1", _FIRST) if self._choice.figures else ():
            # Of a workload without jobs there may be figures, too.
            if not any(workload_of(job) == workload for job in plain):
                self._close(workload)
        if costly:
            peers = jpeg_contenders(self._choice.peers)
            result = result.joined(run(costly, peers, "KEPT", self._settings, tell))
            self._remove("W6")
        self.figures += [*sizes(result), *jpeg_figures(result)]
        if jobs:
            self.figures += throughput(jobs, result, KEEPSET, limits(self._folder))
        return result

    def _between(self, done: Sequence[Job]) -> None:
        names = [job.name for job in self._choice.jobs]
        last = names.index(done[-1].name)
        workload = workload_of(done[-1])
        if workload not in [workload_of(job) for job in self._choice.jobs[last + 1 :]]:
            self._close(workload)

    def _close(self, workload: str) -> None:
        """Find the figures of a workload, and remove what the tools made of it."""
        rounds, patience_s = min(3, self._settings.rounds), self._settings.patience_s
        wanted, found = self._choice.figures, self.figures
        if workload == _FIRST and "fresh process" in wanted:
            found += first_elements(self.contenders, rounds)
        if workload == _FIRST and "many segments" in wanted:
            found.append(many_segments(self._folder / "many segments", rounds))
        if "memory" in wanted:
            watched = [job for job in all_jobs() if job.name in _WATCHED]
            elements = {j.name: j.elements for j in watched if workload_of(j) == workload}
            found += footprints(self.contenders, elements, patience_s)
        self._remove(workload)

    def _remove(self, workload: str) -> None:
        if not self._keep:
            shutil.rmtree(data_folder() / workload, ignore_errors=True)


def sizes(result: Run) -> Iterator[Figure]:
    """What each tool takes on disk for the data that it reads in batches."""
    for measurement in result.measurements:
        if measurement.stored_bytes is not None and measurement.job.endswith(" batches"):
            ours = measurement.contender == KEEPSET and " gzip " in measurement.job
            goal = (1.1, "codec") if ours else (None, None)
            name = measurement.job.removesuffix(" batches") + ": size of an element"
            value, what = measurement.stored_bytes, "all files, divided by the number of elements"
            yield Figure(name, what, measurement.contender, value, "B", *goal)


def jpeg_figures(result: Run) -> Iterator[Figure]:
    """Of the expensive map: when the last element was there, and what ten epochs take."""
    first, later = "W6 first epoch", "W6 later batches"
    for measurement in result.measurements:
        name = measurement.contender
        for mark, seconds in measurement.marks.items():
            what = "the median; the epoch ends when all is kept"
            value = sorted(seconds)[len(seconds) // 2]
            yield Figure(f"{measurement.job}, {mark}", what, name, value, "s")
        rates = result.median(first, name), result.median(later, name)
        if measurement.job == first and rates[0] and rates[1]:
            value = JPEGS / rates[0] + 9 * JPEGS / rates[1]
            yield Figure("W6 ten epochs", "the first and nine later ones", name, value, "s")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure kept data side by side.")
    named = 'a job, a peer, a group of figures, or "none" of the peers'
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help=named)
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each job (5)")
    parser.add_argument("--quick", action="store_true", help="too short to quote; nothing is kept")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the data is written")
    parser.add_argument("--keep-data", action="store_true", help="leave it there: 30 GB if whole")
    parser.add_argument("--output", type=Path, help="where to keep the results, full run or not")
    parser.add_argument("--renew", action="store_true", help="take --output into the whole results")
    parser.add_argument("--list", action="store_true", help="print the names there are")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    if given.list:
        print("\n".join([*PEERS, *FIGURES, *(job.name for job in all_jobs())]))
        return 0
    choice = choose(given.only, all_jobs(), tuple(PEERS), FIGURES)
    given.folder.mkdir(parents=True, exist_ok=True)
    os.environ["KEEPSET_BENCH_FOLDER"] = str(given.folder.resolve())
    # A slow tool may take minutes to write a workload for the first time.
    settings = Settings(given.rounds, 0.7, patience_s=1200.0, peer_cap_s=0.15)
    jobs = choice.jobs
    if given.quick:
        settings = Settings(2, 0.2, patience_s=1200.0)
        jobs = [replace(job, elements=100, whole=1) if job.whole else job for job in jobs]
        choice = replace(choice, jobs=jobs)
    session = Session(choice, settings, given.folder, given.keep_data)
    result, taking_part, found = session.measure(), session.contenders, session.figures
    print("\n" + report.table(jobs, taking_part, result, KEEPSET, COMPARED))
    print("\n" + "\n".join(lines(found)))
    for line in report.missed_goals(jobs, taking_part, result, KEEPSET):
        print(f"missed: {line}")
    whole = not given.only and settings.rounds >= 5 and not given.quick
    if path := given.output or (RESULTS if whole else None):
        report.keep(path, "kept data", jobs, taking_part, result, KEEPSET, found)
        print(f"kept in {path}")
        if given.renew:
            report.renew(RESULTS, path)
            print(f"and taken into {RESULTS}")
    ours = [m for m in result.measurements if m.contender == KEEPSET]
    return 0 if all(m.status in ("ok", "not offered") for m in ours) else 1


if __name__ == "__main__":
    sys.exit(main())
