"""Counter: evenly spaced numbers without end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor, PositionCursor
from keepset.core.dtypes import Array
from keepset.core.node import INFINITE, Node, stage
from keepset.core.run import Run
from keepset.core.spec import Spec, TensorSpec
from keepset.core.structure import LEAF
from keepset.errors import InvalidArgumentError


@stage
class Counter(Node):
    """``start, start + step, ...``; integers wrap around at the end of their type."""

    start: Any = 0
    step: Any = 1
    dtype: np.dtype[Any] = field(default=np.dtype(np.int64))

    def __post_init__(self) -> None:
        if self.dtype.kind in "iu" and not all(
            np.asarray(value).dtype.kind in "iu" for value in (self.start, self.step)
        ):
            raise InvalidArgumentError(
                f"counter of {self.dtype} needs integers, not start={self.start!r} and "
                f"step={self.step!r}; pass dtype=float for fractions"
            )

    def cursor(self, run: Run) -> Cursor:
        return PositionCursor(lambda start, stop: self.at(np.arange(start, stop)), INFINITE)

    def cardinality(self) -> int:
        return INFINITE

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return TensorSpec((), self.dtype)

    def obstacle(self) -> str | None:
        return None

    def gather(self, indices: Array, run: Run) -> Chunk:
        return self.at(indices)

    def at(self, positions: Array) -> Chunk:
        """The numbers at these positions."""
        kind = np.int64 if self.dtype.kind in "iu" else np.float64
        values = positions.astype(kind) * kind(self.step) + kind(self.start)
        return Chunk.from_columns(LEAF, [values.astype(self.dtype, copy=False)], len(positions))
