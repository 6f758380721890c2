"""SimulatedStore: objects in memory, shared by all actors, that fail and lag as a plan says.

Every call is a step of the scheduler. A commit that comes to be is noted in the journal, with the
operation that made it and the step: that is what the law is judged by, not what callers were told.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.faults.simulated_world.scheduler import Actor, Scheduler

from keepset.errors import ObjectMissingError, StorageError
from keepset.storage.settle import UnclearAnswerError, create_settled
from keepset.storage.store import (
    TEMPORARY,
    ObjectInfo,
    ObjectWriter,
    Store,
    check_name,
    check_prefix,
)

_PAGE = 3  # names that a listing finds at once
_LATE_S = 2.0  # how long a name may be passed over by late listings

# A file that was written to within so many seconds may be of a writer that has no lease yet.
UNFINISHED_S = 60.0

# What may happen to a commit at rest, or to the elements that it names.
DAMAGES = ("flip", "tear", "tear", "segment")

# What may happen to a call that writes. "after" means that it had its effect all the same; a "late"
# one has it when the caller has given up.
WRITE_FAULTS = (
    "unclear before", "unclear after", "unclear after", "error before", "error after", "late",
)  # fmt: skip


@dataclass
class Operation:
    """What an actor does at a time, from the step where it begins to that where it ends."""

    kind: str
    actor: str
    data: int = 0  # the number of the data set that it writes
    begin: int = 0
    end: int | None = None
    outcome: str = "killed"


@dataclass
class Created:
    """A commit that came to be."""

    step: int
    number: int
    kind: str
    operation: Operation | None
    names: frozenset[str]  # of the commit itself and of the segments that it names


@dataclass
class Object:
    data: bytes
    created_s: float
    creator: Actor | None


@dataclass
class Unfinished:
    """A file that has not got its name yet."""

    modified_s: float
    size_bytes: int = 0
    seen_s: dict[Actor, float] = field(default_factory=dict)  # when modified, as was last listed


@dataclass
class Disk:
    """What all stores of one world share."""

    scheduler: Scheduler
    faults: Mapping[tuple[str, int], str]  # by the actor and the number of its write
    late_lists: frozenset[tuple[str, int]]  # by the actor and the number of its listing
    has_views: bool  # whether readers map files, as on a disk, or fetch pieces
    damages: Mapping[int, tuple[int, str]]  # by how many commits came before: when after, and how
    objects: dict[str, Object] = field(default_factory=dict)
    journal: list[Created] = field(default_factory=list)
    deleted: dict[str, int] = field(default_factory=dict)  # the step when an object was last gone
    writes: dict[str, int] = field(default_factory=dict)
    lists: dict[str, int] = field(default_factory=dict)
    operations: dict[Actor, Operation] = field(default_factory=dict)
    # When an actor last wrote to a folder. It sees what others had written there before that, also
    # in a late listing: buckets list at once, and NFS drops a cached folder that it writes to.
    written: dict[tuple[Actor, str], float] = field(default_factory=dict)
    damaged: list[tuple[int, str]] = field(default_factory=list)  # at which step, what
    unfinished: dict[str, Unfinished] = field(default_factory=dict)
    # Files that were swept although their writers had written to them within the last minute.
    swept: list[str] = field(default_factory=list)
    begun: int = 0
    has_faults: bool = True
    faults_met: int = 0

    def next_fault(self) -> str | None:
        """What happens to the write that the running actor begins now."""
        name = self.scheduler.current.actor.name
        self.writes[name] = self.writes.get(name, 0) + 1
        fault = self.faults.get((name, self.writes[name])) if self.has_faults else None
        self.faults_met += fault is not None
        return fault

    def is_late(self) -> bool:
        name = self.scheduler.current.actor.name
        self.lists[name] = self.lists.get(name, 0) + 1
        is_late = self.has_faults and (name, self.lists[name]) in self.late_lists
        self.faults_met += is_late
        return is_late

    def set(self, name: str, data: bytes, actor: Actor, operation: Operation | None) -> None:
        self.objects[name] = Object(data, self.scheduler.now_s, actor)
        self.written[actor, name.rpartition("/")[0]] = self.scheduler.now_s
        if "/commits/" in name:
            self._note(name, json.loads(data), operation)

    def _note(self, name: str, commit: dict[str, Any], operation: Operation | None) -> None:
        """Note a commit in the journal, and what will happen to it."""
        place, _, file = name.partition("commits/")
        segments = [place + each["name"] for each in commit.get("manifest", {}).get("segments", ())]
        kind = "removed" if commit.get("removed") else str(commit["kind"])
        step = self.scheduler.steps
        if damage := self.damages.get(len(self.journal)):
            delay, how = damage
            victim = segments[0] if how == "segment" and segments else name
            self.scheduler.at_step(step + delay, lambda: self.damage(victim, how))
        names = frozenset([name, *segments])
        self.journal.append(Created(step, int(file[:8]), kind, operation, names))

    def damage(self, name: str, how: str) -> None:
        """Spoil an object at rest, if it is still there."""
        found = self.objects.get(name)
        if found is None or not self.has_faults:
            return
        data, middle = found.data, len(found.data) // 2
        if how == "tear":
            found.data = data[:middle]
        elif how == "flip":
            found.data = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        else:
            found.data = data[:middle] + bytes(len(data) - middle)
        self.damaged.append((self.scheduler.steps, name))


class SimulatedStore(Store):
    """The objects below one prefix, as the running actor meets them."""

    is_remote = False

    def __init__(self, disk: Disk, url: str) -> None:
        self._disk, self.url = disk, url

    def _found(self, name: str) -> bytes:
        self._disk.scheduler.step()
        found = self._disk.objects.get(self._full(name))
        if found is None:
            url = self.object_url(name)
            raise ObjectMissingError(f"{url} is not there", url=url)
        return found.data

    def _full(self, name: str) -> str:
        return f"{self.url}/{check_name(name)}"

    def read(self, name: str) -> bytes:
        return self._found(name)

    def read_range(self, name: str, offset: int, length: int) -> bytes:
        data = self._found(name)[offset : offset + length]
        if len(data) < length:
            raise self.too_short(name, offset, length, len(data))
        return data

    def view(self, name: str) -> memoryview | None:
        return memoryview(self._found(name)) if self._disk.has_views else None

    def size(self, name: str) -> int:
        return len(self._found(name))

    def exists(self, name: str) -> bool:
        self._disk.scheduler.step()
        return self._full(name) in self._disk.objects

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        folder = check_prefix(prefix)
        below = f"{self.url}/{folder}/" if folder else f"{self.url}/"
        is_late, actor = self._disk.is_late(), self._disk.scheduler.current.actor
        written_s = self._disk.written.get((actor, below.rstrip("/")), float("-inf"))
        last = ""
        while True:
            self._disk.scheduler.step()
            names = (name for name in self._disk.objects if name.startswith(below) and name > last)
            page = sorted(names)[:_PAGE]
            if not page:
                return
            last = page[-1]
            for name in page:
                found = self._disk.objects.get(name)
                if found is None:
                    continue  # deleted while we list
                age_s = self._disk.scheduler.now_s - found.created_s
                is_known = found.creator is actor or found.created_s <= written_s
                if not (is_late and age_s < _LATE_S and not is_known):
                    yield ObjectInfo(name[len(self.url) + 1 :], len(found.data), found.created_s)

    def create(self, name: str, data: bytes) -> bool:
        fault, full = self._disk.next_fault(), self._full(name)
        actor = self._disk.scheduler.current.actor
        operation = self._disk.operations.get(actor)

        def attempt() -> None:
            nonlocal fault
            self._disk.scheduler.step()
            now, fault = fault, None
            if now in ("unclear before", "error before", "late"):
                self._fail(now, name, lambda: make())
            if full in self._disk.objects:
                raise UnclearAnswerError(FileExistsError(full))
            make()
            if now is not None:
                self._fail(now, name, lambda: None)

        def make() -> None:
            if full not in self._disk.objects:
                self._disk.set(full, data, actor, operation)

        return create_settled(self, name, data, attempt)

    def _fail(self, fault: str, name: str, make: object) -> None:
        if fault.startswith("unclear"):
            raise UnclearAnswerError(OSError(5, "the reply was lost"))
        if fault == "late":
            assert callable(make)
            self._disk.scheduler.later(20.0, make)
        url = self.object_url(name)
        raise StorageError(f"cannot reach {url}", url=url)

    def put(self, name: str, data: bytes) -> None:
        fault, full = self._disk.next_fault(), self._full(name)
        self._disk.scheduler.step()
        if fault is None or fault.endswith("after"):
            self._disk.set(full, data, self._disk.scheduler.current.actor, None)
        if fault is not None:
            self._fail("error", name, None)

    def writer(self, name: str) -> ObjectWriter:
        return _Writer(self, name)

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            fault, full = self._disk.next_fault(), self._full(name)
            self._disk.scheduler.step()
            if (fault is None or fault.endswith("after")) and full in self._disk.objects:
                del self._disk.objects[full]
                self._disk.deleted[full] = self._disk.scheduler.steps
            if fault is not None:
                self._fail("error", name, None)

    def info(self, name: str) -> ObjectInfo:
        size = len(self._found(name))
        return ObjectInfo(name, size, self._disk.objects[self._full(name)].created_s)

    def now_s(self) -> float | None:
        self._disk.scheduler.step()
        return self._disk.scheduler.now_s

    def unfinished(self, folders: tuple[str, ...] = ("",)) -> Iterator[ObjectInfo]:
        self._disk.scheduler.step()
        actor = self._disk.scheduler.current.actor
        for name, file in sorted(self._disk.unfinished.items()):
            below = name.removeprefix(f"{self.url}/")
            if below != name and ("/" not in below or below.startswith(folders)):
                file.seen_s[actor] = file.modified_s
                yield ObjectInfo(below, file.size_bytes, file.modified_s)

    def discard(self, unfinished: Iterable[str]) -> None:
        for name in unfinished:
            self._disk.scheduler.step()
            file = self._disk.unfinished.pop(f"{self.url}/{name}", None)
            actor = self._disk.scheduler.current.actor
            if file is None or file.seen_s.get(actor) != file.modified_s:
                continue  # written to since it was listed
            if self._disk.scheduler.now_s - file.modified_s < UNFINISHED_S:
                self._disk.swept.append(f"{self.url}/{name}")

    def sub(self, prefix: str) -> SimulatedStore:
        return SimulatedStore(self._disk, self._full(prefix.removesuffix("/")))


class _Writer(ObjectWriter):
    """Writes to a file beside the object, which takes the object's name at the end."""

    def __init__(self, store: SimulatedStore, name: str) -> None:
        super().__init__(store.object_url(name))
        self._store, self._name, self._disk = store, name, store._disk
        self._data = bytearray()
        self._disk.begun += 1
        folder = store._full(name).rpartition("/")[0]
        self._file = f"{folder}/{TEMPORARY}{self._disk.begun}"
        self._disk.unfinished[self._file] = Unfinished(self._disk.scheduler.now_s)

    def _write(self, view: memoryview) -> None:
        self._data += view
        if file := self._disk.unfinished.get(self._file):
            file.modified_s, file.size_bytes = self._disk.scheduler.now_s, len(self._data)

    def _finish(self) -> None:
        self._disk.scheduler.step()
        if self._disk.unfinished.pop(self._file, None) is None:
            raise StorageError(f"{self.url} cannot be written: its file is gone", url=self.url)
        self._store.put(self._name, bytes(self._data))

    def _discard(self) -> None:
        self._data = bytearray()
        self._disk.unfinished.pop(self._file, None)
