"""The autotuner on a made-up clock: it climbs while that helps, and only then."""

from __future__ import annotations

from collections.abc import Callable

from keepset.nodes.autotune import MOST_THREADS, Autotuner


def simulate(rate: Callable[[int], float], seconds: float = 20.0) -> Autotuner:
    """Run a tuner against a function that gives ``rate(level)`` rows per second."""
    now = [0.0]
    tuner = Autotuner(-1, cores=2, clock=lambda: now[0])
    while now[0] < seconds:
        step = 1 / rate(tuner.level)
        now[0] += step
        tuner.waited(step / 2)
        tuner.finished(1, tuner.level * step)
    return tuner


def test_functions_that_wait_get_many_calls() -> None:
    assert simulate(lambda level: 100 * level).level == MOST_THREADS


def test_functions_that_hold_the_lock_do_not_climb() -> None:
    assert simulate(lambda level: 100.0).level <= 2


def test_it_stops_where_more_calls_stop_helping() -> None:
    assert 4 <= simulate(lambda level: 100.0 * min(level, 8)).level <= 16


def test_a_consumer_that_never_waits_leaves_it_alone() -> None:
    now = [0.0]
    tuner = Autotuner(-1, cores=2, clock=lambda: now[0])
    for _ in range(1000):
        now[0] += 0.01
        tuner.finished(1, 0.001)
    assert tuner.level == 2


def test_a_fixed_number_stays() -> None:
    tuner = Autotuner(5, cores=2)
    for _ in range(1000):
        tuner.waited(1.0)
        tuner.finished(1, 0.1)
    assert (tuner.level, tuner.most) == (5, 5)


def test_cheap_functions_are_called_in_line() -> None:
    tuner = Autotuner(4, cores=2)
    tuner.finished(1000, 0.001)
    assert tuner.in_line
    for _ in range(20):
        tuner.finished(1, 0.01)
    assert not tuner.in_line
