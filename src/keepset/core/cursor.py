"""Cursor: the running side of a node, the only thing that moves."""

from __future__ import annotations

import json
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

from keepset.core.chunk import EMPTY, Chunk, concat
from keepset.core.dtypes import Array
from keepset.errors import StateError

State: TypeAlias = dict[str, Any]
Lookup: TypeAlias = Callable[[Array], Chunk]

# A position is noted at most this often, so that noting it costs under one per cent.
_MARK_INTERVAL_S = 0.001
_SKIP_ROWS = 1024


class Cursor(ABC):
    """Reads chunks one after another.

    The law: the concatenation of what ``read`` gives does not depend on the sizes asked for.
    An empty chunk means the end. After an error, the next ``read`` goes on behind the element
    that failed.
    """

    @abstractmethod
    def read(self, max_rows: int) -> Chunk:
        """Give at least one and at most ``max_rows`` elements, or none at the end."""

    @abstractmethod
    def state(self) -> State:
        """The position as plain JSON, so that a fresh cursor can ``restore`` it."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Move a cursor that has not been read yet to a position that ``state`` gave."""

    def skip(self, count: int) -> int:
        """Pass over up to ``count`` elements and say how many there were."""
        left = count
        while left and (chunk := self.read(min(left, _SKIP_ROWS))):
            left -= len(chunk)
        return count - left

    def lookup(self) -> Lookup | None:
        """What gives any elements again by their numbers, counted from the first one of the pass.

        None unless that costs about as much as reading them, as far as is known by now.
        """
        return None

    def close(self) -> None:
        """Let go of files and threads of this cursor alone; the run closes what is shared."""


def skip_to_place(cursor: Cursor, count: int) -> int:
    """Pass over the elements before the place of a state, which were there when it was taken.

    Raises:
        StateError: There are fewer of them now.
    """
    skipped = cursor.skip(count)
    if skipped < count:
        raise StateError(
            f"the source ends before the place of this state: {count:,} elements were read here "
            f"when it was taken, and there are {skipped:,} now; build the dataset as it was when "
            "the state was taken, or begin anew"
        )
    return skipped


class Standstill:
    """Tells a cursor that raises again and again from one whose elements fail one by one.

    An error of an element moves the cursor behind it. An error of anything else, such as a file
    that is gone or a worker that has died, is raised by every later read at the same place.
    """

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._place: str | None = None

    def is_reached(self) -> bool:
        """Ask after each error: whether the cursor still stands where it stood at the last one."""
        # As text, because a state of a stage without an order goes on growing while it is held.
        last, self._place = self._place, json.dumps(self._cursor.state(), default=repr)
        return last == self._place

    def forget(self) -> None:
        """Say that the cursor has given elements since the last error."""
        self._place = None


class PositionCursor(Cursor):
    """Reads one stretch after another of elements that can be had by position.

    ``stretch(start, stop)`` gives the elements in between, or as many of the first of them as it
    can give without copying; a negative ``length`` means no end.
    """

    def __init__(self, stretch: Callable[[int, int], Chunk], length: int) -> None:
        self._stretch = stretch
        self._length = length if length >= 0 else sys.maxsize
        self._next = 0

    def read(self, max_rows: int) -> Chunk:
        start, stop = self._next, min(self._next + max_rows, self._length)
        if stop <= start:
            return EMPTY
        chunk = self._stretch(start, stop)
        self._next = start + len(chunk)
        return chunk

    def skip(self, count: int) -> int:
        skipped = min(count, self._length - self._next)
        self._next += skipped
        return skipped

    def state(self) -> State:
        return {"next": self._next}

    def restore(self, state: State) -> None:
        self._next = state["next"]


class GatherCursor(PositionCursor):
    """As its parent, for stretches that come as a whole or fail as a whole.

    The elements before the one that failed come first, then the error, then those behind it.
    """

    def read(self, max_rows: int) -> Chunk:
        while True:
            try:
                return super().read(max_rows)
            except Exception:
                if max_rows == 1:
                    self._next += 1
                    raise
                max_rows //= 2


class Marked:
    """A cursor whose reader may hand rows back, and which still knows its exact place.

    A position is the parent's state at some earlier moment and the number of elements since.
    """

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self._returned: Chunk = EMPTY
        self._mark: State | None = None
        self._since = 0
        self._marked_at = 0.0
        self._failed = False
        self._standstill = Standstill(cursor)
        self.stands_still = False  # whether the last error was raised where the one before it was

    def read(self, max_rows: int, may_mark: bool = True) -> Chunk:
        """The next rows. ``may_mark=False`` if rows of an earlier read may yet be handed back."""
        if self._returned:
            chunk, self._returned = self._returned[:max_rows], self._returned[max_rows:]
        else:
            now = time.perf_counter()
            if may_mark and now - self._marked_at > _MARK_INTERVAL_S:
                self._mark, self._since, self._marked_at = self.cursor.state(), 0, now
            try:
                chunk = self.cursor.read(max_rows)
            except BaseException as error:
                # The place to come back to is the one before the error; reading on from here
                # starts from a new mark, because the failed element was not counted.
                self._failed, self._marked_at = True, 0.0
                if isinstance(error, Exception):
                    self.stands_still = self._standstill.is_reached()
                raise
            if self._failed:
                self._failed = self.stands_still = False
                self._standstill.forget()
        self._since += len(chunk)
        return chunk

    def unread(self, chunk: Chunk) -> None:
        """Take back the last rows that ``read`` gave."""
        if len(chunk):
            self._returned = concat([chunk, self._returned])
            self._since -= len(chunk)
            assert self._since >= 0, "rows were handed back from before the last mark"

    def skip(self, count: int) -> int:
        given = min(count, len(self._returned))
        self._returned = self._returned[given:]
        self._since += given
        if given == count:
            return count
        skipped = self.cursor.skip(count - given)
        self._since += skipped
        return given + skipped

    def state(self, unused: int = 0) -> State:
        """The position behind the rows that were used; ``unused`` of those given were not."""
        if self._mark is None or not (self._returned or self._failed or unused):
            return {"at": self.cursor.state(), "skip": 0}
        return {"at": self._mark, "skip": self._since - unused}

    def before_last(self) -> State:
        """The position before the last row that ``read`` has just given."""
        assert self._mark is not None
        return {"at": self._mark, "skip": self._since - 1}

    def restore(self, state: State) -> None:
        self.cursor.restore(state["at"])
        self._mark, self._since, self._marked_at = state["at"], 0, 0.0
        if state["skip"]:
            self._since = skip_to_place(self.cursor, state["skip"])

    def close(self) -> None:
        self.cursor.close()
