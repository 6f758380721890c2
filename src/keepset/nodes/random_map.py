"""RandomMap: call a function with a generator of its own for each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keepset.core.cached import cached_property
from keepset.core.node import Node, must_run, stage
from keepset.core.random import Randomness, element_generators
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.nodes.returned import NoneWatch
from keepset.nodes.row_loop import Step
from keepset.nodes.rowwise import RowStage, checked


@stage
class RandomMap(RowStage):
    """``function(*element, rng)``, where ``rng`` depends on seed, pass and position alone."""

    function: Callable[..., Any]
    source: Randomness
    output_signature: Any = None

    @property
    def randomness(self) -> Randomness:
        return self.source

    def steps(self, run: Run) -> list[Step]:
        function, generator_at = self.function, element_generators(run.key(self))

        def call(element: Any, position: int) -> Any:
            rng = generator_at(position)
            return function(*element, rng) if type(element) is tuple else function(element, rng)

        return [Step("positional", call, self.title, judge=self._watch), *checked(self)]

    @cached_property
    def _watch(self) -> NoneWatch:
        return NoneWatch(self.function, self.title)

    def cardinality(self) -> int:
        return self.parent.cardinality()

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return must_run() if self.output_signature is None else self.output_signature
