"""Writers that are killed anywhere: nothing committed is ever lost, and little of what was not.

``make test-faults`` does many more of the same and prints a tally.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.faults.tally import note_counts

import keepset as ks
from keepset.format.log import Log
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.writing.recorder import _MOST_WAITING
from keepset.storage import open_store

PROGRAM = Path(__file__).with_name("crash.py")
ELEMENTS = 400
KILLS = int(os.environ.get("KEEPSET_KILLS", "12"))
STEPS = [
    f"{what}:{step}"
    for what, steps in {
        "writer": ("written", "synced", "replaced", "folder-synced"),
        "create": ("written", "synced", "linked", "unlinked", "folder-synced"),
        "put": ("written", "synced", "replaced", "folder-synced"),
    }.items()
    for step in steps
]


class Program:
    """The program in crash.py, which runs and is killed as often as it is asked to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, path: Path, step: str, at: int = 1, **more: Any) -> tuple[bool, list[float]]:
        """Whether it was killed, and when it had given each of its elements."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"path": str(path), "step": step, "at": at, **more}
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = json.loads(self._process.stdout.readline())
        return answer["killed"], answer["times"]


@pytest.fixture(scope="module")
def program() -> Iterator[Program]:
    command = [sys.executable, str(PROGRAM)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Program(process)


@dataclass
class Loss:
    """What kills cost: elements that were given and not kept, and the time that they took."""

    kills: int = 0
    after_a_commit: int = 0
    elements: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    worked_s: float = 0.0

    def add(self, before: int, now: int, times: list[float]) -> None:
        """A kill behind elements given at these times; so many were kept before, and are now."""
        self.kills += 1
        self.after_a_commit += before > 0
        self.elements.append(max(0, len(times) - now))
        end = times[-1] if times else 0.0
        # Of what was given, the time since the last element that is kept.
        kept_at = times[min(now, len(times)) - 1] if times and now else 0.0
        self.seconds.append(end - kept_at)
        self.worked_s += end

    def __str__(self) -> str:
        mean, most = np.mean(self.elements), max(self.elements)
        mean_ms, most_ms = 1000 * np.mean(self.seconds), 1000 * max(self.seconds)
        share = sum(self.seconds) / max(self.worked_s, 1e-9)
        return (
            f"{self.kills:6} {self.after_a_commit:12} {mean:9.1f} {most:5} {mean_ms:9.1f} "
            f"{most_ms:7.1f} {share:8.1%}"
        )


HEAD = f"{'kills':>6} {'after commit':>12} {'lost mean':>9} {'most':>5} {'ms: mean':>9} " + (
    f"{'most':>7} {'of work':>8}"
)


class Tally(dict[str, Loss]):
    """What was lost, by the step at which the kills were."""

    def add(self, other: Tally) -> None:
        for step, loss in other.items():
            mine = self.setdefault(step, Loss())
            mine.kills += loss.kills
            mine.after_a_commit += loss.after_a_commit
            mine.elements += loss.elements
            mine.seconds += loss.seconds
            mine.worked_s += loss.worked_s

    @property
    def total(self) -> Loss:
        together = Tally()
        for loss in self.values():
            together.add(Tally(all=loss))
        return together.get("all", Loss())

    def __str__(self) -> str:
        lines = [f"{HEAD}  killed at"]
        lines += [f"{self[step]}  {step}" for step in sorted(self)]
        return "\n".join([*lines, f"{self.total}  all together"])


def kept(path: Path) -> list[Any]:
    """The elements that are committed."""
    store = open_store(path).sub("f/")
    state = Log(store).state()
    if state.version is not None:
        return list(ks.load(path))
    if state.kept is None:
        return []
    opened = Kept(store, state.kept)
    return opened.gather(opened.rows_at(np.arange(len(opened)))).rows


def xs(rows: list[Any]) -> list[int]:
    for row in rows:
        assert row["v"].tolist() == [float(row["x"])] * (int(row["x"]) % 5)
    return [int(row["x"]) for row in rows]


def check_kills(program: Program, path: Path, kills: list[tuple[str, int]], **more: Any) -> Tally:
    """Kill one writer after another; what is committed only ever grows, and is right."""
    tally = Tally()
    before = xs(kept(path))
    for step, at in kills:
        killed, times = program.run(path, step, at, **more)
        now = xs(kept(path))
        assert now[: len(before)] == before, f"lost after a kill at {step}"
        if killed:
            tally.setdefault(step, Loss()).add(len(before), len(now), times)
        before = now
    killed, times = program.run(path, "never")
    assert (killed, len(times)) == (False, ELEMENTS)
    whole = xs(list(ks.load(path)))
    assert sorted(whole) == list(range(ELEMENTS))
    assert whole[: len(before)] == before
    return tally


def _count(tally: Tally) -> None:
    total = tally.total
    facts = {
        "kills": total.kills,
        "after_a_commit": total.after_a_commit,
        "most_elements_computed_again": max(total.elements, default=0),
    }
    note_counts("kills", facts)


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_each_step_loses_nothing_that_was_committed(
    program: Program, tmp_path: Path, step: str
) -> None:
    tally = check_kills(program, tmp_path, [(step, 1), (step, 2)])
    assert tally[step].kills >= (1 if step.startswith("put:") else 2)  # one lease in each run


@pytest.mark.parametrize("every", [1, 7, 40])
def test_a_kill_loses_no_more_than_what_came_since_the_last_commit(
    program: Program, tmp_path: Path, every: int
) -> None:
    """And what waits to be written: a chunk in the writer's hands, and those in its queue."""
    choose = random.Random(every)
    kills = [("given", at) for at in sorted(choose.sample(range(1, ELEMENTS), 4))]
    tally = check_kills(program, tmp_path, kills, every=every)
    assert tally["given"].kills == 4
    # Rows are read a few at a time, so that a commit may come behind a few more than are due.
    assert max(tally["given"].elements) <= 2 * every + _MOST_WAITING + 1


@pytest.mark.timeout(3600)
def test_kills_at_random_lose_nothing_that_was_committed(
    program: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    choose = random.Random(KILLS)
    tally = Tally()
    for number in count():
        if tally.total.kills >= KILLS:
            break
        kills = [
            ("random", 500)
            if choose.random() < 0.5
            else (choose.choice(STEPS), choose.randint(1, 4))
            for _ in range(4)
        ]
        path = tmp_path / str(number)
        if number % 4:
            # Most of them come after a first commit.
            program.run(path, "given", choose.randint(20, 60), every=10)
        tally.add(check_kills(program, path, kills))
    with capsys.disabled():
        if KILLS > 100:
            print(f"\nkills survived, and what each cost; a commit was due every 30 ms:\n{tally}")
    _count(tally)
    assert tally.total.after_a_commit > tally.total.kills / 2
