"""Remote: nested data sets that run in worker processes, and the parent's end of them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import State
from keepset.core.fingerprint import Difference
from keepset.core.node import Node
from keepset.core.options import Options
from keepset.core.run import Run, start_apart
from keepset.core.warn import warn_user
from keepset.errors import WorkerDiedError
from keepset.nodes.nested import Nested
from keepset.workers.agreement import Agreement
from keepset.workers.processes import Worker
from keepset.workers.unsendable import unsent_text


class Reply(NamedTuple):
    """What was read, where the data set stands now, and the error that ended the reading.

    ``differences`` are those of workers that the data set has itself.
    """

    chunk: Chunk
    state: State
    error: Exception | None = None
    differences: Sequence[Difference] = ()


class NestedServer:
    """Runs inside a worker process and holds the data sets that are open there, by number."""

    def __init__(self) -> None:
        self._open: dict[int, Nested] = {}

    def __call__(self, request: tuple[Any, ...], position: int, announce: Any = None) -> Reply:
        command, number, *arguments = request
        chunk, error = EMPTY, None
        try:
            if command == "open":
                self._open_one(number, *arguments)
            elif command == "read":
                chunk = self._open[number].read(*arguments)
            elif command == "skip":
                self._open[number].skip(*arguments)
        except Exception as failure:
            error = failure
        nested = self._open.get(number)
        reply = Reply(chunk, {} if nested is None else nested.state(), error)
        if nested is not None:
            reply = reply._replace(differences=nested.unlike)
        if command == "close" and nested is not None:
            self._open.pop(number).close()
        return reply

    def _open_one(
        self,
        number: int,
        node: Node,
        key: tuple[int, ...],
        options: Options,
        keeps_order: bool,
        computes_anew: bool,
        state: State | None,
    ) -> None:
        run = start_apart(node, key, options, keeps_order, computes_anew)
        self._open[number] = Nested(node, run, state)


class RemoteWorkers:
    """Worker processes for nested data sets; each data set stays with the one it was opened in.

    Several cursors of one stage share them: a repetition, or a stage behind this one that reads
    again what it had read ahead when a state was taken.
    """

    def __init__(self, workers: int, title: str) -> None:
        self.title = title
        self._workers: list[Worker | None] = [None] * workers
        self._locks = [threading.Lock() for _ in range(workers)]
        self._closed = False
        self._numbers = count()
        # The code of functions that was compared in each process, and what came of it.
        self._compared: list[set[Any]] = [set() for _ in range(workers)]
        self.differences: Sequence[Difference] = ()
        self._has_warned = False
        self._users = 0

    def join(self) -> None:
        """Count a cursor that opens data sets here."""
        self._users += 1

    def leave(self, *, is_waiting: bool) -> None:
        """Let a cursor go; what it ``is_waiting`` for is cut short if all of it is its own."""
        self._users -= 1
        if is_waiting and not self._users:
            self.abandon()

    def new_number(self) -> int:
        """A number for a data set. Its position will not do: two cursors may have it open."""
        return next(self._numbers)

    def call(self, request: tuple[Any, ...], position: int) -> Reply:
        place = request[1] % len(self._workers)
        with self._locks[place]:
            worker = self._workers[place]
            if worker is None:
                # A data set is gone with its process; only opening one starts another.
                if self._closed or request[0] != "open":
                    raise WorkerDiedError(f"the worker process of {self.title} has been closed")
                worker = self._workers[place] = Worker(NestedServer(), self.title)
                self._compared[place] = set()
        if request[0] == "open":
            self._agree(worker, self._compared[place], request[2], request[6], position)
        reply: Reply = worker.call(request, position)
        self.differences = self.differences or reply.differences
        return reply

    def _agree(
        self, worker: Worker, known: set[Any], node: Node, thorough: bool, position: int
    ) -> None:
        """Compare the functions of a data set, unless others of the same code were."""
        values = [
            (each.title, value)
            for each in node.walk()
            for value in map(partial(getattr, each), (field.name for field in fields(each)))
            if callable(value) and not isinstance(value, Node)
        ]
        # Each element has functions of its own, most of which are of one code.
        codes = tuple(getattr(value, "__code__", type(value)) for _, value in values)
        if not values or codes in known:
            return
        known.add(codes)
        agreement = Agreement(values, travels=True, thorough=thorough)
        worker.agree(agreement, position)
        self.differences = self.differences or agreement.differences
        # Before a snapshot, the snapshot warns of all that differs.
        if agreement.unsent and not thorough and not self._has_warned:
            self._has_warned = True
            warn_user(unsent_text(self.title, agreement.unsent))

    def close(self) -> None:
        self._closed = True
        self.abandon()

    def abandon(self) -> None:
        """End the processes in the middle of whatever they do; new ones may be started."""
        workers = [worker for worker in self._workers if worker is not None]
        self._workers = [None] * len(self._workers)
        for worker in workers:
            worker.hang_up()
        for worker in workers:
            worker.close()


class RemoteNested:
    """A data set in a worker process, used like one that is open here."""

    def __init__(
        self,
        workers: RemoteWorkers,
        node: Node,
        within: Run,
        key: tuple[int, ...],
        position: int,
        state: State | None,
    ) -> None:
        self._workers, self._position, self._within = workers, position, within
        self._number = workers.new_number()
        how = within.options, within.keeps_order, within.computes_anew
        self._state: State = {}
        self._call("open", node, key, *how, state)

    def _call(self, command: str, *arguments: Any) -> Chunk:
        reply = self._workers.call((command, self._number, *arguments), self._position)
        self._state = reply.state
        if self._workers.differences:
            self._within.session.note_unlike(self._workers.differences)
        if reply.error is not None:
            raise reply.error
        return reply.chunk

    def read(self, max_rows: int) -> Chunk:
        return self._call("read", max_rows)

    def skip(self, count: int) -> None:
        self._call("skip", count)

    def state(self) -> State:
        return self._state

    def close(self) -> None:
        try:
            self._call("close")
        except WorkerDiedError:
            return  # it took all its data sets with it
