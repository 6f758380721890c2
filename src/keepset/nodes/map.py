"""Map: call a function on each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keepset.core.cached import cached_property
from keepset.core.node import Node, must_run, stage
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.nodes.bytes_watch import BytesWatch
from keepset.nodes.parallel_rows import ParallelRowStage
from keepset.nodes.returned import NoneWatch
from keepset.nodes.row_loop import Step
from keepset.nodes.rowwise import checked


@stage
class Map(ParallelRowStage):
    """``function(*element)`` for each element; results are made into elements."""

    function: Callable[..., Any]
    output_signature: Any = None

    def steps(self, run: Run) -> list[Step]:
        kind = "map" if self.output_signature is None else "map_checked"
        # A pipeline that an element stands for is made anew for each of them.
        on_bytes = None if run.session.is_nested else self._bytes_watch
        step = Step(kind, self.function, self.title, judge=self._watch, on_bytes=on_bytes)
        return [step, *checked(self)]

    @cached_property
    def _bytes_watch(self) -> BytesWatch:
        """One for all passes, so that the warning comes once."""
        return BytesWatch(self.function, self.title)

    @cached_property
    def _watch(self) -> NoneWatch:
        """One for all passes, so that the warning comes once."""
        return NoneWatch(self.function, self.title)

    def cardinality(self) -> int:
        return self.parent.cardinality()

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return must_run() if self.output_signature is None else self.output_signature
