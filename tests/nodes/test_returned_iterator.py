"""The warning of a function that returns the iterator of an earlier pass."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import keepset as ks


class Counting:
    """An iterator that weak references cannot refer to."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = 3

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        if not self._left:
            raise StopIteration
        self._left -= 1
        return self._left


SAME: dict[str, Callable[[], Any]] = {
    "a generator": lambda: (i for i in range(3)),
    "an iterator of a list": lambda: iter([1, 2, 3]),
    "map": lambda: map(int, [1, 2, 3]),
    "a class": Counting,
}


@pytest.mark.parametrize("make", SAME.values(), ids=SAME)
def test_an_iterator_that_comes_again_is_named_once(make: Callable[[], Any]) -> None:
    held = make()
    ds = ks.Dataset.from_generator(lambda: held)
    assert len(list(ds)) == 3
    with pytest.warns(UserWarning, match="the iterator that it had returned") as caught:
        assert [len(list(ds)), len(list(ds))] == [0, 0]
    [warning] = caught
    assert "make the iterator within the function" in str(warning.message)
    assert "test_returned_iterator.py" in str(warning.message)


def test_an_iterator_that_is_stopped_early_is_noticed() -> None:
    held = iter(range(10))
    ds = ks.Dataset.from_generator(lambda: held)
    with pytest.warns(UserWarning, match="only what is left of it"):
        assert [[int(x) for x in ds.take(2)], [int(x) for x in ds.take(2)]] == [[0, 1], [2, 3]]


@pytest.mark.parametrize("make", SAME.values(), ids=SAME)
def test_new_iterators_and_lists_are_fine(make: Callable[[], Any]) -> None:
    ds = ks.Dataset.from_generator(make)
    assert [len(list(ds)) for _ in range(5)] == [3] * 5
    again = [1, 2, 3]
    for held in (again, tuple(again), range(3), np.arange(3)):
        ds = ks.Dataset.from_generator(lambda held=held: held)
        assert [len(list(ds)) for _ in range(3)] == [3] * 3
    assert pickle.loads(pickle.dumps(ks.Dataset.from_generator(Counting))) is not None


def test_what_a_pass_has_read_is_not_kept_alive() -> None:
    class Large(list[int]):
        pass

    made: list[weakref.ref[Large]] = []

    def fresh() -> Iterator[int]:
        large = Large(range(100))
        made.append(weakref.ref(large))
        return iter(large)

    ds = ks.Dataset.from_generator(fresh)
    assert len(list(ds.take(2))) == 2
    gc.collect()
    assert made[0]() is None
