"""Differences read as a person would tell them."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keepset.core.fingerprint import (
    Facts,
    changed_versions,
    combine,
    differences,
    fingerprint_of_value,
)

Load = Callable[..., ModuleType]

JOB = '''
MEAN = 0.5
SIZES = {"width": 3, "height": [1, 2]}

def normalise(x):
    """Centre it."""
    return x - MEAN

def decode(x, scale=1):
    y = normalise(x)
    return y * scale + SIZES["width"]
'''


def stage(job: ModuleType) -> Facts:
    function = fingerprint_of_value(job.decode, name="map(decode)")
    return combine("map", "map(decode)", [("function decode", function)])


def told(load: Load, old: str, new: str) -> list[str]:
    found = differences(stage(load(old)), stage(load(new)), name="map(decode)")
    return [str(difference) for difference in found]


def test_a_changed_global_of_a_helper(load: Load) -> None:
    assert told(load, JOB, JOB.replace("0.5", "0.25")) == [
        "map(decode) > function decode > helper normalise > global MEAN: 0.5 -> 0.25"
    ]


def test_a_changed_default_and_an_item_of_a_dict(load: Load) -> None:
    new = JOB.replace("scale=1", "scale=2").replace("[1, 2]", "[1, 3]")
    assert told(load, JOB, new) == [
        "map(decode) > function decode > default scale: 1 -> 2",
        "map(decode) > function decode > global SIZES > key 'height' > item 1: 2 -> 3",
    ]


def test_a_changed_body_has_a_small_diff(load: Load) -> None:
    new = JOB.replace("x - MEAN", "(x - MEAN) / 2  # half")
    [found] = differences(stage(load(JOB)), stage(load(new)), name="map(decode)")
    path = "map(decode) > function decode > helper normalise"
    assert str(found) == f"{path}: function normalise has changed"
    assert found.source_diff() == (
        "--- old\n+++ new\n@@ -1,2 +1,2 @@\n def normalise(x):\n"
        "-    return x - MEAN\n+    return (x - MEAN) / 2"
    )


def test_a_name_that_a_changed_body_uses_is_not_told_twice(load: Load) -> None:
    new = JOB.replace("x - MEAN", "x")
    assert told(load, JOB, new) == [
        "map(decode) > function decode > helper normalise: function normalise has changed"
    ]


def test_what_came_and_went(load: Load) -> None:
    new = JOB.replace('"width": 3', '"width": 3, "depth": 4').replace(
        '"height": [1, 2]', '"size": 0'
    )
    path = "map(decode) > function decode > global SIZES"
    assert told(load, JOB, new) == [
        f"{path} > key 'height': [1, 2] -> (absent)",
        f"{path} > key 'depth': (absent) -> 4",
        f"{path} > key 'size': (absent) -> 0",
    ]


def test_another_kind_of_thing(load: Load) -> None:
    new = JOB.replace("MEAN = 0.5", "MEAN = None")
    assert told(load, JOB, new) == [
        "map(decode) > function decode > helper normalise > global MEAN: 0.5 -> None"
    ]


def test_a_helper_used_twice_is_told_once(load: Load) -> None:
    job = JOB.replace("y = normalise(x)", "y = normalise(x) + again(x)")
    job += "\ndef again(x):\n    return normalise(x)\n"
    assert told(load, job, job.replace("0.5", "0.25")) == [
        "map(decode) > function decode > helper again > helper normalise > global MEAN: 0.5 -> 0.25"
    ]


def test_functions_that_call_each_other(load: Load) -> None:
    job = "N = 1\ndef decode(x): return even(x)\ndef even(x): return decode(x) + N\n"
    assert told(load, job, job.replace("N = 1", "N = 2")) == [
        "map(decode) > function decode > helper even > global N: 1 -> 2"
    ]


def test_arrays_show_what_they_hold() -> None:
    old, new = (fingerprint_of_value({"mean": np.array([n])}) for n in (1.0, 2.0))
    assert [str(found) for found in differences(old, new)] == [
        "key 'mean': float64 array of shape (1,): [1.0] -> float64 array of shape (1,): [2.0]"
    ]


def test_sets_show_their_items() -> None:
    old, new = fingerprint_of_value({"a", "b"}), fingerprint_of_value({"c", "b"})
    assert [str(found) for found in differences(old, new)] == [
        "set: set {'a', 'b'} -> set {'b', 'c'}"
    ]


def test_changed_versions_are_told_apart_from_changes() -> None:
    old = Facts("ab", "x", "x", versions={"numpy": "1.0", "gone": "1"})
    new = Facts("ab", "x", "x", versions={"numpy": "2.0", "come": "1"})
    assert differences(old, new) == []
    assert [str(found) for found in changed_versions(old, new)] == ["version of numpy: 1.0 -> 2.0"]


def test_strict_fingerprints_tell_versions(monkeypatch: Any) -> None:
    old = fingerprint_of_value(np.sort, strict=True)
    monkeypatch.setattr("keepset.core.fingerprint.value.library_version", lambda name: (name, "9"))
    [found] = differences(old, fingerprint_of_value(np.sort, strict=True), name="map(sort)")
    assert str(found) == f"map(sort) > version of numpy: {np.__version__} -> 9"


NESTED = st.recursive(
    st.integers(0, 2) | st.none() | st.text(max_size=1),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=1) | st.tuples(st.integers(0, 2)), inner, max_size=3)
        | st.frozensets(st.integers(0, 3), max_size=3)
    ),
)


@given(NESTED, NESTED)
def test_there_is_a_difference_exactly_when_digests_differ(one: Any, other: Any) -> None:
    old, new = fingerprint_of_value(one), fingerprint_of_value(other)
    assert bool(differences(old, new)) == (old.digest != new.digest)
    for found in differences(old, new):
        assert found.path
        assert found.old != found.new


ORDERED = (
    'FEATURES = {"age": 1, "height": 10}\n\ndef decode(x):\n    return [x[k] for k in FEATURES]\n'
)


def test_that_only_the_order_changed_is_said(load: Load) -> None:
    new = ORDERED.replace('"age": 1, "height": 10', '"height": 10, "age": 1')
    path = "map(decode) > function decode > global FEATURES"
    assert told(load, ORDERED, new) == [
        f"{path}: only the order of FEATURES changed (built from a set? sort it)"
    ]
    [found] = differences(stage(load(ORDERED)), stage(load(new)), name="map(decode)")
    assert (found.is_order, found.old, found.new) == (True, "'age', 'height'", "'height', 'age'")
    more = ORDERED.replace('"age": 1, "height": 10', '"height": 10, "age": 1, "width": 2')
    assert told(load, ORDERED, more) == [f"{path} > key 'width': (absent) -> 2"]
    other = ORDERED.replace('"age": 1, "height": 10', '"height": 10, "age": 2')
    assert told(load, ORDERED, other) == [
        f"{path} > key 'age': 1 -> 2",
        f"{path}: the order of FEATURES changed (built from a set? sort it)",
    ]
    nested = ORDERED.replace('{"age": 1, "height": 10}', '{"age": {"a": 1, "b": 2}, "height": 10}')
    both = ORDERED.replace('{"age": 1, "height": 10}', '{"height": 10, "age": {"b": 2, "a": 3}}')
    assert told(load, nested, both) == [
        f"{path} > key 'age' > key 'a': 1 -> 3",
        f"{path} > key 'age': the order of 'age' changed (built from a set? sort it)",
        f"{path}: the order of FEATURES changed (built from a set? sort it)",
    ]


def test_that_only_the_order_changed_is_said_of_every_mapping(load: Load) -> None:
    makers: dict[str, Callable[[list[int]], Any]] = {
        "plain": lambda keys: {k: k for k in keys},
        "of lists": lambda keys: {k: [len, k] for k in keys},
        "tuples": lambda keys: {(k, k): k for k in keys},
    }
    for make in makers.values():
        for size in (3, 300):
            keys = list(range(size))
            old, new = fingerprint_of_value(make(keys)), fingerprint_of_value(make(keys[::-1]))
            [found] = differences(old, new, name="map(f) > global N")
            assert str(found).endswith("only the order of N changed (built from a set? sort it)")
            [found] = differences(old, fingerprint_of_value(make([*keys[::-1], -1])), name="N")
            assert not found.is_order
