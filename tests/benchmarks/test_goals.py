"""benchmarks/goals.py: one line per operation, and every missed goal."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def goals(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("goals")


def job(name: str, ours: float, limit: float, peer: float) -> dict[str, Any]:
    rates = {"numpy": limit, "keepset": ours, "zarr": peer}
    measurements = [
        {"contender": who, "status": "ok", "elements_per_s": {"median": rate}}
        for who, rate in rates.items()
    ]
    ratios = [
        {"against": "numpy", "ratio": ours / limit, "goal": 0.8, "job": None},
        {"against": "best peer", "ratio": ours / peer, "goal": 1.0, "job": None},
        {"against": "zarr", "ratio": ours / peer, "goal": None, "job": None},
    ]
    return {"name": name, "measurements": measurements, "ratios": ratios}


def figure(contender: str, value: float, goal: dict[str, Any] | None = None) -> dict[str, Any]:
    facts = {"name": "W1: memory", "contender": contender, "value": value, "unit": "MB"}
    return facts if goal is None else facts | {"goal": goal}


def test_an_operation_shows_its_worst_workload(goals: ModuleType) -> None:
    facts = {"jobs": [job("W1 batches", 900, 1000, 300), job("W2 batches", 400, 1000, 300)]}
    head, _, line, *rest = goals.table(goals.goals_of(facts)).splitlines()
    assert head.split() == ["operation", "goal", "limit", "best", "peer", "Keepset", "met?"]
    assert line.startswith("batches")
    assert "numpy 1.0k/s" in line
    assert "zarr 300/s" in line
    assert "400/s (0.4x, W2)" in line
    assert line.endswith("1 of 4 MISSED")
    assert rest[1] == "3 of 4 goals are met."
    assert rest[2:] == [
        "missed: W2 batches: 0.4x, goal >= 0.8x numpy; Keepset 400/s; numpy 1.0k/s, zarr 300/s"
    ]


@pytest.mark.parametrize(
    ("goal", "value", "met"),
    [
        ({"against": None, "maximum": 300.0}, 299.0, True),
        ({"against": None, "maximum": 300.0}, 301.0, False),
        ({"against": "numpy", "maximum": 1.5}, 149.0, True),
        ({"against": "numpy", "maximum": 1.5}, 151.0, False),
        ({"against": None, "maximum": 300.0}, 0.0, True),
    ],
)
def test_a_figure_may_have_a_most(
    goals: ModuleType, goal: dict[str, Any], value: float, met: bool
) -> None:
    facts = {"figures": [figure("numpy", 100.0), figure("keepset", value, goal)]}
    (found,) = goals.goals_of(facts)
    assert found.met is met


def test_a_goal_against_somebody_who_did_not_run_is_left_out(goals: ModuleType) -> None:
    alone = figure("keepset", 1.0, {"against": "numpy", "maximum": 1.5})
    assert goals.goals_of({"figures": [alone]}) == []


@pytest.mark.parametrize(("rate", "met"), [(1_600_000, True), (1_400_000, False)])
def test_a_rate_may_have_a_least(goals: ModuleType, rate: float, met: bool) -> None:
    facts = job("W2 elements", rate, rate, rate)
    facts["ratios"] = [{"against": "a second", "ratio": rate, "goal": 1_500_000, "job": None}]
    (found,) = goals.goals_of({"jobs": [facts]})
    assert found.met is met
    assert (found.asked, found.ours) == (">= 1.5M/s", goals.short(rate) + "/s")
