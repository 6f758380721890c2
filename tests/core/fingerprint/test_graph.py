"""Values that contain themselves, and values nested without end in sight."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset.core.fingerprint import (
    differences,
    facts_from_json,
    facts_to_json,
    fingerprint_of_value,
)


def digest(value: Any) -> str:
    return fingerprint_of_value(value).digest


class Link:
    """One of a ring of objects."""

    def __init__(self, value: Any) -> None:
        self.value, self.next = value, self


def ring(values: Any) -> Link:
    links = [Link(value) for value in values]
    for link, following in zip(links, [*links[1:], links[0]], strict=True):
        link.next = following
    return links[0]


def test_a_list_that_contains_itself_has_a_digest() -> None:
    def looped(last: int) -> list[Any]:
        items: list[Any] = [1, last]
        items.append(items)
        return items

    assert digest(looped(2)) == digest(looped(2)) != digest(looped(3))
    assert digest(looped(2)) not in (digest([1, 2]), digest([1, 2, [1, 2]]))


def least_rotation_free(values: tuple[int, ...]) -> tuple[int, ...]:
    """The shortest word whose repetition gives the same endless walk around the ring."""
    for size in range(1, len(values) + 1):
        if len(values) % size == 0 and values[:size] * (len(values) // size) == values:
            return values[:size]
    return values


@given(
    st.lists(st.integers(0, 1), min_size=1, max_size=8),
    st.lists(st.integers(0, 1), min_size=1, max_size=8),
)
def test_rings_are_equal_exactly_when_walking_them_is(one: list[int], other: list[int]) -> None:
    same = least_rotation_free(tuple(one)) == least_rotation_free(tuple(other))
    assert (digest(ring(one)) == digest(ring(other))) == same


def test_long_rings_that_look_alike_from_their_entrance_differ() -> None:
    # Two orders of all words of four letters: any few steps alone cannot tell them apart.
    one = "0000100110101111"
    other = "0000101001101111"
    assert digest(ring(one)) != digest(ring(other))


def test_the_way_into_a_ring_does_not_change_its_members() -> None:
    first = ring([1, 2, 3])
    again = ring([1, 2, 3])
    digests = [digest(link) for link in (first, first.next, first.next.next)]
    assert digests == [digest(link) for link in (again, again.next, again.next.next)]
    assert len(set(digests)) == 3


def test_many_functions_that_call_each_other_take_no_time() -> None:
    def made(changed: int) -> Any:
        namespace: dict[str, Any] = {}
        names = [f"f{n}" for n in range(40)]
        calls = " + ".join(f"{name}(x)" for name in names)
        for n, name in enumerate(names):
            exec(f"def {name}(x): return {n + changed * (n == 39)} + {calls}", namespace)
        return namespace["f0"]

    assert digest(made(0)) == digest(made(0)) != digest(made(1))


def test_diamonds_take_no_time() -> None:
    value: Any = [1]
    for _ in range(200):
        value = [value, value]
    other: Any = [2]
    for _ in range(200):
        other = [other, other]
    assert digest(value) != digest(other)
    [found] = differences(fingerprint_of_value([[1], [1]]), fingerprint_of_value([[2], [2]]))
    assert (found.path, found.old, found.new) == ("item 0 > item 0", "1", "2")


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: {"a": inner}])
def test_nesting_deeper_than_the_stack_is_no_error(wrap: Any) -> None:
    def nested(value: Any) -> Any:
        for _ in range(20_000):
            value = wrap(value)
        return value

    old, new = fingerprint_of_value(nested(1)), fingerprint_of_value(nested(2))
    assert old.digest != new.digest
    assert facts_from_json(facts_to_json(old)) == old
    assert len(differences(old, new)) == 1


def test_objects_that_know_their_parents_have_a_digest() -> None:
    class Node:
        def __init__(self, name: str, parent: Any = None) -> None:
            self.name, self.parent, self.children = name, parent, []  # type: ignore[var-annotated]
            if parent is not None:
                parent.children.append(self)

    def tree(leaf: str) -> Node:
        root = Node("root")
        inner = Node("inner", root)
        Node(leaf, inner)
        return root

    assert digest(tree("a")) == digest(tree("a")) != digest(tree("b"))


def test_wide_values_are_not_spelled_out_but_count() -> None:
    one = [[n] for n in range(5000)]
    facts = fingerprint_of_value(one)
    assert facts.children == ()
    assert facts.digest != digest([*one[:-1], [0]])
    assert sum(1 for _ in itertools.islice(str(facts_to_json(facts)), 1000)) < 1000
