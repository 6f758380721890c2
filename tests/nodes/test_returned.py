"""What functions return: None from map warns, and predicates must return one truth value."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import keepset as ks


def forgets(x: Any) -> Any:
    x + 1


class Forgets:
    def __call__(self, x: Any) -> None:
        return None


@pytest.mark.parametrize("function", [forgets, partial(forgets), lambda x: None, Forgets()])
@pytest.mark.parametrize("calls", [None, 2])
def test_a_map_that_returns_none_warns_once(
    function: Callable[[Any], Any], calls: int | None
) -> None:
    ds = ks.Dataset.range(5).map(function, calls)
    with pytest.warns(UserWarning, match="returned None") as caught:
        passes = [list(ds), list(ds)]
    assert passes == [[None] * 5] * 2
    assert len(caught) == 1
    assert re.search(r"\(.*test_returned\.py, line \d+\)", str(caught[0].message))
    assert caught[0].filename == __file__


def test_the_warning_names_the_function() -> None:
    with pytest.warns(UserWarning, match=r"in map\(forgets\), forgets \(") as caught:
        list(ks.Dataset.range(2).map(forgets))
    assert caught[0].lineno == forgets.__code__.co_firstlineno
    with pytest.warns(UserWarning, match=r"in random_map\(.*\), forgets_too"):
        list(ks.Dataset.range(2).random_map(forgets_too, 1))


def forgets_too(x: Any, rng: np.random.Generator) -> Any:
    x + rng.random()


def test_none_as_a_part_of_an_element_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(ks.Dataset.range(1).map(lambda x: (x, None))) == [(0, None)]
        some = ks.Dataset.range(99).map(lambda x: None if x % 7 else x)
        assert list(some)[:3] == [0, None, None]
        assert list(some.filter(lambda x: True).batch(1).take(1)) == [[0]]


@pytest.mark.parametrize("calls", [None, 2])
def test_the_first_element_may_come_late(calls: int | None) -> None:
    ds = ks.Dataset.range(9000).filter(lambda x: x > 5000).map(forgets, calls)
    with pytest.warns(UserWarning, match="returned None"):
        list(ds)


GOOD: list[Any] = [True, False, np.True_, np.False_, 0, 1, np.int64(1), np.uint8(0)]
GOOD += [np.array(True), np.array(False), np.array(1)]
BAD: list[Any] = [None, [False], [], (), "yes", b"", 0.0, np.float32(1), 2, np.int64(-1), {}]
BAD += [np.array([True]), np.array([True, False]), np.zeros(0, bool), np.array(2), object()]


@pytest.mark.filterwarnings("ignore:.*passed none of its")
@pytest.mark.parametrize("method", ["filter", "take_while"])
@pytest.mark.parametrize("value", GOOD, ids=repr)
def test_a_predicate_returns_one_truth_value(method: str, value: Any) -> None:
    ds = getattr(ks.Dataset.range(3), method)(lambda x: value)
    assert len(list(ds)) == (3 if value else 0)


@pytest.mark.parametrize("method", ["filter", "take_while"])
@pytest.mark.parametrize("value", BAD, ids=lambda value: f"{value!r:.20}")
def test_anything_else_is_an_error(method: str, value: Any) -> None:
    def predicate(x: Any) -> Any:
        return value if x == 2 else True

    ds = getattr(ks.Dataset.range(3), method)(predicate)
    with pytest.raises(ks.ResultError, match=r"predicate .*test_returned\.py") as caught:
        list(ds)
    assert caught.value.__notes__ == [f"in {method}(predicate), at element 2"]


def test_an_error_says_what_to_do() -> None:
    wrong: dict[str, Callable[[Any], Any]] = {
        "has it no return statement": forgets,
        r"use \.all\(\) or \.any\(\)": lambda x: np.array([x, x]) > 0,
        "compare it": lambda x: x + 5,
    }
    for text, predicate in wrong.items():
        with pytest.raises(ks.ResultError, match=text):
            list(ks.Dataset.range(3).filter(predicate))
