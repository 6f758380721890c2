"""The table of goals: operation, goal, limit, best peer, Keepset, and whether it is met.

    python benchmarks/goals.py [RESULT.json ...]     by default those that are kept

Each operation has one line, with the workload that is furthest from its goal. Below the table stand
all goals that were missed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import A_SECOND, BEST_PEER, HERE, short
from report import aligned

KEEPSET = "keepset"
RESULTS = HERE / "results"
_YARDSTICKS = ("numpy", "numpy durable", "arrow", "codec")


@dataclass(frozen=True)
class Goal:
    """One goal of one job or figure, and what was found."""

    operation: str
    where: str
    asked: str
    found: str
    # How many times better than asked; below 1 it is missed.
    margin: float
    limit: str
    peer: str
    ours: str

    @property
    def met(self) -> bool:
        return self.margin >= 1

    def __str__(self) -> str:
        beside = ", ".join(part for part in (self.limit, self.peer) if part != "-")
        return f"{self.where}: {self.found}, goal {self.asked}; Keepset {self.ours}" + (
            f"; {beside}" if beside else ""
        )


def goals_of(facts: Mapping[str, Any]) -> list[Goal]:
    """All goals of a result file."""
    found = [goal for job in facts.get("jobs", ()) for goal in _goals_of_job(job)]
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for figure in facts.get("figures", ()):
        groups.setdefault(figure["name"], []).append(figure)
    for group in groups.values():
        found += _goals_of_figure(group)
    return found


def operation_of(name: str) -> str:
    """The name without its workload: all workloads share the line of an operation."""
    return re.sub(r"^W[1-5]t? ", "", name)


def _goals_of_job(job: Mapping[str, Any]) -> Iterable[Goal]:
    rates = {
        m["contender"]: m["elements_per_s"]["median"]
        for m in job["measurements"]
        if "elements_per_s" in m
    }
    peer = _best_peer(job["ratios"])
    for ratio in job["ratios"]:
        if ratio["goal"] is None:
            continue
        against = f"{ratio['against']} on {ratio['job']}" if ratio["job"] else ratio["against"]
        is_rate = ratio["against"] == A_SECOND
        is_limit = ratio["against"] in rates and not ratio["job"]
        limit = f"{ratio['against']} {short(rates[ratio['against']])}/s" if is_limit else "-"
        yield Goal(
            operation_of(job["name"]),
            job["name"],
            f">= {short(ratio['goal'])}/s" if is_rate else f">= {ratio['goal']:.3g}x {against}",
            f"{short(ratio['ratio'])}/s" if is_rate else f"{ratio['ratio']:.3g}x",
            ratio["ratio"] / ratio["goal"],
            limit,
            f"{peer} {short(rates[peer])}/s" if peer in rates else "-",
            f"{short(rates[KEEPSET])}/s",
        )


def _best_peer(ratios: Sequence[Mapping[str, Any]]) -> str:
    """Who it is: our ratio to it is that to the best peer."""
    plain = {ratio["against"]: ratio["ratio"] for ratio in ratios if ratio["job"] is None}
    best = plain.pop(BEST_PEER, None)
    return next((name for name, ratio in plain.items() if ratio == best), "")


def _goals_of_figure(group: Sequence[Mapping[str, Any]]) -> Iterable[Goal]:
    values = {figure["contender"]: figure["value"] for figure in group}
    for figure in group:
        if "goal" not in figure:
            continue
        value, unit = figure["value"], figure["unit"]
        most, against = figure["goal"]["maximum"], figure["goal"]["against"]
        if against is not None and against not in values:
            continue
        base = 1.0 if against is None else values[against]
        known = {figure["contender"], against, *_YARDSTICKS}
        peers = {name: v for name, v in values.items() if name not in known}
        peer = min(peers, key=lambda name: peers[name], default="")
        yield Goal(
            operation_of(figure["name"]),
            figure["name"],
            f"<= {most:g} {unit}" if against is None else f"<= {most:g}x {against}",
            f"{value / base:.3g}" + (f" {unit}" if against is None else "x"),
            most * base / value if value > 0 else float("inf"),
            "-" if against is None else f"{against} {base:.3g} {unit}",
            f"{peer} {peers[peer]:.3g} {unit}" if peer else "-",
            f"{value:.3g} {unit}",
        )


def table(goals: Sequence[Goal]) -> str:
    """One line per operation, and every missed goal below."""
    operations: dict[str, list[Goal]] = {}
    for goal in goals:
        operations.setdefault(goal.operation, []).append(goal)
    rows = [["operation", "goal", "limit", BEST_PEER, "Keepset", "met?"]]
    for operation, group in operations.items():
        worst = min(group, key=lambda goal: goal.margin)
        beside = [goal for goal in group if goal.where == worst.where]
        limit = next((goal.limit for goal in (worst, *beside) if goal.limit != "-"), "-")
        asked = ", ".join(dict.fromkeys(goal.asked for goal in beside))
        where = worst.where.removesuffix(operation).strip()
        ours = f"{worst.ours} ({worst.found}{f', {where}' if where else ''})"
        missed = sum(not goal.met for goal in group)
        verdict = f"{missed} of {len(group)} MISSED" if missed else "yes"
        rows.append([operation, asked, limit, worst.peer, ours, verdict])
    missed_goals = [goal for goal in goals if not goal.met]
    tally = f"{len(goals) - len(missed_goals)} of {len(goals)} goals are met."
    parts = [aligned(rows), tally, *(f"missed: {goal}" for goal in missed_goals)]
    return "\n".join([parts[0], "", *parts[1:]])


def main(paths: Sequence[Path]) -> None:
    goals: list[Goal] = []
    for path in paths:
        goals += goals_of(json.loads(path.read_text()))
    print(table(goals) if goals else "no goals were measured")


if __name__ == "__main__":
    kept = [RESULTS / "pipeline.json", RESULTS / "snapshot.json"]
    main([Path(path) for path in sys.argv[1:]] or [path for path in kept if path.exists()])
