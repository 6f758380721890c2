"""Columns of a file that are chosen by name."""

from __future__ import annotations

import pytest

import keepset as ks
from keepset.core.structure import structure_of
from keepset.exchange.files.row_file import selected_columns
from keepset.nodes.select import selected

_COUNT = 1000


class Name(str):
    """A text that counts how often it is compared."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        Name.comparisons += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def named() -> list[Name]:
    return [Name(f"column {number}") for number in range(_COUNT)]


def test_columns_come_in_the_order_of_the_file() -> None:
    assert selected_columns(["a", "b", "c"], ("c", "a"), "file") == ["a", "c"]
    assert selected_columns(["a", "b"], None, "file") == ["a", "b"]
    with pytest.raises(ks.InvalidArgumentError, match="file has no 'x', 'y'; there are 'a', 'b'"):
        selected_columns(["a", "b"], ("x", "b", "y"), "file")


def test_many_columns_are_not_compared_with_each_other() -> None:
    names, wanted = named(), tuple(named())[::-1]
    structure, element = structure_of(dict.fromkeys(wanted, 1)), dict.fromkeys(names, 1)
    columns = [[number] for number in range(_COUNT)]
    Name.comparisons = 0
    assert selected_columns(names, wanted, "file") == names
    assert list(selected(element, wanted)) == names
    assert structure.select(wanted)[1] == list(range(_COUNT))
    assert list(structure.picker()(columns, 0)) == list(wanted)
    assert list(structure.build(range(_COUNT))) == list(wanted)
    assert Name.comparisons < 20 * _COUNT
