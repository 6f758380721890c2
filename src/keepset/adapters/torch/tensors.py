"""Tensors: the leaves of elements as PyTorch has them, without a copy where that is safe."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
import torch

from keepset.core.chunk import Chunk
from keepset.core.column import Column
from keepset.core.dtypes import Array, DType, StringType
from keepset.core.jagged import Jagged
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.spec import DatasetSpec, RaggedTensorSpec, Spec, structure_and_leaves
from keepset.core.structure import structure_of
from keepset.errors import ElementError

# The types of ml_dtypes that both sides have, and those of NumPy that carry the same bits.
_BITS: dict[int, np.dtype[Any]] = {1: np.dtype(np.uint8), 2: np.dtype(np.int16)}
_EXTENDED = {
    name: getattr(torch, name)
    for name in (
        *("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
        "float8_e8m0fnu",
    )
    if hasattr(torch, name)
}
_PLAIN = {np.dtype(code) for code in "?bhilqBHILQefdFD"}


def rows_of_all(chunks: Generator[Chunk, None, None], copy: bool) -> Iterator[Any]:
    """The elements of one chunk after another with tensors in place of arrays."""
    with closing(chunks):
        for chunk in chunks:
            yield from rows_of(chunk, copy)


def rows_of(chunk: Chunk, copy: bool) -> Iterator[Any]:
    """The elements of a chunk with tensors in place of arrays."""
    if chunk.has_columns:
        columns = [_leaves(column, copy) for column in chunk.columns]
        yield from chunk.structure.rows(columns, len(chunk))
        return
    for row in chunk.rows:
        structure = structure_of(row)
        yield structure.build([tensor_of(leaf, copy) for leaf in structure.leaves(row)])


def _leaves(column: Column, copy: bool) -> Iterable[Any]:
    if isinstance(column, np.ndarray) and column.dtype != object:
        # One conversion for all of them; each is a view of the column.
        return _tensor(column, copy).unbind(0)  # type: ignore[no-any-return]
    if isinstance(column, Jagged) and column.values.dtype != object:
        return [_tensor(leaf, copy) for leaf in column.leaves()]
    return [tensor_of(leaf, copy) for leaf in column]


def tensor_of(leaf: Any, copy: bool) -> Any:
    """A leaf as a tensor; strings stay ``bytes`` or ``str``, and arrays of them become lists."""
    if isinstance(leaf, bytes | str):
        return leaf
    if isinstance(leaf, np.ndarray | np.generic):
        array = np.asarray(leaf)
        return array.tolist() if array.dtype == object else _tensor(array, copy)
    if isinstance(leaf, Ragged):
        return _nested(leaf, copy)
    if isinstance(leaf, Sparse):
        return _sparse(leaf, copy)
    raise ElementError(
        f"a leaf of type {type(leaf).__name__} has no counterpart in PyTorch; bring it to arrays "
        "with map, and nested data sets with flat_map"
    )


def _tensor(array: Array, copy: bool) -> Any:
    dtype = array.dtype
    if dtype not in _PLAIN:
        check_dtype(dtype)
    is_readable = array.flags.aligned and all(step >= 0 for step in array.strides)
    if not is_readable or (copy and not array.flags.writeable):
        array = array.copy()
    elif not array.flags.writeable:
        array = _unguarded(array)
    if dtype in _PLAIN:
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(_BITS[dtype.itemsize])).view(_EXTENDED[dtype.name])


class _Unguarded:
    """The memory of an array that is read-only, as if it were not."""

    def __init__(self, array: Array) -> None:
        self.array = array  # keeps the memory alive
        place, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (place, False)}


def _unguarded(array: Array) -> Array:
    """A view that torch takes without a warning; nobody may write to it all the same."""
    if array.dtype not in _PLAIN:
        # The protocol has no name for such types.
        return _unguarded(array.view(_BITS[array.dtype.itemsize])).view(array.dtype)
    return np.asarray(_Unguarded(array))


def _nested(leaf: Ragged, copy: bool) -> Any:
    if isinstance(leaf.dtype, StringType):
        return leaf.to_list()
    if isinstance(leaf.values, Ragged):
        raise ElementError(
            f"a Ragged of {leaf.ragged_rank} ragged dimensions has no counterpart in PyTorch; "
            "use padded_batch, or map its flat_values and row_splits to arrays"
        )
    values, splits = _tensor(leaf.values, copy), _tensor(leaf.row_splits, copy)
    return torch.nested.nested_tensor_from_jagged(values, splits)


def _sparse(leaf: Sparse, copy: bool) -> Any:
    if isinstance(leaf.dtype, StringType):
        raise ElementError(
            "a Sparse of strings has no counterpart in PyTorch; use map(lambda x: x.to_dense())"
        )
    return torch.sparse_coo_tensor(
        _tensor(leaf.indices, copy).T,
        _tensor(leaf.values, copy),
        leaf.shape,
        check_invariants=False,  # a Sparse has made sure of them
    )


def check_dtype(dtype: DType) -> None:
    """Refuse the dtypes that PyTorch does not have."""
    if isinstance(dtype, StringType) or dtype in _PLAIN or dtype.name in _EXTENDED:
        return
    if dtype.kind in "mM":
        remedy = 'map(lambda x: x.astype("int64")) counts its units'
    else:
        wider = {"g": "float64", "G": "complex128"}.get(dtype.char, "int8 or float32")
        remedy = f"bring it to {wider} with map(lambda x: x.astype(...))"
    raise ElementError(f"PyTorch has no dtype {dtype.name}; {remedy}, or leave it out with select")


def check_spec(spec: Spec) -> None:
    """Refuse elements that PyTorch has no counterpart for, as far as their spec tells."""
    for leaf in structure_and_leaves(spec)[1]:
        if isinstance(leaf, DatasetSpec):
            raise ElementError(
                "elements that are data sets, as window gives them, have no counterpart in "
                "PyTorch; use flat_map"
            )
        check_dtype(leaf.dtype)
        is_numeric = not isinstance(leaf.dtype, StringType)
        if isinstance(leaf, RaggedTensorSpec) and leaf.ragged_rank > 1 and is_numeric:
            raise ElementError(
                f"{leaf} has {leaf.ragged_rank} ragged dimensions, and PyTorch's nested tensors "
                "have one; use padded_batch"
            )


def collate(elements: list[Any]) -> Any:
    """Join elements to a batch: tensors are stacked, strings are listed, the nesting stays.

    For ``DataLoader(data, batch_size=32, collate_fn=data.collate)``, where torch's own function
    stops at ``None`` and at dataclasses.
    """
    structure = structure_of(elements[0])
    return structure.build([_stacked(leaves) for leaves in structure.columns(list(elements))])


def _stacked(leaves: list[Any]) -> Any:
    if not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
        return leaves
    shapes = {tuple(leaf.shape) for leaf in leaves}
    if len(shapes) > 1:
        raise ElementError(
            f"tensors of the shapes {sorted(shapes)[:4]} cannot be stacked; batch in the pipeline, "
            "with padded_batch or ragged_batch"
        )
    return torch.stack(leaves)
