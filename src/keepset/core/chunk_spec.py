"""The spec of the elements of a chunk, and of those of many, found by looking at them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.column import Column, column_concat, column_rows, column_spec, odd_row
from keepset.core.ragged import Ragged
from keepset.core.spec import (
    LeafSpec,
    Spec,
    common_supertype,
    is_untyped,
    spec_of,
    stored_leaf_spec,
    structure_and_leaves,
)
from keepset.core.structure import Structure
from keepset.core.untyped import gives_dtype, is_untyped_leaf, typed_column
from keepset.errors import ElementError

# Whether all leaves of the second spec have a place where the first is promised.
Covers: TypeAlias = Callable[[LeafSpec, LeafSpec], bool]


def chunk_spec(chunk: Chunk) -> Spec:
    """The narrowest spec of all elements of a chunk; an error names the row and the leaf."""
    return chunk.structure.build(_leaf_specs(chunk))


def _leaf_specs(chunk: Chunk) -> list[LeafSpec]:
    columns = chunk.columns
    try:
        return chunk.structure.by_leaf(column_spec, columns)
    except ElementError as error:
        raise _not_of_one_type(error) from None


def _not_of_one_type(error: ElementError) -> ElementError:
    return error.told(
        "elements must be of one type: ",
        "; convert them with map, or promise one type with output_signature=",
    )


def widened(spec: Spec, chunk: Chunk) -> Spec:
    """The narrowest spec that covers ``spec`` and a chunk; ``spec`` itself if it covers both.

    Shapes may differ. Dtypes and structures may not: the error names the row and the leaf.
    """
    structure, leaves = structure_and_leaves(spec)
    # First: to make columns compares the elements of the chunk with the first of them.
    if chunk.structure != structure:
        raise structure.difference(chunk.structure, 0)
    found = _leaf_specs(chunk)
    if found == leaves:
        return spec
    try:
        joint = common_supertype([spec, structure.build(found)])
    except ElementError as error:
        place = list(structure.paths()).index(error.leaf or "")
        error.row = odd_row(chunk.columns[place], leaves[place])
        raise _not_of_one_type(error) from None
    return spec if structure_and_leaves(joint)[1] == leaves else joint


def typed(chunk: Chunk, leaves: Sequence[LeafSpec]) -> Chunk:
    """The elements, in which arrays without a dtype of their own have those of ``leaves``."""
    columns = chunk.columns
    made = [typed_column(column, leaf) for column, leaf in zip(columns, leaves, strict=True)]
    if all(map(operator.is_, made, columns)):
        return chunk
    return Chunk.from_columns(chunk.structure, made, len(chunk))


class TypesSoFar:
    """Gives arrays without a dtype of their own that of the elements before them.

    Args:
        spec: That of the elements before the first chunk; None if there are none.
    """

    def __init__(self, spec: Spec | None = None) -> None:
        self._leaves: list[LeafSpec | None] = []
        if spec is not None:
            found = structure_and_leaves(spec)[1]
            self._leaves = [None if is_untyped(leaf) else leaf for leaf in found]

    def typed(self, chunk: Chunk) -> Chunk:
        """The next elements. What comes before the first array that has a dtype stays as it is."""
        structure = chunk.structure
        if not chunk.has_columns and not self._may_change(structure.leaves(chunk.rows[0])):
            return chunk
        try:
            columns = chunk.columns if chunk.has_columns else structure.columns(chunk.rows)
        except ElementError:
            return chunk  # elements of several structures, of which others complain
        self._expect(len(columns))
        made = [self._typed(place, column) for place, column in enumerate(columns)]
        if all(map(operator.is_, made, columns)):
            return chunk
        if chunk.has_columns:
            return Chunk.from_columns(structure, made, len(chunk))
        return Chunk.from_rows([structure.build(leaves) for leaves in zip(*made, strict=True)])

    def _expect(self, count: int) -> None:
        if len(self._leaves) != count:
            self._leaves = [None] * count

    def _may_change(self, first: list[Any]) -> bool:
        """Whether rows that begin with these leaves can have arrays that get a dtype, or give one.

        Where that cannot be, as in rows of scalars, nothing has to look at all of them.
        """
        self._expect(len(first))
        return any(
            isinstance(leaf, np.ndarray | Ragged) and (known is None or gives_dtype(known))
            for leaf, known in zip(first, self._leaves, strict=True)
        )

    def _typed(self, place: int, column: Column) -> Column:
        if not len(column) or not isinstance(column[0], np.ndarray | Ragged):
            return column
        start = 0
        if self._leaves[place] is None:
            start = _first_typed(column)
            if start == len(column):
                return column
            self._leaves[place] = spec_of(column[start])
        leaf = self._leaves[place]
        assert leaf is not None
        rest = typed_column(column[start:], leaf) if start else typed_column(column, leaf)
        return column_concat([column[:start], rest]) if start else rest


def _first_typed(column: Column) -> int:
    """The row of the first leaf that has a dtype of its own; how many there are if none has."""
    if isinstance(column, np.ndarray):
        return len(column) if is_untyped_leaf(column[0]) else 0
    rows = (row for row, leaf in enumerate(column) if not is_untyped_leaf(leaf))
    return next(rows, len(column))


def check_covered(
    chunk: Chunk,
    structure: Structure,
    leaves: Sequence[LeafSpec],
    covers: Covers,
    expected: str,
    remedy: str,
) -> None:
    """An error that names the first element of a chunk that has no place, and the leaf."""
    if chunk.structure != structure:
        raise structure.difference(chunk.structure, 0)
    for place, (leaf, column) in enumerate(zip(leaves, chunk.columns, strict=True)):
        if not _is_covered(leaf, column, covers):
            rows = enumerate(map(stored_leaf_spec, column_rows(column)))
            row, found = next((i, each) for i, each in rows if not covers(leaf, each))
            raise ElementError(
                f"this is {found}, but {expected} {leaf}; {remedy}",
                leaf=list(structure.paths())[place],
                row=row,
            )


def _is_covered(leaf: LeafSpec, column: Column, covers: Covers) -> bool:
    try:
        found = column_spec(column)
    except ElementError:
        return False
    return found is None or covers(leaf, found)
