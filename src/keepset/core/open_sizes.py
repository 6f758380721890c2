"""Open sizes: what a first element cannot tell about the shapes of those behind it.

A function is called with the first element to see what it makes of it. Where a size of that element
is only its own, such as the rows of a batch that may be the last, smaller one, the sizes that the
function made of it are not promised either.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.core.ragged import Ragged
from keepset.core.spec import DatasetSpec, LeafSpec, Shape, Spec, map_spec, spec_of
from keepset.core.structure import structure_of


def opened(found: Spec, given: Spec, element: Any, is_batch: bool) -> Spec:
    """The spec of what a function made of an element, without sizes that may be others next time.

    Behind an open first size, that of a batch, the result's first size is open, too: a batch may be
    joined with itself, or cut. So it is for a constant or a sum over the batch, of which nothing
    but the function knows that it does not depend on the batch. Elsewhere a size is open if it
    is that of an open one.

    Args:
        found: The spec of the result.
        given: The spec of what the function is called with.
        element: The element of it that it was called with.
        is_batch: Whether the elements are batches.
    """
    rows, others = _open_sizes(given, element)
    if not rows and not others:
        return found

    def open_leaf(leaf: LeafSpec) -> LeafSpec:
        if isinstance(leaf, DatasetSpec) or not leaf.shape:
            return leaf
        return leaf.with_shape(_open_shape(leaf.shape, rows, others, is_batch))

    return map_spec(open_leaf, found)


def _open_shape(shape: Shape, rows: set[int], others: set[int], is_batch: bool) -> Shape:
    assert shape
    first, *rest = shape
    is_first_open = first in rows or first in others or (is_batch and bool(rows))
    # A transposed batch has its rows elsewhere. Where they are in front, a size like theirs, such
    # as the channels of a picture, is its own.
    closed = others if first in rows else rows | others
    return (None if is_first_open else first, *(None if size in closed else size for size in rest))


def _open_sizes(given: Spec, element: Any) -> tuple[set[int], set[int]]:
    """The sizes of an element that its spec leaves open: those of first dimensions, and others."""
    structure = structure_of(given)
    rows: set[int] = set()
    others: set[int] = set()
    for spec, leaf in zip(structure.leaves(given), structure.leaves(element), strict=True):
        if isinstance(spec, DatasetSpec):
            continue
        for axis, size in enumerate(_sizes(leaf)):
            if spec.shape is None or spec.shape[axis] is None:
                (others if axis else rows).add(size)
    return rows, others


def _sizes(leaf: Any) -> tuple[int, ...]:
    if not isinstance(leaf, Ragged):
        shape = spec_of(leaf).shape
        return tuple(size for size in shape or () if size is not None)
    # Those of the array that its rows are padded to.
    lengths = np.diff(leaf.row_splits)
    longest = int(lengths.max()) if lengths.size else 0
    return (len(lengths), longest, *_sizes(leaf.values)[1:])
