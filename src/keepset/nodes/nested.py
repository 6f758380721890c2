"""Nested: a data set that an element stands for, opened inside a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from keepset.core.chunk import Chunk
from keepset.core.cursor import Marked, State
from keepset.core.fingerprint import Difference
from keepset.core.node import Node
from keepset.core.open_sizes import opened
from keepset.core.run import Run, start_nested
from keepset.core.spec import Spec
from keepset.errors import ResultError


def to_node(value: Any, title: str) -> Node:
    """The pipeline behind what a user's function returned, which must be a data set."""
    if hasattr(value, "__keepset_node__"):
        node: Node = value.__keepset_node__()
        return node
    raise ResultError(
        f"the function of {title} must return a Dataset, but it returned {type(value).__name__}; "
        "use map for functions that return elements, or wrap it: Dataset.from_tensors(value)"
    )


def open_nested(
    node: Node, within: Run, key: tuple[int, ...], state: State | None = None
) -> Nested:
    """Open a pipeline that an element stands for; it shares the threads of the run ``within``.

    ``key`` decides what its random stages draw. It is made of the key of the stage that opens it
    and the position of the element, so that opening it again gives the same elements.
    """
    return Nested(node, start_nested(node, within, key), state)


def first_nested_spec(parent: Node, node_for: Callable[[Any], Node]) -> Spec:
    """The spec of the elements of a dataset that an element stands for, of the first of them.

    Raises:
        UnknownSpecError: This dataset has no elements to tell.
    """
    row, given = parent.first_with_spec()
    # What rows of a batch become is no batch.
    return opened(node_for(row).spec(), given, row, False)


class Nested:
    """An open pipeline of its own, in a run that ``open_nested`` or a worker process began."""

    def __init__(self, node: Node, run: Run, state: State | None = None) -> None:
        self.node, self._run = node, run
        self._cursor = Marked(node.cursor(self._run))
        self._largest_read = sys.maxsize if node.may_run_ahead else 1
        if state is not None:
            self._cursor.restore(state)

    def read(self, max_rows: int) -> Chunk:
        return self._cursor.read(min(max_rows, self._largest_read))

    def unread(self, chunk: Chunk) -> None:
        self._cursor.unread(chunk)

    def skip(self, count: int) -> int:
        return self._cursor.skip(count)

    @property
    def unlike(self) -> Sequence[Difference]:
        """What workers of its own compute with, and this process has otherwise."""
        return self._run.session.unlike

    def state(self) -> State:
        return self._cursor.state()

    def close(self) -> None:
        self._cursor.close()
        self._run.session.close()
