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
from typing import ClassVar

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


class _Worker:
    """A thread that runs one task after another: to start one costs more than most tasks."""

    idle: ClassVar[list[_Worker]] = []

    def __init__(self) -> None:
        self._body: Callable[[], None] = lambda: None
        self._given = threading.Lock()
        self._given.acquire()
        self._done = threading.Lock()
        threading.Thread(target=self._work, daemon=True).start()

    @classmethod
    def run(cls, body: Callable[[], None]) -> _Worker:
        worker = cls.idle.pop() if cls.idle else cls()
        worker._body = body
        worker._done.acquire()
        worker._given.release()
        return worker

    def _work(self) -> None:
        while True:
            self._given.acquire()
            self._body()
            self._body = lambda: None  # which holds a whole world
            self._done.release()

    def join(self) -> None:
        """Wait until the task is done, and let others have the thread."""
        if self._done.acquire(timeout=_PATIENCE_S):
            self._done.release()
            self.idle.append(self)


class Task:
    """One thread of an actor."""

    def __init__(self, scheduler: Scheduler, actor: Actor, body: Callable[[], None]) -> None:
        self.actor, self.is_done = actor, False
        self.ready: Callable[[], bool] | None = None
        self.until_s: float | None = None
        self._scheduler, self._body = scheduler, body
        self.baton = threading.Lock()
        self.baton.acquire()
        self._worker = _Worker.run(self._run)

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
        self._worker.join()


class Scheduler:
    """Runs tasks one at a time.

    Args:
        switches: At the step of a number, hand over to another task; to which one, as a number.
        salt: Decides which task is next where one has to wait.
    """

    def __init__(self, switches: Mapping[int, int], salt: int) -> None:
        self._switches, self._salt = switches, salt
        self.events: dict[int, list[Callable[[], None]]] = {}  # by the step: what happens then
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

    def at_step(self, step: int, event: Callable[[], None]) -> None:
        """Have something happen at a step, or at the next one if that is over."""
        self.events.setdefault(max(step, self.steps + 1), []).append(event)

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
        for event in self.events.pop(self.steps, ()):
            event()
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
