"""Thousands of schedules in the simulated world, and those that once broke its law.

KEEPSET_SCHEDULES says how many, KEEPSET_SEED where to begin. A schedule that breaks the law is
shrunk and printed as JSON: add it to ``found.jsonl``, so that it is tried for ever. The plans there
are what counts; what a seed means changes whenever ``plan_of`` does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.faults.simulated_world.old_defects import DEFECTS
from tests.faults.simulated_world.plan import Plan, plan_from_json, plan_of
from tests.faults.simulated_world.runs import Tally, broken_by, trace
from tests.faults.simulated_world.shrinking import shrunk
from tests.faults.simulated_world.world import World, patched
from tests.faults.tally import note_counts

SCHEDULES = int(os.environ.get("KEEPSET_SCHEDULES", "2000"))
PARTS = 4  # for as many processes as there are
SEED = int(os.environ.get("KEEPSET_SEED", "0"))
FOUND = [
    json.loads(line) for line in (Path(__file__).parent / "found.jsonl").read_text().splitlines()
]


@pytest.fixture(autouse=True)
def _simulated() -> Iterator[None]:
    with patched():
        yield


@pytest.mark.timeout(max(300, SCHEDULES // 5))
@pytest.mark.parametrize("part", range(PARTS))
def test_no_schedule_breaks_the_law(part: int, capsys: pytest.CaptureFixture[str]) -> None:
    tally = Tally()
    first, last = (SEED + SCHEDULES * each // PARTS for each in (part, part + 1))
    broken = [
        (plan, law)
        for plan in map(plan_of, range(first, last))
        if (law := broken_by(plan, tally)) is not None
    ]
    facts = {**tally.facts(), "broken": len(broken)}
    with capsys.disabled():
        print(f"\n{json.dumps(facts)}")
    note_counts("simulated world", facts)
    assert not broken, _report(*broken[0], [plan.seed for plan, _ in broken])


def _report(plan: Plan, law: str, seeds: list[int]) -> str:
    """What the first broken schedule comes down to."""
    small = shrunk(plan, lambda smaller: (broken_by(smaller) or "")[:16] == law[:16])
    return "\n".join([f"seeds {seeds}", law, small.to_json(), *trace(small)])


@pytest.mark.parametrize("found", FOUND, ids=lambda found: f"seed {found['plan']['seed']}")
def test_what_was_found_stays_mended(found: dict[str, Any]) -> None:
    plan = plan_from_json(json.dumps(found["plan"]))
    law = broken_by(plan)
    assert law is None, "\n".join([found["what"], law, *trace(plan)])


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_stored_plan_finds_each_old_defect_that_is_put_back(defect: str) -> None:
    """Where none does, look for seeds that do, and store what they shrink to."""
    plans = [
        plan_from_json(json.dumps(found["plan"]))
        for found in FOUND
        if found.get("defect") == defect
    ]
    with DEFECTS[defect]():
        assert any(broken_by(plan) is not None for plan in plans)


@pytest.mark.parametrize("seed", [3, 17, 209, 1371])
def test_a_plan_makes_the_same_run_each_time(seed: int) -> None:
    plan = plan_of(seed)
    assert plan_from_json(plan.to_json()) == plan
    assert _events(plan) == _events(plan)


def _events(plan: Plan) -> list[object]:
    world = World(plan)
    world.run()
    operations = [(each.kind, each.begin, each.end, each.outcome) for each in world.operations]
    objects = {name: found.data for name, found in world.disk.objects.items()}
    return [operations, world.scheduler.steps, world.scheduler.now_s, objects]
