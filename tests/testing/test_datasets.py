"""assert_equal: what is the same, and how a difference is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks


def grown(x: np.int64) -> Any:
    return np.arange(x)


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ([1, 2, 3], [1, 2, 4], "element 2 differs: np.int64(3) is not np.int64(4)"),
        ([1, 2, 3], [1, 2], "the second data set ends after 2 elements, the first goes on"),
        ([1], [1, 2], "the first data set ends after 1 elements, the second goes on"),
        ([1], [1.0], "element 0 differs"),
    ],
)
def test_the_first_difference_is_shown(one: Any, other: Any, told: str) -> None:
    a, b = (ks.Dataset.from_tensor_slices(values) for values in (one, other))
    with pytest.raises(AssertionError) as caught:
        ks.assert_equal(a, b)
    assert told in str(caught.value)


def test_a_spec_that_was_found_from_one_element_need_only_allow_the_other(tmp_path: Path) -> None:
    found = ks.Dataset.range(4).map(grown)
    found.save(tmp_path)
    declared = ks.load(tmp_path)
    assert found.element_spec != declared.element_spec
    ks.assert_equal(found, declared)
    ks.assert_equal(declared, found)


def test_specs_that_were_declared_must_be_the_same(tmp_path: Path) -> None:
    ks.Dataset.range(2).map(lambda x: np.arange(x + 1)).save(tmp_path / "varying")
    ks.Dataset.range(1).map(lambda x: np.arange(x + 1)).save(tmp_path / "fixed")
    varying = ks.load(tmp_path / "varying").take(1)
    with pytest.raises(AssertionError, match="the specs differ"):
        ks.assert_equal(varying, ks.load(tmp_path / "fixed"))


def test_no_elements_of_another_type_are_not_the_same() -> None:
    empty = ks.Dataset.from_tensor_slices(np.zeros(0, np.int8))
    with pytest.raises(AssertionError, match="the specs differ"):
        ks.assert_equal(empty, ks.Dataset.range(0))
