"""Kept data: how fast each tool writes and reads it, beside what NumPy and Arrow give by hand.

    python benchmarks/snapshot.py                    every workload and tool; kept as JSON
    python benchmarks/snapshot.py --only "W2 batch"  the jobs with that in their name
    python benchmarks/snapshot.py --only lance       Keepset, the yardsticks and that peer
    python benchmarks/snapshot.py --quick            to see that all of it runs

Each peer has an environment of its own, which is made when it is first needed. Data is written once
for each tool, below ``--folder``, which a later run may use again.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import report
from environments import python_of
from harness import BEST_PEER, HERE, Contender, Goal, Job, Settings, run
from kept.jobs import RANDOM_READS
from kept.workloads import WORKLOADS

KEEPSET = "keepset"
RESULTS = HERE / "results" / "snapshot.json"
FOLDER = HERE / ".data"

# Its environment, its module, and its tables: "" is the one called KEPT.
_PEERS = {
    "torch": ("torch", "torch_memmap", ("",)),
    "datasets": ("huggingface", "huggingface", ("", "ARROW")),
    "tf": ("tensorflow", "tensorflow", ("", "RECORDS", "CACHE", "SNAPSHOT")),
    "array_record": ("grain", "grain_array_record", ("", "GRAIN")),
    "litdata": ("litdata", "litdata_chunks", ("", "ONE_CHUNK")),
    "mosaic": ("mosaic", "mosaic", ("",)),
    "webdataset": ("webdataset", "webdataset_tar", ("",)),
    "lance": ("lance", "lance_file", ("",)),
    "zarr": ("zarr", "zarr_arrays", ("",)),
}
_YARDSTICKS = (
    Contender("numpy", "kept.numpy_memmap", "yardstick"),
    Contender("arrow", "kept.arrow_by_hand", "yardstick"),
)
COMPARED = ("numpy", "arrow", BEST_PEER)
_UNBEATEN = Goal(BEST_PEER, 1.0)
_SMALL = ("W2", "W5")


def contenders(names: Sequence[str]) -> list[Contender]:
    """The yardsticks, Keepset and these peers, with their environments made."""
    found = [*_YARDSTICKS, Contender(KEEPSET, "kept.keepset_snapshot", "subject")]
    for name in names:
        environment, module, tables = _PEERS[name]
        python = python_of(environment, lambda line: print(line, flush=True))
        if python is None:
            continue
        for table in tables:
            full = f"{name} {table.lower()}".strip().replace("_", " ")
            key = f"KEPT_{table}" if table else "KEPT"
            found.append(Contender(full, f"kept.{module}", "peer", python, key))
    return found


def _goals(workload: str, job: str) -> tuple[Goal, ...]:
    varies = workload.startswith("W3")
    match job:
        case "batches, copied":
            return (_UNBEATEN, Goal("arrow" if varies else "numpy", 0.8))
        case "elements":
            return (_UNBEATEN, Goal("arrow", 0.8 if varies else 1.0))
        case "elements, copied":
            return (_UNBEATEN, Goal("numpy", 0.7))
        case "shuffled":
            return (_UNBEATEN, Goal("numpy", 0.5 if workload in _SMALL else 0.7))
        case "singles":
            return (_UNBEATEN, Goal("numpy", 0.4))
        case "write from arrays":
            return (Goal(BEST_PEER, 1.6), Goal("numpy", 0.8))
        case "write from a generator":
            return (Goal(BEST_PEER, 1.6), Goal("numpy", 0.6))
    return (_UNBEATEN,)


_JOBS = (
    "elements",
    "elements, copied",
    "batches",
    "batches, copied",
    "shuffled",
    "buffered",
    "singles",
    "write from arrays",
    "write from a generator",
)


def _all_jobs() -> list[Job]:
    return [
        Job(
            f"{workload.name} {job}",
            f"{workload.what}: {job}",
            RANDOM_READS if job == "singles" else workload.rows,
            _goals(workload.name, job),
            shuffled=job in ("shuffled", "buffered"),
            check_elements=1000,
        )
        for workload in WORKLOADS.values()
        for job in _JOBS
    ]


def chosen(only: Sequence[str]) -> tuple[list[Job], list[str]]:
    """What the names ask for: jobs if any has the text in its name, else peers."""
    jobs: list[Job] = []
    peers: list[str] = []
    for text in only:
        found = [job for job in _all_jobs() if text in job.name]
        named = [] if found else [peer for peer in _PEERS if text in peer or text == "none"]
        if not found and not named:
            names = ", ".join([*_PEERS, *(job.name for job in _all_jobs())])
            raise SystemExit(f"error: {text!r} is in no name; choose from {names}")
        jobs += found
        peers += [] if text == "none" else named
    return jobs or _all_jobs(), peers if peers or "none" in only else list(_PEERS)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure kept data side by side.")
    named = 'a job, a peer, or "none" of the peers'
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help=named)
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each job (5)")
    parser.add_argument("--quick", action="store_true", help="too short to quote; nothing is kept")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the data is written")
    parser.add_argument("--output", type=Path, help="where to keep the results, full run or not")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    jobs, peers = chosen(given.only)
    given.folder.mkdir(parents=True, exist_ok=True)
    os.environ["KEEPSET_BENCH_FOLDER"] = str(given.folder.resolve())
    # A slow tool may take minutes to write a workload for the first time.
    settings = Settings(rounds=given.rounds, cap_s=1.0, patience_s=1200.0)
    if given.quick:
        settings = Settings(rounds=2, cap_s=0.2, patience_s=1200.0)
    taking_part = contenders(peers)
    result = run(jobs, taking_part, "KEPT", settings, lambda line: print(line, flush=True))
    print("\n" + report.table(jobs, taking_part, result, KEEPSET, COMPARED))
    for line in report.missed_goals(jobs, taking_part, result, KEEPSET):
        print(f"missed: {line}")
    whole = not given.only and settings.rounds >= 5 and not given.quick
    if path := given.output or (RESULTS if whole else None):
        report.keep(path, "kept data", jobs, taking_part, result, KEEPSET)
        print(f"kept in {path}")
    ours = [m for m in result.measurements if m.contender == KEEPSET]
    return 0 if all(m.status in ("ok", "not offered") for m in ours) else 1


if __name__ == "__main__":
    sys.exit(main())
