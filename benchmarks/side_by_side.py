"""A benchmark of jobs that need no other data than files made beforehand: its command line."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import report
from harness import HERE, Contender, Job, Settings, run


@dataclass(frozen=True)
class Benchmark:
    """What is measured, by whom, and under which name the results are kept."""

    name: str
    topic: str
    jobs: Sequence[Job]
    contenders: Sequence[Contender]
    # Of the contenders' modules, which table has the jobs, unless a contender says so itself.
    table: str
    # Whom the table of ratios shows.
    compared: Sequence[str]
    rounds: int
    cap_s: float
    make_files: Callable[[], None]

    @property
    def subject(self) -> str:
        return next(each.name for each in self.contenders if each.role == "subject")

    def main(self) -> int:
        """Do what the command line says; 0 if our own jobs have run."""
        given = self._arguments()
        if given.list:
            others = [each.name for each in self.contenders if each.role != "subject"]
            print("\n".join([*others, *(job.name for job in self.jobs)]))
            return 0
        jobs = self._chosen(given.only)
        os.environ.setdefault("KEEPSET_BENCH_FOLDER", str(HERE / ".data"))
        self.make_files()
        settings = Settings(2, 0.3) if given.quick else Settings(given.rounds, self.cap_s)
        result = run(jobs, self.contenders, self.table, settings, _tell)
        print("\n" + report.table(jobs, self.contenders, result, self.subject, self.compared))
        for line in report.missed_goals(jobs, self.contenders, result, self.subject):
            print(f"missed: {line}")
        whole = not given.only and not given.quick and given.rounds >= 5
        if path := given.output or (HERE / "results" / f"{self.name}.json" if whole else None):
            report.keep(path, self.topic, jobs, self.contenders, result, self.subject)
            print(f"kept in {path}")
        ours = [m for m in result.measurements if m.contender == self.subject]
        return 0 if all(m.status == "ok" for m in ours) else 1

    def _arguments(self) -> argparse.Namespace:
        parser = argparse.ArgumentParser(description=f"Measure {self.topic} side by side.")
        parser.add_argument("--only", action="append", default=[], metavar="NAME")
        parser.add_argument("--rounds", type=int, default=self.rounds)
        parser.add_argument("--quick", action="store_true", help="too short to quote; not kept")
        parser.add_argument("--output", type=Path, help="where to keep the results")
        parser.add_argument("--list", action="store_true", help="print the names there are")
        return parser.parse_args()

    def _chosen(self, only: Sequence[str]) -> list[Job]:
        found = [job for job in self.jobs if not only or any(text in job.name for text in only)]
        if not found:
            raise SystemExit(f"error: no job has {only} in its name; --list shows all")
        return found


def _tell(line: str) -> None:
    print(line, flush=True)
