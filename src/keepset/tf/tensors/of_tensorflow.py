"""Tensors of TensorFlow itself, which come from Keras' layers where TensorFlow is the backend.

They are known by the module of their class, so that nothing is imported.
"""

from __future__ import annotations

from typing import Any

from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.errors import InvalidArgumentError


def is_of_tensorflow(given: Any) -> bool:
    """Whether something is a tensor or a variable of TensorFlow's own."""
    is_there = type(given).__module__.startswith("tensorflow.")
    return is_there and (hasattr(given, "numpy") or hasattr(given, "__array__"))


def is_composite_of_tensorflow(given: Any) -> bool:
    """Whether something is a ragged or a sparse tensor of TensorFlow's own."""
    return type(given).__module__.startswith("tensorflow.") and type(given).__name__ in _COMPOSITES


def array_of_tensorflow(given: Any) -> Any:
    """The numbers of a tensor, or its strings.

    Raises:
        InvalidArgumentError: It is a symbol of a graph or ragged, or holds what is no number.
    """
    if is_composite_of_tensorflow(given):
        raise InvalidArgumentError(
            f"a {type(given).__name__} of TensorFlow is no tensor of one shape; use its to_tensor()"
        )
    try:
        return given.numpy()
    except Exception as error:  # which kind it is, TensorFlow decides
        raise InvalidArgumentError(
            f"{given!r:.80} of TensorFlow has no values to take: {error}"
        ) from error


def composite_of_tensorflow(given: Any) -> Any:
    """A ragged or sparse tensor of TensorFlow's own as a pipeline holds it; others as they are."""
    if not is_composite_of_tensorflow(given):
        return given
    if type(given).__name__ == "RaggedTensor":
        part = given.values
        inner = composite_of_tensorflow(part) if is_composite_of_tensorflow(part) else part.numpy()
        return Ragged(inner, given.row_splits.numpy())
    indices, values, shape = given.indices, given.values, given.dense_shape
    return Sparse(indices.numpy(), values.numpy(), shape.numpy())


_COMPOSITES = frozenset(("RaggedTensor", "SparseTensor"))
