"""The spec of the elements of a chunk, and of those of many, found by looking at them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from keepset.core.chunk import Chunk
from keepset.core.column import Column, column_rows, column_spec, odd_row
from keepset.core.spec import LeafSpec, Spec, common_supertype, spec_of, structure_and_leaves
from keepset.core.structure import Structure
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
    found = _leaf_specs(chunk)
    if chunk.structure != structure:
        raise structure.difference(chunk.structure, 0)
    if found == leaves:
        return spec
    try:
        joint = common_supertype([spec, structure.build(found)])
    except ElementError as error:
        place = list(structure.paths()).index(error.leaf or "")
        error.row = odd_row(chunk.columns[place], leaves[place])
        raise _not_of_one_type(error) from None
    return spec if structure_and_leaves(joint)[1] == leaves else joint


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
            rows = enumerate(map(spec_of, column_rows(column)))
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
