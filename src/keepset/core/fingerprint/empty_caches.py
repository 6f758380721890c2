"""EmptyCaches: those that a pipeline may fill while a pass runs, and who fills them.

A value that appears while the functions of a pass run was made by them, and its digest is taken
before the consumer can change it. One that appears in between was made by the consumer's program,
which may have changed it as well: it counts.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from typing import Any, Final, NamedTuple

from keepset.core.fingerprint.held_results import (
    RESULT,
    Place,
    finding_empty,
    held_results,
    note_result,
)
from keepset.core.fingerprint.value import digest_of_content

# Each takes some 50 ns before and behind each chunk.
_MOST: Final = 1_000
# How often a value is looked at again that other threads change at that moment.
_TRIES: Final = 5


class _Thread(threading.local):
    """The caches of the passes that run functions in a thread: one may read from another."""

    def __init__(self) -> None:
        self.running: list[EmptyCaches] = []


_thread = _Thread()


def note_made_so_far() -> None:
    """Note what the functions have made that run in this thread: a pass begins inside of theirs."""
    for caches in _thread.running:
        caches.note_made()


class _Empty(NamedTuple):
    owner: Callable[[], Any]
    name: str
    table: dict[Any, Any]  # where it will be
    key: Any


class EmptyCaches:
    """The caches that walks over a pipeline have met and that held nothing then."""

    def __init__(self) -> None:
        self._empty: dict[Place, _Empty] = {}
        # The same, for a look that costs little; made again when one comes or goes.
        self._looks: list[tuple[Any, dict[Any, Any]]] | None = []
        self._has_any = False

    def finding(self) -> AbstractContextManager[None]:
        """Take in the caches that the walks meet from here on."""
        return finding_empty(self._add)

    def _add(self, owner: Any, name: str, table: dict[Any, Any], key: Any) -> None:
        self._has_any = True
        place = id(owner), name
        if place in self._empty or len(self._empty) >= _MOST:
            return
        reference: Callable[[], Any]
        own = weakref.ref(self)

        def drop(_: Any) -> None:
            caches = own()
            if caches is not None:
                caches._drop(place)

        try:
            reference = weakref.ref(owner, drop)
        except TypeError:
            reference = lambda: owner  # noqa: E731 - a tuple with attributes, of which there are few
        self._empty[place] = _Empty(reference, name, table, key)
        self._looks = None

    def _drop(self, place: Place) -> None:
        self._empty.pop(place, None)
        self._looks = None

    def begin_functions(self) -> None:
        """Note that functions of the pipeline begin to run."""
        _thread.running.append(self)

    def end_functions(self) -> None:
        """Note that they are done, and how the values are that they have made."""
        _thread.running.remove(self)
        if self._has_any and self._has_filled():
            self.note_made()

    def note_made(self) -> None:
        """Take the digests of the values that functions have made since the last time."""
        for owner, name, table, key in self._filled():
            values = held_results(owner) if name == RESULT and key == () else [table.get(key)]
            for value in values:
                content = self._content(value)
                if content is not None:
                    note_result(owner, name, content)

    def note_found(self, *, in_background: bool) -> None:
        """Let the values count that have appeared while no functions ran.

        Args:
            in_background: Whether functions run also while the consumer does. Then nothing tells
                who has made a value, and it is taken as it is.
        """
        if not self._has_filled():
            return
        if in_background or _thread.running:
            self.note_made()
            return
        for owner, name, _, _ in self._filled():
            note_result(owner, name, None)

    def _has_filled(self) -> bool:
        if (looks := self._looks) is None:
            looks = self._looks = [(each.key, each.table) for each in list(self._empty.values())]
        for key, table in looks:  # noqa: SIM110 - any() takes longer
            if key in table:
                return True
        return False

    def _filled(self) -> Iterator[tuple[Any, str, dict[Any, Any], Any]]:
        """Those that are no longer empty, which are not asked for again."""
        # A copy, because an object may go at any moment, and its caches with it.
        for place, (reference, name, table, key) in list(self._empty.items()):
            if key in table:
                self._drop(place)
                if (owner := reference()) is not None:
                    yield owner, name, table, key

    def _content(self, value: Any) -> bytes | None:
        """The digest of a value; None if it has none, or not for long enough."""
        for _ in range(_TRIES):
            # What it holds may have caches as well.
            with suppress(RuntimeError), self.finding():
                try:
                    return digest_of_content(value)
                except RuntimeError:
                    raise
                except Exception:  # objects may fail in any way when they are looked at
                    return None
        return None
