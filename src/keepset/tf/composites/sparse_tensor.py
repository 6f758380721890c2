"""SparseTensor: the places and values of entries, as functions of users see them."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.core.sparse import Sparse
from keepset.errors import InvalidArgumentError
from keepset.tf.tensors.conversion import dtype_of, plain, value_of
from keepset.tf.tensors.dtype import DType
from keepset.tf.tensors.shapes import TensorShape
from keepset.tf.tensors.tensor import Tensor


class SparseTensor:
    """As ``tf.SparseTensor``: ``values[k]`` stands at ``indices[k]`` in ``dense_shape``.

    Pipelines hold it as :class:`keepset.Sparse`.

    Example:
        >>> import keepset.tf as tf
        >>> table = tf.SparseTensor([[0, 1], [2, 0]], [5, 7], dense_shape=[3, 2])
        >>> tf.sparse.to_dense(table).numpy().tolist(), table.shape
        ([[0, 5], [0, 0], [7, 0]], TensorShape([3, 2]))
    """

    __slots__ = ("__weakref__", "_indices", "_shape", "_values")
    __array_priority__ = 101  # arrays of NumPy leave operators to it
    __keepset_operand__ = True  # and so do tensors

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        self._indices = _wholes(indices, "indices")
        self._values = np.atleast_1d(plain(value_of(values)))
        self._shape = _wholes(dense_shape, "dense_shape").reshape(-1)
        if not self._indices.size:
            self._indices = self._indices.reshape(len(self._values), len(self._shape))
        if self._indices.shape != (len(self._values), len(self._shape)):
            raise ValueError(
                f"indices of shape {self._indices.shape} do not fit to {len(self._values)} values "
                f"in {len(self._shape)} dimensions"
            )

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """Of anything that has indices, values and a dense_shape."""
        given = sparse_tensor_value
        if isinstance(given, SparseTensor):
            return given
        if not all(hasattr(given, name) for name in ("indices", "values", "dense_shape")):
            raise TypeError(f"{given!r:.60} is neither a SparseTensor nor a SparseTensorValue")
        return cls(given.indices, given.values, given.dense_shape)

    @classmethod
    def of(cls, sparse: Sparse) -> SparseTensor:
        """What a pipeline holds."""
        return cls(sparse.indices, sparse.values, sparse.dense_shape)

    def to_sparse(self) -> Sparse:
        """As a pipeline holds it."""
        return Sparse(self._indices, self._values, self._shape)

    @property
    def indices(self) -> Tensor:
        """The place of each entry: a row for each."""
        return Tensor(self._indices)

    @property
    def values(self) -> Tensor:
        """The entries."""
        return Tensor(self._values)

    @property
    def dense_shape(self) -> Tensor:
        """The sizes of the whole tensor."""
        return Tensor(self._shape)

    @property
    def dtype(self) -> DType:
        return dtype_of(self._values)

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self._shape.tolist())

    def get_shape(self) -> TensorShape:
        return self.shape

    def with_values(self, new_values: Any) -> SparseTensor:
        """The same places with other values."""
        return SparseTensor(self._indices, new_values, self._shape)

    def __mul__(self, other: Any) -> SparseTensor:
        return self._with_dense(other, lambda mine, its: mine * its)

    def __truediv__(self, other: Any) -> SparseTensor:
        return self._with_dense(other, lambda mine, its: mine / its)

    def _with_dense(self, other: Any, function: Any) -> SparseTensor:
        dense = np.asarray(plain(value_of(other, self.dtype)))
        its = np.broadcast_to(dense, tuple(self._shape))[tuple(self._indices.T)]
        return self.with_values(function(self.values, Tensor(its)))

    def __repr__(self) -> str:
        parts = (
            f"indices={self.indices!s}, values={self.values!s}, dense_shape={self.dense_shape!s}"
        )
        return f"SparseTensor({parts})"

    def __reduce__(self) -> Any:
        return SparseTensor, (self._indices, self._values, self._shape)

    def __keepset_fingerprint__(self) -> Any:
        return {"indices": self._indices, "values": self._values, "shape": self._shape}


def _wholes(given: Any, what: str) -> Any:
    found = np.asarray(value_of(given))
    if not found.size:
        return found.astype(np.int64)
    if found.dtype.kind not in "iu":
        raise InvalidArgumentError(f"{what} are whole numbers, not {found.dtype.name}")
    return found.astype(np.int64)
