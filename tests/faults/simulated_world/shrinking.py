"""Shrinking: the smallest plan that still breaks the law in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from tests.faults.simulated_world.plan import ActorPlan, Plan

T = TypeVar("T")
_MOST_TRIES = 600


def shrunk(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    """Leave out actors, jobs, faults and switches as long as the plan fails."""
    tries = 0
    is_smaller = True
    while is_smaller and tries < _MOST_TRIES:
        is_smaller = False
        for smaller in _smaller(plan):
            tries += 1
            if fails(smaller):
                plan, is_smaller = smaller, True
                break
            if tries >= _MOST_TRIES:
                break
    return plan


def _smaller(plan: Plan) -> Iterator[Plan]:
    """Plans that lack something, those that lack most first."""
    if len(plan.actors) > 1:
        yield from (plan.without_actor(actor.name) for actor in plan.actors)
    for number, actor in enumerate(plan.actors):
        for simpler in _simpler(actor):
            actors = (*plan.actors[:number], simpler, *plan.actors[number + 1 :])
            yield replace(plan, actors=actors)
    for faults in _without_some(plan.faults):
        yield replace(plan, faults=faults)
    for late in _without_some(plan.late_lists):
        yield replace(plan, late_lists=late)
    for damages in _without_some(plan.damages):
        yield replace(plan, damages=damages)
    for switches in _without_some(plan.switches):
        yield replace(plan, switches=switches)


def _simpler(actor: ActorPlan) -> Iterator[ActorPlan]:
    if len(actor.jobs) > 1:
        for number in range(len(actor.jobs)):
            jobs = (*actor.jobs[:number], *actor.jobs[number + 1 :])
            sleeps = (*actor.sleeps[:number], *actor.sleeps[number + 1 :])
            yield replace(actor, jobs=jobs, sleeps=sleeps)
    if actor.kill_at is not None:
        yield replace(actor, kill_at=None)
    if actor.skew_s:
        yield replace(actor, skew_s=0.0)
    if any(actor.sleeps):
        yield replace(actor, sleeps=tuple(0.0 for _ in actor.sleeps))
    for pauses in _without_some(actor.pauses):
        yield replace(actor, pauses=pauses)


def _without_some(items: Sequence[T]) -> Iterator[tuple[T, ...]]:
    size = len(items)
    while size:
        for start in range(0, len(items), size):
            yield (*items[:start], *items[start + size :])
        size //= 2
