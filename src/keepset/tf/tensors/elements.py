"""Elements on their way between pipelines, which hold plain arrays, and functions of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.core.dtypes import PLAIN_SCALARS
from keepset.core.encoded import encoded_leaf
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.structure import is_namedtuple, structure_of
from keepset.tf.composites.ragged_tensor import RaggedTensor
from keepset.tf.composites.sparse_tensor import SparseTensor
from keepset.tf.tensors.conversion import value_of
from keepset.tf.tensors.of_tensorflow import composite_of_tensorflow
from keepset.tf.tensors.tensor import Tensor


def tensored(element: Any) -> Any:
    """An element with a tensor for each leaf, ragged or sparse where it is; datasets stay.

    Text is bytes, as TensorFlow has no other strings.
    """
    kind = type(element)
    if kind is np.ndarray:
        return Tensor(element if element.dtype.kind != "O" else encoded_leaf(element))
    if kind in PLAIN_SCALARS:
        return Tensor(element)
    if kind is str:
        return Tensor(element.encode())
    if kind is dict:
        return {key: tensored(item) for key, item in element.items()}
    if kind is tuple:
        return tuple(map(tensored, element))
    if is_namedtuple(kind):
        return kind(*map(tensored, element))
    if kind is Ragged:
        return RaggedTensor.of(element)
    if kind is Sparse:
        return SparseTensor.of(element)
    structure = structure_of(element)
    if structure.is_leaf or element is None:
        return element
    return structure.build([tensored(leaf) for leaf in structure.leaves(element)])


def untensored(value: Any) -> Any:
    """What a user's function returned, with plain arrays for its tensors.

    Lists and Python's own numbers become tensors on the way, as in TensorFlow.
    """
    kind = type(value)
    if kind is Tensor:
        return value._value
    if kind in _OWN or kind is list:
        return value_of(value)
    if kind is tuple:
        return tuple(map(untensored, value))
    if kind is dict:
        return {key: untensored(item) for key, item in value.items()}
    if is_namedtuple(kind):
        return kind(*map(untensored, value))
    if kind is RaggedTensor:
        return value.to_ragged()
    return value.to_sparse() if kind is SparseTensor else composite_of_tensorflow(value)


def literals(tensors: Any) -> Any:
    """What users write down as the source of a dataset, with Python's own numbers in 32 bits."""
    if isinstance(tensors, dict):
        return {key: literals(item) for key, item in tensors.items()}
    if is_namedtuple(type(tensors)):
        return type(tensors)(*map(literals, tensors))
    if isinstance(tensors, tuple):
        return tuple(map(literals, tensors))
    if isinstance(tensors, list | range | int | float | complex | str | bytes | Tensor):
        return value_of(tensors)
    if isinstance(tensors, RaggedTensor | SparseTensor):
        return untensored(tensors)
    return composite_of_tensorflow(tensors)


_OWN = frozenset((bool, int, float, complex, str, bytes))
