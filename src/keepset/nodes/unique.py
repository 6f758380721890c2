"""Unique: each element only the first time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import StringType
from keepset.core.node import UNKNOWN, Node, stage
from keepset.core.parameter import upstream
from keepset.core.run import Run
from keepset.core.spec import Spec, TensorSpec, spec_of
from keepset.core.structure import LEAF
from keepset.errors import ElementError
from keepset.nodes.trail import Trail


@stage
class Unique(Node):
    """Drop elements that came before. Elements are integers, strings, or arrays of these.

    Memory grows with the number of different elements. The state does not hold them: restoring
    reads the input again from its beginning.
    """

    parent: Node = upstream()

    def __post_init__(self) -> None:
        known = self.parent.known_spec()
        if known is not None:
            _check(known[0])

    def cursor(self, run: Run) -> Cursor:
        return _UniqueCursor(self.parent.cursor(run.input(0)))

    def cardinality(self) -> int:
        return UNKNOWN

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)


def _check(spec: Spec) -> None:
    if isinstance(spec, TensorSpec) and (
        isinstance(spec.dtype, StringType) or spec.dtype.kind in "iub"
    ):
        return
    raise ElementError(
        f"unique compares integers and strings, not {spec}; map the elements to one of these"
    )


class _UniqueCursor(Cursor):
    def __init__(self, parent: Cursor) -> None:
        self._parent = Trail(parent)
        self._start: State | None = None
        self._seen: set[Any] = set()

    def read(self, max_rows: int) -> Chunk:
        if self._start is None:
            self._start = self._parent.state()
        while chunk := self._parent.read(max_rows):
            self._parent.release(self._parent.position)
            keys, error = _keys(chunk)
            if error is not None:
                # Whatever comes before the odd element is given first.
                self._parent.unread(chunk[max(1, len(keys)) :])
                if not keys:
                    raise error
            new = self._new(keys)
            if new:
                return chunk.take(np.array(new)) if len(new) < len(chunk) else chunk
        return EMPTY

    def _new(self, keys: list[Any]) -> list[int]:
        seen, new = self._seen, []
        for number, key in enumerate(keys):
            if key not in seen:
                seen.add(key)
                new.append(number)
        return new

    def state(self) -> State:
        return {"start": self._start or self._parent.state(), "position": self._parent.position}

    def restore(self, state: State) -> None:
        self._start = state["start"]
        self._parent.restore(state["start"])
        for _, chunk in self._parent.replay(state["position"]):
            self._new(_keys(chunk)[0])

    def close(self) -> None:
        self._parent.close()


def _keys(chunk: Chunk) -> tuple[list[Any], ElementError | None]:
    """What tells elements apart, up to one that cannot be told, with the reason."""
    with suppress(ElementError):
        column = chunk.columns[0] if chunk.structure == LEAF else None
        if isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "iubO":
            return column.tolist(), None
    keys: list[Any] = []
    for row in chunk.rows:
        try:
            _check(spec_of(row))
        except ElementError as error:
            return keys, error
        keys.append(_key(row))
    return keys, None


def _key(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray):
        return leaf.shape, tuple(leaf.ravel().tolist()) if leaf.dtype == object else leaf.tobytes()
    return leaf if isinstance(leaf, bytes | str) else leaf.item()
