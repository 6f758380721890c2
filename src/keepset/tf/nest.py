"""``tf.nest``: functions over the leaves of nested elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keepset.core.structure import structure_of
from keepset.tf.not_covered import not_covered


def map_structure(func: Callable[..., Any], *structures: Any, **ignored: Any) -> Any:
    """Apply a function to each leaf of one or more structures."""
    first = structure_of(structures[0])
    leaves = [first.leaves(each) for each in structures]
    return first.build([func(*group) for group in zip(*leaves, strict=True)])


def flatten(structure: Any) -> list[Any]:
    """The leaves, dicts in the order of their keys."""
    return structure_of(structure).leaves(structure)


def pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
    """Leaves put into a structure."""
    return structure_of(structure).build(list(flat_sequence))


__all__ = [
    "flatten",
    "map_structure",
    "pack_sequence_as",
]

__getattr__ = not_covered("tf.nest")
