"""Objects that come with Python count by content, also where copying does not know it."""

from __future__ import annotations

import array
import collections
import contextvars
import ctypes
import decimal
import functools
import gc
import hashlib
import io
import itertools
import operator
import os
import random
import re
import string
import struct
import sys
import types
import typing
import weakref
import zoneinfo
from collections.abc import Callable
from typing import Any

import pytest

from keepset.core.fingerprint import fingerprint_of_value
from keepset.errors import FingerprintError


class Point(ctypes.Structure):
    _fields_ = (("x", ctypes.c_int), ("name", ctypes.c_char_p))


class Line(ctypes.Structure):
    _fields_ = (("start", Point), ("lengths", ctypes.c_double * 2))


class Either(ctypes.Union):
    _fields_ = (("whole", ctypes.c_int), ("part", ctypes.c_float))


class Thing:
    def __init__(self, n: int) -> None:
        self.n = n

    def go(self) -> int:
        return self.n


def compared(one: Any, other: Any) -> int:
    return 1


def compared_otherwise(one: Any, other: Any) -> int:
    return -1


THINGS = [Thing(1), Thing(2)]


def digest(value: Any) -> str:
    return fingerprint_of_value(value).digest


def variable(value: Any = None, name: str = "scale") -> contextvars.ContextVar[Any]:
    made: contextvars.ContextVar[Any] = contextvars.ContextVar(name)
    if value is not None:
        made.set(value)
    return made


def filled(kind: Any, items: Any) -> Any:
    made = kind()
    for key, item in items:
        made[key] = item
    return made


def moved(file: Any, to: int) -> Any:
    file.seek(to)
    return file


def fresh() -> dict[str, list[Callable[[], Any]]]:
    return {
        "struct": [lambda: struct.Struct("<i"), lambda: struct.Struct("<q")],
        "context variable": [
            variable,
            lambda: variable(1),
            lambda: variable(2),
            lambda: variable(1, "shift"),
            lambda: contextvars.ContextVar("scale", default=3),
        ],
        "cmp_to_key": [
            lambda: functools.cmp_to_key(compared),
            lambda: functools.cmp_to_key(compared_otherwise),
            lambda: functools.cmp_to_key(compared)(1),
        ],
        "structure": [
            lambda: Point(1, b"a"),
            lambda: Point(2, b"a"),
            lambda: Point(1, b"b"),
            lambda: Line(Point(1), (0.5, 1)),
            lambda: Line(Point(1), (1, 0.5)),
            lambda: Either(1),
            lambda: Either(2),
        ],
        "ctypes": [
            lambda: ctypes.c_int(1),
            lambda: ctypes.c_int(2),
            lambda: ctypes.c_double(1),
            lambda: (ctypes.c_int * 2)(1, 2),
            lambda: (ctypes.c_int * 2)(2, 1),
            lambda: (Point * 1)(Point(3)),
            lambda: ctypes.create_string_buffer(b"a"),
            lambda: ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: 1),
            lambda: ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: 2),
        ],
        "match": [
            lambda: re.search("b", "abc"),
            lambda: re.search("b", "aabc"),
            lambda: re.search("(b)", "abc"),
        ],
        "decimal context": [
            lambda: decimal.Context(5),
            lambda: decimal.Context(6),
            lambda: decimal.Context(5, decimal.ROUND_UP),
        ],
        "weak references": [
            lambda: weakref.ref(THINGS[0]),
            lambda: weakref.ref(THINGS[1]),
            lambda: weakref.WeakMethod(THINGS[0].go),
            lambda: weakref.WeakSet(THINGS),
            lambda: weakref.WeakSet(THINGS[:1]),
            lambda: filled(weakref.WeakValueDictionary, [("a", THINGS[0])]),
            lambda: filled(weakref.WeakValueDictionary, [("a", THINGS[1])]),
            lambda: filled(weakref.WeakKeyDictionary, [(THINGS[0], 1)]),
            lambda: filled(weakref.WeakKeyDictionary, [(THINGS[0], 2)]),
        ],
        "files in memory": [
            lambda: io.BytesIO(b"ab"),
            lambda: io.BytesIO(b"ac"),
            lambda: moved(io.BytesIO(b"ab"), 1),
            lambda: io.StringIO("ab"),
            lambda: moved(io.StringIO("ab"), 1),
        ],
        "iterators": [
            itertools.count,
            lambda: itertools.count(1),
            lambda: itertools.count(0, 2),
            lambda: itertools.cycle([1, 2]),
            lambda: itertools.cycle([2, 1]),
            lambda: itertools.repeat(1, 3),
        ],
        "operators": [
            lambda: operator.itemgetter(1),
            lambda: operator.itemgetter(1, 2),
            lambda: operator.attrgetter("a"),
            lambda: operator.methodcaller("a", 1),
            lambda: operator.methodcaller("a", b=1),
        ],
        "views": [
            lambda: {"a": 1}.keys(),
            lambda: {"b": 1}.keys(),
            lambda: {"a": 1}.values(),
            lambda: {"a": 2}.values(),
            lambda: {"a": 1}.items(),
            lambda: memoryview(b"abcd").cast("H"),
            lambda: memoryview(b"abcd").cast("h"),
            lambda: memoryview(b"abcd").cast("B", (2, 2)),
            lambda: memoryview(b"abcd"),
            lambda: memoryview(b"abcd")[::2],
        ],
        "types": [
            lambda: list[int],
            lambda: list[str],
            lambda: typing.List["int"],  # noqa: UP006
            lambda: typing.Annotated[int, 1],
            lambda: typing.Annotated[int, 2],
            lambda: typing.Literal[1],
            lambda: typing.Literal[2],
            lambda: typing.TypeVar("T", bound=int),
            lambda: typing.TypeVar("T", bound=str),
            lambda: typing.NewType("N", int),
            lambda: typing.NewType("N", str),
        ],
        "others": [
            lambda: array.array("i", [1]),
            lambda: array.array("i", [2]),
            lambda: array.array("l", [1]),
            lambda: collections.deque([1], 2),
            lambda: collections.deque([1], 3),
            lambda: collections.ChainMap({"a": 1}, {"b": 2}),
            lambda: collections.ChainMap({"b": 2}, {"a": 1}),
            lambda: types.SimpleNamespace(a=1),
            lambda: types.MappingProxyType({"a": 1}),
            lambda: types.CellType(1),
            lambda: types.CellType(2),
            lambda: hashlib.sha256(b"a"),
            lambda: hashlib.sha256(b"b"),
            lambda: string.Template("a"),
            lambda: string.Template("b"),
            lambda: random.Random(1),
            lambda: random.Random(2),
            lambda: zoneinfo.ZoneInfo("Europe/Paris"),
            lambda: zoneinfo.ZoneInfo("Europe/Rome"),
            lambda: ValueError("a"),
            lambda: ValueError("b"),
            lambda: slice(1, 2),
            lambda: range(3),
        ],
    }


@pytest.mark.parametrize("sort", fresh())
def test_they_count_by_content(sort: str) -> None:
    digests = [digest(make()) for make in fresh()[sort]]
    assert digests == [digest(make()) for make in fresh()[sort]]
    assert len(set(digests)) == len(digests)


def test_what_a_calculation_met_does_not_change_a_context() -> None:
    context = decimal.Context(3)
    before = digest(context)
    context.divide(decimal.Decimal(1), decimal.Decimal(3))
    assert digest(context) == before


def test_an_address_has_no_content() -> None:
    number = ctypes.c_int(1)
    for value in (ctypes.pointer(number), ctypes.c_void_p(5)):
        with pytest.raises(FingerprintError, match="a pointer of ctypes"):
            fingerprint_of_value(value)


def test_a_reference_to_what_is_gone_counts_as_none() -> None:
    one, other = Thing(1), Thing(2)
    references = weakref.ref(one), weakref.ref(other)
    assert digest(references[0]) != digest(references[1])
    del one, other
    gc.collect()
    assert digest(references[0]) == digest(references[1])


def test_the_streams_of_a_process_count_by_name() -> None:
    assert digest(sys.stderr) == digest(sys.stderr)


def test_the_environment_as_a_value_counts_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest(os.environ)
    assert digest(os.environ) == before
    monkeypatch.setenv("KEEPSET_TEST_OF_THE_SESSION", "1")
    assert digest(os.environ) != before
