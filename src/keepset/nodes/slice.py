"""Slice: every ``step``-th element of a stretch, also backwards."""

from __future__ import annotations

from collections.abc import Callable

from keepset.core.dtypes import Array
from keepset.core.node import stage
from keepset.core.run import Run
from keepset.nodes.indexed import Indexed


@stage
class Slice(Indexed):
    """The elements at ``start, start + step, ...``, ``count`` of them."""

    start: int
    step: int
    count: int

    def cardinality(self) -> int:
        return self.count

    def translator(self, run: Run) -> Callable[[Array], Array]:
        return lambda positions: positions * self.step + self.start
