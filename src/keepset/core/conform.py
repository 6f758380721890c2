"""Conform: make a value fit a spec that the user has promised, or say how it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from keepset.core.arrays import as_array, as_unit
from keepset.core.dtypes import TEXT_OBJECTS, Array, StringType, is_float, range_text, text
from keepset.core.element import own, to_element
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.spec import LeafSpec, Spec, TensorSpec, spec_of, structure_and_leaves
from keepset.core.structure import Structure, structure_of
from keepset.errors import ElementError

Conform: TypeAlias = Callable[[Any], Any]

_REMEDY = "make it what was promised, or change output_signature="


def conformer(spec: Spec) -> Conform:
    """A function that turns values into elements of ``spec``.

    Python numbers and lists take the promised dtype; arrays are cast only within their kind
    (int to int, float to float), so that nothing is cut off in silence.

    Example:
        >>> conformer(TensorSpec([2], "float32"))([1, 2])
        array([1., 2.], dtype=float32)
    """
    structure, leaves = structure_and_leaves(spec)
    return _conformer(structure, iter(leaves), "")


def _conformer(structure: Structure, leaves: Iterator[LeafSpec], path: str) -> Conform:
    if structure.is_leaf:
        return _leaf_conformer(next(leaves), path)
    keys = structure.keys or range(len(structure.children))
    parts = [
        _conformer(child, leaves, f"{path}.{key}" if path else str(key))
        for key, child in zip(keys, structure.children, strict=True)
    ]
    if structure.kind == "tuple":
        return _tuple_conformer(structure, parts, path)
    if structure.kind == "dict":
        return _dict_conformer(structure, dict(zip(structure.keys, parts, strict=True)), path)

    def conform(value: Any) -> Any:
        try:
            leaf_lists = structure.columns([value])
        except ElementError:
            raise _misfit(structure, value, path) from None
        values = [getattr(value, key) for key in structure.keys] if leaf_lists else []
        made = [part(item) for part, item in zip(parts, values, strict=True)]
        if structure.record is None:
            return None
        return structure.record(**dict(zip(structure.keys, made, strict=True)))

    return conform


def _tuple_conformer(structure: Structure, parts: list[Conform], path: str) -> Conform:
    def conform(value: Any) -> Any:
        if not isinstance(value, list | tuple) or len(value) != len(parts):
            raise _misfit(structure, value, path)
        return tuple([part(item) for part, item in zip(parts, value, strict=True)])

    return conform


def _dict_conformer(structure: Structure, parts: dict[Any, Conform], path: str) -> Conform:
    def conform(value: Any) -> Any:
        if not isinstance(value, Mapping) or value.keys() != parts.keys():
            raise _misfit(structure, value, path)
        return {key: parts[key](item) for key, item in value.items()}

    return conform


def _misfit(structure: Structure, value: Any, path: str) -> ElementError:
    found = structure_of(value)
    shown = type(value).__name__ if found.is_leaf else found
    return ElementError(f"{structure} was promised, but this is {shown}; {_REMEDY}", leaf=path)


def _leaf_conformer(spec: LeafSpec, path: str) -> Conform:
    if isinstance(spec, TensorSpec) and spec.dtype is text and spec.shape == ():
        return _text_conformer(spec, path)
    if not isinstance(spec, TensorSpec) or isinstance(spec.dtype, StringType):
        return lambda value: _conform_leaf(spec, value, path)
    if spec.shape != ():
        return _array_conformer(spec, spec.dtype, path)
    exact = spec.dtype.type
    low, high = (0, -1)
    if spec.dtype.kind in "iu":
        limits = np.iinfo(spec.dtype)
        low, high = int(limits.min), int(limits.max)

    def conform(value: Any) -> Any:
        kind = type(value)
        if kind is exact:
            return value
        if kind is int and low <= value <= high:
            return exact(value)
        return _conform_leaf(spec, value, path)

    return conform


def _array_conformer(spec: TensorSpec, dtype: np.dtype[Any], path: str) -> Conform:
    def conform(value: Any) -> Any:
        # What is as promised, which most is, is found to be so without a spec of its own.
        is_plain = type(value) is np.ndarray and value.ndim > 0
        if is_plain and value.dtype == dtype and spec.has_shape(value.shape):
            return own(value)
        return _conform_leaf(spec, value, path)

    return conform


def _text_conformer(spec: TensorSpec, path: str) -> Conform:
    def conform(value: Any) -> Any:
        if type(value) is str and value.isascii():
            return value
        return _conform_leaf(spec, value, path)

    return conform


def _conform_leaf(spec: LeafSpec, value: Any, path: str) -> Any:
    try:
        if isinstance(spec, TensorSpec) and not isinstance(spec.dtype, StringType):
            leaf = _number(spec, value)
        elif spec.dtype is text:
            leaf = _as_text(spec, value)
        else:
            leaf = to_element(value)
        if not spec.is_compatible_with(leaf):
            raise _unlike(spec, leaf)
    except ElementError as error:
        error.leaf = error.leaf or path or None
        raise
    return leaf


def _unlike(spec: LeafSpec, leaf: Any) -> ElementError:
    return ElementError(f"{spec} was promised, but this is {spec_of(leaf)}; {_REMEDY}")


def _as_text(spec: LeafSpec, value: Any) -> Any:
    """The leaf with ``str`` in the place of bytes, which have to be UTF-8."""
    try:
        return _decoded(to_element(value))
    except UnicodeError as error:
        # Of half a surrogate pair in a str, or of bytes.
        raise ElementError(
            f"{spec} was promised, but this is no text in UTF-8: {error}; decode it in the "
            "function, with the encoding that it has, or promise keepset.string"
        ) from error


def _decoded(leaf: Any) -> Any:
    if isinstance(leaf, bytes):
        return leaf.decode()
    if isinstance(leaf, Ragged):
        return Ragged.trusted(_decoded(leaf.values), leaf.row_splits)
    if isinstance(leaf, Sparse):
        return Sparse(leaf.indices, _decoded(leaf.values), leaf.dense_shape)
    if isinstance(leaf, np.ndarray) and (leaf.dtype == object or not leaf.size):
        # A list without items is one of floats.
        array: Array = np.empty(leaf.shape, TEXT_OBJECTS)
        array.reshape(-1)[:] = [item.decode() for item in leaf.ravel().tolist()]
        return array
    return leaf


def _number(spec: TensorSpec, value: Any) -> Any:
    if isinstance(value, Ragged | Sparse):
        return value  # which is not as promised
    array = as_array(value)
    wanted = spec.dtype
    assert isinstance(wanted, np.dtype)
    if array.dtype != wanted:
        literal = isinstance(value, bool | int | float | complex | list | tuple)
        if array.size and not _may_cast(array, wanted, literal):
            raise _unlike(spec, to_element(array))
        array = as_unit(array, wanted) if array.dtype.kind in "mM" else _cast(spec, array, wanted)
    elif array is value or array.base is not None:
        array = own(array)  # whoever made it may use it again, with new contents
    return array if array.ndim else array[()]


def _cast(spec: TensorSpec, array: Array, wanted: np.dtype[Any]) -> Array:
    """The array as another dtype; an error if a number becomes an infinite one."""
    with np.errstate(over="ignore"):  # which is looked for
        made = array.astype(wanted)
    if is_float(wanted) and not np.isfinite(made).all():
        too_large = np.isfinite(array) & np.isinf(made)
        if too_large.any():
            raise ElementError(
                f"{spec} was promised, but this has {array[too_large][0]!s}, which is not within "
                f"{range_text(wanted)}; {_REMEDY}"
            )
    return made


def _may_cast(array: Any, wanted: np.dtype[Any], literal: bool) -> bool:
    if array.dtype == object:
        return False
    if not literal:
        return np.can_cast(array.dtype, wanted, "same_kind") and array.dtype.kind == wanted.kind
    if wanted.kind in "iu" and array.dtype.kind in "iu":
        limits = np.iinfo(wanted)
        return bool(array.min() >= limits.min and array.max() <= limits.max)
    return np.can_cast(array.dtype, wanted, "same_kind") or wanted.kind not in "biu"
