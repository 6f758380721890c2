"""Equality of elements: structure, dtype, shape and every value; NaN equals NaN."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from keepset.core.dtypes import TEXT_OBJECTS, dtype_name, dtype_of, is_text, text
from keepset.core.element import to_element
from keepset.core.ragged import Ragged
from keepset.core.record import record
from keepset.core.sparse import Sparse
from keepset.core.string_text import string_text, strings_text
from keepset.core.structure import Structure, structure_of


def assert_elements_equal(got: Any, expected: Any) -> None:
    """Assert that an element is the one expected, or that a list of elements is.

    Structure, dtype, shape and every value count; NaN equals NaN. Plain Python values stand for
    the elements that they would become, and a data set within an element for all that it holds. A
    ``str`` stands for text where the element has text, and for bytes where it has bytes.

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
        return
    one = _element(got)
    other = _expected(expected, one)
    if (difference := _difference(one, other)) is not None:
        raise AssertionError(f"{_short(got)} is not {_short(other)}: {difference}")


def assert_same_elements(got: Iterable[Any], expected: Iterable[Any]) -> None:
    """Assert that two runs of elements hold the same ones, each as often, in whatever order.

    Example:
        >>> import keepset as ks
        >>> assert_same_elements(ks.Dataset.range(3).shuffle(3), [0, 1, 2])
    """
    elements = list(map(_element, got))
    make = _element if any(map(_has_text, elements)) else to_element
    _compare_lists(sorted(elements, key=_sort_key), sorted(map(make, expected), key=_sort_key))


def _element(value: Any) -> Any:
    """As ``to_element``, but leaves that are text stay so."""
    if not _has_text(value):
        return to_element(value)
    structure = structure_of(value)
    leaves = structure.leaves(value)
    return structure.build([leaf if _is_text(leaf) else to_element(leaf) for leaf in leaves])


def _expected(value: Any, got: Any) -> Any:
    """What is written down for an element, with text where the element has text."""
    structure = structure_of(got)
    if not _has_text(got) or structure_of(value) != structure:
        return to_element(value)
    pairs = zip(structure.leaves(got), structure.leaves(value), strict=True)
    return structure.build([_as_text(b) if _is_text(a) else to_element(b) for a, b in pairs])


def _has_text(value: Any) -> bool:
    return any(map(_is_text, structure_of(value).leaves(value)))


def _is_text(leaf: Any) -> bool:
    if isinstance(leaf, np.ndarray):
        return is_text(leaf)
    return isinstance(leaf, str) or (isinstance(leaf, Ragged | Sparse) and leaf.dtype is text)


def _as_text(leaf: Any) -> Any:
    if isinstance(leaf, list):
        array = np.array(leaf, object)
        if all(isinstance(item, str) for item in array.ravel().tolist()):
            return array.view(TEXT_OBJECTS)
    return leaf if _is_text(leaf) else to_element(leaf)


def _compare_lists(got: list[Any], expected: list[Any]) -> None:
    for i, pair in enumerate(zip(got, expected, strict=False)):
        one = _element(pair[0])
        other = _expected(pair[1], one)
        if (difference := _difference(one, other)) is not None:
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
    one, other = _element(one), _element(other)
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
    is_array = all(isinstance(each, np.ndarray) for each in (one, other))
    if is_array and shapes[0] == shapes[1] and dtype_of(one) == dtype_of(other):
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
    if isinstance(one, bytes | str):
        what = "bytes" if isinstance(one, bytes) else "texts"
        return None if one == other else f"the {what} differ"
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
    if one.dtype != other.dtype or dtype_of(one) != dtype_of(other):
        return f"the dtypes are {dtype_name(dtype_of(one))} and {dtype_name(dtype_of(other))}"
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
        return f"{dtype_name(dtype_of(leaf))} {leaf.shape} {np.asarray(leaf).tolist()!r}"
    return repr(leaf)


def _short(value: Any) -> str:
    shown = " ".join(repr(value).split())
    return shown if len(shown) <= 120 else shown[:117] + "..."
