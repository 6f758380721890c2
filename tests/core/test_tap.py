"""The consumer's end: elements are made when they are asked for, and never before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import keepset as ks


def counted(calls: list[int]) -> ks.Dataset:
    def note(x: np.int64) -> np.int64:
        calls.append(int(x))
        return x

    return ks.Dataset.range(5000).map(note)


def test_the_last_functions_are_never_run_ahead_of_the_consumer() -> None:
    calls: list[int] = []
    it = iter(counted(calls).map(lambda x: x * 2))
    for given in range(1, 3000):
        next(it)
        assert len(calls) == given


def test_closing_calls_no_function() -> None:
    calls: list[int] = []
    with iter(counted(calls)) as it:
        for _ in range(100):
            next(it)
    assert len(calls) == 100
    assert list(it) == []


def test_an_interrupted_function_ends_the_iterator_and_its_element_is_not_lost() -> None:
    interrupts = iter([700])

    def interrupted(x: np.int64) -> np.int64:
        if x == 700 and next(interrupts, None):
            raise KeyboardInterrupt
        return x

    ds = ks.Dataset.range(1000).map(interrupted)
    it = iter(ds)
    seen: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        seen.extend(map(int, it))
    assert list(it) == []
    assert seen == list(range(700))
    assert [int(x) for x in ds.iterate(it.state())] == list(range(700, 1000))


def test_elements_of_every_structure_are_made_one_by_one_with_a_state_at_each() -> None:
    columns: Any = {"b": np.arange(40), "a": (np.arange(80).reshape(40, 2), None)}
    ds = ks.Dataset.from_tensor_slices(columns)
    it = iter(ds)
    for given in range(1, 41):
        element = next(it)
        assert list(element) == ["b", "a"]
        rest = [int(row["b"]) for row in ds.iterate(it.state())]
        assert rest == list(range(given, 40))
