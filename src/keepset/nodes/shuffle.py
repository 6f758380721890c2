"""Shuffle: draw from a buffer that is kept full, as TensorFlow does.

Which slot each draw empties depends on the key and the number of the draw alone, never on the
elements. So a position can be restored without storing the buffer: the draws are simulated again
to learn which elements it held, and only those are fetched.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.chunk import Chunk, concat
from keepset.core.column import Column, are_alike
from keepset.core.cursor import Cursor, Lookup, Standstill, State
from keepset.core.dtypes import Array
from keepset.core.node import INFINITE, UNKNOWN, Node, stage
from keepset.core.parameter import upstream
from keepset.core.random import Randomness, below, philox
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.core.structure import Structure, structure_of
from keepset.errors import InvalidArgumentError, StateError
from keepset.nodes.range import Range
from keepset.nodes.remembered import Reordered

# An element outlives this many buffer lengths of draws about once in 10**17 cases. Then, and only
# then, restoring starts from the very beginning of the input.
_LIFETIMES = (8, 16, 40)
_SMALLEST_STRIDE, _LARGEST_STRIDE = 256, 1 << 20
_FILL_ROWS = 4096
_SIMULATED_DRAWS = 1 << 16
# Elements from this size on are fetched when they are drawn, if they can be.
_LARGE_BYTES = 256
_NUMBER = structure_of(np.int64(0))


@stage
class Shuffle(Node):
    """Elements in random order, as far as a buffer of ``buffer_size`` reaches."""

    parent: Node = upstream()
    buffer_size: int
    source: Randomness

    def __post_init__(self) -> None:
        if self.buffer_size < 1 and self.buffer_size != UNKNOWN:
            raise InvalidArgumentError(
                f"buffer_size must be at least 1 or UNKNOWN_CARDINALITY, not {self.buffer_size}; "
                "use keepset.GLOBAL to shuffle everything without a buffer"
            )

    @property
    def randomness(self) -> Randomness:
        return self.source

    def cursor(self, run: Run) -> Cursor:
        return _ShuffleCursor(self, run)

    def cardinality(self) -> int:
        return self.parent.cardinality()

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)

    def obstacle(self) -> str | None:
        return (
            f"{self.title} draws its order as it goes; shuffle(keepset.GLOBAL) can be addressed, "
            "and ds[i] looks up what a shuffle with seed= gives in its first pass"
        )

    def positional(self) -> Node:
        parent = self.parent.positional().addressable()
        if self.source.seed is None or parent.cardinality() == INFINITE:
            return super().positional()
        return Reordered(parent=parent, source=self.source, order_of=self._order)

    def _order(self, run: Run) -> Array:
        """The numbers of the elements in the order of a run, all drawn at once."""
        key = run.key(self)
        known = self.__dict__.get("_drawn_order")
        if known is None or known[0] != key:
            numbers = Range(start=0, stop=self.cardinality(), step=1, dtype=np.dtype(np.int64))
            cursor = self.replaced(parent=numbers).cursor(run)
            chunks = list(iter(lambda: cursor.read(_FILL_ROWS) or None, None))
            known = key, np.array(concat(chunks).columns[0])
            self.__dict__["_drawn_order"] = known
        return known[1]


class _ShuffleCursor(Cursor):
    def __init__(self, node: Shuffle, run: Run) -> None:
        # A place in the input is found again by reading it again, so its order must not be free.
        # Nothing is lost: the order is about to be random anyway.
        self._node, self._upstream = node, run.input(0).in_order()
        self._size = node.buffer_size if node.buffer_size > 0 else sys.maxsize
        self._parent = node.parent.cursor(self._upstream)
        self._key = run.key(node)
        self._slots = philox(*self._key)
        self._buffer = _Buffer([])
        self._rest: Chunk | None = None
        self._read = 0
        self._drawn = 0
        self._history = _History(self._size)
        # Positions are the parent's own as long as none of its elements has failed.
        self._can_gather = node.parent.obstacle() is None
        # Where there is one, numbers wait in the buffer in place of elements. They have to be the
        # parent's own, too.
        self._lookup: Lookup | None = None
        self._may_look_up = True

    def read(self, max_rows: int) -> Chunk:
        drawn = self._draw(max_rows)
        if self._lookup is None or not len(drawn):
            return drawn
        if len(drawn) < max_rows and self._is_read_out:
            # Numbers can be joined for nothing, elements cannot.
            drawn = concat([drawn, self._draw(max_rows - len(drawn))])
        return self._elements(drawn)

    def _draw(self, max_rows: int) -> Chunk:
        while self._rest is None:
            missing = self._size - self._read
            chunk = self._pull(min(missing, _FILL_ROWS) if missing > 0 else max_rows)
            if not len(chunk):
                self._rest = self._shuffled_rest()
            elif missing > 0:
                self._buffer.add(chunk)
            else:
                self._drawn += len(chunk)
                slots = below(self._slots, self._size, len(chunk))
                return self._buffer.exchange(chunk, slots)
        given, self._rest = self._rest[:max_rows], self._rest[max_rows:]
        self._drawn += len(given)
        return given

    @property
    def _is_read_out(self) -> bool:
        """Whether all of the input was read, so that no element of it can fail any more."""
        return self._read == self._node.parent.cardinality()

    def _pull(self, max_rows: int) -> Chunk:
        self._history.note(self._read, self._parent)
        try:
            chunk = self._parent.read(max_rows)
        except Exception:
            self._can_gather = self._may_look_up = False
            self._hold_elements()
            raise
        first = self._read
        self._read += len(chunk)
        if not first and self._may_look_up and _are_large(chunk):
            self._lookup = self._parent.lookup()
        return chunk if self._lookup is None else _numbers(np.arange(first, self._read))

    def _elements(self, numbers: Chunk) -> Chunk:
        [column] = numbers.columns
        assert self._lookup is not None
        assert isinstance(column, np.ndarray)
        return self._lookup(column)

    def _hold_elements(self) -> None:
        """Go on with the elements themselves, as their numbers are no longer those of the input."""
        if self._lookup is not None:
            self._buffer = _Buffer([self._elements(self._buffer.chunk())])
            self._lookup = None

    def _shuffled_rest(self) -> Chunk:
        chunk = self._buffer.chunk()
        keys = philox(*self._key, -1).random_raw(max(len(chunk), 1))[: len(chunk)]
        return chunk.take(np.argsort(keys, kind="stable"))

    def state(self) -> State:
        state = {"read": self._read, "drawn": self._drawn, "parent": self._parent.state()}
        if not self._can_gather:
            state["history"] = self._history.state(self._read)
        return state | {"ended": self._rest is not None}

    def restore(self, state: State) -> None:
        self._read, self._drawn = state["read"], state["drawn"]
        if "history" in state:
            self._can_gather = self._may_look_up = False
            self._history.restore(state["history"])
        # First, because a restored parent may know better with which draws to go on.
        self._parent.restore(state["parent"])
        exchanged = min(self._drawn, max(0, self._read - self._size))
        held = self._simulate(exchanged)
        if len(held):
            self._hold(held)
        if state["ended"]:
            self._rest = self._shuffled_rest()[self._drawn - exchanged :]

    def _simulate(self, exchanged: int) -> Array:
        """The input positions of the elements in the buffer after so many draws."""
        held = np.arange(min(self._size, self._read))
        for start in range(0, exchanged, _SIMULATED_DRAWS):
            count = min(_SIMULATED_DRAWS, exchanged - start)
            # Where a slot occurs twice, NumPy keeps the later value, as the draws did.
            held[below(self._slots, self._size, count)] = self._size + start + np.arange(count)
        return held

    def _hold(self, held: Array) -> None:
        """Fill the buffer with the elements of these numbers."""
        if self._can_gather and _are_large(self._fetch(held[:1])):
            self._lookup = self._parent.lookup()
        self._buffer.add(self._fetch(held) if self._lookup is None else _numbers(held))

    def _fetch(self, held: Array) -> Chunk:
        upstream, run = self._node.parent, self._upstream
        if self._can_gather:
            return upstream.gather(held, run)
        position, place = self._history.before(int(held.min()))
        cursor = upstream.cursor(run)
        cursor.restore(place)
        wanted, kept = np.sort(held), []
        while position <= wanted[-1] and (chunk := _read_past_errors(cursor)):
            first, last = np.searchsorted(wanted, [position, position + len(chunk)])
            kept.append(chunk.take(wanted[first:last] - position))
            position += len(chunk)
        cursor.close()
        return concat(kept).take(np.searchsorted(wanted, held))

    def close(self) -> None:
        self._parent.close()


def _read_past_errors(cursor: Cursor) -> Chunk:
    """Elements that failed were never in the buffer, and their errors have been raised before."""
    standstill = Standstill(cursor)
    while True:
        try:
            return cursor.read(_FILL_ROWS)
        except Exception:
            if standstill.is_reached():
                raise


class _History:
    """Places of the parent to restore from: its beginning, and some that are not far back."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._stride = max(min(size, _LARGEST_STRIDE), _SMALLEST_STRIDE)
        self._marks: deque[list[Any]] = deque(maxlen=_LIFETIMES[-1] + 2)
        self._origin: list[Any] | None = None

    def note(self, read: int, parent: Cursor) -> None:
        if self._origin is None:
            self._origin = [read, parent.state()]
        elif read - (self._marks[-1] if self._marks else self._origin)[0] >= self._stride:
            self._marks.append([read, parent.state()])

    def state(self, read: int) -> list[list[Any]]:
        chosen: dict[int, list[Any]] = {}
        if self._origin is not None:
            chosen[self._origin[0]] = self._origin
        for lifetime in _LIFETIMES:
            oldest = read - lifetime * self._size
            mark = next((m for m in reversed(self._marks) if m[0] <= oldest), None)
            if mark is not None:
                chosen[mark[0]] = mark
        return [chosen[position] for position in sorted(chosen)]

    def restore(self, marks: list[list[Any]]) -> None:
        if marks:
            self._origin = marks[0]
            self._marks.extend(marks[1:])

    def before(self, position: int) -> tuple[int, State]:
        """The last known place at or before ``position``."""
        if self._origin is None:
            # The stage before could be read by position when the state was taken: a cache, for
            # one, was added since.
            raise StateError(
                "this state of shuffle was taken where the elements before it could be read by "
                "position, and now they cannot; restore it over the pipeline as it was, or begin "
                "a new pass"
            )
        known = [self._origin, *self._marks]
        found = max((m for m in known if m[0] <= position), key=lambda m: int(m[0]))
        return int(found[0]), found[1]


class _Buffer:
    """The elements that wait to be drawn: arrays where they come as arrays, else a list."""

    def __init__(self, filling: list[Chunk]) -> None:
        self._filling = filling
        self._rows: list[Any] | None = None
        self._arrays: list[Array] | None = None
        self._structure: Structure | None = None

    def add(self, chunk: Chunk) -> None:
        """Fill the buffer; only before the first exchange."""
        self._filling.append(chunk)

    def chunk(self) -> Chunk:
        self._settle()
        if self._arrays is not None and self._structure is not None:
            columns: list[Column] = list(self._arrays)
            return Chunk.from_columns(self._structure, columns, len(self._arrays[0]))
        return Chunk.from_rows(self._rows or [])

    def _settle(self) -> None:
        if not self._filling:
            return
        chunk, self._filling = concat(self._filling), []
        if chunk.has_columns and chunk.columns and _all_arrays(chunk):
            self._structure = chunk.structure
            self._arrays = [np.array(column) for column in chunk.columns]
        else:
            self._rows = list(chunk.rows)

    def exchange(self, chunk: Chunk, slots: Array) -> Chunk:
        """Give what is in ``slots``, one after another, and put the elements of ``chunk`` there."""
        self._settle()
        if self._arrays is not None:
            if self._fits(chunk):
                return self._exchange_arrays(chunk, slots)
            self._rows, self._arrays = list(self.chunk().rows), None
        rows = self._rows
        assert rows is not None
        out = []
        for row, slot in zip(chunk.rows, slots.tolist(), strict=True):
            out.append(rows[slot])
            rows[slot] = row
        return Chunk.from_rows(out)

    def _fits(self, chunk: Chunk) -> bool:
        assert self._arrays is not None
        return (
            chunk.has_columns
            and chunk.structure == self._structure
            and all(
                isinstance(column, np.ndarray) and are_alike(column, array)
                for column, array in zip(chunk.columns, self._arrays, strict=True)
            )
        )

    def _exchange_arrays(self, chunk: Chunk, slots: Array) -> Chunk:
        assert self._arrays is not None
        # Sixteen bits sort by radix, several times as fast.
        narrow = slots.astype(np.uint16) if len(self._arrays[0]) <= 1 << 16 else slots
        order = np.argsort(narrow, kind="stable")
        again = slots[order[1:]] == slots[order[:-1]]
        # A slot that was refilled within this chunk gives what was just put there.
        refilled, refill = order[1:][again], order[:-1][again]
        columns: list[Column] = []
        for column, array in zip(chunk.columns, self._arrays, strict=True):
            assert isinstance(column, np.ndarray)
            out = array.take(slots, axis=0)
            out[refilled] = column[refill]
            array[slots] = column  # where a slot occurs twice, the later element stays
            columns.append(out)
        return Chunk.from_columns(chunk.structure, columns, len(chunk))


def _numbers(numbers: Array) -> Chunk:
    return Chunk.from_columns(_NUMBER, [numbers], len(numbers))


def _are_large(chunk: Chunk) -> bool:
    """Whether elements are worth fetching when they are drawn, instead of holding them."""
    if not chunk.has_columns or not len(chunk):
        return False
    # Strings are objects, which wait without being copied, and would be made a second time.
    arrays = [column for column in chunk.columns if isinstance(column, np.ndarray)]
    has_strings = any(array.dtype.hasobject for array in arrays)
    return not has_strings and chunk.size_bytes >= _LARGE_BYTES * len(chunk)


def _all_arrays(chunk: Chunk) -> bool:
    return all(isinstance(column, np.ndarray) for column in chunk.columns)
