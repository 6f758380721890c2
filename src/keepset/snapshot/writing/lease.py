"""Leases: the heartbeat of a live writer. Advice for others, never what correctness rests on."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Any
from weakref import WeakValueDictionary, ref

from keepset.core.record import record
from keepset.errors import ObjectMissingError, StorageError
from keepset.storage import Store
from keepset.storage.system_facts import system_text

FOLDER = "leases/"
BEAT_S = 10.0
# How long a writer on another machine may be silent before it is taken for dead.
EXPIRY_S = 60.0


# The runs of this process that have a lease, and what holds each: a lease that was dropped, by an
# interrupt between any two steps, stands for no writer.
_held: WeakValueDictionary[str, object] = WeakValueDictionary()


@record
class Holder:
    """Who writes: a process of a machine since it was started."""

    run: str
    host: str
    boot: str
    pid: int
    started: str
    since: float
    beat: float

    @property
    def is_this_process(self) -> bool:
        return self.is_here and self.pid == os.getpid()

    @property
    def is_here(self) -> bool:
        return (self.host, self.boot) == (socket.gethostname(), _boot_id())

    def is_alive(self, expiry_s: float) -> bool:
        """Whether the writer is at work: certain on this machine, judged by its beat elsewhere."""
        if self.is_this_process:
            return self.run in _held
        if self.is_here:
            return _start_of(self.pid) == self.started
        return time.time() - self.beat < expiry_s

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def this_holder(run: str, since: float) -> Holder:
    """This process, as the writer of a run."""
    pid = os.getpid()
    host, boot = socket.gethostname(), _boot_id()
    return Holder(run, host, boot, pid, _start_of(pid), since, time.time())


def hold(run: str, holder: object) -> None:
    """Note that this process writes a run, until it is let go of or the holder is gone."""
    _held[run] = holder


def let_go(run: str) -> None:
    _held.pop(run, None)


def is_held_up(run: str, owner: object) -> bool:
    """Whether another owner holds a run in this very thread, which is busy with this one now."""
    lease = _held.get(run)
    return isinstance(lease, Lease) and lease.is_held_up(owner)


class Lease:
    """Says that this process writes, until it is released, dropped or the process ends."""

    def __init__(self, store: Store, run: str, held_by: object = None) -> None:
        self._store, self._run, self._since = store, run, time.time()
        self._held_by = None if held_by is None else ref(held_by)
        self._thread_id = threading.get_ident()
        self._released = threading.Event()
        self._process = os.getpid()
        hold(run, self)
        try:
            self._beat()
            # The thread must not hold the lease: one that nothing else holds is over.
            self._thread = threading.Thread(
                target=_go_on,
                args=(ref(self), self._released, store, self._name),
                name="keepset-lease",
                daemon=True,
            )
            self._thread.start()
        except BaseException:
            # It may be there all the same, and would speak for a writer that never began.
            self._released.set()
            self._remove()
            raise

    def _beat(self) -> None:
        holder = this_holder(self._run, self._since)
        self._store.put(self._name, json.dumps(asdict(holder)).encode())

    @property
    def _name(self) -> str:
        return f"{FOLDER}{self._run}.json"

    def is_held_up(self, owner: object) -> bool:
        """Whether it was taken in this thread, for another owner."""
        ours = self._held_by is not None and self._held_by() is owner
        return self._thread_id == threading.get_ident() and not ours

    def earlier_holder(self, watch: Watch) -> Holder | None:
        """A live writer that began before this one, should both have begun at the same moment."""
        ours = (self._since, self._run)
        live = (other for other in watch.live_holders() if (other.since, other.run) < ours)
        return next(live, None)

    def release(self) -> None:
        if self._process != os.getpid():
            return  # a fork of the writer: the lease is not its own
        let_go(self._run)  # first: an interrupt may come between any two steps
        self._released.set()
        self._thread.join()
        self._remove()

    def _remove(self) -> None:
        let_go(self._run)
        with suppress(StorageError):
            self._store.delete([self._name])


def _go_on(lease: ref[Lease], released: threading.Event, store: Store, name: str) -> None:
    while not released.wait(BEAT_S):
        found = lease()
        if found is None:
            # It was dropped by an interrupt, and speaks for a writer that is no more.
            with suppress(StorageError):
                store.delete([name])
            return
        # A writer that cannot reach the store cannot commit either, and will hear of it there.
        with suppress(StorageError):
            found._beat()
        del found


class Watch:
    """Looks at the writers of a store, as often as it is asked.

    A writer on another machine is judged by the time of its last beat, which says little if the
    clocks of the two differ. But one that has not beaten while it was watched is dead, whatever
    the clocks say.
    """

    def __init__(
        self, store: Store, expiry_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._expiry_s, self._clock = store, expiry_s, clock
        self._beats: dict[str, tuple[float, float]] = {}  # the last beat, and when it was new to us

    def live_holders(self) -> Iterator[Holder]:
        for holder in holders(self._store):
            if holder.is_alive(self._expiry_s) and not self._is_silent(holder):
                yield holder

    def live_holder(self) -> Holder | None:
        return next(self.live_holders(), None)

    def _is_silent(self, holder: Holder) -> bool:
        now = self._clock()
        beat, since = self._beats.setdefault(holder.run, (holder.beat, now))
        if holder.is_here or beat != holder.beat:
            self._beats[holder.run] = (holder.beat, now)
            return False
        return now - since >= self._expiry_s


def holders(store: Store) -> Iterator[Holder]:
    """All writers that have a lease, alive or not."""
    for info in store.list(FOLDER):
        holder = _read(store, info.name)
        if holder is not None:
            yield holder


def live_holders(store: Store, expiry_s: float) -> Iterator[Holder]:
    """The writers that are at work on a snapshot, as far as can be told."""
    for holder in holders(store):
        if holder.is_alive(expiry_s) or _has_just_beaten(store, holder, expiry_s):
            yield holder


def live_holder(store: Store, expiry_s: float) -> Holder | None:
    """A writer that is at work on a snapshot, if there is one."""
    return next(live_holders(store, expiry_s), None)


def _has_just_beaten(store: Store, holder: Holder, expiry_s: float) -> bool:
    """Whether the file system says that a writer elsewhere is alive, whose beat seems old.

    The clock of this machine may be wrong, or the writer's. That of the file system has stamped
    the lease, and stamps a new file now.
    """
    now = None if holder.is_here else store.now_s()
    if now is None:
        return False
    try:
        beat = store.info(f"{FOLDER}{holder.run}.json").modified_s
    except ObjectMissingError:
        return False
    return now - beat < expiry_s


def _read(store: Store, name: str) -> Holder | None:
    """What a lease says; None if it is gone or makes no sense, as advice may."""
    try:
        return holder_of(json.loads(store.read(name)))
    except (ObjectMissingError, ValueError, RecursionError):
        return None
    except StorageError:
        if store.obstacle(name) is None:
            raise
        return None  # no writer has made it


def holder_of(facts: Any) -> Holder | None:
    """The writer that these facts tell of; None if they make no sense."""
    try:
        return Holder(
            run=str(facts["run"]),
            host=str(facts["host"]),
            boot=str(facts["boot"]),
            pid=int(facts["pid"]),
            started=str(facts["started"]),
            since=float(facts["since"]),
            beat=float(facts["beat"]),
        )
    except (ValueError, KeyError, TypeError, OverflowError):
        return None


def _boot_id() -> str:
    """What tells one start of this machine from another."""
    try:
        return system_text("/proc/sys/kernel/random/boot_id").strip()
    except OSError:
        return ""


def _start_of(pid: int) -> str:
    """When a process was started, so that its number given to another one is not mistaken for it.

    Empty if there is no such process.
    """
    try:
        status = system_text(f"/proc/{pid}/stat")
    except OSError:
        return "" if os.path.exists("/proc/self") or not _exists(pid) else "running"
    state, *fields = status.rpartition(")")[2].split()
    return "" if state in "ZX" else fields[18]


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
