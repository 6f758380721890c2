"""Filter: keep the elements that a predicate accepts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from keepset.core.node import UNKNOWN, Node, stage
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.nodes.returned import Truth
from keepset.nodes.row_loop import Step
from keepset.nodes.rowwise import RowStage


@stage
class Filter(RowStage):
    """Keep elements for which ``predicate(*element)`` is true."""

    one_to_one: ClassVar[bool] = False

    predicate: Callable[..., Any]

    def steps(self, run: Run) -> list[Step]:
        return [Step("filter", self.predicate, self.title, judge=Truth(self.predicate))]

    def cardinality(self) -> int:
        return UNKNOWN

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)
