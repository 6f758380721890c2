"""PaddedBatch: put elements of unequal shapes together, filled up to one shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.column import Column, column_batches
from keepset.core.conform import conformer
from keepset.core.dtypes import (
    Array,
    DType,
    dtype_name,
    dtype_of,
    mixes_text,
    text_array,
    zero_of,
)
from keepset.core.jagged import Jagged
from keepset.core.node import Node, stage
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.spec import (
    LeafSpec,
    Shape,
    Spec,
    TensorSpec,
    as_shape,
    spec_of,
    structure_and_leaves,
)
from keepset.core.structure import Structure
from keepset.core.untyped import is_untyped_leaf, typed_alike
from keepset.errors import ElementError, InvalidArgumentError
from keepset.nodes.batch import Batch


@stage
class PaddedBatch(Batch):
    """Groups of ``batch_size`` elements, each padded to the longest of its batch or as asked.

    ``padded_shapes`` and ``padding_values`` are nested like the elements; None anywhere leaves
    everything below to the default, and one padding value may serve all leaves.
    """

    padded_shapes: Any = None
    padding_values: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        known = self.parent.known_spec()
        if known is not None:
            structure, leaves = structure_and_leaves(known[0])
            shapes, values = self._shapes(structure), self._values(structure)
            for leaf, shape, value in zip(leaves, shapes, values, strict=True):
                _check_leaf(leaf, shape)
                _padding(value, leaf.dtype)

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        size = self.batch_size if self.drop_remainder else None
        structure, leaves = structure_and_leaves(spec(self.parent))
        # The sizes of a first element promise nothing about the others.
        promised = self.parent.known_spec() is not None
        padded = []
        for leaf, shape in zip(leaves, self._shapes(structure), strict=True):
            _check_leaf(leaf, shape)
            if shape is None and leaf.shape is not None:
                shape = leaf.shape if promised else (None,) * len(leaf.shape)
            padded.append(leaf.with_shape(shape).batched(size))
        return structure.build(padded)

    def group(self, chunk: Chunk) -> Chunk:
        structure, size = chunk.structure, min(self.batch_size, len(chunk))
        columns = structure.by_leaf(
            partial(self._pad, size),
            chunk.columns,
            self._shapes(structure),
            self._values(structure),
        )
        return Chunk.from_columns(structure, columns, len(chunk) // size)

    def _shapes(self, structure: Structure) -> list[Shape]:
        return shapes_like(structure, self.padded_shapes)

    def _values(self, structure: Structure) -> list[Any]:
        if isinstance(self.padding_values, tuple | list | Mapping) or structure.is_leaf:
            return _leaves_like(structure, self.padding_values, "padding_values")
        return [self.padding_values] * structure.num_leaves

    def _pad(self, size: int, column: Column, shape: Shape, value: Any) -> Column:
        if isinstance(column, np.ndarray) and (shape is None or _fits(column.shape[1:], shape)):
            return column_batches(column, size, self.title)
        if isinstance(column, Jagged):
            if column.values.ndim == 1 and (shape is None or shape == (None,)):
                return _padded_lists(column, size, value)
            column = column.leaves()
        starts = range(0, len(column), size)
        batches = [_leaf_arrays(list(column[i : i + size]), i) for i in starts]
        targets = [_target(leaves, shape, i) for leaves, i in zip(batches, starts, strict=True)]
        dtypes = [dtype_of(leaves[0]) for leaves in batches]
        _check_dtypes(batches, dtypes)
        if len(set(targets)) > 1 or len(set(dtypes)) > 1:
            paddings = [_padding(value, dtype) for dtype in dtypes]
            return [
                _padded(leaves, np.empty((len(leaves), *target), leaves[0].dtype), padding)
                for leaves, target, padding in zip(batches, targets, paddings, strict=True)
            ]
        padding = _padding(value, dtypes[0])
        column = np.empty((len(batches), size, *targets[0]), batches[0][0].dtype)
        for leaves, out in zip(batches, column, strict=True):
            _padded(leaves, out, padding)
        return column


def shapes_like(structure: Structure, shapes: Any) -> list[Shape]:
    """The shape that a user's nested ``padded_shapes`` gives to each leaf; None for no wish."""
    return [as_shape(shape) for shape in _leaves_like(structure, shapes, "padded_shapes")]


def _leaves_like(structure: Structure, value: Any, name: str) -> list[Any]:
    """Read a nested argument along the elements' structure; a shape may be a tuple as well."""
    if structure.is_leaf:
        return [value]
    if value is None:
        return [None] * structure.num_leaves
    parts: list[Any] | None = None
    if structure.kind == "tuple" and isinstance(value, tuple | list):
        parts = list(value)
    elif structure.kind == "dict" and isinstance(value, Mapping):
        if value.keys() == set(structure.keys):
            parts = [value[key] for key in structure.keys]
    elif structure.kind == "record" and all(hasattr(value, key) for key in structure.keys):
        parts = [getattr(value, key) for key in structure.keys]
    if parts is None or len(parts) != len(structure.children):
        raise InvalidArgumentError(
            f"{name} must be nested like the elements, {structure}, but it is {value!r}"
        )
    pairs = zip(structure.children, parts, strict=True)
    return [leaf for child, part in pairs for leaf in _leaves_like(child, part, name)]


def _check_leaf(leaf: LeafSpec, shape: Shape) -> None:
    if not isinstance(leaf, TensorSpec):
        raise ElementError(f"padded_batch needs arrays, not {leaf}; use ragged_batch or batch")
    if shape is None or leaf.shape is None:
        return
    if len(shape) != len(leaf.shape) or any(
        wanted is not None and size is not None and wanted < size
        for wanted, size in zip(shape, leaf.shape, strict=True)
    ):
        raise InvalidArgumentError(
            f"padded_shapes {shape} cannot hold elements of shape {leaf.shape}; give one size per "
            "dimension, at least as large as the element's, or None for the longest"
        )


def _padding(value: Any, dtype: DType) -> Any:
    if value is None:
        return zero_of(dtype)
    try:
        return conformer(TensorSpec((), dtype))(value)
    except (ElementError, OverflowError) as error:
        raise InvalidArgumentError(
            f"padding_values {value!r} does not fit a leaf of dtype {dtype.name}; pass one scalar "
            "of that type for each leaf, or None for zero"
        ) from error


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(
        w is None or w == s for s, w in zip(shape, wanted, strict=True)
    )


def _leaf_arrays(leaves: list[Any], first: int) -> list[Array]:
    """The leaves of a batch, which begins at the row ``first``, as arrays of one dtype and rank."""
    are_arrays = set(map(type, leaves)) == {np.ndarray}
    if are_arrays and len({(a.dtype, a.ndim) for a in leaves}) == 1 and not mixes_text(leaves):
        return leaves
    leaves = typed_alike(leaves)
    arrays: list[Array] = []
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Ragged | Sparse):
            raise ElementError(
                f"padded_batch needs arrays, not {spec_of(leaf)}; use ragged_batch or batch",
                row=first + i,
            )
        array = _array(leaf)
        if arrays and (dtype_of(array) != dtype_of(arrays[0]) or array.ndim != arrays[0].ndim):
            raise ElementError(
                f"padded_batch needs elements of one dtype and rank, but this is {spec_of(leaf)} "
                f"and the first of its batch {spec_of(leaves[0])}; bring them to one with map",
                row=first + i,
            )
        arrays.append(array)
    return arrays


def _array(leaf: Any) -> Array:
    if isinstance(leaf, str):
        return text_array([leaf]).reshape(())
    return np.asarray(leaf, object) if isinstance(leaf, bytes) else np.asarray(leaf)


def _check_dtypes(batches: list[list[Array]], dtypes: list[DType]) -> None:
    """An error if batches have several dtypes, which those of nothing but empty lists may have."""
    pairs = zip(batches, dtypes, strict=True)
    found = {dtype for leaves, dtype in pairs if not all(map(is_untyped_leaf, leaves))}
    if len(found) > 1:
        raise ElementError(
            f"padded_batch needs elements of one dtype, not {sorted(map(dtype_name, found))}"
        )


def _target(leaves: list[Array], shape: Shape, first: int) -> tuple[int, ...]:
    """The shape that all leaves of a batch, which begins at the row ``first``, are padded to."""
    longest = tuple(map(max, zip(*(leaf.shape for leaf in leaves), strict=True)))
    if shape is None:
        return longest
    if len(shape) == len(longest):
        target = tuple(
            size if wanted is None else wanted for size, wanted in zip(longest, shape, strict=True)
        )
        if all(size <= wanted for size, wanted in zip(longest, target, strict=True)):
            return target
    i, leaf = next((i, leaf) for i, leaf in enumerate(leaves) if not _may_grow(leaf.shape, shape))
    raise ElementError(
        f"this has shape {leaf.shape}, which does not fit into padded_shapes {shape}; give sizes "
        "at least as large as every element, or None for the longest",
        row=first + i,
    )


def _may_grow(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(
        w is None or s <= w for s, w in zip(shape, wanted, strict=True)
    )


def _padded_lists(column: Jagged, size: int, value: Any) -> Column:
    """Batches of lists, each padded to the longest of its batch."""
    dtype = column.values.dtype
    padding = _padding(value, dtype_of(column.values))
    lengths = column.lengths.reshape(-1, size)
    batches: list[Array] = []
    for i, longest in enumerate(lengths.max(axis=1).tolist()):
        out = np.empty((size, longest), dtype)
        out[...] = padding
        leaves = column[i * size : (i + 1) * size]
        out[np.arange(longest) < lengths[i, :, np.newaxis]] = leaves.joined()
        batches.append(out)
    return batches


def _padded(leaves: list[Array], out: Array, padding: Any) -> Array:
    """Write the leaves into the rows of ``out`` and the padding around them."""
    if out.ndim == 1:
        out[:] = leaves
        return out
    out[...] = padding
    if out.ndim == 2:
        # One assignment for the whole batch is several times as fast as one per row.
        lengths = np.array([len(leaf) for leaf in leaves])
        out[np.arange(out.shape[1]) < lengths[:, np.newaxis]] = np.concatenate(leaves)
        return out
    for row, leaf in zip(out, leaves, strict=True):
        row[tuple(map(slice, leaf.shape))] = leaf
    return out
