"""Batches: what Keras takes as one, and what it has no counterpart for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.spec import DatasetSpec, Spec, structure_and_leaves
from keepset.core.structure import structure_of
from keepset.errors import ElementError

_PARTS = "Keras takes x, (x,), (x, y) or (x, y, sample_weight), and dicts for several inputs"


def check_spec(spec: Spec) -> None:
    """Refuse elements that are no batches, as far as their spec tells."""
    _check_parts(spec)
    for leaf in structure_and_leaves(spec)[1]:
        if isinstance(leaf, DatasetSpec):
            raise ElementError("Keras has no counterpart of nested datasets; use flat_map")
        if leaf.shape == ():
            raise _no_batch(str(leaf))


def check_batch(row: Any, title: str) -> None:
    """Refuse an element that is no batch: Keras itself says little about them."""
    _check_parts(row)
    for leaf in structure_of(row).leaves(row):
        if not np.shape(leaf) and not isinstance(leaf, Ragged | Sparse):
            raise _no_batch(f"{title} gives a {type(leaf).__name__}")


def _check_parts(element: Any) -> None:
    if isinstance(element, tuple) and len(element) not in (1, 2, 3):
        raise ElementError(
            f"elements are tuples of {len(element)}, but {_PARTS}; bring them to that with map"
        )


def _no_batch(found: str) -> ElementError:
    return ElementError(
        f"Keras takes batches, but an element holds a single value ({found}); call batch(n) "
        "before to_keras()"
    )


def plain_row(row: Any) -> Any:
    """A batch of arrays in the memory of the host."""
    return _each(row, _numbers)


def torch_row(row: Any) -> Any:
    """A batch of tensors of PyTorch."""
    from keepset.adapters.torch.tensors import tensor_of

    return _each(row, lambda leaf: tensor_of(_numbers(leaf), True))


def jax_row(row: Any) -> Any:
    """A batch of arrays as JAX has them: of 32 bits, unless it was told otherwise."""
    from keepset.adapters.jax import host_array

    return _each(row, lambda leaf: host_array(_numbers(leaf)))


def _each(row: Any, function: Callable[[Any], Any]) -> Any:
    structure = structure_of(row)
    return structure.build([function(leaf) for leaf in structure.leaves(row)])


def _numbers(leaf: Any) -> Any:
    if isinstance(leaf, Ragged | Sparse):
        raise ElementError(
            f"only Keras on TensorFlow takes a {type(leaf).__name__}; use padded_batch, "
            "map(lambda x: x.to_dense()) for a Sparse, or KERAS_BACKEND=tensorflow"
        )
    array = np.asarray(leaf)
    if array.dtype.kind not in "biufcV":
        name = "strings" if array.dtype == object else f"dtype {array.dtype.name}"
        raise ElementError(
            f"only Keras on TensorFlow takes {name}; bring them to numbers with map, leave them "
            "out with select, or use KERAS_BACKEND=tensorflow"
        )
    return array
