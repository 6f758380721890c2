"""Reading: elements one stretch behind the other, while the chunks after them are being loaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right

import numpy as np

from keepset.core.cached import cached_property
from keepset.core.chunk import EMPTY, Chunk
from keepset.core.dtypes import Array
from keepset.core.several import Several
from keepset.snapshot.reading.kept import Kept, joined
from keepset.snapshot.reading.loading import Load
from keepset.snapshot.reading.read_ahead import ReadAhead

_FIRST_REACH = 2
# Of chunks that are given together. Whoever needs them in one piece has to copy that much.
_MOST_TOGETHER_BYTES = 32 << 20
# Of shards that are read in turn, each has a chunk in use. A writer holds 64 MiB of elements back
# until their chunks are full, which makes about twice that in use at a time.
_MOST_HELD_BYTES = 160 << 20


def open_reading(kept: Kept, rows: range | None = None) -> Reading:
    """Read all elements in their order, or these rows in theirs."""
    if rows is None and kept.manifest.order is not None:
        return _InOrder(kept)
    return _InRows(kept, range(len(kept)) if rows is None else rows)


class Reading(ABC):
    """Gives elements by position. Going forward is fast, going anywhere else is right."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        self._ahead = ReadAhead(kept.source)
        # How many chunks to run ahead. The first read is over as soon as it can be; whoever comes
        # back will probably go on, the more so the longer it has gone on.
        self._reach = 0

    def read(self, start: int, stop: int) -> Chunk:
        """At least one of the elements from ``start`` up to ``stop``.

        If a chunk cannot be read, the elements before its first one come, and then the error.
        """
        chunk = self._read(start, stop) if start < stop else EMPTY
        self._reach = self._reach or _FIRST_REACH
        return chunk

    def _take(self, number: int, coming: list[int]) -> Load:
        load = self._ahead.take(number, coming)
        self._reach = min(2 * self._reach, self._ahead.most)
        self.kept.source.keep_for_next_pass(load)
        return load

    @abstractmethod
    def _read(self, start: int, stop: int) -> Chunk: ...

    def close(self) -> None:
        """Let go of all chunks."""
        self._ahead.close()


class _InRows(Reading):
    """Rows at equal distances, as views of one chunk after another."""

    def __init__(self, kept: Kept, rows: range) -> None:
        super().__init__(kept)
        self._rows, self._starts = rows, kept.chunk_ends()
        first = int(np.searchsorted(self._starts, rows.start, side="right")) - 1
        stop = int(np.searchsorted(self._starts, rows[-1], side="right")) if rows else first
        # Before which of our elements each chunk begins. Some chunks may have none of them.
        bounds = -((rows.start - self._starts[first : stop + 1]) // rows.step)
        bounds = np.clip(bounds, 0, len(rows))
        has_rows = np.diff(bounds) > 0
        self._numbers: Array = np.arange(first, stop)[has_rows]
        self._bounds: Array = np.append(bounds[:-1][has_rows], len(rows))
        self._place = 0  # of the current chunk among the numbers
        self._load: Load | None = None
        self._from = self._to = 0  # the elements of the current chunk
        self._runs_ahead = False

    def _read(self, start: int, stop: int) -> Chunk:
        if self._rows.step == 1 and stop > self._to and self.kept.source.is_all_quick:
            return self._several(start, stop)
        if self._load is None or not self._from <= start < self._to:
            self._load = self._move(start)
        elif not self._runs_ahead:
            self._ahead.run_ahead(self._coming())
            self._runs_ahead = True
        step = self._rows.step
        first = self._rows[start] - int(self._starts[self._load.number])
        count = min(stop, self._to) - start
        chunk = self._load.fetch()
        # A slice without a step may be the chunk itself.
        return chunk[first : first + count] if step == 1 else chunk[first::step][:count]

    def _several(self, start: int, stop: int) -> Chunk:
        """Rows of several chunks, for coming to the next one costs more than many rows."""
        parts: list[Chunk] = []
        own_bytes = 0
        kept, bounds, numbers = self.kept, self._bound_list, self._number_list
        stop = min(stop, start + 1 + int(_MOST_TOGETHER_BYTES / max(kept.row_bytes, 1)))
        place = bisect_right(bounds, start) - 1
        while start < stop:
            number = numbers[place]
            try:
                chunk = kept.ready_chunk(number)
            except Exception:
                if not parts:
                    raise
                break  # the rows before it come first
            if not kept.is_ready(number):
                own_bytes += chunk.own_bytes
            end = bounds[place + 1]
            if end > stop or end - start < len(chunk):
                end = min(end, stop)
                first = self._rows.start + start - int(self._starts[number])
                chunk = chunk[first : first + end - start]
            parts.append(chunk)
            start, place = end, place + 1
        return Several(parts, own_bytes) if len(parts) > 1 else parts[0]

    @cached_property
    def _number_list(self) -> list[int]:
        found: list[int] = self._numbers.tolist()
        return found

    @cached_property
    def _bound_list(self) -> list[int]:
        found: list[int] = self._bounds.tolist()
        return found

    def _move(self, start: int) -> Load:
        """Make the chunk that holds an element the current one."""
        is_next = self._load is not None and start == self._to
        self._load = None
        if is_next:
            self._place += 1
        else:
            self._place = int(np.searchsorted(self._bounds, start, side="right")) - 1
        self._from, self._to = self._bounds[self._place : self._place + 2].tolist()
        self._runs_ahead = self._reach > 0
        return self._take(int(self._numbers[self._place]), self._coming())

    def _coming(self) -> list[int]:
        if self.kept.source.is_all_quick:
            return []
        next_place = self._place + 1
        found: list[int] = self._numbers[next_place : next_place + self._reach].tolist()
        return found

    def close(self) -> None:
        super().close()
        self._load = None


class _InOrder(Reading):
    """All elements of several shards in the order in which they came."""

    def __init__(self, kept: Kept) -> None:
        super().__init__(kept)
        self._held: dict[int, Load] = {}
        self._held_bytes = 0
        self._holds_too_much = False
        self._next = 0

    def _read(self, start: int, stop: int) -> Chunk:
        if start != self._next:
            self._drop_finished(list(self._held), start)
        rows = self.kept.rows_at(np.arange(start, stop))
        # Chunk by chunk as they come, so that an error finds everything before it read.
        groups = sorted(self.kept.by_chunk(rows), key=lambda group: int(group[1][0]))
        numbers = [number for number, _ in groups]
        coming = self._coming(numbers, stop)
        if self._held.keys() >= set(numbers):
            self._ahead.run_ahead(coming)
        parts = []
        for number, at in groups:
            try:
                chunk = self._chunk(number, coming)
            except Exception:
                if at[0] == 0:
                    raise
                return self._read(start, start + int(at[0]))
            # The elements of a shard are in order: those of one chunk are neighbours there.
            first = int(rows[at[0]] - self.kept.chunk_ends()[number])
            part = chunk[first : first + len(at)]
            # A view would keep the whole chunk in memory, though we let go of it.
            parts.append(part.take(np.arange(len(part))) if self._holds_too_much else part)
        self._drop_finished(numbers, stop)
        self._next = stop
        return joined(groups, parts)

    def _coming(self, numbers: list[int], stop: int) -> list[int]:
        """The chunks that are needed now and then later, but for those that are here."""
        if self.kept.source.is_all_quick:
            return []
        coming = [number for number in numbers if number not in self._held]
        turns = self.kept.turns
        place = int(np.searchsorted(turns.firsts, stop))
        coming += turns.numbers[place : place + self._reach].tolist()
        return coming

    def _chunk(self, number: int, coming: list[int]) -> Chunk:
        load = self._held.get(number)
        if load is None:
            if coming[:1] == [number]:
                del coming[0]
            load = self._take(number, coming)
            self._hold(load)
        return load.fetch()

    def _hold(self, load: Load) -> None:
        self._held[load.number] = load
        self._held_bytes += load.size or 0
        while self._held_bytes > _MOST_HELD_BYTES and len(self._held) > 1:
            self._drop(next(iter(self._held)))
            self._holds_too_much = True

    def _drop(self, number: int) -> None:
        load = self._held.pop(number, None)
        if load is not None:
            self._held_bytes -= load.size or 0

    def _drop_finished(self, numbers: list[int], position: int) -> None:
        """Let go of those chunks that have no element from ``position`` on."""
        lasts = self.kept.turns.lasts
        for number in numbers:
            if lasts[number] < position:
                self._drop(number)

    def close(self) -> None:
        super().close()
        self._held, self._held_bytes = {}, 0
