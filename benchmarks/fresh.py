"""How long a fresh process takes to its first element, and how much memory a pass takes in one."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter

from figures import Figure
from harness import HERE, Contender
from kept.workloads import data_folder
from worker_pipe import Worker, WorkerError

IMPORTS = "import numpy, pyarrow"
_FIRST = "first element of a fresh process"
_FIRST_OF_STAGE = "first element of a fresh process, snapshot"
_FIRST_JOB = "W5 elements"
_MANY = "first element of 1,000 segments"


def first_elements(contenders: Sequence[Contender], rounds: int) -> Iterator[Figure]:
    """Seconds from the start of the interpreter, imports included; all of them take turns."""
    script = str(HERE / "first_element.py")
    commands = {(_FIRST, IMPORTS): [sys.executable, script]}
    stage = [sys.executable, script, "--stage", str(data_folder() / "stage")]
    commands[_FIRST_OF_STAGE, "keepset"] = stage
    for each in contenders:
        command = [each.python, script, each.module, each.table or "KEPT", _FIRST_JOB]
        if each.role == "subject":
            _seconds(command)  # which makes the data
            command = [each.python, script, "--load", str(data_folder() / "W5" / each.name)]
        commands[_FIRST, each.name] = command
    seconds: dict[tuple[str, str], list[float]] = {key: [] for key in commands}
    for number in range(rounds + 1):
        for key, command in commands.items():
            taken = _seconds(command)
            # The first round brings files into the page cache.
            if taken is not None and number:
                seconds[key].append(taken)
    seconds[_FIRST_OF_STAGE, IMPORTS] = seconds[_FIRST, IMPORTS]
    for (figure, name), found in seconds.items():
        if found:
            goal = (1.5, IMPORTS) if name == "keepset" else (None, None)
            what = "from the start of the interpreter, imports included"
            yield Figure(figure, what, name, statistics.median(found), "s", *goal)


def _seconds(command: list[str]) -> float | None:
    """None if the tool has no such job, or fails."""
    began = perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_environment()
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        taken = perf_counter() - began
    return taken if said == b"there\n" else None


def _environment() -> dict[str, str]:
    """Ours, but Python keeps compiled modules, as it does for users."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}


def many_segments(folder: Path, rounds: int) -> Figure:
    command = [sys.executable, str(HERE / "many_segments.py"), str(folder)]
    found = []
    for _ in range(rounds + 1):
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, env=_environment()
        )
        found.append(float(done.stdout) * 1000)
    what = "opening and the first element, after import, in a fresh process"
    return Figure(_MANY, what, "keepset", statistics.median(found[1:]), "ms", 50.0)


def footprints(
    contenders: Sequence[Contender], jobs: dict[str, int], patience_s: float
) -> Iterator[Figure]:
    """The memory that each job takes with so many elements, in a process of its own."""
    for job, n in jobs.items():
        for contender in contenders:
            worker = Worker(contender, "KEPT", patience_s)
            try:
                if not worker.missing and worker.offers(job):
                    found = worker.ask("footprint", job=job, n=n)
                    goal = 300.0 if contender.role == "subject" else None
                    more, name = found["anonymous_mb"], contender.name
                    what = "the most RssAnon during a pass, over what it was before"
                    yield Figure(f"{job}: anonymous memory", what, name, more, "MB", goal)
                    what = "VmHWM, with the library and the pages of mapped files"
                    resident = found["resident_mb"]
                    yield Figure(f"{job}: resident memory", what, name, resident, "MB")
            except WorkerError as error:
                print(f"{job}: memory of {contender.name}: {error}", flush=True)
            finally:
                worker.close()
