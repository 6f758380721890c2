"""FromTensors: a data set of one element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.element import to_element
from keepset.core.node import Node, stage
from keepset.core.run import Run
from keepset.core.spec import Spec, spec_of


@stage
class FromTensors(Node):
    """The one element ``tensors``."""

    tensors: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "tensors", to_element(self.tensors))

    def cursor(self, run: Run) -> Cursor:
        return _OnceCursor(self.tensors)

    def cardinality(self) -> int:
        return 1

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec_of(self.tensors)

    def obstacle(self) -> str | None:
        return None

    def gather(self, indices: Array, run: Run) -> Chunk:
        return Chunk.from_rows([self.tensors] * len(indices))


class _OnceCursor(Cursor):
    def __init__(self, element: Any) -> None:
        self._element, self._given = element, False

    def read(self, max_rows: int) -> Chunk:
        if self._given:
            return EMPTY
        self._given = True
        return Chunk.from_rows([self._element])

    def state(self) -> State:
        return {"given": self._given}

    def restore(self, state: State) -> None:
        self._given = state["given"]
