"""Lists become arrays that hold their items as they are, or are an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepset as ks
import keepset.tf as tf
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


MIXED: list[list[Any]] = [
    [1, 2.5, "x"],
    [True, "x", 3],
    [np.int64(1), "x"],
    [np.array(1), "x"],
    [1, b"x"],
    [[1, 2], ["a", "b"]],
    [np.array([1, 2]), np.array(["a", "b"])],
    [np.datetime64("2020-01-01"), "x"],
]
INTO_DATASETS: dict[str, Callable[[Any], Any]] = {
    "from_tensor_slices": ks.Dataset.from_tensor_slices,
    "from_tensor_slices of dicts": lambda v: ks.Dataset.from_tensor_slices({"a": {"b": v}}),
    "from_tensors": ks.Dataset.from_tensors,
    "from_tensors of dicts": lambda v: ks.Dataset.from_tensors({"a": v}),
    "from_generator": lambda v: ks.Dataset.from_generator(lambda: iter([v])),
    "arguments of from_generator": lambda v: ks.Dataset.from_generator(iter, args=(v,)),
    "map": lambda v: ks.Dataset.range(1).map(lambda x: {"a": v}),
}
INTO_TENSORS: dict[str, Callable[[Any], Any]] = {
    "tf.constant": tf.constant,
    "tf.data": tf.data.Dataset.from_tensor_slices,
    "tf.data of dicts": lambda v: tf.data.Dataset.from_tensor_slices({"a": {"b": v}}),
}


@pytest.mark.parametrize("into", INTO_DATASETS)
@pytest.mark.parametrize("values", MIXED, ids=str)
def test_numbers_beside_text_are_an_error_that_names_them(values: list[Any], into: str) -> None:
    with pytest.raises(ElementError, match="may hold only str and bytes, but item 0 is"):
        list(INTO_DATASETS[into](values))


@pytest.mark.parametrize("into", INTO_TENSORS)
@pytest.mark.parametrize("values", MIXED, ids=str)
def test_tensors_of_numbers_and_text_are_an_error(values: list[Any], into: str) -> None:
    with pytest.raises(
        ks.InvalidArgumentError, match=r"mixes kinds: number 0 is|no part of a tens"
    ):
        INTO_TENSORS[into](values)


@pytest.mark.parametrize("join", [tf.stack, lambda values: tf.concat([[v] for v in values], 0)])
def test_numbers_are_not_joined_with_text(join: Callable[[Any], Any]) -> None:
    with pytest.raises(ks.InvalidArgumentError, match=r"number 0 is 1|Cannot convert"):
        join([1, "x"])


@pytest.mark.parametrize(
    "values",
    [
        ["x", b"y"],
        [np.array("x"), np.array("y")],
        [np.array(["x"]), np.array(["y"])],
        [np.str_("x"), np.bytes_(b"y")],
    ],
    ids=str,
)
def test_text_of_all_kinds_goes_together(values: list[Any]) -> None:
    found = [np.ravel(x).tolist() for x in ks.Dataset.from_tensor_slices(values)]
    assert found == [[b"x"], [b"y"]]
