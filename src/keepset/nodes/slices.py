"""Slices: the rows of arrays, one element each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.column import Column, column_take, unstack_leaf
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.element import to_element
from keepset.core.node import Node
from keepset.core.run import Run
from keepset.core.spec import Spec, map_spec, spec_of
from keepset.core.structure import structure_of
from keepset.errors import ElementError, InvalidArgumentError


@dataclass(frozen=True, kw_only=True, eq=False)
class FromTensorSlices(Node):
    """Element ``i`` is row ``i`` of every leaf. Arrays are not copied."""

    tensors: Any

    def __post_init__(self) -> None:
        element = to_element(self.tensors)
        structure = structure_of(element)
        columns: list[Column] = []
        for leaf in structure.leaves(element):
            try:
                columns.append(unstack_leaf(leaf))
            except ElementError as error:
                raise InvalidArgumentError(
                    f"from_tensor_slices needs a first dimension to slice along: {error}"
                ) from error
        if not columns:
            raise InvalidArgumentError("from_tensor_slices needs at least one array")
        lengths = {len(column) for column in columns}
        if len(lengths) > 1:
            raise InvalidArgumentError(
                f"from_tensor_slices needs leaves of one length, but they have {sorted(lengths)}"
            )
        object.__setattr__(self, "tensors", element)
        object.__setattr__(self, "_structure", structure)
        object.__setattr__(self, "_columns", [_read_only(column) for column in columns])
        object.__setattr__(self, "_length", lengths.pop())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__post_init__()

    def cursor(self, run: Run) -> Cursor:
        return _SlicesCursor(self)

    def cardinality(self) -> int:
        return self._length  # type: ignore[attr-defined,no-any-return]

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return map_spec(lambda leaf: leaf.unbatched(), spec_of(self.tensors))

    def obstacle(self) -> str | None:
        return None

    def gather(self, indices: Array, run: Run) -> Chunk:
        columns = [column_take(column, indices) for column in self._columns]  # type: ignore[attr-defined]
        return Chunk.from_columns(self._structure, columns, len(indices))  # type: ignore[attr-defined]

    def rows_between(self, start: int, stop: int) -> Chunk:
        """Elements ``start`` to ``stop`` as views."""
        columns = [column[start:stop] for column in self._columns]  # type: ignore[attr-defined]
        return Chunk.from_columns(self._structure, columns, stop - start)  # type: ignore[attr-defined]


class _SlicesCursor(Cursor):
    def __init__(self, node: FromTensorSlices) -> None:
        self._node, self._next, self._length = node, 0, node.cardinality()

    def read(self, max_rows: int) -> Chunk:
        start, stop = self._next, min(self._next + max_rows, self._length)
        if stop <= start:
            return EMPTY
        self._next = stop
        return self._node.rows_between(start, stop)

    def skip(self, count: int) -> int:
        skipped = min(count, self._length - self._next)
        self._next += skipped
        return skipped

    def state(self) -> State:
        return {"next": self._next}

    def restore(self, state: State) -> None:
        self._next = state["next"]


def _read_only(column: Column) -> Column:
    """A view that nobody downstream can write through: the arrays are the user's own."""
    if isinstance(column, np.ndarray):
        column = column.view()
        column.flags.writeable = False
    return column
