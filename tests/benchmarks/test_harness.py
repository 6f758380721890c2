"""benchmarks/harness.py with worker.py: processes that are checked, bound and timed in turns."""

import importlib
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

# Starts a dozen processes.
pytestmark = pytest.mark.slow

CONTENDER = '''
import os
import time

import numpy as np

DISTRIBUTIONS = ("numpy",)
NOTES = {"count": "by hand"}


class Slow:
    """Nothing on the clock, half a second off it, and a mark in between."""

    marks = {}

    def __call__(self):
        yield np.int64(1)
        self.marks["until here"] = 0.125

    def finish(self):
        time.sleep(0.5)


def count(n):
    return lambda: iter(np.arange(n))


def wrong(n):
    return lambda: iter(np.arange(n) + 1)


def cores(n):
    return lambda: iter([np.int64(len(os.sched_getaffinity(0)))])


count.note = "of all rows"
count.most = 500
count.stored_bytes = lambda: 77.5

RIGHT = {"count": count, "cores": cores, "slow": lambda n: Slow()}
OTHER = {"count": wrong, "cores": lambda n: lambda: iter([np.int64(1)])}
'''


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    (tmp_path / "a_contender.py").write_text(CONTENDER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("harness")


def measured(harness: Any, *jobs: Any, between: Any = lambda done: None) -> Any:
    contenders = [
        harness.Contender("right", "a_contender", "subject", table="RIGHT"),
        harness.Contender("other", "a_contender", "yardstick", table="OTHER"),
        harness.Contender("absent", "no_such_module", "peer"),
    ]
    settings = harness.Settings(rounds=2, cap_s=0.1)
    return harness.run(jobs, contenders, "RIGHT", settings, lambda line: None, between)


def test_a_wrong_output_is_not_timed_and_a_missing_library_is_named(harness: Any) -> None:
    run = measured(harness, harness.Job("count", "", 1000))
    right, other, absent = run.of("count")
    assert right.status == "ok"
    assert right.note == "by hand; of all rows"
    assert right.stored_bytes == 77.5
    assert right.n == 500  # no more than a pass has
    assert len(right.rates) == 2
    assert other.status.startswith("wrong output")
    assert other.rates == []
    assert absent.status == "not installed (no_such_module)"


def test_a_job_may_bind_its_processes_to_one_core(harness: Any) -> None:
    run = measured(harness, harness.Job("cores", "", 1, cores=1))
    right, other = run.of("cores")
    # The other one says 1 whatever happens, so that both are right only if the first is bound.
    assert (right.status, other.status) == ("ok", "ok")


def test_what_a_pass_leaves_behind_is_removed_off_the_clock(harness: Any) -> None:
    done: list[str] = []
    job = harness.Job("slow", "", 1, whole=1)
    run = measured(harness, job, between=lambda jobs: done.extend(job.name for job in jobs))
    right, _, _ = run.of("slow")
    assert len(right.seconds) == 1
    assert right.seconds[0] < 0.25
    assert right.marks == {"until here": [0.125]}
    assert done == ["slow"]
