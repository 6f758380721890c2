"""Select: some entries of elements that are dicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.node import Node, stage
from keepset.core.parameter import upstream
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.errors import ElementError


@stage
class Select(Node):
    """The entries of each element under ``keys``, in the order in which they were written."""

    parent: Node = upstream()
    keys: tuple[Any, ...]

    def __post_init__(self) -> None:
        known = self.parent.known_spec()
        if known is not None:
            selected(known[0], self.keys)

    def cursor(self, run: Run) -> Cursor:
        return _SelectCursor(self.keys, self.parent.cursor(run.input(0)))

    def cardinality(self) -> int:
        return self.parent.cardinality()

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return selected(spec(self.parent), self.keys)

    def obstacle(self) -> str | None:
        return self.parent.obstacle()

    def gather(self, indices: Array, run: Run) -> Chunk:
        return _select(self.parent.gather(indices, run.input(0)), self.keys)


def selected(element: Any, keys: tuple[Any, ...]) -> dict[Any, Any]:
    """The entries of one element or spec; an error if there are none such."""
    if not isinstance(element, dict):
        raise ElementError(f"select needs elements that are dicts, not {type(element).__name__}")
    missing = [key for key in keys if key not in element]
    if missing:
        raise ElementError(
            f"elements have no {', '.join(map(repr, missing))}; there are "
            f"{', '.join(map(repr, element))}"
        )
    wanted = set(keys)
    return {key: element[key] for key in element if key in wanted}


def _select(chunk: Chunk, keys: tuple[Any, ...]) -> Chunk:
    if not len(chunk):
        return chunk
    if not chunk.has_columns:
        return Chunk.from_rows([selected(row, keys) for row in chunk.rows])
    selected(chunk[:1].rows[0], keys)
    return chunk.select(keys)


class _SelectCursor(Cursor):
    def __init__(self, keys: tuple[Any, ...], parent: Cursor) -> None:
        self._keys, self._parent = keys, parent

    def read(self, max_rows: int) -> Chunk:
        return _select(self._parent.read(max_rows), self._keys)

    def skip(self, count: int) -> int:
        return self._parent.skip(count)

    def state(self) -> State:
        return {"parent": self._parent.state()}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])

    def close(self) -> None:
        self._parent.close()
