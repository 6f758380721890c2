"""Runs: many plans one after another, each judged, and what they had in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.faults.simulated_world.law import judge
from tests.faults.simulated_world.plan import Plan
from tests.faults.simulated_world.world import World


class Tally:
    """What happened in the runs so far."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter(schedules=0, steps=0, switches=0, kills=0, faults=0)
        self.outcomes: Counter[tuple[str, str]] = Counter()

    def add(self, world: World) -> None:
        self.counts["schedules"] += 1
        self.counts["steps"] += world.scheduler.steps
        self.counts["switches"] += world.scheduler.switched
        self.counts["kills"] += world.scheduler.kills
        self.counts["faults"] += world.disk.faults_met
        self.counts["damages"] += len(world.disk.damaged)
        self.counts["pauses"] += sum(len(actor.pauses) for actor in world.plan.actors)
        self.counts["operations"] += len(world.operations)
        self.outcomes.update((each.kind, each.outcome) for each in world.operations)

    def facts(self) -> dict[str, object]:
        outcomes = {f"{kind}: {how}": n for (kind, how), n in sorted(self.outcomes.items())}
        return {**self.counts, "outcomes": outcomes}


def broken_by(plan: Plan, tally: Tally | None = None) -> str | None:
    """Run a plan; what law it breaks, if any."""
    world = World(plan)
    try:
        world.run()
        judge(world)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        if tally is not None:
            tally.add(world)
    return None


def trace(plan: Plan) -> Iterable[str]:
    """What a plan does, for people: its operations and the commits that came of them."""
    world = World(plan)
    try:
        world.run()
        judge(world)
    except Exception as error:
        yield f"{type(error).__name__}: {error}"
    events = [(each.begin, f"{each.actor}: {each.kind} begins") for each in world.operations]
    events += [
        (each.end, f"{each.actor}: {each.kind} ends, {each.outcome}")
        for each in world.operations
        if each.end is not None
    ]
    events += [
        (each.step, f"commit {each.number}, {each.kind}, by {each.operation}")
        for each in world.disk.journal
    ]
    events += [(step, f"{name} is damaged") for step, name in world.disk.damaged]
    events += [(step, f"{name} is deleted") for name, step in world.disk.deleted.items()]
    yield from (f"{step:5} {text}" for step, text in sorted(events))
