"""Lists of whole numbers become arrays that hold them as they are, or are an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepset as ks
from keepset.errors import ElementError

WHOLE = st.one_of(
    st.integers(-5, 5),
    st.integers(-(2**63), 2**64 - 1),
    st.sampled_from([2**53, 2**53 + 1, -(2**53) - 1, 2**63, 2**64 - 1]),
)


@given(numbers=st.lists(WHOLE | st.floats(allow_nan=False), min_size=1, max_size=5))
def test_whole_numbers_in_lists_are_exact_or_an_error(numbers: list[Any]) -> None:
    try:
        values = [x.item() for x in ks.Dataset.from_tensor_slices(numbers)]
    except ElementError:
        whole = [number for number in numbers if isinstance(number, int)]
        fits_none = min(whole) < 0 and max(whole) >= 2**63
        assert fits_none or any(int(float(number)) != number for number in whole)
    else:
        assert values == numbers


@pytest.mark.parametrize("numbers", [[1, 2**64 - 1], [[0, 1], [2**63, 3]], [np.int64(1), 2**63]])
def test_large_whole_numbers_are_unsigned(numbers: list[Any]) -> None:
    [array] = ks.Dataset.from_tensors(numbers)
    assert array.dtype == np.uint64
    assert array.tolist() == np.array(numbers, object).tolist()


@pytest.mark.parametrize("numbers", [[-1, 2**63], [0.5, 2**53 + 1], [[1.5], [2**60 + 1]]])
def test_what_would_be_rounded_is_an_error(numbers: list[Any]) -> None:
    with pytest.raises(ElementError, match="cannot become an array"):
        ks.Dataset.from_tensors(numbers)
    ks.Dataset.from_tensors(np.array(numbers, np.float64))


def test_large_floats_are_what_they_were() -> None:
    [array] = ks.Dataset.from_tensors([1e300, float("nan"), 2**60, float("inf")])
    np.testing.assert_array_equal(array, [1e300, np.nan, 2.0**60, np.inf])
