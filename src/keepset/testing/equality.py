"""Equality of elements: structure, dtype, shape and every value; NaN equals NaN."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from keepset.core.element import to_element
from keepset.core.ragged import Ragged
from keepset.core.record import record
from keepset.core.sparse import Sparse
from keepset.core.string_text import string_text, strings_text
from keepset.core.structure import Structure, structure_of


def assert_elements_equal(got: Any, expected: Any) -> None:
    """Assert that an element is the one expected, or that a list of elements is.

    Structure, dtype, shape and every value count; NaN equals NaN. Plain Python values stand for
    the elements that they would become, and a data set within an element for all that it holds.

    Example:
        >>> import keepset as ks
        >>> assert_elements_equal(list(ks.Dataset.range(3).batch(2)), [[0, 1], [2]])
        >>> assert_elements_equal(np.float32(1), 1.0)
        Traceback (most recent call last):
            ...
        AssertionError: np.float32(1.0) is not np.float64(1.0): the dtypes are float32 and float64
    """
    if isinstance(got, list) and isinstance(expected, list):
        _compare_lists(got, expected)
    elif (difference := _difference(to_element(got), to_element(expected))) is not None:
        raise AssertionError(f"{_short(got)} is not {_short(to_element(expected))}: {difference}")


def assert_same_elements(got: Iterable[Any], expected: Iterable[Any]) -> None:
    """Assert that two runs of elements hold the same ones, each as often, in whatever order.

    Example:
        >>> import keepset as ks
        >>> assert_same_elements(ks.Dataset.range(3).shuffle(3), [0, 1, 2])
    """
    ordered = [sorted(map(to_element, elements), key=_sort_key) for elements in (got, expected)]
    _compare_lists(*ordered)


def _compare_lists(got: list[Any], expected: list[Any]) -> None:
    for i, (one, other) in enumerate(zip(got, map(to_element, expected), strict=False)):
        if (difference := _difference(to_element(one), other)) is not None:
            raise AssertionError(
                f"element {i} of {len(got)} is {_short(one)}, not {_short(other)}: {difference}"
            )
    if len(got) != len(expected):
        more, of_which = (got, "more") if len(got) > len(expected) else (expected, "missing")
        first = more[min(len(got), len(expected))]
        raise AssertionError(
            f"there are {len(got)} elements, not {len(expected)}; the first {of_which} is "
            f"{_short(first)}"
        )


@record
class LeafDifference:
    """In which leaf two elements differ, the two values, and what else there is to say."""

    name: str
    old: str
    new: str
    remark: str = ""


def element_differences(one: Any, other: Any) -> list[LeafDifference]:
    """The leaves in which two elements differ; empty if they are equal."""
    one, other = to_element(one), to_element(other)
    structure = structure_of(one)
    if structure != structure_of(other):
        return [LeafDifference("", str(structure), str(structure_of(other)), " (the structure)")]
    names = _names(structure)
    pairs = zip(names, structure.leaves(one), structure.leaves(other), strict=True)
    return [
        _described(name, a, b, difference)
        for name, a, b in pairs
        if (difference := _leaf_difference(a, b)) is not None
    ]


def _names(structure: Structure) -> list[str]:
    """What each leaf is called: ``image``, ``box/0``."""
    if structure.is_leaf:
        return [""]
    keys = structure.keys or range(len(structure.children))
    return [
        f"{key}/{inner}" if inner else str(key)
        for key, child in zip(keys, structure.children, strict=True)
        for inner in _names(child)
    ]


def _described(name: str, one: Any, other: Any, difference: str) -> LeafDifference:
    shapes = [getattr(each, "shape", None) for each in (one, other)]
    dtypes = [getattr(each, "dtype", None) for each in (one, other)]
    is_array = all(isinstance(each, np.ndarray) for each in (one, other))
    if is_array and shapes[0] == shapes[1] and dtypes[0] == dtypes[1]:
        same = np.asarray((one == other) | ((one != one) & (other != other)), bool)
        at = tuple(map(int, np.argwhere(~same)[0]))
        where = f" at {list(at)} ({difference})" if at else ""
        return LeafDifference(name, _short_value(one[at]), _short_value(other[at]), where)
    remark = "" if "1 of 1 values" in difference else f" ({difference})"
    return LeafDifference(name, _short_value(one), _short_value(other), remark)


def _short_value(value: Any) -> str:
    if isinstance(value, bytes | str):
        text = string_text(value)
    elif isinstance(value, np.ndarray) and value.dtype == object:
        text = strings_text(value, threshold=16)
    else:
        text = str(value) if isinstance(value, np.generic) else " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def _difference(one: Any, other: Any) -> str | None:
    """How two elements differ, or None."""
    structure = structure_of(one)
    if structure != structure_of(other):
        return f"the structures are {structure} and {structure_of(other)}"
    pairs = zip(structure.leaves(one), structure.leaves(other), strict=True)
    for name, (a, b) in zip(_names(structure), pairs, strict=True):
        if (difference := _leaf_difference(a, b)) is not None:
            return f"in {name}, {difference}" if name else difference
    return None


def _leaf_difference(one: Any, other: Any) -> str | None:
    if type(one) is not type(other):
        if _both_numbers(one, other) and one.dtype != other.dtype:
            return f"the dtypes are {one.dtype} and {other.dtype}"
        return f"the types are {type(one).__name__} and {type(other).__name__}"
    if isinstance(one, bytes):
        return None if one == other else "the bytes differ"
    if isinstance(one, Ragged):
        return _leaf_difference(one.row_splits, other.row_splits) or _leaf_difference(
            one.values, other.values
        )
    if isinstance(one, Sparse):
        parts = ("dense_shape", "indices", "values")
        differences = (_leaf_difference(getattr(one, p), getattr(other, p)) for p in parts)
        return next(filter(None, differences), None)
    if hasattr(one, "__keepset_node__"):
        try:
            assert_elements_equal(list(one), list(other))
        except AssertionError as error:
            return f"the data sets differ: {error}"
        return None
    return _array_difference(one, other)


def _both_numbers(one: Any, other: Any) -> bool:
    return isinstance(one, np.generic) and isinstance(other, np.generic)


def _array_difference(one: Any, other: Any) -> str | None:
    if one.dtype != other.dtype:
        return f"the dtypes are {one.dtype} and {other.dtype}"
    if one.shape != other.shape:
        return f"the shapes are {one.shape} and {other.shape}"
    same = np.asarray((one == other) | ((one != one) & (other != other)), bool)
    if same.all():
        return None
    return f"{same.size - int(same.sum())} of {same.size} values differ"


def _sort_key(element: Any) -> tuple[str, ...]:
    structure = structure_of(element)
    return (repr(structure), *map(_leaf_key, structure.leaves(element)))


def _leaf_key(leaf: Any) -> str:
    if isinstance(leaf, Ragged):
        return f"ragged {_leaf_key(leaf.row_splits)} {_leaf_key(leaf.values)}"
    if isinstance(leaf, Sparse):
        return f"sparse {_leaf_key(leaf.indices)} {_leaf_key(leaf.values)} {leaf.shape}"
    if hasattr(leaf, "__keepset_node__"):
        return f"data set {[_sort_key(element) for element in leaf]}"
    if isinstance(leaf, np.ndarray | np.generic):
        return f"{leaf.dtype} {leaf.shape} {np.asarray(leaf).tolist()!r}"
    return repr(leaf)


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 120 else text[:117] + "..."
