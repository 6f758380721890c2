"""ChosenRows: elements at given positions, in a given order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.dtypes import Array
from keepset.core.node import Node, stage
from keepset.core.run import Run
from keepset.errors import InvalidArgumentError
from keepset.nodes.indexed import Indexed


@stage
class ChosenRows(Indexed):
    """Element ``i`` is the parent's element ``positions[i]``."""

    positions: Array

    def __post_init__(self) -> None:
        positions = np.asarray(self.positions)
        if positions.ndim != 1 or positions.dtype.kind not in "iu":
            raise InvalidArgumentError("positions must be a list of whole numbers")
        positions = positions.astype(np.int64, copy=False)
        length = self.parent.cardinality()
        if len(positions) and (positions.min() < 0 or 0 <= length <= positions.max()):
            raise InvalidArgumentError(
                f"positions from {positions.min()} to {positions.max()} are not all within the "
                f"{length:,} elements of {self.parent.title}"
            )
        object.__setattr__(self, "positions", positions)

    def cardinality(self) -> int:
        return len(self.positions)

    @property
    def jumps(self) -> bool:
        return True

    def translator(self, run: Run) -> Callable[[Array], Array]:
        return lambda own: self.positions[own]

    def project(self, keys: tuple[Any, ...]) -> Node | None:
        parent = self.parent.project(keys)
        return None if parent is None else self.replaced(parent=parent)
