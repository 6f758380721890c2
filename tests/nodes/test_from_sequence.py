"""FromSequence and Iterating: other people's data sets, by position and one after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.testing import check_dataset


class Squares:
    def __init__(self, length: int = 9) -> None:
        self.length = length
        self.asked: list[int] = []

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        self.asked.append(index)
        return [np.full(2, index), index * index]


class ManySquares(Squares):
    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        return [super(ManySquares, self).__getitem__(index) for index in indices]

    def __getitem__(self, index: int) -> Any:
        if index >= self.length // 2:
            raise ValueError(f"{index} is bad")
        return super().__getitem__(index)


class Words:
    def __iter__(self) -> Iterator[Any]:
        yield from (["a", 1], ["b", 2])


EXPECTED = [(np.full(2, i), i * i) for i in range(9)]


@pytest.mark.parametrize("make", [ks.from_torch, ks.from_grain])
def test_items_by_position_keep_the_promises_of_every_stage(make: Any) -> None:
    check_dataset(lambda: make(Squares()), expected=EXPECTED)
    check_dataset(lambda: make(Squares()).shuffle(ks.GLOBAL, 1, False).batch(2))


def test_items_are_asked_for_once_and_in_order() -> None:
    squares = Squares(50)
    ds = ks.from_torch(squares)
    assert len(ds) == 50
    list(ds)
    assert squares.asked == list(range(50))
    squares.asked.clear()
    ds.gather([3, 1])
    assert squares.asked == [3, 1]


def test_many_are_asked_for_at_once() -> None:
    squares = ManySquares(50)
    # Single ones of the second half would fail.
    assert [int(y) for _, y in ks.from_torch(squares).batch(50).unbatch()][40] == 1600
    assert [int(y) for _, y in ks.from_torch(squares).gather([30, 40])] == [900, 1600]


def test_an_item_that_fails_is_named_and_those_before_it_come_first() -> None:
    class Bad(Squares):
        def __getitem__(self, index: int) -> Any:
            if index == 5:
                raise IndexError("the fifth is bad")
            return index

    iterator = iter(ks.from_torch(Bad()))
    assert [int(next(iterator)) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(IndexError, match="the fifth is bad") as caught:
        next(iterator)
    assert "at element 5" in caught.value.__notes__[0]
    assert [int(x) for x in ks.from_torch(Bad()).ignore_errors()] == [0, 1, 2, 3, 4, 6, 7, 8]
    with pytest.raises(IndexError, match="the fifth is bad"):
        ks.from_torch(Bad())[5]
    check_dataset(lambda: ks.from_torch(Bad()))


@pytest.mark.parametrize("make", [ks.from_torch, ks.from_grain])
def test_an_iterable_is_iterated_over_anew_in_each_pass(make: Any) -> None:
    check_dataset(lambda: make(Words()), expected=[(b"a", 1), (b"b", 2)])
    assert make(Words()).describe().startswith("from_generator(Words)")


@pytest.mark.parametrize("given", [3, None, object()])
def test_what_is_neither_is_refused(given: Any) -> None:
    with pytest.raises(ks.InvalidArgumentError, match="__iter__ is needed"):
        ks.from_torch(given)


def test_an_iterator_is_refused() -> None:
    with pytest.raises(ks.InvalidArgumentError, match="only once"):
        ks.from_grain(iter([1, 2]))


def test_a_snapshot_knows_the_data_by_its_content(tmp_path: Path) -> None:
    list(ks.from_torch(Squares(3)).snapshot(tmp_path))
    assert ks.explain(ks.from_torch(Squares(3)), tmp_path).hit
    why = ks.explain(ks.from_torch(Squares(4)), tmp_path)
    assert not why.hit
    assert "attribute length: 3 -> 4" in str(why.changes[0])
    list(ks.from_grain(Words()).snapshot(tmp_path))
    assert ks.explain(ks.from_grain(Words()), tmp_path).hit


def test_data_without_content_asks_for_a_name(tmp_path: Path) -> None:
    squares: Any = Squares(3)
    squares.file = open(__file__)  # noqa: SIM115
    with squares.file, pytest.raises(ks.FingerprintError, match=r"open file.*fingerprint="):
        ks.from_torch(squares).snapshot(tmp_path)
    list(ks.from_torch(Squares(3)).snapshot(tmp_path, fingerprint="squares"))
