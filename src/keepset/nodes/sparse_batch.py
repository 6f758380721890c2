"""SparseBatch: put dense rows of unequal shapes together as one sparse array."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.dtypes import Array
from keepset.core.node import Node
from keepset.core.sparse import Sparse
from keepset.core.spec import Spec, SparseTensorSpec, TensorSpec, as_shape, spec_of
from keepset.core.structure import LEAF
from keepset.errors import ElementError, InvalidArgumentError
from keepset.nodes.batch import Batch


@dataclass(frozen=True, kw_only=True, eq=False)
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
        batches: list[Any] = [self._join(rows[i : i + size]) for i in range(0, len(rows), size)]
        return Chunk.from_columns(LEAF, [batches], len(batches))

    def _join(self, leaves: list[Any]) -> Sparse:
        indices: list[Array] = []
        for i, leaf in enumerate(leaves):
            spec = spec_of(leaf)
            self._check(spec)
            if len(spec.shape) != len(self.row_shape) or any(
                size > most for size, most in zip(spec.shape, self.row_shape, strict=True)
            ):
                raise ElementError(
                    f"element {i} of the batch has shape {spec.shape}, which does not fit into "
                    f"row_shape {self.row_shape}; give one size per dimension, at least as large as "
                    "every element's"
                )
            within = np.indices(spec.shape, np.int64).reshape(len(spec.shape), -1).T
            indices.append(np.insert(within, 0, i, axis=1))
        values = [np.reshape(np.asarray(leaf, _dtype_of(leaf)), -1) for leaf in leaves]
        return Sparse(
            np.concatenate(indices), np.concatenate(values), [len(leaves), *self.row_shape]
        )


def _dtype_of(leaf: Any) -> Any:
    # NumPy's own type for bytes would drop zeros at their end.
    return object if isinstance(leaf, bytes) else None
