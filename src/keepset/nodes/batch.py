"""Batch: put consecutive elements together along a new first axis."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np

from keepset.core.chunk import EMPTY, Chunk, concat
from keepset.core.column import column_batches
from keepset.core.cursor import Cursor, Marked, State
from keepset.core.dtypes import Array
from keepset.core.node import Node, scaled, stage
from keepset.core.parameter import upstream
from keepset.core.run import Run
from keepset.core.several import Several
from keepset.core.spec import Spec, map_spec
from keepset.errors import ElementError, InvalidArgumentError


@stage
class Batch(Node):
    """Groups of ``batch_size`` elements; the last may be smaller unless ``drop_remainder``."""

    parent: Node = upstream()
    batch_size: int
    drop_remainder: bool = False

    makes_batches = True

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise InvalidArgumentError(f"batch_size must be at least 1, not {self.batch_size}")

    def cursor(self, run: Run) -> Cursor:
        return BatchCursor(self, self.parent.cursor(run.input(0)))

    def cardinality(self) -> int:
        return scaled(self.parent.cardinality(), self._batches)

    def _batches(self, elements: int) -> int:
        return (
            elements // self.batch_size if self.drop_remainder else -(-elements // self.batch_size)
        )

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        size = self.batch_size if self.drop_remainder else None
        return map_spec(lambda leaf: leaf.batched(size), spec(self.parent))

    def obstacle(self) -> str | None:
        return self.parent.obstacle()

    def gather(self, indices: Array, run: Run) -> Chunk:
        length, size = self.parent.cardinality(), self.batch_size
        starts = indices * size
        stops = starts + size if length < 0 else np.minimum(starts + size, length)
        rows = np.concatenate([np.arange(a, b) for a, b in zip(starts, stops, strict=True)])
        chunk = self.parent.gather(rows, run.input(0))
        if len(chunk) == len(indices) * size:
            return self._gathered(chunk, rows)
        # The short batch at the end may stand anywhere among those asked for.
        cuts = np.cumsum([0, *(stops - starts)])
        groups = [self._gathered(chunk[a:b], rows[a:b]).rows for a, b in pairwise(cuts)]
        return Chunk.from_rows([batch for group in groups for batch in group])

    def _gathered(self, chunk: Chunk, rows: Array) -> Chunk:
        try:
            return self.group(chunk)
        except ElementError as error:
            if error.row is not None:
                error.at(int(rows[error.row]), 0)
            raise

    def group(self, chunk: Chunk) -> Chunk:
        """Batches of the elements in ``chunk``: a multiple of the size, or less than one batch."""
        size = min(self.batch_size, len(chunk))
        batches = partial(column_batches, size=size, name=self.title)
        columns = chunk.structure.by_leaf(batches, chunk.columns)
        return Chunk.from_columns(chunk.structure, columns, len(chunk) // size)


class BatchCursor(Cursor):
    """Collects whole batches from its parent and never reads further than it needs."""

    def __init__(self, node: Batch, parent: Cursor) -> None:
        self._node, self._parent = node, Marked(parent)
        self._error: Exception | None = None
        self._spoilt = 0
        # How many elements of the input were used, for messages; None after a state without it.
        self._used: int | None = 0

    def read(self, max_rows: int) -> Chunk:
        if self._error is not None:
            return self._fail(self._error)
        size = self._node.batch_size
        chunk = self._collect(max_rows * size)
        length = len(chunk)
        rest = length % size
        whole = length - rest
        if self._error is not None:
            # The elements before the failed one count as unread until the error is raised.
            self._parent.unread(chunk[whole:])
            self._spoilt = rest
            if not whole:
                return self._fail(self._error)
        elif rest and whole:
            self._parent.unread(chunk[whole:])
        elif not whole and (self._node.drop_remainder or not rest):
            return EMPTY
        return self._group(chunk[:whole] if whole and rest else chunk)

    def _collect(self, wanted: int) -> Chunk:
        """One read, if that is a batch or more; otherwise as many as one batch needs."""
        size = self._node.batch_size
        parts: list[Chunk] = []
        missing = size
        try:
            while missing > 0:
                chunk = self._parent.read(wanted, may_mark=not parts)
                length = len(chunk)
                if not length:
                    break
                usable = _usable(chunk, length, size)
                if parts:
                    # Joining copies; the rest of a large read can be grouped without.
                    usable = min(usable, missing)
                if usable < length:
                    self._parent.unread(chunk[usable:])
                    chunk = chunk[:usable]
                parts.append(chunk)
                missing -= usable
        except Exception as error:
            self._error = error
        return parts[0] if len(parts) == 1 else concat(parts)

    def _group(self, chunk: Chunk) -> Chunk:
        first = self._used
        try:
            self._advance(len(chunk))
            pieces = chunk.pieces
            if len(pieces) == 1 or any(len(piece) % self._node.batch_size for piece in pieces):
                return self._node.group(chunk)
            return Several([self._node.group(piece) for piece in pieces], chunk.own_bytes)
        except ElementError as error:
            size = self._node.batch_size
            if len(chunk) <= size:
                if first is not None:
                    error.at(first)
                raise
            # Some batch does not fit together; give those before it first.
            self._parent.unread(chunk[size:])
            self._used = first
            return self._group(chunk[:size])

    def _advance(self, elements: int) -> None:
        if self._used is not None:
            self._used += elements

    def _fail(self, error: Exception) -> Chunk:
        # As in TensorFlow, the batch that an element failed in is lost as a whole.
        self._parent.skip(self._spoilt)
        self._advance(self._spoilt + (not self._parent.stands_still))
        self._error, self._spoilt = None, 0
        raise error

    def state(self) -> State:
        return {"parent": self._parent.state(), "used": self._used}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        self._used = state.get("used")

    def close(self) -> None:
        self._parent.close()


def _usable(chunk: Chunk, length: int, size: int) -> int:
    """How many elements to group now, without joining pieces; or those of the first piece."""
    pieces = chunk.pieces
    if len(pieces) == 1:
        return length
    usable = 0
    for piece in pieces:
        if len(piece) % size:
            break
        usable += len(piece)
    return usable or len(pieces[0])
