"""The walk ends: on what makes new objects for ever it gives up, and says where and what to do."""

from __future__ import annotations

import itertools
import sys
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, Mock

import pytest

from keepset.core.fingerprint import bounds as bounds_module
from keepset.core.fingerprint import (
    differences,
    facts_from_json,
    facts_to_json,
    fingerprint_of_value,
)
from keepset.errors import FingerprintError


class Reduces:
    """Makes a new object whenever it is asked for its state."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce_ex__(self, protocol: Any) -> Any:
        return Reduces, (Reduces(self.number + 1),)


class State:
    def __init__(self, number: int) -> None:
        self.number = number

    def __getstate__(self) -> Any:
        return {"left": State(self.number + 1), "right": [State(self.number + 1)]}


class Chosen:
    def __keepset_fingerprint__(self) -> Any:
        return [Chosen()]


class Link:
    def __init__(self, following: Any) -> None:
        self.following = following


def calls(value: Any) -> Any:
    return lambda x: value.anything(x)


@pytest.mark.parametrize("make", [lambda: Reduces(0), lambda: State(0), Chosen])
def test_what_never_ends_is_given_up(make: Any) -> None:
    with pytest.raises(FingerprintError, match="the fingerprint gave up") as caught:
        fingerprint_of_value(calls(make()), name="map(f)")
    message = str(caught.value)
    assert caught.value.path.startswith("map(f) > captured value > ")
    assert 'ignore=["captured value"]' in message
    assert 'fingerprint="..."' in message
    assert len(message) < 1000


@pytest.mark.parametrize("kind", [Mock, MagicMock])
def test_a_mock_does_not_take_long_either(kind: type[Mock]) -> None:
    mock = kind()
    mock.attribute.other.method(3)
    try:
        fingerprint_of_value(calls(mock))
    except FingerprintError as error:
        assert "gave up" in str(error)  # noqa: PT017 - either answer is fine, as long as there is one


def test_the_number_of_values_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds_module, "MAX_VALUES", 1000)
    with pytest.raises(FingerprintError, match="gave up after 1,0"):
        fingerprint_of_value([[[n]] for n in range(1000)])


def test_items_without_end_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless:
        def __reduce_ex__(self, protocol: Any) -> Any:
            return Endless, (), None, itertools.count()

    monkeypatch.setattr(bounds_module, "MAX_VALUES", 1000)
    with pytest.raises(FingerprintError, match="an object of more than 1,000 items"):
        fingerprint_of_value(calls(Endless()))


def test_chains_of_objects_are_bounded_but_long(monkeypatch: pytest.MonkeyPatch) -> None:
    chain: Any = None
    for _ in range(5000):
        chain = Link(chain)
    before = fingerprint_of_value(chain).digest
    assert before == fingerprint_of_value(chain).digest
    monkeypatch.setattr(bounds_module, "MAX_OBJECTS_DEEP", 1000)
    with pytest.raises(FingerprintError, match="gave up at 1,000 objects inside each other"):
        fingerprint_of_value(chain)


def test_many_objects_that_know_each_other_are_no_error() -> None:
    links = [Link(None) for _ in range(3000)]
    for link in links:
        link.following = links
    assert fingerprint_of_value(links[0]).digest == fingerprint_of_value(links[1]).digest


def test_many_small_values_are_no_error() -> None:
    values = [(n, str(n)) for n in range(20_000)]
    one = fingerprint_of_value(values)
    assert one.digest != fingerprint_of_value([*values[:-1], (0, "")]).digest
    assert one.digest == fingerprint_of_value(list(values)).digest


def test_pairs_count_the_same_however_they_are_hashed() -> None:
    # Short lists of plain values have a way of their own, unless something is ignored.
    from keepset.core.fingerprint import Ignore

    value = {"a": (1, "b"), "c": [None, 2.5], "d": (), "e": list(range(20)), "f": [1, (2, 3)]}
    slow = fingerprint_of_value(value, ignore=Ignore(["something else"]))
    assert fingerprint_of_value(value).digest == slow.digest
    assert fingerprint_of_value(value) == slow


def nested(depth: int, value: Any) -> Any:
    for n in range(depth):
        value = [value] if n % 3 else SimpleNamespace(inner=value) if n % 2 else {"a": value}
    return value


def test_deep_values_can_be_stored_and_compared() -> None:
    depth = 3 * sys.getrecursionlimit()
    old, new = fingerprint_of_value(nested(depth, 1)), fingerprint_of_value(nested(depth, 2))
    assert old.digest != new.digest
    assert facts_from_json(facts_to_json(old)) == old
    assert len(differences(old, new)) == 1


def test_values_that_contain_themselves_can_be_stored_and_compared() -> None:
    def looped(last: int) -> Any:
        table: dict[str, Any] = {"last": last, "list": []}
        table["self"] = table
        table["list"].append(table)
        return table

    old, new = fingerprint_of_value(looped(1)), fingerprint_of_value(looped(2))
    assert facts_from_json(facts_to_json(old)) == old
    assert [str(found) for found in differences(old, new)] == ["key 'last': 1 -> 2"]


def test_objects_in_a_long_chain_are_no_mocks() -> None:
    chain = None
    for i in range(2000):
        chain = SimpleLink(i, chain)
    before = fingerprint_of_value(chain).digest
    assert fingerprint_of_value(chain).digest == before


class SimpleLink:
    def __init__(self, value: int, after: Any) -> None:
        self.value, self.after = value, after
