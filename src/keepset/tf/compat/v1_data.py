"""``tf.compat.v1.data``: the data side of today, and iterators that need no session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keepset.core.structure import map_structure
from keepset.tf import data as _data
from keepset.tf.data import *  # noqa: F403
from keepset.tf.data import Dataset, DatasetSpec, Iterator
from keepset.tf.not_covered import not_covered
from keepset.tf.tensors.specs import RaggedTensorSpec

__all__ = [
    *_data.__all__,
    "get_output_classes",
    "get_output_shapes",
    "get_output_types",
    "make_one_shot_iterator",
]


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """``iter(dataset)``: ``get_next()`` is the next element, at once."""
    return iter(dataset)


def get_output_types(dataset_or_iterator: Any) -> Any:
    """The dtypes of the elements."""
    return _by_leaf(lambda spec: spec.dtype, dataset_or_iterator)


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """The shapes of the elements."""
    return _by_leaf(lambda spec: spec.shape, dataset_or_iterator)


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """The classes of the elements; the types of those that are ragged."""
    return _by_leaf(
        lambda spec: spec if isinstance(spec, RaggedTensorSpec) else spec.value_type,
        dataset_or_iterator,
    )


def _by_leaf(part: Callable[[Any], Any], given: Any) -> Any:
    """What a function makes of each type; the types of datasets stay, as in TensorFlow."""
    return map_structure(
        lambda spec: spec if isinstance(spec, DatasetSpec) else part(spec), given.element_spec
    )


__getattr__ = not_covered("tf.compat.v1.data")
