"""Directed: take elements from several inputs, each time from the one that a selector names."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Protocol

import numpy as np

from keepset.core.chunk import EMPTY, Chunk, concat
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.node import Node, stage
from keepset.core.parameter import upstream
from keepset.core.run import Run
from keepset.core.spec import Spec, common_supertype
from keepset.errors import ElementError, InvalidArgumentError
from keepset.nodes.trail import Trail

_MOST_CHOICES = 4096


class Selector(Protocol):
    """Names inputs by number, one for each element."""

    # Whether looking at many numbers and using a few costs nothing.
    is_free: bool

    def peek(self, count: int) -> Array:
        """The next numbers, at most ``count`` of them, and none at the end."""

    def use(self, count: int) -> None:
        """Move on behind the first numbers that ``peek`` gave."""

    def state(self) -> State: ...

    def restore(self, state: State) -> None: ...

    def close(self) -> None: ...


@stage
class Directed(Node):
    """Elements of ``parents`` in an order that a selector decides as it goes."""

    parents: tuple[Node, ...] = upstream(several=True)
    stop_on_empty_dataset: bool

    def __post_init__(self) -> None:
        if not self.parents:
            raise InvalidArgumentError(f"{self.kind} needs at least one data set")
        known = [parent.known_spec() for parent in self.parents]
        if None not in known:
            self._common([spec[0] for spec in known if spec is not None])

    @abstractmethod
    def selector(self, run: Run) -> Selector:
        """What names the inputs in one pass."""

    def never_chosen(self) -> set[int]:
        """Inputs that the selector is known not to name."""
        return set()

    def cursor(self, run: Run) -> Cursor:
        return _DirectedCursor(self, run)

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return self._common([spec(parent) for parent in self.parents])

    def _common(self, specs: list[Spec]) -> Spec:
        try:
            return common_supertype(specs)
        except ElementError as error:
            raise error.told(
                f"{self.kind} needs datasets of one type: ", "; map some of them to the others"
            ) from error


class Input:
    """A cursor with rows that were read and not used yet, and the error behind them."""

    def __init__(self, cursor: Cursor) -> None:
        self._parent = Trail(cursor)
        self._rows: Chunk = EMPTY
        self.error: Exception | None = None
        self.has_failed_element = False  # not if the error is one that comes again and again
        self._ended = False

    def peek(self, count: int) -> Chunk:
        """The next ``count`` rows; fewer only before the end or an error."""
        parts, waiting = [self._rows], len(self._rows)
        while waiting < count and self.error is None and not self._ended:
            try:
                chunk = self._parent.read(count - waiting)
            except Exception as error:
                self.error, self.has_failed_element = error, not self._parent.stands_still
                break
            self._ended = not len(chunk)
            parts.append(chunk)
            waiting += len(chunk)
        self._rows = concat(parts)
        return self._rows[:count]

    def use(self, count: int) -> None:
        self._rows = self._rows[count:]
        self._parent.release(self.position)

    def raise_error(self) -> None:
        """Raise the error that comes next, if it does, and move on behind the failed element."""
        if self.error is not None and not len(self._rows):
            error, self.error, self.has_failed_element = self.error, None, False
            raise error

    @property
    def is_empty(self) -> bool:
        return self._ended and not len(self._rows)

    @property
    def position(self) -> int:
        """The position of the next element that was not used."""
        return self._parent.position - len(self._rows) - self.has_failed_element

    def state(self) -> State:
        return self._parent.state(self.position)

    def restore(self, state: State) -> None:
        self._parent.restore(state)

    def close(self) -> None:
        self._parent.close()


class _DirectedCursor(Cursor):
    def __init__(self, node: Directed, run: Run) -> None:
        self._node = node
        self._selector = node.selector(run)
        self._inputs = [Input(p.cursor(run.input(i))) for i, p in enumerate(node.parents)]
        self._empty = node.never_chosen()
        self._failed: Input | None = None  # the input whose error comes next
        self._ended = False

    def read(self, max_rows: int) -> Chunk:
        wanted = max_rows
        while not self._ended and len(self._empty) < len(self._inputs):
            self._raise_failure()
            choices = self._selector.peek(wanted)
            self._ended = not len(choices)
            chunk = self._take(choices, self._full(choices)[:max_rows])
            if len(chunk):
                return chunk
            if self._selector.is_free:
                # Most choices may name an empty input, so look at more of them at a time.
                wanted = min(2 * wanted, _MOST_CHOICES)
        self._raise_failure()
        return EMPTY

    def _raise_failure(self) -> None:
        if self._failed is not None:
            failed, self._failed = self._failed, None
            if failed.has_failed_element:
                self._selector.use(1)  # the choice that named it
            failed.raise_error()

    def _full(self, choices: Array) -> Array:
        """Where the choices name an input that may have elements left."""
        if not self._empty:
            return np.arange(len(choices))
        return np.flatnonzero(~np.isin(choices, list(self._empty)))

    def _take(self, choices: Array, full: Array) -> Chunk:
        """Give what the choices at ``full`` name, up to an error or an end."""
        named = choices[full]
        places = {i: np.flatnonzero(named == i) for i in np.unique(named).tolist()}
        rows = {i: self._inputs[i].peek(len(where)) for i, where in places.items()}
        stop = len(named)
        for i, where in places.items():
            if len(rows[i]) < len(where) and where[len(rows[i])] < stop:
                stop = self._stop_at(self._inputs[i], int(where[len(rows[i])]), stop)
        if stop < len(full):
            self._selector.use(int(full[stop]))
        else:
            self._selector.use(int(full[-1]) + 1 if len(full) else len(choices))
        return self._join(places, rows, stop)

    def _stop_at(self, short: Input, place: int, stop: int) -> int:
        """Where to stop if an input had nothing to give for the choice at ``place``."""
        if short.error is not None:
            self._failed, self._ended = short, False
            return place
        if self._node.stop_on_empty_dataset:
            self._failed, self._ended = None, True
            return place
        return stop

    def _join(self, places: dict[int, Array], rows: dict[int, Chunk], stop: int) -> Chunk:
        parts, order = [], []
        for i, where in places.items():
            count = min(int(np.searchsorted(where, stop)), len(rows[i]))
            parts.append(rows[i][:count])
            order.append(where[:count])
            self._inputs[i].use(count)
            if self._inputs[i].is_empty:
                self._empty.add(i)
        chunk = concat(parts)
        return chunk if len(parts) < 2 else chunk.take(np.argsort(np.concatenate(order)))

    def state(self) -> State:
        return {
            "selector": self._selector.state(),
            "parents": [source.state() for source in self._inputs],
        }

    def restore(self, state: State) -> None:
        self._selector.restore(state["selector"])
        for source, place in zip(self._inputs, state["parents"], strict=True):
            source.restore(place)

    def close(self) -> None:
        self._selector.close()
        for source in self._inputs:
            source.close()
