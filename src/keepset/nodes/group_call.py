"""GroupCall: what a worker does with a group of rows.

It is a file of its own, with few imports, because every worker process loads it when it starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from keepset.core.chunk import Chunk
from keepset.nodes.row_loop import RowLoop, Step


class Outcome(NamedTuple):
    """The results, the number of rows used, the error that ended the loop early, the time taken."""

    chunk: Chunk
    used: int
    error: Exception | None
    seconds: float


class GroupCall:
    """Runs the steps of a stage over a group of rows, here or in another process."""

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps

    def values(self) -> list[tuple[str, Any]]:
        """What the functions are, by the names of their stages."""
        return [(step.title, step.function) for step in self._steps]

    def __call__(
        self, chunk: Chunk, position: int, on_row: Callable[[int], None] | None = None
    ) -> Outcome:
        began = time.perf_counter()
        loop = RowLoop(self._steps)
        loop.place_before(position)
        out, used, error = loop.run(chunk, on_row)
        seconds = time.perf_counter() - began
        return Outcome(Chunk.from_rows(out), used, error and loop.explain(error), seconds)
