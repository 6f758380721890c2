"""Loads: chunks in memory or on their way there, each made once, however many ask for it."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias
from weakref import WeakValueDictionary

from keepset.core.chunk import Chunk

# Makes the chunk of a number, and says how much memory it takes.
Make: TypeAlias = Callable[[int], tuple[Chunk, int]]

# Chunks that are held after their use, for rows that are asked for one by one and for the next pass
# over small data. Those that are views of a mapped file take next to nothing.
_MOST_RECENT = 1024
MOST_RECENT_BYTES = 64 << 20


class Load:
    """A chunk that is made by whoever gets to it first, and is there while somebody holds this."""

    __slots__ = ("__weakref__", "_done", "_make", "_process", "_thread", "chunk", "number", "size")

    def __init__(self, number: int, make: Make) -> None:
        self.number = number
        self._make: Make | None = make
        self._thread: dict[str, int] = {}  # at most one: which thread makes the chunk
        self._done = threading.Lock()  # held until the chunk is there or the first try has failed
        self._done.acquire()
        self._process = os.getpid()
        self.chunk: Chunk | None = None
        self.size: int | None = None  # in bytes, once it is known

    @property
    def has_begun(self) -> bool:
        return bool(self._thread)

    @property
    def has_failed(self) -> bool:
        return self.chunk is None and not self._done.locked()

    def run(self) -> None:
        """Make the chunk ahead of need, unless somebody has begun to."""
        # Whoever needs the chunk tries again, and gets the error where it belongs.
        with suppress(Exception):
            self._run_if_first()

    def fetch(self) -> Chunk:
        """The chunk, made here or waited for."""
        if self.chunk is None and not self._run_if_first():
            # A thread that was at work when this process was forked will never be through.
            if self._process == os.getpid():
                with self._done:
                    pass
            self._run()
        assert self.chunk is not None
        return self.chunk

    def _run_if_first(self) -> bool:
        """Make the chunk unless another thread has begun to; False if one has."""
        us = threading.get_ident()
        try:
            is_ours = self._thread.setdefault("making", us) == us
            if is_ours:
                self._run()
            return is_ours
        finally:
            # In any case, also that of an interrupt just after it has become ours.
            if self._thread.get("making") == us and self._done.locked():
                self._done.release()

    def _run(self) -> None:
        make = self._make
        if make is not None:
            self.chunk, self.size = make(self.number)
            # What makes chunks holds some of them, and shall not be held by them in turn.
            self._make = None


class Loads:
    """The chunks of one snapshot by number. May be used by several threads."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._known: WeakValueDictionary[int, Load] = WeakValueDictionary()
        self._recent: OrderedDict[int, Load] = OrderedDict()
        self._recent_bytes = 0

    def request(self, number: int, make: Make) -> Load:
        """The load of a chunk, which may be done, under way, or for the caller to run."""
        if self._process != os.getpid():
            self._begin()  # forked: somebody who is not here may hold the lock
        with self._lock:
            load = self._known.get(number)
            if load is None or load.has_failed:
                load = self._known[number] = Load(number, make)
            elif number in self._recent:
                self._recent.move_to_end(number)
            return load

    def keep(self, load: Load) -> None:
        """Hold a chunk that is done in place of those that were used longest ago."""
        with self._lock:
            self._add(load)
            while len(self._recent) > 1 and (
                len(self._recent) > _MOST_RECENT or self._recent_bytes > MOST_RECENT_BYTES
            ):
                self._recent_bytes -= self._recent.popitem(last=False)[1].size or 0

    def keep_if_room(self, load: Load) -> None:
        """Hold a chunk that is done if that displaces none."""
        with self._lock:
            size = self._recent_bytes + (load.size or 0)
            if len(self._recent) < _MOST_RECENT and size <= MOST_RECENT_BYTES:
                self._add(load)

    def _add(self, load: Load) -> None:
        if load.number not in self._recent:
            self._recent[load.number] = load
            self._recent_bytes += load.size or 0
