"""Structures: TensorFlow's order of leaves, and no way to lose or mix them."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepset as ks
from keepset.core.structure import map_structure, structure_of

Pair = namedtuple("Pair", ["b", "a"])


def _record(name: str, fields: list[str]) -> Any:
    """A named tuple class as it is made when a file is read."""
    return namedtuple(name, fields)


@dataclass
class Record:
    x: Any
    y: Any


structures = st.recursive(
    st.integers() | st.none(),
    lambda inner: (
        st.dictionaries(st.text(max_size=3), inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.tuples(inner, inner).map(lambda pair: Pair(*pair))
        | st.tuples(inner, inner).map(lambda pair: Record(*pair))
    ),
    max_leaves=10,
)


@given(structures)
def test_taking_apart_and_building_gives_the_same(element: Any) -> None:
    structure = structure_of(element)
    assert structure.build(structure.leaves(element)) == element
    assert structure_of(element) == structure
    assert hash(structure_of(element)) == hash(structure)


@given(structures, st.integers(1, 4))
def test_rows_and_columns_are_transposes(element: Any, count: int) -> None:
    structure = structure_of(element)
    columns = structure.columns([element] * count)
    assert len(columns) == structure.num_leaves
    assert list(structure.rows(columns, count)) == [element] * count


def test_leaves_come_by_sorted_key_and_in_order_elsewhere() -> None:
    assert structure_of({"b": (1, 2), "a": 3}).leaves({"b": (1, 2), "a": 3}) == [3, 1, 2]
    assert structure_of(Pair(1, 2)).leaves(Pair(1, 2)) == [1, 2]


def test_dicts_come_out_in_the_order_they_were_written() -> None:
    element = {"z": 1, "a": 2, "m": 3, "b": 4}
    structure = structure_of(element)
    assert list(structure.build(structure.leaves(element))) == ["z", "a", "m", "b"]


@pytest.mark.parametrize(
    "odd", [{"a": 1}, {"a": 1, "c": 2}, (1, 2), None, {"a": 1, "b": (1,)}, {"a": 1, "b": None}]
)
def test_an_element_of_another_structure_is_an_error(odd: Any) -> None:
    with pytest.raises(ks.ElementError):
        ks.Dataset.from_generator(lambda: iter([{"a": 1, "b": 2}, odd])).batch(2).reduce(
            0, lambda s, e: s
        )


def test_records_of_one_name_and_fields_are_one_structure() -> None:
    other = _record("Pair", ["b", "a"])
    assert structure_of(other(1, 2)) == structure_of(Pair(1, 2))
    assert structure_of(Pair(1, 2)).leaves(other(3, 4)) == [3, 4]
    swapped = _record("Pair", ["a", "b"])
    assert structure_of(swapped(1, 2)) != structure_of(Pair(1, 2))


def test_a_record_without_fields_is_not_lost() -> None:
    empty = _record("empty", [])
    assert list(structure_of(empty()).rows([], 3)) == [empty()] * 3


def test_functions_are_mapped_leaf_by_leaf() -> None:
    assert map_structure(lambda a, b: a + b, {"x": 1, "y": (2,)}, {"x": 10, "y": (20,)}) == {
        "x": 11,
        "y": (22,),
    }
