"""Rows of ragged tensors as elements: arrays of unequal length, whose batches are ragged.

In TensorFlow such an element is of a ``RaggedTensorSpec`` with ``ragged_rank=0``, and a plain array
once it has come out of a function. Pipelines hold plain arrays for both, so what they are follows
from the stages that they came through.
"""

from __future__ import annotations

from keepset.core.node import Node, if_known
from keepset.core.spec import (
    LeafSpec,
    RaggedTensorSpec,
    Spec,
    map_spec,
    spec_of,
    structure_and_leaves,
)
from keepset.nodes import FromTensorSlices, Unbatch


def gives_ragged_rows(node: Node) -> bool:
    """Whether elements have rows of ragged tensors, and else nothing of a shape that may vary."""
    known = known_rows(node)
    leaves = [] if known is None else structure_and_leaves(known[0])[1]
    plain = [leaf for leaf in leaves if not isinstance(leaf, RaggedTensorSpec)]
    if any(leaf.shape is None or None in leaf.shape for leaf in plain):
        return False
    return any(isinstance(leaf, RaggedTensorSpec) and not leaf.ragged_rank for leaf in leaves)


def known_rows(node: Node) -> tuple[Spec] | None:
    """As ``node.known_spec()``, in which rows of ragged tensors are told from arrays."""
    return if_known(lambda: _spec(node))


def _spec(node: Node) -> Spec:
    if isinstance(node, FromTensorSlices):
        return map_spec(_row_of, spec_of(node.tensors))
    if isinstance(node, Unbatch):
        return map_spec(_row_of, _spec(node.parent))
    return node.infer_spec(_spec)


def _row_of(leaf: LeafSpec) -> LeafSpec:
    if not isinstance(leaf, RaggedTensorSpec) or leaf.ragged_rank != 1:
        return leaf.unbatched()
    shape = None if leaf.shape is None else (None, *leaf.shape[2:])
    return RaggedTensorSpec(shape, leaf.dtype, 0, leaf.row_splits_dtype)
