"""Equality of whole data sets: spec, number and every element."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from keepset.dataset import Dataset
from keepset.testing.equality import assert_elements_equal

_NOTHING: Any = object()


def assert_equal(a: Dataset, b: Dataset) -> None:
    """Assert that two data sets give the same elements; the first difference is shown.

    Structure, dtypes, shapes and every value count; NaN equals NaN.

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
    if a.element_spec != b.element_spec:
        raise AssertionError(f"the specs differ: {a.element_spec} and {b.element_spec}")
