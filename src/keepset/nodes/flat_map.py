"""FlatMap: each element becomes a data set, and these follow one another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.node import UNKNOWN, Node, must_run, stage
from keepset.core.parameter import upstream
from keepset.core.random import Randomness
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.errors import UnknownSpecError
from keepset.nodes.nested import Nested, first_nested_spec, open_nested, to_node
from keepset.nodes.row_loop import explain


@stage
class FlatMap(Node):
    """All elements of ``function(*element)``, a Dataset, for one element after another."""

    opens_pipelines = True
    makes_batches = False

    parent: Node = upstream()
    function: Callable[..., Any]
    source: Randomness = field(default_factory=lambda: Randomness(None))

    @property
    def randomness(self) -> Randomness:
        return self.source

    def cursor(self, run: Run) -> Cursor:
        return _FlatMapCursor(self, run)

    def cardinality(self) -> int:
        return UNKNOWN

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return must_run()

    def _first_spec(self) -> Spec:
        try:
            return first_nested_spec(self.parent, lambda row: self.node_for(row, 0))
        except UnknownSpecError:
            return super()._first_spec()  # a later dataset may have elements

    def node_for(self, element: Any, position: int) -> Node:
        return call_for_node(self.function, element, self.title, position)


def call_for_node(function: Callable[..., Any], element: Any, title: str, position: int) -> Node:
    """Call a user's function that returns a data set; its errors say where they happened."""
    try:
        result = function(*element) if type(element) is tuple else function(element)
        return to_node(result, title)
    except Exception as error:
        raise explain(error, title, position) from error.__cause__


class _FlatMapCursor(Cursor):
    def __init__(self, node: FlatMap, run: Run) -> None:
        self._node, self._run = node, run
        self._parent = node.parent.cursor(run.input(0))
        self._key = run.key(node)
        self._before: State = {}
        self._position = -1
        self._nested: Nested | None = None

    def read(self, max_rows: int) -> Chunk:
        while True:
            if self._nested is None and not self._open():
                return EMPTY
            assert self._nested is not None
            chunk = self._nested.read(max_rows)
            if len(chunk):
                return chunk
            self._nested.close()
            self._nested = None

    def _open(self, state: State | None = None) -> bool:
        """Go on to the next element's data set, or come back to one in the middle."""
        self._before = self._parent.state()
        chunk = self._parent.read(1)
        if not len(chunk):
            return False
        self._position += 1
        node = self._node.node_for(chunk.rows[0], self._position)
        self._nested = open_nested(node, self._run, (*self._key, self._position), state)
        return True

    def state(self) -> State:
        if self._nested is None:
            return {"parent": self._parent.state(), "position": self._position, "nested": None}
        before = {"parent": self._before, "position": self._position - 1}
        return before | {"nested": self._nested.state()}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        self._position = state["position"]
        if state["nested"] is not None:
            self._open(state["nested"])

    def close(self) -> None:
        if self._nested is not None:
            self._nested.close()
        self._parent.close()
