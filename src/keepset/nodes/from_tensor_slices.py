"""Slices: the rows of arrays, one element each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from keepset.core.cached import cached_property
from keepset.core.chunk import Chunk
from keepset.core.column import Column, column_take, read_only_column, unstack_leaf
from keepset.core.cursor import Cursor, PositionCursor
from keepset.core.dtypes import Array
from keepset.core.element import to_element
from keepset.core.node import Node, stage
from keepset.core.ragged import Ragged
from keepset.core.run import Run
from keepset.core.spec import Spec, map_spec, spec_of
from keepset.core.structure import Structure, structure_of
from keepset.errors import ElementError, InvalidArgumentError


@stage
class FromTensorSlices(Node):
    """Element ``i`` is row ``i`` of every leaf. Arrays are not copied."""

    tensors: Any

    def __post_init__(self) -> None:
        tensors = self.tensors
        with suppress(RecursionError):  # of what to_element has an error for
            tensors = _uncopied(tensors)
        object.__setattr__(self, "tensors", to_element(tensors))
        lengths = {len(column) for column in self._columns}
        if not lengths:
            raise InvalidArgumentError("from_tensor_slices needs at least one array")
        if len(lengths) > 1:
            raise InvalidArgumentError(
                f"from_tensor_slices needs leaves of one length, but they have {sorted(lengths)}"
            )

    @cached_property
    def _structure(self) -> Structure:
        return structure_of(self.tensors)

    @cached_property
    def _columns(self) -> list[Column]:
        try:
            leaves = self._structure.leaves(self.tensors)
            return [read_only_column(unstack_leaf(leaf)) for leaf in leaves]
        except ElementError as error:
            raise InvalidArgumentError(
                f"from_tensor_slices needs a first dimension to slice along: {error}"
            ) from error

    def cursor(self, run: Run) -> Cursor:
        return PositionCursor(self.rows_between, self.cardinality())

    def cardinality(self) -> int:
        return len(self._columns[0])

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return map_spec(lambda leaf: leaf.unbatched(), spec_of(self.tensors))

    def obstacle(self) -> str | None:
        return None

    def gather(self, indices: Array, run: Run) -> Chunk:
        columns = [column_take(column, indices) for column in self._columns]
        return Chunk.from_columns(self._structure, columns, len(indices))

    def rows_between(self, start: int, stop: int) -> Chunk:
        """Elements ``start`` to ``stop`` as views."""
        columns = [column[start:stop] for column in self._columns]
        return Chunk.from_columns(self._structure, columns, stop - start)


def _uncopied(tensors: Any) -> Any:
    """The same with views that cannot be written to, which are taken as elements uncopied."""
    if type(tensors) is np.ndarray:
        return read_only_column(tensors)
    if type(tensors) is dict:
        return {key: _uncopied(item) for key, item in tensors.items()}
    if type(tensors) is tuple:
        return tuple(map(_uncopied, tensors))
    if type(tensors) is Ragged:
        return Ragged.trusted(_uncopied(tensors.values), tensors.row_splits)
    return tensors
