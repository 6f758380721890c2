"""Repeat: go over the input again and again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from keepset.core.chunk import EMPTY, Chunk, concat
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.node import INFINITE, UNKNOWN, Node, stage
from keepset.core.parameter import upstream
from keepset.core.run import Run
from keepset.core.spec import Spec

FOREVER = -1


@stage
class Repeat(Node):
    """``count`` passes over the input, or endlessly many (-1)."""

    parent: Node = upstream()
    count: int = FOREVER

    def cursor(self, run: Run) -> Cursor:
        return _RepeatCursor(self, run)

    def cardinality(self) -> int:
        length = self.parent.cardinality()
        if self.count == 0 or length == 0:
            return 0
        if self.count < 0:
            return INFINITE
        return length * self.count if length >= 0 else length

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)

    def obstacle(self) -> str | None:
        if (obstacle := self.parent.obstacle()) is not None:
            return obstacle
        length = self.parent.cardinality()
        return f"{self.parent.title} does not know its length" if length == UNKNOWN else None

    def gather(self, indices: Array, run: Run) -> Chunk:
        length = self.parent.cardinality()
        if length == INFINITE:
            return self.parent.gather(indices, run.input(0).again(0))
        passes, within = np.divmod(indices, length)
        numbers = np.unique(passes)
        if len(numbers) == 1:
            return self.parent.gather(within, run.input(0).again(int(numbers[0])))
        parts, places = [], []
        for number in numbers:
            chosen = np.flatnonzero(passes == number)
            parts.append(self.parent.gather(within[chosen], run.input(0).again(int(number))))
            places.append(chosen)
        return concat(parts).take(np.argsort(np.concatenate(places)))


class _RepeatCursor(Cursor):
    def __init__(self, node: Repeat, run: Run) -> None:
        self._node, self._run = node, run
        self._pass = 0
        self._given = 0
        self._cursor: Cursor | None = None

    def _open(self) -> Cursor:
        if self._cursor is None:
            self._cursor = self._node.parent.cursor(self._run.input(0).again(self._pass))
        return self._cursor

    def _is_over(self) -> bool:
        return 0 <= self._node.count <= self._pass

    def read(self, max_rows: int) -> Chunk:
        while not self._is_over():
            chunk = self._open().read(max_rows)
            if len(chunk):
                self._given += len(chunk)
                return chunk
            if not self._begin_next():
                break
        return EMPTY

    def _begin_next(self) -> bool:
        """Move on to the next pass; False if going on would never give anything."""
        if self._cursor is not None:
            self._cursor.close()
        if not self._given and self._node.count < 0:
            return False
        self._cursor, self._pass, self._given = None, self._pass + 1, 0
        return True

    def skip(self, count: int) -> int:
        left = count
        while left and not self._is_over():
            skipped = self._open().skip(left)
            self._given += skipped
            left -= skipped
            if left and not self._begin_next():
                break
        return count - left

    def state(self) -> State:
        inner = None if self._cursor is None else self._cursor.state()
        return {"pass": self._pass, "given": self._given > 0, "parent": inner}

    def restore(self, state: State) -> None:
        self._pass, self._given = state["pass"], int(state["given"])
        if state["parent"] is not None:
            self._open().restore(state["parent"])

    def close(self) -> None:
        if self._cursor is not None:
            self._cursor.close()
