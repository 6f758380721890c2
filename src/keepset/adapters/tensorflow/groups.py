"""Groups: many small elements at once, because each step from Python to TensorFlow costs a lot.

A group has one value for each leaf: an array with one row per element, a ragged tensor where rows
differ in length, or a sparse one. TensorFlow takes it apart again by itself.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import tensorflow as tf

from keepset.adapters.tensorflow.specs import tf_dtype, tf_spec
from keepset.adapters.tensorflow.values import tf_value
from keepset.core.chunk import Chunk
from keepset.core.column import Column, column_rows, column_spec, stack_leaves
from keepset.core.jagged import Jagged
from keepset.core.node import Node
from keepset.core.ragged import Ragged
from keepset.core.spec import LeafSpec, RaggedTensorSpec, TensorSpec
from keepset.errors import ElementError
from keepset.nodes.batch import Batch

# Larger elements are handed over one by one: copying them twice more would cost more than the step.
_LARGEST_BYTES = 1 << 16
_LIKELY_LENGTH = 64  # of a dimension that is not known


def come_in_groups(node: Node, leaves: list[LeafSpec]) -> bool:
    """Whether elements are small, and of shapes that can be put together and taken apart."""
    while node.is_passed_over:
        [node] = node.inputs
    if isinstance(node, Batch) or not all(map(_can_be_grouped, leaves)):
        return False
    return sum(map(_likely_bytes, leaves)) <= _LARGEST_BYTES


def _can_be_grouped(leaf: LeafSpec) -> bool:
    # TensorFlow 2.21 ends the process when it takes rows without items apart.
    if leaf.shape is None or 0 in leaf.shape:
        return False
    if isinstance(leaf, TensorSpec):
        return None not in leaf.shape[1:]
    if isinstance(leaf, RaggedTensorSpec):
        # A known number of rows would be forgotten on the way.
        return leaf.shape[0] is None
    return True


def _likely_bytes(leaf: LeafSpec) -> int:
    item = getattr(leaf.dtype, "itemsize", _LIKELY_LENGTH)
    return int(item) * prod(_LIKELY_LENGTH if size is None else size for size in leaf.shape or ())


def _varies(leaf: LeafSpec) -> bool:
    return isinstance(leaf, TensorSpec) and (leaf.shape or (0,))[0] is None


def group_spec(leaf: LeafSpec) -> Any:
    """The spec of a group's value, in TensorFlow's words."""
    if _varies(leaf):
        assert leaf.shape is not None
        shape = [None, None, *leaf.shape[1:]]
        return tf.RaggedTensorSpec(shape, tf_dtype(leaf.dtype), 1, tf.int64)
    return tf_spec(leaf.batched(None))


def group_of(chunk: Chunk, leaves: list[LeafSpec], title: str) -> tuple[Any, ...]:
    """The values of a group of elements."""
    pairs = zip(leaves, chunk.columns, strict=True)
    return tuple(tf_value(_grouped(leaf, column, title)) for leaf, column in pairs)


def _grouped(leaf: LeafSpec, column: Column, title: str) -> Any:
    found = column_spec(column)
    if not leaf.is_compatible_with(found):
        raise unexpected(leaf, found, title)
    if not _varies(leaf):
        try:
            return column if isinstance(column, np.ndarray) else stack_leaves(column_rows(column))
        except ElementError as error:
            raise unexpected(leaf, found, title) from error
    if isinstance(column, Jagged):
        return Ragged.trusted(column.joined(), column.offsets())
    return Ragged.from_rows(column_rows(column))


def unexpected(wanted: Any, found: Any, title: str) -> ElementError:
    return ElementError(
        f"{title} gave an element of {found}, but TensorFlow was promised {wanted}; say what "
        "elements are with to_tf(output_signature=...), or where a function makes them"
    )
