"""Plan: all that a run of the simulated world depends on, made from a seed and kept as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any

from tests.faults.simulated_world.store import DAMAGES, WRITE_FAULTS

WRITERS = ("save", "pass", "pass", "begin")
OTHERS = ("rm", "rm", "gc", "repair", "load", "load", "write anew")
MENDERS = (
    ("repair",), ("repair",), ("repair", "save"), ("repair", "save"), ("repair", "pass"),
    ("repair", "begin"), ("gc", "repair"), ("rm", "repair"), ("save",), ("pass",), ("rm",), ("gc",),
)  # fmt: skip
PENDING = ("passthrough", "wait", "follow", "error")


@dataclass(frozen=True)
class ActorPlan:
    """One process: what it does in turn, and what happens to it.

    ``sleeps`` are the seconds before each of its jobs. Calls are counted from its first.
    """

    name: str
    jobs: tuple[str, ...]
    sleeps: tuple[float, ...]
    pending: str
    skew_s: float
    kill_at: int | None
    pauses: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Plan:
    """A schedule: who acts, what fails, and where the scheduler switches."""

    seed: int
    actors: tuple[ActorPlan, ...]
    faults: tuple[tuple[str, int, str], ...]
    late_lists: tuple[tuple[str, int], ...]
    switches: tuple[tuple[int, int], ...]
    has_views: bool
    damages: tuple[tuple[int, int, str], ...] = ()

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def without_actor(self, name: str) -> Plan:
        return replace(self, actors=tuple(each for each in self.actors if each.name != name))


def plan_from_json(text: str) -> Plan:
    facts: dict[str, Any] = json.loads(text)
    actors = tuple(
        ActorPlan(
            **{
                **each,
                "jobs": tuple(each["jobs"]),
                "sleeps": tuple(each["sleeps"]),
                "pauses": tuple((call, seconds) for call, seconds in each["pauses"]),
            }
        )
        for each in facts["actors"]
    )
    return Plan(
        facts["seed"],
        actors,
        tuple((actor, number, kind) for actor, number, kind in facts["faults"]),
        tuple((actor, number) for actor, number in facts["late_lists"]),
        tuple((step, choice) for step, choice in facts["switches"]),
        facts["has_views"],
        tuple((before, delay, how) for before, delay, how in facts.get("damages", ())),
    )


def plan_of(seed: int) -> Plan:
    """The schedule of a seed.

    A crowd; or a duel of a writer and one that takes it for dead; or one in which commits and
    segments are damaged, and several repair them.
    """
    random = Random(seed)
    make = random.choices((_actor, _duellist, _mender), (30, 35, 35))[0]
    is_duel = make is not _actor
    names = "abcde"[: random.choice((2, 3, 3) if is_duel else (2, 3, 3, 4, 5))]
    actors = tuple(make(random, name) for name in names)
    damages = {}
    if make is _mender:
        for _ in range(random.choice((1, 1, 2))):
            delay = random.choice((1, 1, 5, 20, 60))
            damages[random.choice((0, 1, 1, 2, 3))] = delay, random.choice(DAMAGES)
    amount = random.choice((0, 0, 0, 1) if is_duel else (0, 0, 1, 3))
    faults = {
        (random.choice(names), random.randint(1, 25)): random.choice(WRITE_FAULTS)
        for _ in range(amount)
    }
    late = {(random.choice(names), random.randint(1, 20)) for _ in range(random.choice((0, 0, 2)))}
    count = random.choice((0, 3, 10, 30, 100))
    switches = {random.randint(1, 400): random.randint(0, 1000) for _ in range(count)}
    return Plan(
        seed,
        actors,
        tuple((actor, number, kind) for (actor, number), kind in sorted(faults.items())),
        tuple(sorted(late)),
        tuple(sorted(switches.items())),
        random.random() < 0.5,
        tuple((before, delay, how) for before, (delay, how) in sorted(damages.items())),
    )


def _actor(random: Random, name: str) -> ActorPlan:
    count = random.choice((1, 1, 2))
    jobs = tuple(
        random.choice(WRITERS if name == "a" or random.random() < 0.4 else OTHERS)
        for _ in range(count)
    )
    is_skewed = random.random() < 0.3
    is_killed = random.random() < 0.2
    pauses = tuple(
        (random.randint(1, 80), random.choice((1.0, 65.0, 130.0)))
        for _ in range(random.choice((0, 0, 0, 1, 2)))
    )
    return ActorPlan(
        name=name,
        jobs=jobs,
        sleeps=tuple(random.choice((0.0, 0.0, 0.3, 20.0, 70.0)) for _ in jobs),
        pending=random.choice(PENDING),
        skew_s=random.choice((-600.0, -90.0, 90.0, 600.0)) if is_skewed else 0.0,
        kill_at=random.randint(1, 100) if is_killed else None,
        pauses=pauses,
    )


def _duellist(random: Random, name: str) -> ActorPlan:
    """A writer, or one whose clock says that every writer is dead; held up now and then.

    So one of them often acts between any two calls of the other, without a long time passing.
    """
    is_writer = name == "a"
    kinds = ("save", "save", "pass", "begin") if is_writer else ("rm", "gc", "gc", "save", "pass")
    jobs = tuple(random.choice(kinds) for _ in range(random.choice((1, 1, 2))))
    return _held_up(random, name, jobs, is_writer)


def _mender(random: Random, name: str) -> ActorPlan:
    """One that writes, one that is then held up before any call, and others that act meanwhile.

    Some of what was written is damaged by then, so most of them repair.
    """
    is_writer, is_held_up = name == "a", name == "b"
    jobs = tuple(random.choice(WRITERS) for _ in range(2))
    sleeps: tuple[float, ...] = (0.0, 0.0)
    if not is_writer:
        jobs = random.choice(MENDERS)
        sleeps = (1.5 if is_held_up else random.choice((1.0, 2.0, 2.5)), 0.0)[: len(jobs)]
    return ActorPlan(
        name=name,
        jobs=jobs,
        sleeps=sleeps,
        pending=random.choice(PENDING),
        skew_s=random.choice((0.0, 0.0 if is_writer else 600.0)),
        kill_at=random.randint(1, 60) if random.random() < 0.05 else None,
        pauses=((random.randint(2, 30), 10.0),) if is_held_up else (),
    )


def _held_up(random: Random, name: str, jobs: tuple[str, ...], is_writer: bool) -> ActorPlan:
    holds = tuple(
        (random.randint(1, 60), random.choice((0.05, 0.1, 0.3, 1.0, 3.0)))
        for _ in range(random.choice((1, 2, 3)))
    )
    return ActorPlan(
        name=name,
        jobs=jobs,
        sleeps=tuple(random.choice((0.0, 0.1, 0.3)) for _ in jobs),
        pending=random.choice(PENDING),
        skew_s=0.0 if is_writer else 600.0,
        kill_at=random.randint(1, 60) if random.random() < 0.1 else None,
        pauses=holds,
    )
