"""Nested: a data set that an element stands for, opened inside a run."""

from __future__ import annotations

from typing import Any

from keepset.core.chunk import Chunk
from keepset.core.cursor import Marked, State
from keepset.core.node import Node
from keepset.core.run import Run, start
from keepset.errors import ElementError


def to_node(value: Any, title: str) -> Node:
    """The pipeline behind what a user's function returned, which must be a data set."""
    if hasattr(value, "__keepset_node__"):
        node: Node = value.__keepset_node__()
        return node
    raise ElementError(
        f"the function of {title} must return a Dataset, but it returned {type(value).__name__}; "
        "use map for functions that return elements, or wrap it: Dataset.from_tensors(value)"
    )


class Nested:
    """An open pipeline of its own, with its own draws, sharing the run's threads."""

    def __init__(self, node: Node, within: Run, state: State | None = None) -> None:
        self._run = start(node, None if state is None else state["draws"], within)
        self._cursor = Marked(node.cursor(self._run))
        if state is not None:
            self._cursor.restore(state["cursor"])

    def read(self, max_rows: int) -> Chunk:
        return self._cursor.read(max_rows)

    def unread(self, chunk: Chunk) -> None:
        self._cursor.unread(chunk)

    def skip(self, count: int) -> int:
        return self._cursor.skip(count)

    def state(self) -> State:
        return {"draws": dict(self._run.session.draws), "cursor": self._cursor.state()}

    def close(self) -> None:
        self._cursor.close()
        self._run.session.close()
