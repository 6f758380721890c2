"""ParseExample: a stage that turns Examples into elements, whole chunks at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, Marked, State
from keepset.core.dtypes import Array, string
from keepset.core.node import Node, must_run, stage
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


@stage
class ParseExample(Node):
    """Each Example becomes the element that ``features`` describe; each batch of them a batch."""

    parent: Node
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
    def __init__(self, node: ParseExample, parent: Cursor) -> None:
        self._node, self._parent, self._position = node, Marked(parent), 0

    def read(self, max_rows: int) -> Chunk:
        chunk = self._parent.read(max_rows)
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
            self._position += len(found)
            return found
        return EMPTY

    def skip(self, count: int) -> int:
        skipped = self._parent.skip(count)
        self._position += skipped
        return skipped

    def state(self) -> State:
        return {"parent": self._parent.state(), "position": self._position}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        self._position = state["position"]

    def close(self) -> None:
        self._parent.close()
