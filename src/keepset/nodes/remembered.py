"""Remembered: elements by position behind stages that only go forward.

A pipeline itself never runs over these: they stand in for a ``cache`` or a seeded ``shuffle`` where
single elements are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.chunk import Chunk, concat
from keepset.core.cursor import Cursor, GatherCursor
from keepset.core.dtypes import Array
from keepset.core.node import Node, stage
from keepset.core.parameter import upstream
from keepset.core.random import Randomness
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.nodes.cache_store import Kept
from keepset.nodes.indexed import Indexed


@stage
class KeptRows(Node):
    """What a cache holds, once a pass has filled it."""

    parent: Node = upstream()
    kept: Kept

    @property
    def kind(self) -> str:
        return "cache"

    @property
    def parameters(self) -> dict[str, Any]:
        return {}

    def cursor(self, run: Run) -> Cursor:
        return GatherCursor(
            lambda start, stop: self.gather(np.arange(start, stop), run), self.kept.rows
        )

    def cardinality(self) -> int:
        return self.kept.rows

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)

    def obstacle(self) -> str | None:
        return None

    def gather(self, indices: Array, run: Run) -> Chunk:
        return concat([self._row(index) for index in indices.tolist()])

    def _row(self, index: int) -> Chunk:
        number = self.kept.find(index)
        place = index - self.kept.first_rows[number]
        return self.kept.chunk(number)[place : place + 1]


@stage
class Reordered(Indexed):
    """The order that a seeded shuffle gives the elements in its first pass, drawn in advance.

    ``order_of`` draws all of it, which takes as long as to shuffle as many numbers.
    """

    source: Randomness
    order_of: Callable[[Run], Array]

    @property
    def kind(self) -> str:
        return "shuffle"

    @property
    def parameters(self) -> dict[str, Any]:
        return {}

    @property
    def randomness(self) -> Randomness:
        return self.source

    @property
    def jumps(self) -> bool:
        return True

    def cardinality(self) -> int:
        return self.parent.cardinality()

    def translator(self, run: Run) -> Callable[[Array], Array]:
        order: Any = self.order_of(run)
        return lambda own: order[own]
