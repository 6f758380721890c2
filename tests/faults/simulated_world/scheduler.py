"""Scheduler: real threads of which exactly one runs, chosen by a plan and not by the system.

A task that reaches a point where others could act calls ``step``; one that has to wait calls
``block``. Both hand the baton to whichever task the plan says. Nothing else depends on the machine,
so the same plan makes the same run, whatever else the machine does.

Time is simulated too. It moves a little at every step, and jumps where all tasks wait for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

STEP_S = 0.01
MOST_STEPS = 20_000
_PATIENCE_S = 60.0  # of the machine: a task that does not come back has met a lock that is not ours


class Killed(BaseException):
    """What the threads of a killed actor meet at every call: nothing more has an effect."""


class StuckError(AssertionError):
    """The run does not end: too many steps, or everyone waits for someone else."""


@dataclass(eq=False)
class Actor:
    """A process on a host of its own."""

    name: str
    skew_s: float = 0.0
    kill_at: int | None = None  # at the call of this number
    pauses: Mapping[int, float] = field(default_factory=dict)  # by the number of the call: how long
    calls: int = 0
    is_dead: bool = False
    resumes_s: float = 0.0


class Task:
    """One thread of an actor."""

    def __init__(self, scheduler: Scheduler, actor: Actor, body: Callable[[], None]) -> None:
        self.actor, self.is_done = actor, False
        self.ready: Callable[[], bool] | None = None
        self.until_s: float | None = None
        self._scheduler, self._body = scheduler, body
        self.baton = threading.Lock()
        self.baton.acquire()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self.baton.acquire()
        scheduler = self._scheduler
        try:
            if not self.actor.is_dead:
                self._body()
        except Killed:
            pass
        except BaseException as error:
            scheduler.failure = scheduler.failure or error
        self.is_done = True
        scheduler.pass_on(self)

    def may_run(self, now: float) -> bool:
        if self.is_done:
            return False
        if self.actor.is_dead:
            return True  # to unwind
        if self.actor.resumes_s > now:
            return False
        if self.ready is None or self.ready():
            return True
        return self.until_s is not None and self.until_s <= now

    def wakes_s(self) -> float | None:
        """When it may run at the earliest, if only time stands in the way."""
        if self.is_done:
            return None
        if self.ready is None or self.ready():
            return self.actor.resumes_s
        return None if self.until_s is None else max(self.until_s, self.actor.resumes_s)

    def join(self) -> None:
        self._thread.join(_PATIENCE_S)


class Scheduler:
    """Runs tasks one at a time.

    Args:
        switches: At the step of a number, hand over to another task; to which one, as a number.
        salt: Decides which task is next where one has to wait.
    """

    def __init__(self, switches: Mapping[int, int], salt: int) -> None:
        self._switches, self._salt = switches, salt
        self.now_s = 1_000_000.0
        self.steps = self.switched = self.kills = 0
        self.tasks: list[Task] = []
        self.failure: BaseException | None = None
        self._current: Task | None = None
        self._over = threading.Lock()
        self._is_over = False

    @property
    def current(self) -> Task:
        assert self._current is not None
        return self._current

    def spawn(self, actor: Actor, body: Callable[[], None]) -> Task:
        task = Task(self, actor, body)
        self.tasks.append(task)
        return task

    def run(self) -> None:
        """Run until all tasks are done."""
        self._is_over = False
        self._over.acquire()
        self._current = None
        self.pass_on(None)
        if not self._over.acquire(timeout=_PATIENCE_S):
            raise StuckError("a task waits for something that the scheduler does not know")
        self._over.release()
        for task in self.tasks:
            task.join()
        self.tasks = []
        if self.failure is not None:
            raise self.failure

    def later(self, seconds: float, effect: Callable[[], None]) -> None:
        """Have something happen after a while, whoever lives then: a request under way."""
        network = Actor("network")

        def arrive() -> None:
            self.block(lambda: False, seconds)
            effect()

        self.spawn(network, arrive)

    # What tasks call:

    def step(self) -> None:
        """Let others act before the next effect of this task."""
        task = self.current
        self._count(task)
        choice = self._switches.get(self.steps)
        if choice is not None or task.actor.resumes_s > self.now_s:
            task.ready = task.until_s = None
            self._hand_over(task, choice)
        if task.actor.is_dead:
            raise Killed

    def block(self, ready: Callable[[], bool], timeout_s: float | None = None) -> None:
        """Wait until something is so, or until the time is over."""
        task = self.current
        self._count(task)
        task.ready = ready
        task.until_s = None if timeout_s is None else self.now_s + timeout_s
        self._hand_over(task, self._switches.get(self.steps))
        task.ready = task.until_s = None
        if task.actor.is_dead:
            raise Killed

    def _count(self, task: Task) -> None:
        actor = task.actor
        if actor.is_dead:
            raise Killed
        self.steps += 1
        self.now_s += STEP_S
        actor.calls += 1
        if actor.calls == actor.kill_at:
            actor.is_dead = True
            self.kills += 1
            raise Killed
        pause_s = actor.pauses.get(actor.calls)
        if pause_s is not None:
            actor.resumes_s = self.now_s + pause_s
        if self.steps > MOST_STEPS:
            self.failure = self.failure or StuckError(f"no end after {self.steps} steps")
            for each in self.tasks:
                each.actor.is_dead = True
            raise Killed

    def _hand_over(self, task: Task, choice: int | None) -> None:
        next_task = self._choose(task, choice)
        if next_task is not task and next_task is not None:
            self.switched += 1
            self._current = next_task
            next_task.baton.release()
            task.baton.acquire()

    def pass_on(self, task: Task | None) -> None:
        """Give the baton away for good."""
        next_task = self._choose(task, None)
        self._current = next_task
        if next_task is not None:
            next_task.baton.release()
        elif not self._is_over:
            self._is_over = True
            self._over.release()

    def _choose(self, task: Task | None, choice: int | None) -> Task | None:
        """The task that runs next; the same one again only if no other was asked for."""
        while True:
            able = [each for each in self.tasks if each.may_run(self.now_s)]
            dying = [each for each in able if each.actor.is_dead]
            if dying:
                return dying[0]
            if choice is not None:
                able = [each for each in able if each is not task] or able
            if able:
                if choice is None and task in able:
                    return task
                number = self._salt + self.steps * 7919 if choice is None else choice
                return able[number % len(able)]
            wakes = [at for each in self.tasks if (at := each.wakes_s()) is not None]
            if wakes:
                self.now_s = max(self.now_s, min(wakes))
                continue
            if all(each.is_done for each in self.tasks):
                return None
            self.failure = self.failure or StuckError("everyone waits for someone else")
            for each in self.tasks:
                each.actor.is_dead = True
