"""SparseBatch: put dense rows of unequal shapes together as one sparse array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.dtypes import Array, dtype_name, dtype_of, join_arrays, text_array
from keepset.core.node import Node, stage
from keepset.core.sparse import Sparse
from keepset.core.spec import SparseTensorSpec, Spec, TensorSpec, as_shape, spec_of
from keepset.core.structure import LEAF
from keepset.core.untyped import typed_alike
from keepset.errors import ElementError, InvalidArgumentError
from keepset.nodes.batch import Batch


@stage
class SparseBatch(Batch):
    """Groups of ``batch_size`` arrays as ``Sparse`` of shape ``[n, *row_shape]``.

    As in TensorFlow, every entry of an element is kept, zeros included, and an element is one
    array that is nowhere larger than ``row_shape``.
    """

    row_shape: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        shape = as_shape(self.row_shape)
        if shape is None or any(size is None or size < 0 for size in shape):
            raise InvalidArgumentError(
                f"row_shape must be a list of sizes, not {self.row_shape!r}; give the size of the "
                "largest element in every dimension"
            )
        object.__setattr__(self, "row_shape", shape)
        known = self.parent.known_spec()
        if known is not None:
            self._check(known[0])

    def _check(self, spec: Spec) -> None:
        if not isinstance(spec, TensorSpec):
            raise ElementError(f"sparse_batch needs elements of one array each, not {spec}")

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        element = spec(self.parent)
        self._check(element)
        size = self.batch_size if self.drop_remainder else None
        return SparseTensorSpec((size, *self.row_shape), element.dtype)

    def group(self, chunk: Chunk) -> Chunk:
        if chunk.structure != LEAF:
            self._check(spec_of(chunk.rows[0]))
        size = min(self.batch_size, len(chunk))
        rows = chunk.rows
        batches: list[Any] = [self._join(rows[i : i + size], i) for i in range(0, len(rows), size)]
        return Chunk.from_columns(LEAF, [batches], len(batches))

    def _join(self, leaves: list[Any], first: int) -> Sparse:
        arrays = [_as_array(leaf, row) for row, leaf in enumerate(typed_alike(leaves), first)]
        wanted = dtype_of(arrays[0])
        for row, array in enumerate(arrays, first):
            if dtype_of(array) != wanted:
                raise ElementError(
                    f"sparse_batch needs elements of one dtype, but this is "
                    f"{dtype_name(dtype_of(array))} and the first of its batch "
                    f"{dtype_name(wanted)}; cast them with map",
                    row=row,
                )
        grids = {array.shape: np.argwhere(np.ones(array.shape, bool)) for array in arrays}
        for shape in grids:
            if len(shape) != len(self.row_shape) or any(
                size > most for size, most in zip(shape, self.row_shape, strict=True)
            ):
                i = next(i for i, array in enumerate(arrays) if array.shape == shape)
                raise ElementError(
                    f"this has shape {shape}, which does not fit into row_shape {self.row_shape}; "
                    "give one size per dimension, at least as large as every element's",
                    row=first + i,
                )
        within = np.concatenate([grids[array.shape] for array in arrays])
        rows = np.repeat(np.arange(len(arrays)), [array.size for array in arrays])
        values = join_arrays([array.reshape(-1) for array in arrays])
        return Sparse(np.column_stack([rows, within]), values, [len(arrays), *self.row_shape])


def _as_array(leaf: Any, row: int) -> Array:
    if isinstance(leaf, bytes):
        return np.array(leaf, object)  # NumPy's own type for bytes would drop zeros at their end
    if isinstance(leaf, str):
        return text_array([leaf]).reshape(())
    if isinstance(leaf, np.ndarray | np.generic):
        return np.asarray(leaf)
    raise ElementError(
        f"sparse_batch needs elements of one array each, not {spec_of(leaf)}; use batch or map",
        row=row,
    )
