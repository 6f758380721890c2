"""Passes: what the stages of a pipeline draw in its first pass, its second one, and so on.

Iterating over a data set again draws anew, and the data set counts how often. Processes that share
the elements of one pass have to agree about its number instead, and so has whoever resumes one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from keepset.adapters.dealing import Draws
from keepset.core.node import Node
from keepset.errors import StateError


class Passes:
    """The draws of each pass by its number: those of as many iterations over a new data set.

    Example:
        >>> ds = Dataset.range(4).shuffle(4, seed=7)
        >>> Passes(ds._node).draws(2)
        {'': [7, 2]}
    """

    def __init__(self, node: Node) -> None:
        found = [
            (where, stage.randomness)
            for where, stage in stages_by_place(node)
            if stage.randomness is not None
        ]
        self._seeds = {where: stage.effective_seed for where, stage in found}
        # A stage that is reached on two ways takes part in each pass twice.
        times = Counter(id(stage) for _, stage in found)
        self._turns: dict[str, tuple[int, int]] = {}
        earlier: Counter[int] = Counter()
        for where, stage in found:
            self._turns[where] = times[id(stage)], earlier[id(stage)]
            earlier[id(stage)] += 1

    def draws(self, number: int) -> Draws:
        """The seed of each random stage, and the number that it has in this pass."""
        return {
            where: [self._seeds[where], times * number + turn]
            for where, (times, turn) in self._turns.items()
        }

    def fix_seed(self, where: str, seed: int) -> None:
        """Let the stage at this place have another seed."""
        self._seeds[where] = seed

    def take_seeds(self, draws: Any) -> None:
        """Go on with the seeds of passes that another process began."""
        if not isinstance(draws, dict) or draws.keys() != self._seeds.keys():
            raise StateError(
                "this state belongs to another pipeline: its random stages are not the same; "
                "build the data set as it was when the state was taken"
            )
        self._seeds = {where: int(seed) for where, (seed, _) in draws.items()}


def stages_by_place(node: Node, where: str = "") -> Iterator[tuple[str, Node]]:
    """Every stage of a pipeline, and the place that its draws are noted under."""
    yield where, node
    for i, parent in enumerate(node.inputs):
        yield from stages_by_place(parent, f"{where}.{i}")
