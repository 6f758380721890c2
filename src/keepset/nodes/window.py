"""Window: elements grouped into data sets of their own, which may overlap."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from keepset.core.chunk import EMPTY, Chunk, concat
from keepset.core.cursor import Cursor, State
from keepset.core.node import Node, scaled, stage
from keepset.core.parameter import parameter, upstream
from keepset.core.run import Run
from keepset.core.spec import DatasetSpec, Spec, map_spec, structure_and_leaves
from keepset.core.structure import LEAF
from keepset.errors import InvalidArgumentError
from keepset.nodes.rows import Rows
from keepset.nodes.trail import Trail


@stage
class Window(Node):
    """Data sets of ``size`` elements each, ``stride`` apart; a new one begins every ``shift``.

    An element that is a structure gives a structure of data sets, one per leaf. ``wrap`` makes a
    data set of a node.
    """

    parent: Node = upstream()
    size: int
    shift: int
    stride: int = 1
    drop_remainder: bool = False
    wrap: Callable[[Node], Any] = parameter(recipe=False)  # the reader of a recipe has its own

    def __post_init__(self) -> None:
        for name in ("size", "shift", "stride"):
            if getattr(self, name) < 1:
                raise InvalidArgumentError(
                    f"window {name} must be at least 1, not {getattr(self, name)}"
                )

    @property
    def span(self) -> int:
        """How many input elements a full window reaches over."""
        return (self.size - 1) * self.stride + 1

    def cursor(self, run: Run) -> Cursor:
        return _WindowCursor(self, self.parent.cursor(run.input(0)))

    def cardinality(self) -> int:
        return scaled(self.parent.cardinality(), self._windows)

    def _windows(self, elements: int) -> int:
        if self.drop_remainder:
            return max(0, (elements - self.span) // self.shift + 1)
        return -(-elements // self.shift)

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return map_spec(DatasetSpec, spec(self.parent))

    def element(self, chunk: Chunk, promised: list[Spec] | None) -> Any:
        """The data sets that stand for the elements of one window."""
        structure = chunk.structure
        if structure == LEAF and not chunk.has_columns:
            parts = [chunk]  # rows stay rows
        else:
            parts = [Chunk.from_columns(LEAF, [column], len(chunk)) for column in chunk.columns]
        specs = [None] * len(parts) if promised is None else [(spec,) for spec in promised]
        pairs = zip(parts, specs, strict=True)
        return structure.build([self.wrap(Rows(chunk=c, promised=s)) for c, s in pairs])


class _WindowCursor(Cursor):
    def __init__(self, node: Window, parent: Cursor) -> None:
        self._node, self._parent = node, Trail(parent)
        known = node.parent.known_spec()
        self._promised = None if known is None else structure_and_leaves(known[0])[1]
        self._start = 0  # the input position where the next window begins
        # What was read and is still needed, by the position of its first row. An element that
        # failed is kept as its error: every window that would hold it fails, as in TensorFlow.
        self._held: deque[tuple[int, Chunk | Exception]] = deque()
        self._obstacle: Exception | None = None  # an error that the parent does not go on behind
        self._ended = False

    def read(self, max_rows: int) -> Chunk:
        self._fill(self._start + (max_rows - 1) * self._node.shift + self._node.span)
        windows: list[Any] = []
        while len(windows) < max_rows:
            available = min(self._node.span, self._parent.position - self._start)
            if available < (self._node.span if self._node.drop_remainder else 1):
                break
            try:
                window = self._node.element(self._rows(available), self._promised)
            except Exception:
                if windows:
                    break  # the windows before it come first
                self._advance()
                raise
            windows.append(window)
            self._advance()
        if self._obstacle is not None and not windows:
            error, self._obstacle = self._obstacle, None
            raise error
        return Chunk.from_rows(windows) if windows else EMPTY

    def _fill(self, stop: int) -> None:
        for _ in self._parent.replay(self._start):
            pass  # elements between two windows
        while self._parent.position < stop and not self._ended:
            position = self._parent.position
            try:
                chunk = self._parent.read(stop - position)
            except Exception as error:
                if self._parent.stands_still:
                    self._obstacle = error
                    return
                self._held.append((position, error))
                continue
            self._ended = not len(chunk)
            if not self._ended:
                self._held.append((position, chunk))

    def _rows(self, available: int) -> Chunk:
        """The rows of the window that begins at ``start``."""
        start, stride = self._start, self._node.stride
        parts: list[Chunk] = []
        for position, rows in self._held:
            if position >= start + available:
                break
            first = max(start, position + (start - position) % stride)
            if isinstance(rows, Exception):
                if first == position:
                    raise rows
            else:
                parts.append(rows[first - position : start + available - position : stride])
        return concat(parts)

    def _advance(self) -> None:
        self._start += self._node.shift
        while self._held:
            position, rows = self._held[0]
            if position + (1 if isinstance(rows, Exception) else len(rows)) > self._start:
                break
            self._held.popleft()
        self._parent.release(min(self._start, self._parent.position))

    def state(self) -> State:
        place = min(self._start, self._parent.position)
        return {"parent": self._parent.state(place), "start": self._start}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        self._start = state["start"]

    def close(self) -> None:
        self._parent.close()
