"""Unbatch: take batches apart into their elements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.column import Column, column_unbatch
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.node import UNKNOWN, Node, stage
from keepset.core.parameter import upstream
from keepset.core.run import Run
from keepset.core.spec import Spec, map_spec, structure_and_leaves
from keepset.errors import ElementError
from keepset.nodes.trail import Trail


@stage
class Unbatch(Node):
    """The rows of every element, one after another."""

    makes_batches = False

    parent: Node = upstream()

    def __post_init__(self) -> None:
        known = self.parent.known_spec()
        if known is not None:
            static_batch_size(known[0], "unbatch")

    def cursor(self, run: Run) -> Cursor:
        return _UnbatchCursor(self.title, self.batch_size, self.parent.cursor(run.input(0)))

    @property
    def batch_size(self) -> int | None:
        """The size of every batch, where it is known without running anything."""
        known = self.parent.known_spec()
        return None if known is None else static_batch_size(known[0], "unbatch")

    def cardinality(self) -> int:
        batches = self.parent.cardinality()
        if batches <= 0:
            return batches
        return UNKNOWN if self.batch_size is None else batches * self.batch_size

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return map_spec(lambda leaf: leaf.unbatched(), spec(self.parent))

    def obstacle(self) -> str | None:
        if (obstacle := self.parent.obstacle()) is not None:
            return obstacle
        if self.batch_size:
            return None
        return f"the batches of {self.parent.title} may differ in size; use drop_remainder=True"

    def gather(self, indices: Array, run: Run) -> Chunk:
        size = self.batch_size
        assert size
        batches, places = np.unique(indices // size, return_inverse=True)
        rows, _ = unbatch_rows(self.parent.gather(batches, run.input(0)), self.title)
        return rows.take(places * size + indices % size)


def static_batch_size(spec: Spec, stage: str) -> int | None:
    """The leading size that a spec promises; an error if leaves have none or disagree."""
    structure, leaves = structure_and_leaves(spec)
    if not leaves or any(leaf.shape == () for leaf in leaves):
        raise ElementError(
            f"{stage} needs elements whose every leaf has a first dimension, not {spec}; "
            "use batch first"
        )
    sizes = {leaf.shape[0] for leaf in leaves if leaf.shape is not None} - {None}
    if len(sizes) > 1:
        pairs = zip(structure.paths(), leaves, strict=True)
        known = {path: leaf.shape[0] for path, leaf in pairs if leaf.shape}
        raise _disagreement(stage, {path: size for path, size in known.items() if size is not None})
    return sizes.pop() if sizes else None


def unbatch_rows(batches: Chunk, title: str) -> tuple[Chunk, int | Array]:
    """All rows of a chunk of batches, and how many rows each batch had, or all of them."""
    parts = batches.structure.by_leaf(column_unbatch, batches.columns)
    if not parts:
        raise ElementError(f"{title} needs elements with at least one leaf", row=0)
    columns = [part[0] for part in parts]
    sizes: int | Array = parts[0][1]
    if not all(isinstance(part[1], int) and part[1] == sizes for part in parts):
        sizes = _sizes_of_each(parts, batches, title)
    return Chunk.from_columns(batches.structure, columns, len(columns[0])), sizes


def _sizes_of_each(parts: list[tuple[Column, int | Array]], batches: Chunk, title: str) -> Array:
    """The sizes batch by batch; an error if leaves disagree."""
    sizes = [
        np.full(len(batches), part[1]) if isinstance(part[1], int) else part[1] for part in parts
    ]
    for others in sizes[1:]:
        odd = np.flatnonzero(sizes[0] != others)
        if len(odd):
            row = int(odd[0])
            found = dict(zip(batches.structure.paths(), [int(s[row]) for s in sizes], strict=True))
            raise _disagreement(title, found, row)
    return sizes[0]


def _disagreement(title: str, sizes: dict[str, int], row: int | None = None) -> ElementError:
    shown = ", ".join(f"{path!r} has {size}" for path, size in sizes.items())
    return ElementError(
        f"{title} needs leaves of one batch size, but {shown}; bring them to one with map", row=row
    )


class _UnbatchCursor(Cursor):
    def __init__(self, title: str, batch_size: int | None, parent: Cursor) -> None:
        self._title, self._parent = title, Trail(parent)
        self._batch_size = batch_size
        self._rows: Chunk = EMPTY
        self._sizes: int | Array = 0  # how many rows each of the current batches has, or all have
        self._given = 0  # rows of the current batches that were given, or are to be left out
        self._first = 0  # the position of the first of the current batches
        self._largest = batch_size or 0

    def read(self, max_rows: int) -> Chunk:
        while self._given >= len(self._rows):
            if not self._load(max_rows):
                return EMPTY
        chunk = self._rows[self._given : self._given + max_rows]
        self._given += len(chunk)
        return chunk

    def _load(self, max_rows: int) -> bool:
        """Take the next batches apart; False at the end."""
        left_out = self._given - len(self._rows)
        self._first = self._parent.position
        self._parent.release(self._first)
        self._rows, self._given = EMPTY, left_out
        # Never more batches than the rows asked for need, as far as sizes can be foreseen.
        batches = self._parent.read(max(1, max_rows // self._largest) if self._largest else 1)
        if not len(batches):
            return False
        self._take_apart(batches)
        return True

    def _take_apart(self, batches: Chunk) -> None:
        try:
            self._rows, self._sizes = unbatch_rows(batches, self._title)
        except ElementError as error:
            if len(batches) > 1:
                # Some batch is not in order; give the rows of those before it first.
                self._parent.unread(batches[1:])
                return self._take_apart(batches[:1])
            self._given = 0
            error.at(self._first, 0)
            raise
        self._largest = max(
            self._largest, self._sizes if isinstance(self._sizes, int) else int(self._sizes.max())
        )

    def skip(self, count: int) -> int:
        waiting = len(self._rows) - self._given
        if not self._batch_size or waiting < 0:
            return super().skip(count)
        here = min(count, waiting)
        self._given += here
        if here == count:
            return count
        self._rows, self._given = EMPTY, 0
        whole = self._parent.skip((count - here) // self._batch_size) * self._batch_size
        return here + whole + super().skip(count - here - whole)

    def state(self) -> State:
        if self._given >= len(self._rows):
            left_out = self._given - len(self._rows)
            return {"parent": self._parent.state(), "given": left_out}
        if isinstance(self._sizes, int):
            done, within = divmod(self._given, self._sizes)
        else:
            ends = np.cumsum(self._sizes)
            done = int(np.searchsorted(ends, self._given, side="right"))
            within = self._given - (int(ends[done - 1]) if done else 0)
        return {"parent": self._parent.state(self._first + done), "given": within}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        self._given = state["given"]

    def close(self) -> None:
        self._parent.close()
