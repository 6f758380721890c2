"""TakeWhile: stop at the first element that a predicate refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from keepset.core.cached import cached_property
from keepset.core.node import UNKNOWN, Node, stage
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.nodes.empty_filter import EmptyFilter
from keepset.nodes.returned import Truth
from keepset.nodes.row_loop import Step
from keepset.nodes.rowwise import RowStage


@stage
class TakeWhile(RowStage):
    """Elements up to, but not including, the first for which ``predicate`` is false."""

    one_to_one: ClassVar[bool] = False

    predicate: Callable[..., Any]

    def steps(self, run: Run) -> list[Step]:
        step = Step("take_while", self.predicate, self.title, judge=Truth(self.predicate))
        if run.session.is_nested or self._watch.compared is None:
            return [step]
        return [step._replace(on_first=self._watch.warn_of_first, on_all=self._watch.warn_of_all)]

    @cached_property
    def _watch(self) -> EmptyFilter:
        """One for all passes, so that a warning comes once."""
        return EmptyFilter(self.predicate, self.title)

    def cardinality(self) -> int:
        return UNKNOWN

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)
