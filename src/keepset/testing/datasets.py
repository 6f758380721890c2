"""Equality of whole data sets: spec, number and every element."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from keepset.core.spec import is_compatible
from keepset.dataset import Dataset
from keepset.dataset.base import node_of
from keepset.testing.equality import assert_elements_equal

_NOTHING: Any = object()


def assert_equal(a: Dataset, b: Dataset) -> None:
    """Assert that two data sets give the same elements; the first difference is shown.

    Structure, dtypes, shapes and every value count; NaN equals NaN. So do the specs, but one that
    was found from a first element, and not declared, need only allow what the other allows.

    Example:
        >>> assert_equal(Dataset.range(3), Dataset.from_tensor_slices([0, 1, 2]))
        >>> assert_equal(Dataset.range(3), Dataset.range(1, 4))
        Traceback (most recent call last):
            ...
        AssertionError: element 0 differs: np.int64(0) is not np.int64(1): 1 of 1 values differ
    """
    for position, (one, other) in enumerate(zip_longest(a, b, fillvalue=_NOTHING)):
        if one is _NOTHING or other is _NOTHING:
            longer, shorter = ("second", "first") if one is _NOTHING else ("first", "second")
            raise AssertionError(
                f"the {shorter} data set ends after {position} elements, the {longer} goes on"
            )
        try:
            assert_elements_equal(one, other)
        except AssertionError as error:
            raise AssertionError(f"element {position} differs: {error}") from None
    if not _have_one_spec(a, b):
        raise AssertionError(f"the specs differ: {a.element_spec} and {b.element_spec}")


def _have_one_spec(a: Dataset, b: Dataset) -> bool:
    nodes = node_of(a), node_of(b)  # those of keepset.tf show types of TensorFlow's
    one, other = (node.spec() for node in nodes)
    if one == other:
        return True
    if all(node.known_spec() is not None for node in nodes):
        return False
    # The first element of a function's results may have a shape that the later ones do not have.
    return is_compatible(one, other) or is_compatible(other, one)
