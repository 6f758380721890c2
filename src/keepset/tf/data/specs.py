"""The types of elements: TensorFlow's, as people see them, and the engine's, as it needs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from keepset.core import spec as core
from keepset.core.structure import is_namedtuple, structure_of
from keepset.errors import DtypeError
from keepset.tf.composites.ragged_tensor import RaggedTensor
from keepset.tf.composites.sparse_tensor import SparseTensor
from keepset.tf.tensors.shapes import TensorShape
from keepset.tf.tensors.specs import RaggedTensorSpec, SparseTensorSpec, TensorSpec, TypeSpec
from keepset.tf.tensors.tensor import Tensor, tensor


class _ElementSpec(TypeSpec):
    """The type of something that has elements."""

    _value_type: type  # set where that class is, which needs this one

    def __init__(self, element_spec: Any) -> None:
        self._element_spec = element_spec

    @property
    def value_type(self) -> type:
        return self._value_type

    @classmethod
    def from_value(cls, value: Any) -> Self:
        return cls(value.element_spec)

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec,)


class DatasetSpec(_ElementSpec):
    """As ``tf.data.DatasetSpec``: the type of a dataset, as ``window`` has them for elements.

    Example:
        >>> DatasetSpec(TensorSpec([], "int64"))
        DatasetSpec(TensorSpec(shape=(), dtype=tf.int64, name=None), TensorShape([]))
    """

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        super().__init__(element_spec)
        self._dataset_shape = TensorShape(dataset_shape)

    @property
    def element_spec(self) -> Any:
        return self._element_spec

    def _serialize(self) -> tuple[Any, ...]:
        return self._element_spec, self._dataset_shape


class IteratorSpec(_ElementSpec):
    """As ``tf.data.IteratorSpec``: the type of an iterator over a dataset."""


class OptionalSpec(_ElementSpec):
    """As ``tf.OptionalSpec``: the type of a value that may not be there."""


def shown_spec(spec: Any) -> Any:
    """The types of elements as TensorFlow shows them, of those of the engine."""
    return None if spec is None else core.map_spec(_shown_leaf, spec)


def _shown_leaf(spec: core.LeafSpec) -> TypeSpec:
    if isinstance(spec, core.TensorSpec):
        return TensorSpec(spec.shape, spec.dtype, spec.name)
    if isinstance(spec, core.RaggedTensorSpec):
        return RaggedTensorSpec(spec.shape, spec.dtype, spec.ragged_rank, spec.row_splits_dtype)
    if isinstance(spec, core.DatasetSpec):
        return DatasetSpec(shown_spec(spec.element_spec))
    return SparseTensorSpec(spec.shape, spec.dtype)


def engine_spec(spec: Any) -> Any:
    """The types of elements as the engine has them, of those that code for TensorFlow passes.

    The engine's own stay as they are.
    """
    if spec is None or isinstance(spec, core.LeafSpec):
        return spec
    if isinstance(spec, Mapping):
        return {key: engine_spec(item) for key, item in spec.items()}
    if is_namedtuple(type(spec)):
        return type(spec)(*map(engine_spec, spec))
    if isinstance(spec, tuple):
        return tuple(map(engine_spec, spec))
    structure = structure_of(spec)
    if not structure.is_leaf:
        return structure.build([engine_spec(leaf) for leaf in structure.leaves(spec)])
    return _engine_leaf(spec)


def _engine_leaf(spec: Any) -> core.LeafSpec:
    if isinstance(spec, DatasetSpec):
        return core.DatasetSpec(engine_spec(spec.element_spec))
    if not isinstance(spec, TensorSpec | RaggedTensorSpec | SparseTensorSpec):
        raise DtypeError(
            f"{spec!r:.60} is not the type of an element; write tf.TensorSpec(shape, dtype), "
            "tf.RaggedTensorSpec or tf.SparseTensorSpec for each leaf, in tuples and dicts"
        )
    shape, dtype = spec.shape.dims, getattr(spec.dtype, "core", spec.dtype)
    if isinstance(spec, TensorSpec):
        return core.TensorSpec(shape, dtype, spec.name)
    if isinstance(spec, SparseTensorSpec):
        return core.SparseTensorSpec(shape, dtype)
    if not spec.ragged_rank:
        return core.TensorSpec(shape, dtype)
    return core.RaggedTensorSpec(shape, dtype, spec.ragged_rank, spec.row_splits_dtype.storage)


def spec_of_element(element: Any) -> Any:
    """The types of the leaves of an element of tensors."""
    if isinstance(element, dict):
        return {key: spec_of_element(item) for key, item in element.items()}
    if is_namedtuple(type(element)):
        return type(element)(*map(spec_of_element, element))
    if isinstance(element, tuple):
        return tuple(map(spec_of_element, element))
    return None if element is None else type_spec_from_value(element)


def type_spec_from_value(value: Any) -> TypeSpec:
    """As ``tf.type_spec_from_value``: the type of a value, which becomes a tensor where it can.

    Example:
        >>> type_spec_from_value([1, 2])
        TensorSpec(shape=(2,), dtype=tf.int32, name=None)
    """
    if isinstance(value, RaggedTensor):
        return RaggedTensorSpec.from_value(value)
    if isinstance(value, SparseTensor):
        return SparseTensorSpec.from_value(value)
    for kind in (DatasetSpec, IteratorSpec, OptionalSpec):
        if isinstance(value, kind._value_type):
            return kind.from_value(value)
    if isinstance(value, _TENSORS) or hasattr(value, "__array__"):
        return TensorSpec.from_value(tensor(value))
    raise TypeError(
        f"Could not build a TypeSpec for {value!r:.60} of unsupported type {type(value)}; "
        "tf.nest.map_structure takes structures of values"
    )


_TENSORS = (Tensor, TensorShape, bool, int, float, complex, str, bytes, list, tuple, np.generic)
