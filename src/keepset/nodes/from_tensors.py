"""FromTensors: a data set of one element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keepset.core.chunk import EMPTY, Chunk, apart, freeze
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.element import to_element
from keepset.core.node import Node, stage
from keepset.core.run import Run
from keepset.core.spec import Spec, spec_of


@stage
class FromTensors(Node):
    """The one element ``tensors``, with read-only arrays, which all passes share."""

    tensors: Any

    def __post_init__(self) -> None:
        # A copy, unless the arrays cannot be written to anyway.
        element = to_element(self.tensors)
        freeze(element)
        object.__setattr__(self, "tensors", element)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        freeze(self.tensors)  # which pickle forgets

    def cursor(self, run: Run) -> Cursor:
        return _OnceCursor(self.element)

    def element(self) -> Any:
        """The element, in containers of its own."""
        return apart(self.tensors)

    def cardinality(self) -> int:
        return 1

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec_of(self.tensors)

    def obstacle(self) -> str | None:
        return None

    def gather(self, indices: Array, run: Run) -> Chunk:
        return Chunk.from_rows([self.element() for _ in indices])


class _OnceCursor(Cursor):
    def __init__(self, make: Callable[[], Any]) -> None:
        self._make, self._given = make, False

    def read(self, max_rows: int) -> Chunk:
        if self._given:
            return EMPTY
        self._given = True
        return Chunk.from_rows([self._make()])

    def state(self) -> State:
        return {"given": self._given}

    def restore(self, state: State) -> None:
        self._given = state["given"]
