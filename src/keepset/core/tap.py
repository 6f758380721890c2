"""Tap: where a pipeline ends and its consumer begins, one element at a time.

A chunk is made because making many elements at once is cheap; taking them is not. So the last step
from columns to elements, and the row-wise functions behind it, run when the consumer asks, element
by element: nothing piles up, and memory that was just freed is used again while it is still in the
processor's cache.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from keepset.core.cursor import Cursor, Marked, State

OnError: TypeAlias = Callable[[BaseException], BaseException]


class Tap(ABC):
    """Gives the elements of one read after another, and knows how many of them were taken."""

    # About how much memory the last read took, if anybody wants to know.
    read_bytes = 0
    counts_bytes = True

    @abstractmethod
    def read(self, max_rows: int, tokens: list[None] | None = None) -> Iterator[Any] | None:
        """An iterator over at most ``max_rows`` further elements; None at the end.

        If there is a list ``tokens``, several threads may take the elements. The iterator is safe
        for them, or is a generator that puts an item into ``tokens`` before each element, to
        show that it is ready to be asked for the next.
        """

    @abstractmethod
    def state(self) -> State:
        """The position behind the last element that was taken, or before the one that failed."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Move a tap that has not been read yet to a position that ``state`` gave."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything. Elements that were read and not taken may still come."""


class Tappable(Cursor):
    """A cursor that makes its elements one by one if its reader is the consumer."""

    @abstractmethod
    def tap(self, on_error: OnError) -> Tap:
        """A tap in place of this cursor; ``on_error`` says what is raised for an error."""


def tap_of(cursor: Cursor, on_error: OnError) -> Tap:
    """The tap of any cursor."""
    return cursor.tap(on_error) if isinstance(cursor, Tappable) else _ChunkTap(cursor)


class _ChunkTap(Tap):
    def __init__(self, cursor: Cursor) -> None:
        self._cursor = Marked(cursor)
        self._left: Any = iter(())

    def read(self, max_rows: int, tokens: list[None] | None = None) -> Iterator[Any] | None:
        chunk = self._cursor.read(max_rows)
        if not len(chunk):
            return None
        if self.counts_bytes:
            self.read_bytes = chunk.own_bytes
        rows, self._left = chunk.iterate(shared=tokens is not None)
        return rows

    def state(self) -> State:
        return self._cursor.state(unused=self._left.__length_hint__())

    def restore(self, state: State) -> None:
        self._cursor.restore(state)

    def close(self) -> None:
        self._cursor.close()
