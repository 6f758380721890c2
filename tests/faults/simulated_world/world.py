"""The simulated world: the library at work on a SimulatedStore, under a Scheduler.

``patched`` puts simulated clocks, threads and stores into the modules of the library; ``World``
runs one plan. What actors do are the functions that users call, one level below ``Dataset`` so that
nothing is spent on recipes and fingerprints.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Any
from unittest import mock

from tests.faults.simulated_world.plan import ActorPlan, Plan
from tests.faults.simulated_world.primitives import (
    Clock,
    Future,
    Hosts,
    Now,
    Queues,
    Threading,
    one_by_one,
    wait,
)
from tests.faults.simulated_world.scheduler import Actor, Scheduler
from tests.faults.simulated_world.store import Disk, Operation, SimulatedStore

import keepset as ks
from keepset.core import cursor, iterate, pace
from keepset.errors import CorruptSnapshotError, KeepsetError, NewerFormatError
from keepset.format import log
from keepset.snapshot import stage
from keepset.snapshot.reading import chunk_source, opening, read_ahead
from keepset.snapshot.reading.replay import Replay
from keepset.snapshot.upkeep import checking, collecting, removing, repairing
from keepset.snapshot.writing import (
    computing,
    first_pass,
    lease,
    progress,
    recorder,
    reset,
    run_id,
    saving,
)
from keepset.storage import settle

ROOT = "world"
PLACE = f"{ROOT}/f"
COUNT = 4  # elements of the pipeline, and of what is saved
MANY = 1000  # what tells one data set from another
PIPELINE = 1  # the number of the data set that the pipeline computes


class Current(Now):
    """The world that runs at the moment."""

    disk: Disk
    random: Random
    acknowledged: list[Operation]

    def open_store(self, url: Any, **_: Any) -> SimulatedStore:
        return SimulatedStore(self.disk, str(url))

    def urandom(self, size: int) -> bytes:
        return self.random.randbytes(size)

    @property
    def operation(self) -> Operation | None:
        return self.disk.operations.get(self.scheduler.current.actor)


NOW = Current()
_CLOCKED = (
    collecting, computing, cursor, first_pass, iterate, lease, log, opening, progress, removing,
    repairing, reset, saving, settle, stage, chunk_source,
)  # fmt: skip


@contextmanager
def patched() -> Iterator[None]:
    """Let the library run in simulated worlds."""
    clock, threading = Clock(NOW), Threading(NOW)
    real_stored = first_pass.FirstPass._say_stored

    def note_stored(self: first_pass.FirstPass, whole: Any) -> None:
        assert NOW.operation is not None
        NOW.acknowledged.append(NOW.operation)
        real_stored(self, whole)

    clocks = [(module, "time", clock) for module in _CLOCKED if hasattr(module, "time")]
    others: list[tuple[Any, str, Any]] = [
        (lease, "threading", threading),
        (lease, "socket", Hosts(NOW)),
        (lease, "_boot_id", lambda: "boot"),
        (lease, "_start_of", lambda pid: "start"),
        (pace, "_LARGEST_READ", 1),
        (recorder, "threading", threading),
        (recorder, "queue", Queues(NOW)),
        (recorder, "Future", lambda: Future(NOW.scheduler)),
        (recorder, "wait", wait),
        (run_id, "os", mock.Mock(urandom=NOW.urandom)),
        (checking, "map_at_once", one_by_one),
        (read_ahead, "threads_for", lambda source: None),
        (first_pass.FirstPass, "is_due", property(lambda self: self._added >= 2)),
        (first_pass.FirstPass, "_say_stored", note_stored),
        (first_pass.FirstPass.__init__, "__defaults__", (None, clock.monotonic)),
        (lease.Watch.__init__, "__defaults__", (clock.monotonic,)),
        *((module, "open_store", NOW.open_store) for module in (saving, stage, opening)),
    ]
    with ExitStack() as patches, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for owner, name, value in (*clocks, *others):
            patches.enter_context(mock.patch.object(owner, name, value))
        yield


class World:
    """One run of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.scheduler = Scheduler(dict(plan.switches), plan.seed)
        faults = {(actor, number): kind for actor, number, kind in plan.faults}
        damages = {before: (delay, how) for before, delay, how in plan.damages}
        late = frozenset(plan.late_lists)
        self.disk = Disk(self.scheduler, faults, late, plan.has_views, damages)
        self.operations: list[Operation] = []
        self.found: dict[int, list[int]] = {}  # by the operation: its elements
        self.complaints: list[tuple[Operation, str]] = []
        self.acknowledged: list[Operation] = []
        self._data = PIPELINE

    def run(self) -> None:
        """Let all actors act until they are done."""
        NOW.scheduler, NOW.disk = self.scheduler, self.disk
        NOW.random, NOW.acknowledged = Random(self.plan.seed), self.acknowledged
        for each in self.plan.actors:
            actor = Actor(each.name, each.skew_s, each.kill_at, dict(each.pauses))
            self.scheduler.spawn(actor, self._script(each, actor))
        self.scheduler.run()

    def alone(self, body: Callable[[Actor], None]) -> None:
        """Let one more actor act, to whom nothing happens."""
        self.disk.has_faults = False
        actor = Actor("judge")
        self.scheduler.spawn(actor, lambda: body(actor))
        self.scheduler.run()

    def store(self) -> SimulatedStore:
        return SimulatedStore(self.disk, PLACE)

    def _script(self, plan: ActorPlan, actor: Actor) -> Callable[[], None]:
        def act() -> None:
            for job, seconds in zip(plan.jobs, plan.sleeps, strict=True):
                if seconds:
                    self.scheduler.block(lambda: False, seconds)
                self.do(job, actor, plan.pending)

        return act

    def do(self, job: str, actor: Actor, pending: str = "wait") -> Operation:
        """Have an actor do something, and note what came of it."""
        data = 0
        if job in ("pass", "begin", "write anew"):
            data = PIPELINE
        elif job == "save":
            data = self._data = self._data + 1
        operation = Operation(job, actor.name, data, self.scheduler.steps)
        self.operations.append(operation)
        self.disk.operations[actor] = operation
        try:
            found = self._act(operation, pending)
            operation.outcome = "ok"
            if found is not None:
                self.found[id(operation)] = found
        except KeepsetError as error:
            operation.outcome = type(error).__name__
            if isinstance(error, CorruptSnapshotError | NewerFormatError):
                self.complaints.append((operation, f"{job} of {actor.name}: {error}"))
        operation.end = self.scheduler.steps
        if operation.outcome == "ok" and job == "save":
            self.acknowledged.append(operation)
        return operation

    def _act(self, operation: Operation, pending: str) -> list[int] | None:
        job, data = operation.kind, operation.data
        root = SimulatedStore(self.disk, ROOT)
        if job == "save":
            node = ks.Dataset.range(COUNT).map(lambda x: x + data * MANY)._node
            saving.save_node(
                node, PLACE, compression="NONE", progress=False, chunk_bytes=16, segment_bytes=1,
                tell=lambda node, looks: {"data": data},
            )  # fmt: skip
        elif job in ("pass", "begin", "write anew"):
            mode = "write" if job == "write anew" else "auto"
            return self._pass(mode, pending, 2 if job == "begin" else None)
        elif job == "load":
            location = opening.locate(PLACE)
            return [int(x) for x in ks.Dataset(Replay(location=location))]
        elif job == "rm":
            removing.remove_snapshot(root.sub("f/"))
        elif job == "gc":
            collecting.collect(root, collecting.plan_collection(root, grace_s=0.0))
        else:
            assert job == "repair"
            store = root.sub("f/")
            repairing.repair_snapshot(store, checking.check_snapshot(store))
        return None

    def _pass(self, mode: str, pending: str, most: int | None) -> list[int]:
        parent = ks.Dataset.range(COUNT).map(lambda x: x + PIPELINE * MANY)._node
        kept = stage.SnapshotStage(
            parent=parent, path=ROOT, fingerprint="f", compression="NONE", mode=mode,
            on_pending=pending, chunk_bytes=16, segment_bytes=1,
            tell=lambda node, looks: {"data": PIPELINE},
        )  # fmt: skip
        iterator = iter(ks.Dataset(kept))
        given: list[int] = []
        try:
            for x in iterator:
                given.append(int(x))
                if len(given) == most:
                    break
        finally:
            iterator.close()
        return given


def elements(data: int) -> list[int]:
    """The elements of a data set by its number."""
    return [data * MANY + x for x in range(COUNT)]
