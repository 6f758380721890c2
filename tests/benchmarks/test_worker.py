"""benchmarks/worker.py: how many elements a measurement goes through."""

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("worker")


class Costs:
    """A job on a clock of its own, which says what beginning and each element take."""

    def __init__(self, worker: Any, begin_s: float, each_s: float, once_s: float) -> None:
        self._begin_s, self._each_s, self._now = begin_s, each_s, 0.0
        self._once_s = {1024: once_s}
        worker.perf_counter = lambda: self._now

    def __call__(self, n: int) -> Callable[[], Iterator[Any]]:
        def start() -> Iterator[Any]:
            self._now += self._begin_s + n * self._each_s + self._once_s.pop(n, 0.0)
            return iter(())

        return start


@pytest.fixture
def calibrated(worker: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, int]]:
    monkeypatch.setattr(worker, "perf_counter", worker.perf_counter)  # put back afterwards

    def calibrate(begin_s: float, each_s: float, once_s: float = 0.0) -> dict[str, int]:
        costs = Costs(worker, begin_s, each_s, once_s)
        found: dict[str, int] = worker.calibrate(costs, 1_000_000, 1.0)
        return found

    return calibrate


def test_a_fast_job_goes_through_everything_several_times(calibrated: Any) -> None:
    assert calibrated(0.0, 1e-8) == {"n": 1_000_000, "passes": 20}


def test_a_slow_job_is_cut_at_the_cap(calibrated: Any) -> None:
    assert calibrated(0.0, 1e-3) == {"n": pytest.approx(1024, rel=0.1), "passes": 1}


def test_a_slow_beginning_does_not_make_fast_elements_few(calibrated: Any) -> None:
    assert calibrated(0.5, 1e-6)["n"] == 1_000_000


def test_a_very_slow_beginning_gets_four_times_the_cap(calibrated: Any) -> None:
    assert calibrated(10.0, 1e-4)["n"] == pytest.approx(40_000, rel=0.1)


def test_one_slow_moment_does_not_make_a_fast_job_slow(calibrated: Any) -> None:
    assert calibrated(0.0, 1e-8, once_s=5.0)["n"] == 1_000_000
