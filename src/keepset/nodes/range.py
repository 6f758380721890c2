"""Range: evenly spaced integers, like Python's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.node import Node, stage
from keepset.core.run import Run
from keepset.core.spec import Spec, TensorSpec
from keepset.core.structure import LEAF
from keepset.errors import InvalidArgumentError


@stage
class Range(Node):
    """``start, start + step, ...`` up to but not including ``stop``."""

    start: int
    stop: int
    step: int = 1
    dtype: np.dtype[Any]

    def __post_init__(self) -> None:
        if self.step == 0:
            raise InvalidArgumentError("range step 0 never arrives; pass a step other than 0")

    def cursor(self, run: Run) -> Cursor:
        return _RangeCursor(self)

    def cardinality(self) -> int:
        return len(range(self.start, self.stop, self.step))

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return TensorSpec((), self.dtype)

    def obstacle(self) -> str | None:
        return None

    def gather(self, indices: Array, run: Run) -> Chunk:
        return self._chunk(indices * self.step + self.start)

    def _chunk(self, values: Array) -> Chunk:
        return Chunk.from_columns(LEAF, [values.astype(self.dtype, copy=False)], len(values))


class _RangeCursor(Cursor):
    def __init__(self, node: Range) -> None:
        self._node, self._next, self._length = node, 0, node.cardinality()

    def read(self, max_rows: int) -> Chunk:
        count = min(max_rows, self._length - self._next)
        if count <= 0:
            return EMPTY
        step, first = self._node.step, self._node.start + self._next * self._node.step
        self._next += count
        return self._node._chunk(np.arange(first, first + count * step, step, dtype=np.int64))

    def skip(self, count: int) -> int:
        skipped = min(count, self._length - self._next)
        self._next += skipped
        return skipped

    def state(self) -> State:
        return {"next": self._next}

    def restore(self, state: State) -> None:
        self._next = state["next"]
