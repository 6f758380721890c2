"""Interleave: several data sets at once, a few elements from each in turn.

The order is TensorFlow's: a slot that comes to its end passes its turn, and takes up the next
input when its turn comes round again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import Context
from dataclasses import field
from functools import partial
from itertools import chain
from typing import Any, Final, NamedTuple

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.node import INFINITE, UNKNOWN, Node, must_run, stage
from keepset.core.parameter import parameter, upstream
from keepset.core.random import Randomness
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.core.state_outline import other_workers
from keepset.errors import InvalidArgumentError, UnknownSpecError
from keepset.nodes.autotune import AUTOTUNE
from keepset.nodes.flat_map import call_for_node
from keepset.nodes.journal import Journal
from keepset.nodes.nested import Nested, first_nested_spec, open_nested
from keepset.nodes.parallel import Parallelism, is_ordered
from keepset.nodes.remote import RemoteNested, RemoteWorkers
from keepset.workers.background import cores
from keepset.workers.threads import Lanes, Task, ThreadPool, first_done

# As many as TensorFlow takes with AUTOTUNE, for programs that rely on its order. One for each core,
# which is AUTOTUNE here, reads faster.
ONE_FOR_THREE_CORES: Final = -3

_QUICK_FETCH_S = 0.002
_LARGEST_FETCH = 1024


@stage
class Interleave(Node):
    """``block_length`` elements from each of ``cycle_length`` data sets in turn."""

    opens_pipelines = True
    makes_batches = False

    parent: Node = upstream()
    function: Callable[..., Any]
    cycle_length: int
    block_length: int = 1
    # How many calls at once. What is stored is in order, whatever ``deterministic`` says.
    parallelism: Parallelism | None = parameter(default=None, identity=False)
    source: Randomness = field(default_factory=lambda: Randomness(None))

    @property
    def randomness(self) -> Randomness:
        return self.source

    def __post_init__(self) -> None:
        if self.cycle_length < 1 and self.cycle_length not in (AUTOTUNE, ONE_FOR_THREE_CORES):
            raise InvalidArgumentError(
                f"cycle_length must be at least 1 or AUTOTUNE, not {self.cycle_length}"
            )
        if self.block_length < 1:
            raise InvalidArgumentError(f"block_length must be at least 1, not {self.block_length}")

    def cursor(self, run: Run) -> Cursor:
        return _InterleaveCursor(self, run)

    def cardinality(self) -> int:
        # As TensorFlow's, which says so of the parallel one alone.
        is_endless = self.parallelism is not None and self.parent.cardinality() == INFINITE
        return INFINITE if is_endless else UNKNOWN

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return must_run()

    def _first_spec(self) -> Spec:
        try:
            return first_nested_spec(
                self.parent, lambda row: call_for_node(self.function, row, self.title, 0)
            )
        except UnknownSpecError:
            return super()._first_spec()  # a later dataset may have elements


class _Slot:
    """One of the data sets in the cycle, with the rows fetched from it and not yet given."""

    def __init__(
        self,
        before: State,
        position: int,
        node: Node,
        nested: Nested | RemoteNested,
        context: Context | None,
    ) -> None:
        self.before, self.position, self._nested = before, position, nested
        # One for all its fetches, which never overlap: a generator comes back to the context that
        # it was left in. None if the consumer's thread does all the work.
        self._context = context
        # Where nobody can notice, rows are fetched by the hundred.
        self.may_fetch_ahead = node.may_run_ahead and node.is_pure
        self.rows: list[Any] = []
        self.given = 0
        self.task: Task | None = None
        self._fetch_rows = 1
        self._rows_from: State = {}
        self._task_from: State = {}

    def plan_fetch(self, at_most: int | None, signal: threading.Event) -> Task:
        """A call that fetches the next rows; nobody runs it yet."""
        self._task_from = self._nested.state()
        count = self._fetch_rows if at_most is None else min(at_most, self._fetch_rows)
        call: Callable[[], Any] = partial(self._fetch, count)
        if self._context is not None:
            call = partial(self._context.run, call)
        self.task = Task(call, signal)
        return self.task

    def _fetch(self, count: int) -> Chunk:
        began = time.perf_counter()
        chunk = self._nested.read(count)
        if time.perf_counter() - began < _QUICK_FETCH_S:
            self._fetch_rows = min(2 * self._fetch_rows, _LARGEST_FETCH)
        else:
            self._fetch_rows = max(1, self._fetch_rows // 2)
        return chunk

    @property
    def is_ready(self) -> bool:
        return self.given < len(self.rows) or (self.task is not None and self.task.is_done)

    @property
    def is_idle(self) -> bool:
        return self.task is None or self.task.is_done or self.task.cancel()

    def refill(self) -> bool:
        """Wait for the fetched rows; False at the data set's end."""
        task, self.task = self.task, None
        assert task is not None
        rows_from = self._task_from
        self.rows, self.given = task.result().rows, 0
        self._rows_from = rows_from
        return bool(self.rows)

    def state(self) -> State:
        if self.given < len(self.rows):
            place: list[Any] = [self._rows_from, self.given]
        else:
            place = [self._nested.state() if self.task is None else self._task_from, 0]
        return {"before": self.before, "position": self.position, "nested": place}

    def skip(self, count: int) -> None:
        self._nested.skip(count)

    def close(self) -> None:
        if self.task is not None and not self.task.cancel():
            self.task.wait()
        self._nested.close()


class _Unopened(NamedTuple):
    """The error of the next input, and where the inputs stood before it."""

    error: Exception
    before: State
    position: int


def _cycle_length(node: Interleave) -> int:
    """How many take turns; if that is left to us, as many as are read in parallel, or the cores."""
    if node.cycle_length > 0:
        return node.cycle_length
    if node.cycle_length == ONE_FOR_THREE_CORES:
        return -(-cores() // 3)
    calls = 0 if node.parallelism is None else node.parallelism.calls
    return calls if calls > 0 else cores()


class _InterleaveCursor(Cursor):
    def __init__(self, node: Interleave, run: Run) -> None:
        self._node, self._run = node, run
        self._parent = node.parent.cursor(run.input(0))
        self._key = run.key(node)
        self._slots: list[_Slot | None] = [None] * _cycle_length(node)
        self._turn = 0
        self._in_block = 0
        self._position = -1
        self._inputs_ended = False
        self._ordered = True
        self._lanes: Lanes | None = None
        self._remote: RemoteWorkers | None = None
        if node.parallelism is not None:
            calls = node.parallelism.calls
            most = calls if calls > 0 else run.options.threads or cores()
            workers = min(most, len(self._slots))
            self._ordered = is_ordered(node.parallelism, run)
            pool = run.session.shared(ThreadPool)
            pool.reserve(workers)
            self._lanes = Lanes(pool, workers)
            if node.parallelism.executor == "process":
                self._remote = run.session.resource(
                    (RemoteWorkers, run.where), lambda: RemoteWorkers(workers, node.title)
                )
                self._remote.join()

        self._signal = threading.Event()
        self._journal = None if self._ordered else Journal(by_position=False)
        self._error: Exception | None = None
        self._unopened: _Unopened | None = None

    def read(self, max_rows: int) -> Chunk:
        if self._error is not None:
            self._raise(self._error)
        out: list[Any] = []
        try:
            while len(out) < max_rows and not self._is_over():
                if self._lanes is not None:
                    self._keep_fetching(self._lanes)
                out += self._take_turn(max_rows - len(out))
        except Exception as error:
            self._error = error
            if not out:
                self._raise(error)
        return Chunk.from_rows(out) if out else EMPTY

    def _raise(self, error: Exception) -> None:
        self._error = None
        if self._unopened is not None and error is self._unopened.error:
            self._unopened = None
        raise error

    def _is_over(self) -> bool:
        return self._inputs_ended and not any(self._slots)

    def _take_turn(self, room: int) -> list[Any]:
        """What the slot whose turn it is has to give; nothing if it only changed its state."""
        slot = self._slots[self._turn]
        if slot is None:
            self._open(self._turn)
            if self._unopened is not None:
                raise self._unopened.error
            if self._slots[self._turn] is None:
                self._pass_turn()
            return []
        count = min(room, self._node.block_length - self._in_block)
        if self._journal is not None:
            slot, count = self._chosen(self._journal, slot, count)
        if slot.given == len(slot.rows) and not self._fill(slot, count):
            return []
        if rows := self._whole_rounds(room):
            return rows
        rows = slot.rows[slot.given : slot.given + count]
        if self._journal is not None:
            self._journal.made(slot.position, len(rows))
        slot.given += len(rows)
        self._in_block += len(rows)
        if self._in_block >= self._node.block_length:
            self._pass_turn()
        return rows

    def _pass_turn(self) -> None:
        self._in_block, self._turn = 0, (self._turn + 1) % len(self._slots)

    def _fill(self, slot: _Slot, count: int) -> bool:
        """Get rows for a slot; False if its data set has ended, and with it its turn."""
        if slot.task is None:
            ahead = slot.may_fetch_ahead or self._lanes is not None
            slot.plan_fetch(None if ahead else count, self._signal).run()
        if slot.refill():
            return True
        if self._journal is not None:
            self._journal.made(slot.position, 0)
        slot.close()
        self._slots[self._turn] = None
        self._pass_turn()
        return False

    def _chosen(self, journal: Journal, slot: _Slot, count: int) -> tuple[_Slot, int]:
        """Where order is free: what the journal asks for, else whoever has rows first."""
        if (choice := journal.next_choice) is not None:
            wanted = [s for s in self._slots if s is not None and s.position == choice[0]]
            slot, count = wanted[0] if wanted else slot, max(1, min(count, choice[1]))
        elif not slot.is_ready:
            slot = self._first_ready() or slot
        if slot is not self._slots[self._turn]:
            self._turn, self._in_block = self._slots.index(slot), 0
        return slot, count

    def _first_ready(self) -> _Slot | None:
        slots = [s for s in self._slots if s is not None]
        ready = next((s for s in slots if s.is_ready), None)
        under_way = [s.task for s in slots if s.task is not None]
        if ready is None and under_way:
            done = first_done(under_way, self._signal)
            return next(s for s in slots if s.task is done)
        return ready

    def _whole_rounds(self, room: int) -> list[Any]:
        """Several rounds at once, while every slot has rows: one from each, again and again."""
        one_each = self._ordered and self._node.block_length == 1
        if self._turn or not one_each or len(self._slots) > room:
            return []
        slots = [slot for slot in self._slots if slot is not None]
        rounds = min(len(slot.rows) - slot.given for slot in slots)
        rounds = min(rounds, room // len(self._slots))
        if len(slots) < len(self._slots) or rounds < 1:
            return []
        rows = [slot.rows[slot.given : slot.given + rounds] for slot in slots]
        for slot in slots:
            slot.given += rounds
        return list(chain.from_iterable(zip(*rows, strict=True)))

    def _open(self, turn: int) -> None:
        """Put the next input's data set into a slot, if there is one.

        An error waits for the slot's turn, so that what comes before it is given first. Until then
        no further input is read, for a state would have to point behind that one and before it.
        """
        if self._inputs_ended or self._unopened is not None:
            return
        before, position = self._parent.state(), self._position
        try:
            chunk = self._parent.read(1)
            if len(chunk):
                self._position += 1
                slot = self._make_slot(before, self._position, chunk.rows[0], None)
                self._slots[turn] = slot
            else:
                self._inputs_ended = True
        except Exception as error:
            self._unopened = _Unopened(error, before, position)

    def _make_slot(self, before: State, position: int, element: Any, place: State | None) -> _Slot:
        node = call_for_node(self._node.function, element, self._node.title, position)
        key = (*self._key, position)
        nested: Nested | RemoteNested
        if self._remote is None:
            nested = open_nested(node, self._run, key, place)
        else:
            nested = RemoteNested(self._remote, node, self._run, key, position, place)
        context = None if self._lanes is None else self._run.session.context.copy()
        return _Slot(before, position, node, nested, context)

    def _keep_fetching(self, lanes: Lanes) -> None:
        """Open what can be open, and have the workers fetch from all of them."""
        count = len(self._slots)
        for turn in (i % count for i in range(self._turn, self._turn + count)):
            if self._slots[turn] is None:
                self._open(turn)
            slot = self._slots[turn]
            if slot is not None and slot.task is None:
                lanes.add(slot.plan_fetch(None, self._signal))

    def state(self) -> State:
        unopened = self._unopened
        return {
            "parent": self._parent.state() if unopened is None else unopened.before,
            "position": self._position if unopened is None else unopened.position,
            "turn": self._turn,
            "in_block": self._in_block,
            "ended": self._inputs_ended,
            "slots": [None if slot is None else slot.state() for slot in self._slots],
            "order": None if self._journal is None else self._journal.log(),
        }

    def restore(self, state: State) -> None:
        if (state["order"] is None) != (self._journal is None):
            raise other_workers()
        self._parent.restore(state["parent"])
        self._position, self._inputs_ended = state["position"], state["ended"]
        self._turn, self._in_block = state["turn"], state["in_block"]
        self._slots = [None if saved is None else self._reopen(saved) for saved in state["slots"]]
        if self._journal is not None:
            self._journal.follow(state["order"])

    def _reopen(self, saved: State) -> _Slot:
        cursor = self._node.parent.cursor(self._run.input(0))
        cursor.restore(saved["before"])
        element = cursor.read(1).rows[0]
        cursor.close()
        place, given = saved["nested"]
        slot = self._make_slot(saved["before"], saved["position"], element, place)
        slot.skip(given)
        return slot

    def close(self) -> None:
        slots = [slot for slot in self._slots if slot is not None]
        remote, self._remote = self._remote, None
        if remote is not None:
            # Rather than wait for what nobody will use.
            remote.leave(is_waiting=not all(slot.is_idle for slot in slots))
        for slot in slots:
            slot.close()
        self._parent.close()
