"""Conform: make a value fit a spec that the user has promised, or say how it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.arrays import as_array
from keepset.core.dtypes import StringType
from keepset.core.element import to_element
from keepset.core.spec import LeafSpec, Spec, TensorSpec, spec_of, structure_and_leaves
from keepset.core.structure import Structure, structure_of
from keepset.errors import ElementError


def conformer(spec: Spec) -> Callable[[Any], Any]:
    """A function that turns values into elements of ``spec``.

    Python numbers and lists take the promised dtype; arrays are cast only within their kind
    (int to int, float to float), so that nothing is cut off in silence.

    Example:
        >>> conformer(TensorSpec([2], "float32"))([1, 2])
        array([1., 2.], dtype=float32)
    """
    structure, leaves = structure_and_leaves(spec)

    def conform(value: Any) -> Any:
        values = structure.columns([_shape_like(structure, value)])
        pairs = zip(leaves, values, strict=True)
        return structure.build([_conform_leaf(leaf, item[0]) for leaf, item in pairs])

    return conform


def _shape_like(structure: Structure, value: Any) -> Any:
    """Let lists stand for tuples, and mappings for dicts, where the spec says so."""
    if structure.kind == "tuple" and isinstance(value, list | tuple):
        if len(value) == len(structure.children):
            pairs = zip(structure.children, value, strict=True)
            return tuple(_shape_like(child, item) for child, item in pairs)
    elif structure.kind == "dict" and isinstance(value, dict):
        known = dict(zip(structure.keys, structure.children, strict=True))
        if value.keys() == known.keys():
            return {key: _shape_like(known[key], item) for key, item in value.items()}
    elif structure.is_leaf and isinstance(value, tuple) and structure_of(value).kind == "tuple":
        return list(value)
    return value


def _conform_leaf(spec: LeafSpec, value: Any) -> Any:
    if isinstance(spec, TensorSpec) and not isinstance(spec.dtype, StringType):
        leaf = _number(spec, value)
    else:
        leaf = to_element(value)
    if not spec.is_compatible_with(leaf):
        raise ElementError(f"{spec} was promised, but the element is {spec_of(leaf)}")
    return leaf


def _number(spec: TensorSpec, value: Any) -> Any:
    array = as_array(value)
    wanted = spec.dtype
    assert isinstance(wanted, np.dtype)
    if array.dtype != wanted:
        literal = isinstance(value, bool | int | float | complex | list | tuple)
        if array.size and not _may_cast(array, wanted, literal):
            raise ElementError(
                f"{spec} was promised, but the element is {spec_of(to_element(array))}"
            )
        array = array.astype(wanted)
    return array if array.ndim else array[()]


def _may_cast(array: Any, wanted: np.dtype[Any], literal: bool) -> bool:
    if array.dtype == object:
        return False
    if not literal:
        return np.can_cast(array.dtype, wanted, "same_kind") and array.dtype.kind == wanted.kind
    if wanted.kind in "iu" and array.dtype.kind in "iu":
        limits = np.iinfo(wanted)
        return bool(array.min() >= limits.min and array.max() <= limits.max)
    return np.can_cast(array.dtype, wanted, "same_kind") or wanted.kind not in "biu"
