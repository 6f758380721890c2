"""Filter: keep the elements that a predicate accepts."""

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
class Filter(RowStage):
    """Keep elements for which ``predicate(*element)`` is true."""

    one_to_one: ClassVar[bool] = False

    predicate: Callable[..., Any]

    def steps(self, run: Run) -> list[Step]:
        # A pipeline that an element stands for may well be without any that pass.
        watch = None if run.session.is_nested else self._watch
        judge = Truth(self.predicate)
        on_all = None if watch is None or watch.compared is None else watch.warn_of_all
        return [
            Step("filter", self.predicate, self.title, judge=judge, on_none=watch, on_all=on_all)
        ]

    @cached_property
    def _watch(self) -> EmptyFilter:
        """One for all passes, so that a warning comes once."""
        return EmptyFilter(self.predicate, self.title)

    def cardinality(self) -> int:
        return UNKNOWN

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)
