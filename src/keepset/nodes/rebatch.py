"""Rebatch: cut batches into batches of other sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from keepset.core.chunk import EMPTY, Chunk, concat
from keepset.core.column import Column, column_batches, column_rows, stack_leaves
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.jagged import Jagged
from keepset.core.node import UNKNOWN, Node, stage
from keepset.core.parameter import upstream
from keepset.core.ragged import Ragged
from keepset.core.run import Run
from keepset.core.spec import Spec, map_spec
from keepset.errors import ElementError, InvalidArgumentError
from keepset.nodes.trail import Trail
from keepset.nodes.unbatch import static_batch_size, unbatch_rows


@stage
class Rebatch(Node):
    """The same rows in batches of ``batch_size``, or of several sizes that take turns.

    A size of 0 among others makes a batch without rows whenever its turn comes.
    """

    makes_batches = True

    parent: Node = upstream()
    batch_size: int | tuple[int, ...]
    drop_remainder: bool = False

    def __post_init__(self) -> None:
        if min(self.sizes, default=-1) < 0 or not any(self.sizes):
            raise InvalidArgumentError(
                f"rebatch sizes must be at least 1, not {self.batch_size}; "
                "pass one size or a list of sizes that take turns, not all of which are 0"
            )
        known = self.parent.known_spec()
        if known is not None:
            static_batch_size(known[0], "rebatch")

    @property
    def sizes(self) -> tuple[int, ...]:
        if isinstance(self.batch_size, tuple | list):
            return tuple(map(int, self.batch_size))
        return (int(self.batch_size),)

    def cursor(self, run: Run) -> Cursor:
        return _RebatchCursor(self, self.parent.cursor(run.input(0)))

    def cardinality(self) -> int:
        return UNKNOWN

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        sizes = set(self.sizes)
        size = sizes.pop() if self.drop_remainder and len(sizes) == 1 else None
        return map_spec(
            lambda leaf: leaf if leaf.shape is None else leaf.with_shape((size, *leaf.shape[1:])),
            spec(self.parent),
        )


class _RebatchCursor(Cursor):
    def __init__(self, node: Rebatch, parent: Cursor) -> None:
        self._node, self._parent = node, Trail(parent)
        self._sizes = node.sizes
        self._turn = 0
        self._rows: Chunk = EMPTY  # rows that wait to be given
        self._ragged: list[Any] = []  # for each leaf its splits' dtype, if it is a Ragged
        self._ends: Array = np.zeros(0, np.int64)  # where each batch of theirs ends
        self._first = 0  # the position of the batch that the first waiting row belongs to
        self._left_out = 0  # rows of that batch that were given before
        self._largest = 0
        self._ended = False
        self._error: Exception | None = None

    def read(self, max_rows: int) -> Chunk:
        turns = self._turn + np.arange(max_rows)
        ends = np.cumsum(np.take(self._sizes, turns, mode="wrap"))
        if self._error is None:
            # What batches without rows look like, a row has to tell.
            self._fill(max(1, int(ends[-1])))
        if self._rows is EMPTY and self._error is None:
            return EMPTY
        whole = int(np.searchsorted(ends, len(self._rows), side="right"))
        if whole:
            return self._cut(ends[:whole])
        if self._error is not None:
            return self._fail(self._error)
        if not len(self._rows) or self._node.drop_remainder:
            return EMPTY
        return self._cut(np.array([len(self._rows)]), is_last=True)

    def _fill(self, wanted: int) -> None:
        """Take batches apart until ``wanted`` rows wait, the input ends or something fails."""
        parts, ends, waiting = [self._rows], [self._ends], len(self._rows)
        while waiting < wanted and not self._ended:
            needed = (wanted - waiting) // self._largest if self._largest else 1
            try:
                batches = self._parent.read(max(1, needed))
                self._ended = not len(batches)
                if self._ended:
                    break
                rows, sizes = self._take_apart(batches)
            except Exception as error:
                self._error = error
                break
            if self._left_out and not any(map(len, ends)):
                # After restore: the first batch was given in part.
                rows, sizes[0] = rows[self._left_out :], sizes[0] - self._left_out
            parts.append(rows)
            ends.append(waiting + np.cumsum(sizes))
            waiting += len(rows)
        self._rows = concat(parts) if any(map(len, parts)) else parts[-1]
        self._ends = np.concatenate(ends)

    def _take_apart(self, batches: Chunk) -> tuple[Chunk, Array]:
        try:
            rows, found = unbatch_rows(batches, self._node.title)
        except ElementError as error:
            if len(batches) == 1:
                error.at(self._parent.position - 1, 0)
                raise
            self._parent.unread(batches[1:])
            return self._take_apart(batches[:1])
        self._ragged = [_splits_dtype(column) for column in batches.columns]
        sizes = np.full(len(batches), found) if isinstance(found, int) else found
        self._largest = max(self._largest, int(sizes.max()))
        return rows, sizes

    def _cut(self, ends: Array, *, is_last: bool = False) -> Chunk:
        """Give the next rows as batches that end at ``ends``."""
        turn = self._turn
        try:
            batches = self._group(ends)
        except ElementError as error:
            if len(ends) == 1:
                batch = int(np.searchsorted(self._ends, error.row or 0, side="right"))
                error.at(self._first + batch, 0)
                self._advance(ends)
                raise
            return self._cut(ends[:1])
        self._advance(ends)
        if is_last:
            self._turn = turn  # it is still the turn of the batch that was not filled
        return batches

    def _group(self, ends: Array) -> Chunk:
        rows, count = self._rows[: int(ends[-1])], len(ends)
        starts = [0, *ends[:-1].tolist()]

        def batches(column: Column, splits: Any) -> Column:
            if splits is None and isinstance(column, np.ndarray) and len(column) % count == 0:
                size = len(column) // count
                if size and (np.diff(ends, prepend=0) == size).all():
                    return column_batches(column, size)
            places = zip(starts, ends.tolist(), strict=True)
            return [_joined(column[a:b], splits, self._node.title, a) for a, b in places]

        columns = rows.structure.by_leaf(batches, rows.columns, self._ragged)
        return Chunk.from_columns(rows.structure, columns, count)

    def _advance(self, ends: Array) -> None:
        given = int(ends[-1])
        self._turn = (self._turn + len(ends)) % len(self._sizes)
        # A batch without rows may come last: the batch in front of it is read again after restore,
        # to tell what it looks like.
        side: Literal["left", "right"] = "right" if all(self._sizes) else "left"
        done = int(np.searchsorted(self._ends, given, side=side))
        if done:
            self._left_out = given - int(self._ends[done - 1])
        else:
            self._left_out += given
        self._rows, self._ends = self._rows[given:], self._ends[done:] - given
        self._first += done
        self._parent.release(self._first)

    def _fail(self, error: Exception) -> Chunk:
        # As in TensorFlow, the batch that something failed in is lost as a whole.
        self._rows, self._ends, self._left_out = EMPTY, np.zeros(0, np.int64), 0
        self._first, self._error = self._parent.position, None
        raise error

    def state(self) -> State:
        return {
            "parent": self._parent.state(self._first),
            "left_out": self._left_out,
            "turn": self._turn,
        }

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        self._first = self._parent.position
        self._left_out, self._turn = state["left_out"], state["turn"]

    def close(self) -> None:
        self._parent.close()


def _splits_dtype(column: Column) -> Any:
    """The dtype of the row splits if the batches are Ragged, else None."""
    if isinstance(column, list) and isinstance(column[0], Ragged):
        return column[0].row_splits.dtype
    return None


def _joined(rows: Column, splits_dtype: Any, title: str, first: int) -> Any:
    if splits_dtype is not None:
        if isinstance(rows, Jagged):
            return Ragged(rows.joined(), rows.offsets().astype(splits_dtype))
        return Ragged.from_rows(list(rows), splits_dtype)
    return rows if isinstance(rows, np.ndarray) else stack_leaves(column_rows(rows), title, first)
