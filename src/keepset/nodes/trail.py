"""Trail: a parent's cursor with places behind it, for readers that keep rows back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from keepset.core.chunk import EMPTY, Chunk, concat
from keepset.core.cursor import Cursor, Standstill, State, skip_to_place

# A place is noted at most this often, so that noting it costs under one per cent.
_NOTE_INTERVAL_S = 0.001
_MOST_PLACES = 64
_REPLAY_ROWS = 1024


class _Place(NamedTuple):
    position: int
    state: State
    after_failure: bool


class Trail:
    """Reads a cursor and can name the place of any row that its reader still needs.

    Positions count the parent's elements from the first one on, those that failed included. The
    reader says with ``release`` which rows it needs no more; places before them are forgotten.
    """

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._returned: Chunk = EMPTY
        self._places: list[_Place] = []
        self._noted_at = 0.0
        self._failed = False
        self._standstill = Standstill(cursor)
        self.stands_still = False  # whether the last error was raised where the one before it was
        self._ahead = 0  # where the cursor itself stands

    @property
    def position(self) -> int:
        """The position of the next row that ``read`` gives."""
        return self._ahead - len(self._returned)

    def read(self, max_rows: int) -> Chunk:
        if self._returned:
            chunk, self._returned = self._returned[:max_rows], self._returned[max_rows:]
            return chunk
        self._note()
        try:
            chunk = self._cursor.read(max_rows)
        except Exception:
            self._count_failed()
            raise
        self._go_on(len(chunk))
        return chunk

    def _count_failed(self) -> None:
        # A second error at the same place is not another element.
        self.stands_still = self._standstill.is_reached()
        self._ahead += not self.stands_still
        self._failed = True

    def _go_on(self, rows: int) -> None:
        self._ahead += rows
        if self.stands_still or self._places[-1].after_failure:
            self.stands_still = False
            self._standstill.forget()

    def _note(self) -> None:
        # A place right behind each failed element makes sure that none lies on the way from a
        # place to a row: passing over a failed element would raise its error again.
        now = time.perf_counter()
        if not self._failed and now - self._noted_at < _NOTE_INTERVAL_S and self._places:
            return
        if len(self._places) >= _MOST_PLACES:
            self._places = [p for i, p in enumerate(self._places) if i % 2 == 0 or p.after_failure]
        self._places.append(_Place(self._ahead, self._cursor.state(), self._failed))
        self._noted_at, self._failed = now, False

    def unread(self, chunk: Chunk) -> None:
        """Take back the last rows that ``read`` gave."""
        if len(chunk):
            self._returned = concat([chunk, self._returned])

    def skip(self, count: int) -> int:
        """Pass over up to ``count`` elements and say how many there were."""
        given = min(count, len(self._returned))
        self._returned = self._returned[given:]
        if given == count:
            return count
        self._note()
        try:
            skipped = self._cursor.skip(count - given)
        except Exception:
            self._count_failed()
            raise
        self._go_on(skipped)
        return given + skipped

    def replay(self, stop: int) -> Iterator[tuple[int, Chunk]]:
        """Read on to the position ``stop``, passing over elements that fail.

        Gives each chunk with the position of its first row.
        """
        while (first := self.position) < stop:
            try:
                chunk = self.read(min(stop - first, _REPLAY_ROWS))
            except Exception:
                if self.stands_still:
                    raise
                continue
            if not len(chunk):
                return
            yield first, chunk

    def release(self, position: int) -> None:
        """Say that no row before ``position`` will be asked for again."""
        useful = 0
        while useful + 1 < len(self._places) and self._places[useful + 1].position <= position:
            useful += 1
        del self._places[:useful]

    def state(self, position: int | None = None) -> State:
        """The place of a row that was not released, by default of the next one."""
        wanted = self.position if position is None else position
        if wanted == self._ahead:
            return {"at": self._cursor.state(), "skip": 0, "position": wanted}
        place = next(p for p in reversed(self._places) if p.position <= wanted)
        return {"at": place.state, "skip": wanted - place.position, "position": wanted}

    def restore(self, state: State) -> None:
        """Stand where ``state`` was; only on a cursor that has not been read."""
        self._cursor.restore(state["at"])
        self._ahead = state["position"] - state["skip"]
        self._note()
        if state["skip"]:
            self._ahead += skip_to_place(self._cursor, state["skip"])

    def close(self) -> None:
        self._cursor.close()
