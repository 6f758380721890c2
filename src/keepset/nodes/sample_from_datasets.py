"""SampleFromDatasets: take each element from an input drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.node import INFINITE, UNKNOWN, Node, stage
from keepset.core.random import Randomness
from keepset.core.run import Run
from keepset.errors import ElementError, InvalidArgumentError
from keepset.nodes.directed import Directed, Input, Selector
from keepset.nodes.random_source import random_words, unit_doubles


@stage
class SampleFromDatasets(Directed):
    """Elements of ``parents``, each drawn with a probability in proportion to its weight.

    ``weights`` are one number per input, a node whose elements are such numbers (one element for
    each draw), or None for equal ones. Inputs of weight 0 are never read.
    """

    weights: Any = None
    source: Randomness
    stop_on_empty_dataset: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.weights, Node):
            return
        inputs = len(self.parents)
        weights = [1.0] * inputs if self.weights is None else self.weights
        problem = _problem(np.asarray(weights), inputs)
        if problem:
            raise InvalidArgumentError(
                f"weights {problem}; pass one number of 0 or more per data set"
            )
        object.__setattr__(self, "weights", tuple(np.asarray(weights, np.float64).tolist()))

    @property
    def randomness(self) -> Randomness:
        return self.source

    def never_chosen(self) -> set[int]:
        if isinstance(self.weights, Node):
            return set()
        return {i for i, weight in enumerate(self.weights) if not weight}

    def selector(self, run: Run) -> Selector:
        words = random_words(run.key(self))
        if isinstance(self.weights, Node):
            weights = self.weights.cursor(run.input(len(self.parents)))
            return _VaryingDraws(words, weights, len(self.parents))
        return _Draws(words, self.weights)

    def cardinality(self) -> int:
        drawn = set(range(len(self.parents))) - self.never_chosen()
        lengths = [self.parents[i].cardinality() for i in sorted(drawn)]
        if isinstance(self.weights, Node):
            return UNKNOWN
        if len(lengths) < 2:
            return lengths[0] if lengths else 0
        endless = [length == INFINITE for length in lengths]
        # One endless input is enough only if the others may run empty.
        lasts = all(endless) if self.stop_on_empty_dataset else any(endless)
        return INFINITE if lasts else UNKNOWN


def _problem(weights: Array, inputs: int) -> str | None:
    """What is wrong with the weights of one draw."""
    if weights.shape != (inputs,):
        return f"have shape {weights.shape}, but there are {inputs} data sets"
    if weights.dtype.kind not in "iufb" or not np.isfinite(weights).all() or (weights < 0).any():
        return f"must be finite and not negative, not {weights.tolist()}"
    return None


def _drawn(ends: Array, units: Array) -> Array:
    """The numbers that doubles from 0 to 1 fall on; number ``i`` ends at ``ends[i]``."""
    numbers = np.searchsorted(ends, units * ends[-1], side="right")
    # Rounding may carry a double close to 1 to the very end.
    drawn: Array = np.minimum(numbers, np.searchsorted(ends, ends[-1], side="left"))
    return drawn


class _Draws:
    """Draw number n depends on the key and n alone."""

    is_free = True

    def __init__(self, words: Callable[[Array], Array], weights: tuple[float, ...]) -> None:
        self._words, self._next = words, 0
        self._ends = np.cumsum(weights)

    def peek(self, count: int) -> Array:
        if not self._ends[-1]:
            return np.zeros(0, np.int64)
        positions = np.arange(self._next, self._next + count)
        return _drawn(self._ends, unit_doubles(self._words(positions)))

    def use(self, count: int) -> None:
        self._next += count

    def state(self) -> State:
        return {"next": self._next}

    def restore(self, state: State) -> None:
        self._next = state["next"]

    def close(self) -> None:
        pass


class _VaryingDraws:
    """As ``_Draws``, with weights of its own for each draw."""

    is_free = False

    def __init__(self, words: Callable[[Array], Array], weights: Cursor, inputs: int) -> None:
        self._words, self._weights, self._inputs = words, Input(weights), inputs

    def peek(self, count: int) -> Array:
        self._weights.raise_error()
        chunk = self._weights.peek(count)
        if not len(chunk):
            self._weights.raise_error()
        choices: list[int] = []
        for row in chunk.rows:
            try:
                choices.append(self._draw(row, self._weights.position + len(choices)))
            except ElementError:
                if choices:
                    break
                self._weights.use(1)
                raise
        return np.array(choices, np.int64)

    def _draw(self, row: Any, position: int) -> int:
        # A tuple of numbers, and a vector of one row, serve as well as a vector.
        weights = np.asarray(row)
        weights = weights[0] if weights.ndim == 2 and len(weights) == 1 else weights
        problem = _problem(weights, self._inputs)
        if problem or not weights.any():
            raise ElementError(f"the weights of draw {position} {problem or 'are all 0'}")
        ends = np.cumsum(weights, dtype=np.float64)
        return int(_drawn(ends, unit_doubles(self._words(np.array([position]))))[0])

    def use(self, count: int) -> None:
        self._weights.use(count)

    def state(self) -> State:
        return self._weights.state()

    def restore(self, state: State) -> None:
        self._weights.restore(state)

    def close(self) -> None:
        self._weights.close()
