"""``tf.compat.v1.data``: the data side of today, and iterators that need no session."""

from __future__ import annotations

from typing import Any

from keepset.core.spec import map_spec
from keepset.tf import data as _data
from keepset.tf.data import *  # noqa: F403
from keepset.tf.data import Dataset, Iterator
from keepset.tf.not_covered import not_covered
from keepset.tf.tensors.dtype import as_dtype
from keepset.tf.tensors.shapes import TensorShape

__all__ = [
    *_data.__all__,
    "get_output_shapes",
    "get_output_types",
    "make_one_shot_iterator",
]


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """``iter(dataset)``: ``get_next()`` is the next element, at once."""
    return iter(dataset)


def get_output_types(dataset_or_iterator: Any) -> Any:
    """The dtypes of the elements."""
    return map_spec(lambda leaf: as_dtype(leaf.dtype), dataset_or_iterator.element_spec)


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """The shapes of the elements."""
    return map_spec(lambda leaf: TensorShape(leaf.shape), dataset_or_iterator.element_spec)


__getattr__ = not_covered("tf.compat.v1.data")
