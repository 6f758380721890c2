"""Clocks, threads, events, queues and futures that hand over to the scheduler.

They stand in the place of the standard library's in the modules under test, so that all waiting and
all background work of the library is scheduled.
"""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Iterable
from threading import get_ident
from typing import Any, NamedTuple

from tests.faults.simulated_world.scheduler import Scheduler, Task


class Now:
    """The scheduler of the world that runs at the moment: patches outlive single worlds."""

    scheduler: Scheduler


class Clock:
    """The ``time`` module, as the host of the running task has it."""

    def __init__(self, world: Now) -> None:
        self._world = world

    def time(self) -> float:
        scheduler = self._world.scheduler
        scheduler.step()
        return scheduler.now_s + scheduler.current.actor.skew_s

    def monotonic(self) -> float:
        self._world.scheduler.step()
        return self._world.scheduler.now_s

    def perf_counter(self) -> float:
        return self._world.scheduler.now_s  # how long computing takes is not looked at by others

    def sleep(self, seconds: float) -> None:
        self._world.scheduler.block(lambda: False, seconds)


class Event:
    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler, self._is_set = scheduler, False

    def set(self) -> None:
        self._is_set = True

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, timeout: float | None = None) -> bool:
        self._scheduler.block(self.is_set, timeout)
        return self._is_set


class Thread:
    def __init__(
        self,
        scheduler: Scheduler,
        target: Callable[..., None],
        args: tuple[Any, ...] = (),
        name: str = "",
        daemon: bool = False,
    ) -> None:
        self._scheduler, self._body = scheduler, lambda: target(*args)
        self._task: Task | None = None

    def start(self) -> None:
        self._task = self._scheduler.spawn(self._scheduler.current.actor, self._body)
        self._scheduler.step()

    def is_alive(self) -> bool:
        return self._task is not None and not self._task.is_done

    def join(self, timeout: float | None = None) -> None:
        self._scheduler.block(lambda: not self.is_alive(), timeout)


class Queue:
    def __init__(self, scheduler: Scheduler, most: int = 0) -> None:
        self._scheduler, self._most = scheduler, most
        self._items: deque[Any] = deque()

    def put(self, item: Any, timeout: float | None = None) -> None:
        """Wait for room; a timeout, behind which somebody is told, changes nothing that is done."""
        self._scheduler.block(lambda: not self._most or len(self._items) < self._most)
        self._items.append(item)

    def get(self) -> Any:
        self._scheduler.block(lambda: bool(self._items))
        return self._items.popleft()


class Future:
    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._is_done = False
        self._result: Any = None
        self._error: BaseException | None = None

    def set_result(self, result: Any) -> None:
        self._result, self._is_done = result, True

    def set_exception(self, error: BaseException) -> None:
        self._error, self._is_done = error, True

    def exception(self) -> BaseException | None:
        self._scheduler.block(lambda: self._is_done)
        return self._error

    def result(self) -> Any:
        error = self.exception()
        if error is not None:
            raise error
        return self._result


class Done(NamedTuple):
    done: list[Future]


def wait(futures: list[Future], timeout: float | None = None) -> Done:
    """As ``concurrent.futures.wait``, until all are done."""
    for future in futures:
        future.exception()
    return Done(futures)


class Threading:
    """The parts of the ``threading`` module that are used."""

    def __init__(self, world: Now) -> None:
        self._world = world
        self.get_ident = get_ident

    def Thread(self, **options: Any) -> Thread:  # noqa: N802
        return Thread(self._world.scheduler, **options)

    def Event(self) -> Event:  # noqa: N802
        return Event(self._world.scheduler)


class Queues:
    """The part of the ``queue`` module that is used."""

    Full = queue.Full

    def __init__(self, world: Now) -> None:
        self._world = world

    def Queue(self, most: int = 0) -> Queue:  # noqa: N802
        return Queue(self._world.scheduler, most)


class Hosts:
    """The part of the ``socket`` module that is used: each actor is a host of its own."""

    def __init__(self, world: Now) -> None:
        self._world = world

    def gethostname(self) -> str:
        return self._world.scheduler.current.actor.name


def one_by_one(call: Callable[[Any], Any], values: Iterable[Any], threads: int) -> list[Any]:
    """As ``map_at_once``, without threads."""
    return list(map(call, values))
