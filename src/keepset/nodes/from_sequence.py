"""FromSequence: the items of any object that has a length and items by position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from keepset.core.cached import cached_property
from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, PositionCursor
from keepset.core.dtypes import Array
from keepset.core.element import to_returned_element
from keepset.core.node import Node, must_run, stage
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.errors import InvalidArgumentError
from keepset.nodes.row_loop import explain


@stage
class FromSequence(Node):
    """Element ``i`` is ``sequence[i]``, or one of what ``sequence.__getitems__`` gives at once."""

    sequence: Any

    def __post_init__(self) -> None:
        for method in ("__len__", "__getitem__"):
            if not hasattr(self.sequence, method):
                raise InvalidArgumentError(
                    f"an object with __len__ and __getitem__ is needed, and "
                    f"{type(self.sequence).__name__} has no {method}"
                )

    def cursor(self, run: Run) -> Cursor:
        return _SequenceCursor(self)

    def cardinality(self) -> int:
        return self._length

    @cached_property
    def _length(self) -> int:
        return len(self.sequence)

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return must_run()

    def obstacle(self) -> str | None:
        return None

    @property
    def is_pure(self) -> bool:
        """No: ``__getitem__`` is the user's own."""
        return False

    def gather(self, indices: Array, run: Run) -> Chunk:
        positions = indices.tolist()
        rows = self.at_once(positions)
        if rows is None:
            rows = []
            for position in positions:
                try:
                    rows.append(self.item(position))
                except Exception as error:
                    raise explain(error, self.title, position) from None
        return Chunk.from_rows(rows)

    def item(self, position: int) -> Any:
        return to_returned_element(self.sequence[position])

    def at_once(self, positions: Sequence[int]) -> list[Any] | None:
        """The items at several positions by one call; None if there is no such call, or it fails.

        Which item failed is found by asking for them one by one.
        """
        if len(positions) < 2 or not hasattr(self.sequence, "__getitems__"):
            return None
        try:
            return [to_returned_element(item) for item in self.sequence.__getitems__(positions)]
        except Exception:
            return None


class _SequenceCursor(PositionCursor):
    def __init__(self, node: FromSequence) -> None:
        super().__init__(self._rows, node.cardinality())
        self._node = node
        self._error: Exception | None = None

    def read(self, max_rows: int) -> Chunk:
        if self._error is None:
            chunk = super().read(max_rows)
            if len(chunk) or self._error is None:
                return chunk
        error, self._error = self._error, None
        self._next += 1
        raise error

    def _rows(self, start: int, stop: int) -> Chunk:
        """The items in between, or those before one that failed."""
        rows = self._node.at_once(range(start, stop))
        if rows is not None:
            return Chunk.from_rows(rows)
        rows = []
        try:
            for position in range(start, stop):
                rows.append(self._node.item(position))
        except Exception as error:
            self._error = explain(error, self._node.title, start + len(rows))
        return Chunk.from_rows(rows) if rows else EMPTY

    def skip(self, count: int) -> int:
        if count:
            self._error = None
        return super().skip(count)
