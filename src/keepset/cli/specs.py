"""Types of elements in words that fit into a table."""

from __future__ import annotations

from keepset.core.dtypes import dtype_name
from keepset.core.spec import LeafSpec, RaggedTensorSpec, Shape, SparseTensorSpec


def type_text(leaf: LeafSpec) -> str:
    """The dtype, and the kind of leaf if it is not an array.

    Example:
        >>> type_text(SparseTensorSpec([None, 3], "float32"))
        'float32, sparse'
    """
    kinds = {RaggedTensorSpec: ", ragged", SparseTensorSpec: ", sparse"}
    return dtype_name(leaf.dtype) + kinds.get(type(leaf), "")


def shape_text(shape: Shape) -> str:
    """The sizes, with ``?`` where they differ from element to element.

    Example:
        >>> shape_text((None, 3)), shape_text(()), shape_text(None)
        ('[?, 3]', 'scalar', 'any')
    """
    if shape is None:
        return "any"
    if not shape:
        return "scalar"
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"
