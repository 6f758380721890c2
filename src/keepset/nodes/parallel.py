"""Parallel map: rows are handed to workers in groups, and come back in order.

A hand-over between threads can cost a tenth of a millisecond, so a group is as large as takes
some milliseconds to compute: one row of an expensive function, thousands of a cheap one. Between
processes a hand-over costs several times that, and groups are larger.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from keepset.core.chunk import EMPTY, Chunk, concat
from keepset.core.cursor import Cursor, State, skip_to_place
from keepset.core.record import mutable_record, record
from keepset.core.run import Run
from keepset.core.state_outline import other_workers
from keepset.core.warn import warn_user
from keepset.errors import InvalidArgumentError
from keepset.nodes.autotune import AUTOTUNE, MOST_THREADS, Autotuner
from keepset.nodes.group_call import GroupCall, Outcome
from keepset.nodes.journal import Journal
from keepset.nodes.rowwise import RowStage
from keepset.workers.threads import Lanes, Task, ThreadPool, first_done
from keepset.workers.unsendable import unsent_text

if TYPE_CHECKING:
    from keepset.workers.processes import ProcessPool

_THREAD_GROUP_S = 0.008
_PROCESS_GROUP_S = 0.02
_LARGEST_GROUP = 4096


@record
class Parallelism:
    """How many calls at once, whether in order, and by what kind of worker."""

    __keepset_recipe__ = ("calls", "deterministic", "executor")

    calls: int
    deterministic: bool | None = None
    executor: str = "thread"

    def __post_init__(self) -> None:
        if self.calls < 1 and self.calls != AUTOTUNE:
            raise InvalidArgumentError(
                f"num_parallel_calls must be at least 1, AUTOTUNE or None, not {self.calls}"
            )
        if self.executor not in ("thread", "process"):
            raise InvalidArgumentError(
                f"executor {self.executor!r} is unknown; choose 'thread' or 'process'"
            )


def is_ordered(parallelism: Parallelism, run: Run) -> bool:
    """Whether a stage keeps its order: what it says itself, else what the pipeline says."""
    chosen = parallelism.deterministic
    if chosen is None:
        chosen = run.options.deterministic
    return run.keeps_order or chosen is not False


@mutable_record
class _Group:
    """Rows under way: ``skip`` rows behind the parent's state ``before``, ``given`` already."""

    before: State
    skip: int
    position: int
    rows: Chunk
    task: Task
    given: int = 0

    def state(self) -> list[Any]:
        left = len(self.rows) - self.given
        return [self.before, self.skip + self.given, left, self.position + self.given]


class ParallelCursor(Cursor):
    """Keeps up to ``calls`` groups in the workers' hands and gives finished ones."""

    def __init__(self, node: RowStage, parallelism: Parallelism, run: Run) -> None:
        self._node, self._run = node, run
        self._parent = node.parent.cursor(run.input(0))
        self._in_processes = parallelism.executor == "process"
        cores = run.options.threads or os.cpu_count() or 1
        most = cores if self._in_processes else MOST_THREADS
        self._tuner = Autotuner(parallelism.calls, cores, most)
        pool = run.session.shared(ThreadPool)
        pool.reserve(self._tuner.most)
        self._lanes = Lanes(pool, self._tuner.level)
        self._context = run.session.context
        self._processes: ProcessPool | None = None
        self._has_warned = False
        self._compute: Callable[..., Any] = GroupCall(node.steps(run))
        if self._in_processes:
            from keepset.workers.processes import ProcessPool

            steps = self._compute
            processes = run.session.resource(
                (ProcessPool, run.where),
                lambda: ProcessPool(steps, node.title, thorough=run.computes_anew),
            )
            self._processes = processes
            self._compute = processes.call
        self._groups: deque[_Group] = deque()
        self._group_rows = 1
        self._position = 0
        self._ended = False
        self._parent_error: Exception | None = None
        self._failed_from: State = {}
        self._signal = threading.Event()
        self._journal = None if is_ordered(parallelism, run) else Journal(by_position=True)

    def read(self, max_rows: int) -> Chunk:
        while True:
            self._hand_out(max_rows)
            if not self._groups:
                return self._end()
            group, limit = self._finished_group()
            chunk = self._give(group, min(max_rows, limit))
            if len(chunk):
                return chunk

    def _end(self) -> Chunk:
        error, self._parent_error = self._parent_error, None
        if error is not None:
            raise error
        return EMPTY

    def _hand_out(self, max_rows: int) -> None:
        """Keep a group in each worker's hands, and another one ready for it."""
        in_line = self._tuner.in_line and not self._in_processes
        self._lanes.limit = self._tuner.level
        wanted = 1 if in_line else 2 * self._tuner.level
        while not self._ended and self._parent_error is None and len(self._groups) < wanted:
            if not self._take_in(max_rows, in_line):
                return

    def _take_in(self, max_rows: int, in_line: bool) -> bool:
        """Read another group from the parent; False at its end or when it fails."""
        before = self._parent.state()
        wanted = min(self._group_rows, max_rows) if in_line else self._group_rows
        if self._journal is not None and (cuts := self._journal.starts_after(self._position)):
            wanted = min(wanted, min(cuts) - self._position)
        try:
            rows = self._parent.read(wanted)
        except Exception as error:
            self._parent_error, self._failed_from = error, before
            return False
        if not len(rows):
            self._ended = True
            return False
        self._groups.append(self._begin(before, 0, self._position, rows, in_line))
        self._position += len(rows)
        return True

    def _begin(
        self, before: State, skip: int, position: int, rows: Chunk, in_line: bool = False
    ) -> _Group:
        # In a copy of its own, also where the consumer runs it: which thread does must not count.
        call = partial(self._context.copy().run, self._compute, rows, position)
        task = Task(call, self._signal)
        if in_line:
            task.run()
        else:
            self._lanes.add(task)
        return _Group(before, skip, position, rows, task)

    def _finished_group(self) -> tuple[_Group, int]:
        """The group whose turn it is, waited for, and how many of its rows may be given."""
        began = time.perf_counter()
        group, limit = self._groups[0], sys.maxsize
        if self._journal is not None:
            if (choice := self._journal.next_choice) is not None:
                group, limit = self._group_at(choice[0]), choice[1]
            else:
                tasks = [g.task for g in self._groups]
                group = self._groups[tasks.index(first_done(tasks, self._signal))]
        group.task.result()
        if self._processes is not None and self._processes.differences:
            self._note_differences(self._processes)
        self._tuner.waited(time.perf_counter() - began)
        return group, limit

    def _note_differences(self, processes: ProcessPool) -> None:
        self._run.session.note_unlike(processes.differences)
        # Before a snapshot, the snapshot warns of all that differs.
        if processes.unsent and not self._run.computes_anew and not self._has_warned:
            self._has_warned = True
            warn_user(unsent_text(self._node.title, processes.unsent))

    def _group_at(self, position: int) -> _Group:
        """The group that begins at a position which the journal asks for."""
        while True:
            for group in self._groups:
                if group.position <= position < group.position + len(group.rows):
                    return group
            if not self._take_in(sys.maxsize, in_line=False):
                # The elements are not what they were; what is there is given in order.
                return self._groups[0]

    def _give(self, group: _Group, max_rows: int) -> Chunk:
        outcome: Outcome = group.task.result()
        chunk = outcome.chunk[group.given : group.given + max_rows]
        if self._journal is not None and len(chunk):
            self._journal.made(group.position + group.given, len(chunk))
        group.given += len(chunk)
        if group.given < len(outcome.chunk) or (len(chunk) and outcome.error):
            return chunk
        place = self._groups.index(group)
        del self._groups[place]
        self._learn(len(outcome.chunk), outcome.seconds)
        if outcome.error is not None:
            rest = group.rows[outcome.used :]
            if len(rest):
                skip, position = group.skip + outcome.used, group.position + outcome.used
                self._groups.insert(place, self._begin(group.before, skip, position, rest))
            raise outcome.error
        return chunk

    def _learn(self, rows: int, seconds: float) -> None:
        self._tuner.finished(rows, seconds)
        target = _PROCESS_GROUP_S if self._in_processes else _THREAD_GROUP_S
        # From the rows of this very group: many of an earlier size may finish after a change.
        fitting = int(rows * target / max(seconds, 1e-9))
        if rows and not rows <= fitting < 2 * rows:
            self._group_rows = max(1, min(fitting, 2 * rows, _LARGEST_GROUP))

    def skip(self, count: int) -> int:
        if self._groups or self._parent_error is not None or self._journal is not None:
            return super().skip(count)
        skipped = self._parent.skip(count)
        self._position += skipped
        return skipped

    def state(self) -> State:
        groups = [group.state() for group in self._groups]
        if self._journal is None and groups:
            before, skip, _, position = groups[0]
            return {"parent": before, "skip": skip, "position": position}
        failed = self._parent_error is not None
        parent = self._failed_from if failed else self._parent.state()
        state = {"parent": parent, "skip": 0, "position": self._position}
        if self._journal is None:
            return state
        return state | {"pending": groups, "order": self._journal.log()}

    def restore(self, state: State) -> None:
        if "progress" in state or ("order" in state) != (self._journal is not None):
            # Positions count other things: rows of a loop, or of groups in an order of their own.
            raise other_workers()
        self._parent.restore(state["parent"])
        skip_to_place(self._parent, state["skip"])
        self._position = state["position"]
        if self._journal is None:
            return
        self._journal.follow(state["order"])
        for before, skip, count, position in state["pending"]:
            rows = self._read_again(before, skip, count)
            self._groups.append(self._begin(before, skip, position, rows))

    def _read_again(self, before: State, skip: int, count: int) -> Chunk:
        """Rows that had been handed out when the state was taken, but not given."""
        cursor = self._node.parent.cursor(self._run.input(0))
        cursor.restore(before)
        cursor.skip(skip)
        parts = []
        while count and (chunk := cursor.read(count)):
            parts.append(chunk)
            count -= len(chunk)
        cursor.close()
        return concat(parts)

    def close(self) -> None:
        self._parent.close()
