"""Range: evenly spaced integers, like Python's own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor, PositionCursor
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
        if self._count() > sys.maxsize:
            raise InvalidArgumentError(
                f"range from {self.start} to {self.stop} has {self._count()} elements, more than "
                f"{sys.maxsize}; pass a smaller stop or a larger step"
            )

    def _count(self) -> int:
        """The number of elements, which ``len`` of a range cannot say if it is too large."""
        reached = (self.stop - self.start + self.step - (1 if self.step > 0 else -1)) // self.step
        return max(0, reached)

    def cursor(self, run: Run) -> Cursor:
        return PositionCursor(self.between, self.cardinality())

    def cardinality(self) -> int:
        return self._count()

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return TensorSpec((), self.dtype)

    def obstacle(self) -> str | None:
        return None

    def gather(self, indices: Array, run: Run) -> Chunk:
        return self._chunk(indices * self.step + self.start)

    def between(self, start: int, stop: int) -> Chunk:
        first, last = (self.start + place * self.step for place in (start, stop))
        return self._chunk(np.arange(first, last, self.step, dtype=np.int64))

    def _chunk(self, values: Array) -> Chunk:
        return Chunk.from_columns(LEAF, [values.astype(self.dtype, copy=False)], len(values))
