"""ParseExample: a stage that turns Examples into elements, whole chunks at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, Marked, State
from keepset.core.dtypes import Array, string
from keepset.core.node import Node, must_run, stage
from keepset.core.parameter import upstream
from keepset.core.run import Run
from keepset.core.spec import Spec, TensorSpec
from keepset.core.structure import structure_of
from keepset.errors import ElementError
from keepset.exchange.tensorflow.features import check_features
from keepset.exchange.tensorflow.parse_example import (
    example_columns,
    features_spec,
    parse_example,
)
from keepset.nodes.row_loop import explain

_FIRST_ROWS, _MOST_ROWS = 16, 1024


@stage
class ParseExample(Node):
    """Each Example becomes the element that ``features`` describe; each batch of them a batch."""

    parent: Node = upstream()
    features: Any

    def __post_init__(self) -> None:
        check_features(self.features)

    def cursor(self, run: Run) -> Cursor:
        return _ParseCursor(self, self.parent.cursor(run.input(0)))

    def cardinality(self) -> int:
        return self.parent.cardinality()

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        parent = spec(self.parent)
        is_single = isinstance(parent, TensorSpec) and parent.shape == ()
        return features_spec(self.features) if is_single else must_run()

    def obstacle(self) -> str | None:
        return self.parent.obstacle()

    def gather(self, indices: Array, run: Run) -> Chunk:
        return self.parsed(self.parent.gather(indices, run.input(0)))

    def parsed(self, chunk: Chunk) -> Chunk:
        """The elements of a chunk."""
        if not chunk.structure.is_leaf:
            raise ElementError(
                f"parse_example takes the bytes of Examples, not elements of {chunk.structure}; "
                "map to the entry that holds them first"
            )
        [column] = chunk.columns
        if isinstance(column, np.ndarray) and column.dtype == object and column.ndim == 1:
            columns = example_columns(column.tolist(), self.features)
            structure = structure_of(dict.fromkeys(self.features, string))
            ordered = [columns[key] for key in structure.keys]
            return Chunk.from_columns(structure, ordered, len(chunk))
        return Chunk.from_rows([parse_example(row, self.features) for row in chunk.rows])


class _ParseCursor(Cursor):
    """Parses more than is asked for: a thousand Examples take as long as two hundred."""

    def __init__(self, node: ParseExample, parent: Cursor) -> None:
        self._node, self._parent, self._position = node, Marked(parent), 0
        self._before: State | None = None  # where the parent was before what was parsed ahead
        self._ahead: Chunk = EMPTY
        self._given = 0  # of that
        self._size = _FIRST_ROWS

    def read(self, max_rows: int) -> Chunk:
        if self._given == len(self._ahead):
            self._before, self._given, self._ahead = self._parent.state(), 0, EMPTY
            self._ahead = self._parse(max(max_rows, self._size))
            self._size = min(4 * self._size, _MOST_ROWS)
        chunk = self._ahead[self._given : self._given + max_rows]
        self._given += len(chunk)
        self._position += len(chunk)
        return chunk

    def _parse(self, rows: int) -> Chunk:
        chunk = self._parent.read(rows)
        while len(chunk):
            try:
                found = self._node.parsed(chunk)
            except ElementError as error:
                # Those before one that fails come first, so it is looked for by halves.
                half = len(chunk) // 2
                if not half:
                    self._position += 1
                    raise explain(error, self._node.title, self._position - 1) from error.__cause__
                self._parent.unread(chunk[half:])
                chunk = chunk[:half]
                continue
            return found
        return EMPTY

    def skip(self, count: int) -> int:
        passed = min(count, len(self._ahead) - self._given)
        self._given += passed
        if passed < count:
            passed += self._parent.skip(count - passed)
        self._position += passed
        return passed

    def state(self) -> State:
        left = len(self._ahead) - self._given
        parent = self._before if left and self._before is not None else self._parent.state()
        return {"parent": parent, "skip": self._given if left else 0, "position": self._position}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        self._parent.skip(state["skip"])
        self._position = state["position"]

    def close(self) -> None:
        self._parent.close()
