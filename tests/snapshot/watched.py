"""A store that counts what is read from it, and can hold reads up, for tests of reading."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from pathlib import Path

import keepset as ks
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.reading.opening import Location, locate
from keepset.snapshot.reading.replay import Replay
from keepset.storage import ObjectInfo, ObjectWriter, Store, open_store

PATIENCE_S = 10.0


class Watched(Store):
    """Passes everything on to ``store``; only copies can be had of objects, as from afar.

    ``reads`` counts ranges by name and offset. After ``hold_until(n)`` reads wait until so many of
    them are in flight at the same time, or until ``release``; all, or those of the ``threads`` of
    this name.
    """

    def __init__(self, store: Store, is_remote: bool = True) -> None:
        self.store, self.url, self.is_remote = store, store.url, is_remote
        self.reads: Counter[tuple[str, int]] = Counter()
        self._awaited = 0
        self._threads: str | None = None
        self._may_go = threading.Event()
        self._may_go.set()
        self.in_flight = self.most_in_flight = 0
        self._change = threading.Condition()

    def read_range(self, name: str, offset: int, length: int) -> memoryview | bytes:
        return self.read_ranges(name, [(offset, length)])[0]

    def read_ranges(self, name: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview | bytes]:
        with self._change:
            self.reads.update((name, offset) for offset, _ in ranges)
            self.in_flight += 1
            self.most_in_flight = max(self.in_flight, self.most_in_flight)
            if self.in_flight >= self._awaited:
                self._may_go.set()
            self._change.notify_all()
        try:
            if self._threads in (None, threading.current_thread().name):
                assert self._may_go.wait(PATIENCE_S), "too few reads at once"
            return self.store.read_ranges(name, ranges)
        finally:
            with self._change:
                self.in_flight -= 1
                self._change.notify_all()

    def hold_until(self, in_flight: int, threads: str | None = None) -> None:
        self._awaited, self._threads = in_flight, threads
        self._may_go.clear()

    def release(self) -> None:
        self._awaited = 0
        self._may_go.set()

    def wait_for(self, in_flight: int) -> None:
        """Wait until so many reads are in flight."""
        with self._change:
            assert self._change.wait_for(lambda: self.in_flight == in_flight, PATIENCE_S)

    def view(self, name: str) -> None:
        return None

    def read(self, name: str) -> bytes:
        return self.store.read(name)

    def size(self, name: str) -> int:
        return self.store.size(name)

    def exists(self, name: str) -> bool:
        return self.store.exists(name)

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        return self.store.list(prefix)

    def create(self, name: str, data: bytes) -> bool:
        return self.store.create(name, data)

    def put(self, name: str, data: bytes) -> None:
        self.store.put(name, data)

    def writer(self, name: str) -> ObjectWriter:
        return self.store.writer(name)

    def delete(self, names: Iterable[str]) -> None:
        self.store.delete(names)

    def sync(self, prefix: str) -> None:
        self.store.sync(prefix)

    def sub(self, prefix: str) -> Watched:
        below = copy(self)  # which counts in the same place
        below.store = self.store.sub(prefix)
        below.url = below.store.url
        return below


def watched(path: str | Path, is_remote: bool = True) -> tuple[Location, Watched]:
    """What is saved at a path, seen through a store that is watched."""
    found = locate(path)
    store = Watched(open_store(path), is_remote)
    kept = Kept(store, found.kept.manifest)
    return Location(found.url, found.commit, {}, True, kept), store


def loaded(location: Location) -> ks.Dataset:
    return ks.Dataset(Replay(location=location))
