"""Concatenate: one data set after another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from keepset.core.chunk import EMPTY, Chunk, concat
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.node import INFINITE, UNKNOWN, Node, stage
from keepset.core.parameter import upstream
from keepset.core.run import Run
from keepset.core.spec import Spec, common_supertype
from keepset.errors import ElementError


@stage
class Concatenate(Node):
    """All elements of the first input, then all of the second."""

    parents: tuple[Node, Node] = upstream(several=True)

    def __post_init__(self) -> None:
        known = [spec for parent in self.parents if (spec := parent.known_spec()) is not None]
        if len(known) == len(self.parents):
            self._common([spec for (spec,) in known])

    def cursor(self, run: Run) -> Cursor:
        return _ConcatenateCursor(self, run)

    def cardinality(self) -> int:
        first, second = (parent.cardinality() for parent in self.parents)
        if INFINITE in (first, second):
            return INFINITE
        return UNKNOWN if UNKNOWN in (first, second) else first + second

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return self._common([spec(parent) for parent in self.parents])

    def _common(self, specs: list[Spec]) -> Spec:
        try:
            return common_supertype(specs)
        except ElementError as error:
            raise error.told(
                "concatenate needs datasets of one type: ", "; map one of them to the other"
            ) from error

    def obstacle(self) -> str | None:
        first = self.parents[0]
        if first.obstacle() is None and first.cardinality() == UNKNOWN:
            return f"{first.title} does not know its length"
        return next(filter(None, (parent.obstacle() for parent in self.parents)), None)

    def gather(self, indices: Array, run: Run) -> Chunk:
        first, second = self.parents
        length = first.cardinality()
        early = indices < length if length >= 0 else np.ones(len(indices), bool)
        places = [np.flatnonzero(early), np.flatnonzero(~early)]
        parts = [
            parent.gather(indices[chosen] - offset, run.input(i))
            for i, (parent, chosen, offset) in enumerate(
                ((first, places[0], 0), (second, places[1], length))
            )
            if len(chosen)
        ]
        return concat(parts).take(np.argsort(np.concatenate(places)))


class _ConcatenateCursor(Cursor):
    def __init__(self, node: Concatenate, run: Run) -> None:
        self._node, self._run = node, run
        self._part = 0
        self._cursor = node.parents[0].cursor(run.input(0))

    def _advance(self) -> bool:
        if self._part == 1:
            return False
        self._cursor.close()
        self._part = 1
        self._cursor = self._node.parents[1].cursor(self._run.input(1))
        return True

    def read(self, max_rows: int) -> Chunk:
        chunk = self._cursor.read(max_rows)
        if not len(chunk) and self._advance():
            chunk = self._cursor.read(max_rows)
        return chunk if len(chunk) else EMPTY

    def skip(self, count: int) -> int:
        skipped = self._cursor.skip(count)
        if skipped < count and self._advance():
            skipped += self._cursor.skip(count - skipped)
        return skipped

    def state(self) -> State:
        return {"part": self._part, "parent": self._cursor.state()}

    def restore(self, state: State) -> None:
        if state["part"] == 1:
            self._advance()
        self._cursor.restore(state["parent"])

    def close(self) -> None:
        self._cursor.close()
