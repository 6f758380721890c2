"""Specs: comparable, hashable, printable, stored as JSON, and true."""

from __future__ import annotations

import json
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepset as ks
from keepset.core.spec import common_supertype, is_compatible, spec_from_json, spec_of, spec_to_json

Pair = namedtuple("Pair", ["x", "y"])

shapes = st.none() | st.lists(st.none() | st.integers(0, 5), max_size=3).map(tuple)
dtypes = st.sampled_from(["int8", "float32", "bool", "string", "bfloat16", "datetime64[ns]"])
tensors = st.builds(ks.TensorSpec, shapes, dtypes, st.none() | st.just("name"))
leaves = (
    tensors
    | st.builds(ks.SparseTensorSpec, shapes, dtypes)
    | st.builds(
        lambda dtype, rank: ks.RaggedTensorSpec([None] * (rank + 1), dtype, rank, np.int32),
        dtypes,
        st.integers(1, 3),
    )
)
specs = st.recursive(
    leaves | st.none(),
    lambda inner: (
        st.dictionaries(st.text(min_size=1, max_size=3), inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.tuples(inner, inner).map(lambda pair: Pair(*pair))
    ),
    max_leaves=6,
)


@given(specs)
def test_json_gives_the_same_spec(spec: Any) -> None:
    assert spec_from_json(json.loads(json.dumps(spec_to_json(spec)))) == spec


@given(specs)
def test_a_spec_covers_itself(spec: Any) -> None:
    assert common_supertype([spec, spec]) == common_supertype([spec])
    assert is_compatible(spec, spec)


@given(shapes, shapes, dtypes)
def test_a_supertype_covers_both(one: Any, other: Any, dtype: str) -> None:
    first, second = ks.TensorSpec(one, dtype), ks.TensorSpec(other, dtype)
    joint = first.most_specific_common_supertype([second])
    assert joint is not None
    assert joint == second.most_specific_common_supertype([first])
    assert joint.is_compatible_with(first)
    assert joint.is_compatible_with(second)


def test_there_is_no_supertype_of_different_dtypes_or_kinds() -> None:
    ints, floats = ks.TensorSpec([], "int32"), ks.TensorSpec([], "float32")
    assert ints.most_specific_common_supertype([floats]) is None
    with pytest.raises(ks.ElementError, match="no common type"):
        common_supertype([ints, ks.SparseTensorSpec([], "int32")])


def test_specs_are_told_apart_and_found_in_sets() -> None:
    a = ks.TensorSpec([None, 3], np.float32)
    assert a == ks.TensorSpec((None, 3), "float32")
    assert a != ks.TensorSpec((None, 3), "float32", name="x")
    assert len({a, ks.TensorSpec((None, 3), "float32"), ks.TensorSpec((None, 4), "float32")}) == 2


@pytest.mark.parametrize("name", [str, bytes, "string", ks.string, np.str_, "S", "U5"])
def test_every_way_to_say_string(name: Any) -> None:
    assert ks.TensorSpec([], name).dtype is ks.string


def test_a_dtype_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ks.InvalidArgumentError, match="not a dtype"):
        ks.TensorSpec([], "float7")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(1), ks.TensorSpec((), "float32")),
        (b"x", ks.TensorSpec((), ks.string)),
        (np.zeros((2, 3), np.int8), ks.TensorSpec((2, 3), "int8")),
        (np.array([b"a"], object), ks.TensorSpec((1,), ks.string)),
        (ks.Ragged.from_rows([[1], []]), ks.RaggedTensorSpec((2, None), "int64", 1)),
        (ks.Sparse([[0]], [1.0], [4]), ks.SparseTensorSpec((4,), "float64")),
        ((np.int8(1), None), (ks.TensorSpec((), "int8"), None)),
    ],
)
def test_the_spec_of_an_element_is_exact(value: Any, expected: Any) -> None:
    assert spec_of(value) == expected
    assert is_compatible(expected, value)
    assert "shape=" in repr(expected)


def test_compatibility_looks_at_dtype_rank_and_sizes() -> None:
    spec = ks.TensorSpec([None, 3], "float32")
    assert spec.is_compatible_with(np.zeros((9, 3), np.float32))
    assert not spec.is_compatible_with(np.zeros((9, 4), np.float32))
    assert not spec.is_compatible_with(np.zeros(3, np.float32))
    assert not spec.is_compatible_with(np.zeros((9, 3)))
    assert ks.TensorSpec(None, "float64").is_compatible_with(np.zeros((9, 3)))
