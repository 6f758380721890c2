"""Plain values and containers: equal values have equal digests, and others do not."""

from __future__ import annotations

import asyncio
import logging
import math
import pickle
import queue
import re
import socket
import struct
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset.core.fingerprint import fingerprint_of_value
from keepset.errors import FingerprintError, KeepsetError

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters())
    | st.binary()
    | st.complex_numbers(allow_nan=False)
)
HASHABLE = SCALARS | st.tuples(SCALARS, SCALARS) | st.frozensets(SCALARS, max_size=4)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(HASHABLE, inner, max_size=4)
        | st.sets(HASHABLE, max_size=4)
    ),
    max_leaves=10,
)


def digest(value: Any) -> str:
    return fingerprint_of_value(value).digest


def exact(value: Any) -> Any:
    """A value that is equal to another's exactly when types, signs and contents are."""
    if isinstance(value, float):
        return "float", struct.pack("<d", value)
    if isinstance(value, complex):
        return "complex", struct.pack("<dd", value.real, value.imag)
    if isinstance(value, list | tuple):
        return type(value).__name__, tuple(map(exact, value))
    if isinstance(value, set | frozenset):
        return type(value).__name__, frozenset(map(exact, value))
    if isinstance(value, dict):
        return "dict", tuple((exact(key), exact(item)) for key, item in value.items())
    return type(value).__name__, value


@given(VALUES)
def test_a_copy_has_the_same_digest(value: Any) -> None:
    assert digest(pickle.loads(pickle.dumps(value))) == digest(value)


@given(VALUES, VALUES)
def test_digests_are_equal_exactly_when_values_are(one: Any, other: Any) -> None:
    assert (digest(one) == digest(other)) == (exact(one) == exact(other))


@given(st.lists(st.tuples(HASHABLE, VALUES), max_size=6, unique_by=lambda pair: pair[0]), st.data())
def test_the_order_of_a_dict_counts(pairs: list[Any], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(pairs))
    same = exact(dict(pairs)) == exact(dict(shuffled))
    assert (digest(dict(pairs)) == digest(dict(shuffled))) == same


@given(st.lists(HASHABLE, max_size=6), st.data())
def test_the_order_of_a_set_does_not_count(items: list[Any], data: st.DataObject) -> None:
    kept = list(set(items))
    assert digest(set(kept)) == digest(set(data.draw(st.permutations(kept))))


@given(st.lists(st.integers(), min_size=90, max_size=120), st.integers(0, 89), st.integers())
def test_long_lists_count_item_by_item(items: list[int], at: int, other: int) -> None:
    changed = [*items[:at], other, *items[at + 1 :]]
    assert (digest(changed) == digest(items)) == (changed == items)
    assert digest(tuple(items)) != digest(items)
    assert digest(dict(enumerate(items))) != digest(dict(reversed(list(enumerate(items)))))
    assert (digest(dict(enumerate(items))) == digest(dict(enumerate(changed)))) == (
        changed == items
    )


def fresh() -> list[Any]:
    """Values of which no two are the same, made anew."""
    return [
        *(
            None,
            True,
            False,
            Ellipsis,
            NotImplemented,
            0,
            1,
            -1,
            255,
            256,
            -256,
            2**70,
            0.0,
            -0.0,
            1.0,
        ),
        *(float("nan"), float("inf"), 1j, -1j, complex(0.0, -0.0), complex(-0.0, 0.0)),
        *("", "1", "é", "e\u0301", "\ud800", b"", b"1", bytearray(b"1"), memoryview(b"1")),
        *(b"x" * (1 << 20), b"x" * (1 << 20) + b"y", bytearray(1 << 20), "x" * (1 << 20)),
        *(
            (),
            [],
            {},
            set(),
            frozenset(),
            (1,),
            [1],
            {1},
            frozenset({1}),
            {1: 1},
            {1: 1.0},
            {"1": 1},
        ),
        *([[1], 2], [1, [2]], [1, 2], [2, 1], [[1, 2]], ["ab", "c"], ["a", "bc"], [None], [[]]),
        *({(1, 2): 3}, {(1, 3): 2}, {frozenset({1}): 2}, {True: 1}, {None: 1}, [(1, 2)]),
        *(OrderedDict([(1, 2), (3, 4)]), OrderedDict([(3, 4), (1, 2)]), {1: 2, 3: 4}),
        *(range(3), range(1, 3), range(0, 3, 2), slice(3), slice(0, 3), slice(None, None, 2)),
        *(Path("a/b"), Path("a/c"), Path("/a/b"), "a/b"),
        *(re.compile("a"), re.compile("b"), re.compile("a", re.I), re.compile(b"a")),
        *(math, re, logging.getLogger("here")),
    ]


def test_no_two_of_these_are_the_same_and_each_is_stable() -> None:
    digests = [digest(value) for value in fresh()]
    assert digests == [digest(value) for value in fresh()]
    assert len(set(digests)) == len(digests)


def test_what_is_equal_by_meaning() -> None:
    other_nan = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_0000_0001))[0]
    assert digest(float("nan")) == digest(other_nan) == digest(-other_nan)
    assert digest(range(0)) == digest(range(5, 5))
    assert digest(MappingProxyType({1: 2})) == digest({1: 2})
    assert digest(PurePosixPath("a")) == digest(Path("a"))
    # A logger's name is often __name__, and it changes no result.
    assert digest(logging.getLogger("a")) == digest(logging.getLogger("b"))


def test_sharing_does_not_count() -> None:
    inner = [1, 2]
    assert digest([inner, inner]) == digest([[1, 2], [1, 2]])


def numbers() -> Iterator[int]:
    yield 1


async def waiting() -> int:
    return 1


def test_things_without_content_are_errors_that_name_them(tmp_path: Path) -> None:
    lock = threading.Lock()
    coroutine = waiting()
    with open(tmp_path / "file", "w") as file, socket.socket() as connection:
        things = {
            "a threading.Lock": lock,
            "a threading.RLock": threading.RLock(),
            "an open file": file,
            "a socket.socket": connection,
            "a generator": numbers(),
            "a coroutine": coroutine,
            "a threading.Thread": threading.Thread(),
            "a threading.Event": threading.Event(),
            "a threading.local": threading.local(),
            "a queue.Queue": queue.Queue(),
            "a map": map(str, [1]),
            "a list_iterator": iter([1]),
        }
        for said, thing in things.items():
            with pytest.raises(FingerprintError) as caught:
                fingerprint_of_value(thing, name="map(decode)")
            assert str(caught.value).startswith(f"map(decode) is {said}, which has no content")
            assert 'fingerprint="..."' in str(caught.value)
    asyncio.run(coroutine)


def test_the_error_names_the_way_to_the_variable() -> None:
    lock = threading.Lock()
    config = {"inner": [1, lock]}

    def helper() -> Any:
        return config

    def decode() -> Any:
        return lock

    def indirect() -> Any:
        return helper()

    with pytest.raises(
        FingerprintError, match=r"^map\(decode\) captures 'lock' \(a threading.Lock\)"
    ):
        fingerprint_of_value(decode, name="map(decode)")
    with pytest.raises(FingerprintError) as caught:
        fingerprint_of_value(indirect, name="map(f)")
    path = "map(f) > captured helper > captured config > key 'inner' > item 1"
    assert caught.value.path == path
    assert str(caught.value).startswith(f"{path.removesuffix(' > item 1')} holds item 1 (a thr")


def test_the_error_is_a_type_error_and_can_be_pickled() -> None:
    with pytest.raises(TypeError) as caught:
        fingerprint_of_value([threading.Lock()])
    assert isinstance(caught.value, KeepsetError)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.path) == (str(caught.value), "value > item 0")


def test_a_function_is_cheap_the_second_time() -> None:
    def decode(x: Any) -> Any:
        return math.sqrt(x)

    fingerprint_of_value(decode)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        fingerprint_of_value(decode)
        times.append(time.perf_counter() - start)
    # Usually a tenth of this; the machine may be busy.
    assert min(times) < 0.001
