"""Held results: the values that ``lru_cache`` and ``cached_property`` hold for later calls.

What such a cache holds follows from the function that made it, so it need not count. That is no
longer so once it is changed: a vocabulary behind ``@cache def vocabulary(): return {}`` that the
program fills. Nothing tells a value that was changed from one that was made so, except its history:
one that appeared while a pass ran, and is still as it was then, was made by the functions of the
pass. All others count.

Of cached functions only those without arguments are looked at, which hold one value for the whole
program. The others are memos: tables of results that are not changed.
"""

from __future__ import annotations

import array
import collections
import functools
import gc
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from keepset.core.fingerprint.mask import Mask
from keepset.core.fingerprint.origin import is_library_class
from keepset.core.fingerprint.sketch import Part
from keepset.core.fingerprint.vertex import Vertex
from keepset.core.fingerprint.writers import is_random_generator

# What the result of a cached function is called, as an attribute of the function.
RESULT: Final = "result"
_LABEL: Final = f"cached {RESULT}"
_CONTAINERS = (list, dict, set, collections.deque, bytearray, array.array, np.ndarray)

# What holds a value, and the name of it: the id of a cached function or of an object.
Place = tuple[int, str]

# Of each value that appeared while a pass ran, the digest that it had then; None for the others.
_known: dict[Place, tuple[Callable[[], Any], bytes | None]] = {}
_MOST_KNOWN: Final = 10_000
_runs_pass: ContextVar[bool] = ContextVar("runs_pass", default=False)
_counts_all: ContextVar[bool] = ContextVar("counts_all", default=False)
_as_made: ContextVar[frozenset[Place]] = ContextVar("as_made", default=frozenset())


@contextmanager
def while_pass_runs() -> Iterator[None]:
    """Take what caches hold for the first time to be made by the functions of a pass."""
    token = _runs_pass.set(True)
    try:
        yield
    finally:
        _runs_pass.reset(token)


@contextmanager
def counting_results() -> Iterator[None]:
    """Count all values that caches hold, as in a process that has made them before."""
    token = _counts_all.set(True)
    try:
        yield
    finally:
        _counts_all.reset(token)


@contextmanager
def leaving_out(places: frozenset[Place]) -> Iterator[None]:
    """Do not count the values that are as functions made them."""
    token = _as_made.set(places)
    try:
        yield
    finally:
        _as_made.reset(token)


def is_cache(vertex: Vertex) -> bool:
    """Whether a value holds results for later calls: a cached function or property."""
    return isinstance(vertex.value, functools._lru_cache_wrapper | functools.cached_property)


def held_results(cached: Any) -> list[Any]:
    """The value that a cached function holds of its call without arguments, if there is one."""
    # The cache itself can only be had from Python's collector of garbage.
    found = gc.get_referents(cached)
    for table in found:
        if type(table) is not dict or table is getattr(cached, "__dict__", None):
            continue
        if () not in table:
            continue
        if type(table[()]).__name__ != "_lru_list_elem":
            if cached.cache_parameters()["maxsize"] is None:
                return [table[()]]
            continue
        # A bounded cache has its results in a list of pairs, which the collector spells out. If
        # another call has returned an empty tuple, too, it cannot be told which is the key.
        places = [i for i, each in enumerate(found) if type(each) is tuple and each == ()]
        return found[places[0] + 1 : places[0] + 2] if len(places) == 1 else []
    return []


def result_of_function(cached: Any) -> list[Part]:
    """What a cached function holds, as a part of it."""
    if (id(cached), RESULT) in _as_made.get():
        return []
    return [_part(_LABEL, value) for value in held_results(cached) if _can_change(value)]


def results_of_properties(owner: Any, names: Iterable[str]) -> list[Part]:
    """What the cached properties of an object hold, as parts of it."""
    left_out, held = _as_made.get(), getattr(owner, "__dict__", {})
    return [
        _part(f"attribute {name}", held[name])
        for name in names
        if name in held and (id(owner), name) not in left_out and _can_change(held[name])
    ]


def _part(label: str, value: Any) -> Part:
    found = Part(label, value, f"held {label}".encode("utf-8", "surrogatepass"))
    # It did not have to be comparable before it was made.
    found.optional = found.held = True
    return found


def _can_change(value: Any) -> bool:
    """Whether a program may change a value, and not only use it: data, objects of its classes."""
    if isinstance(value, tuple):
        return any(map(_can_change, value))
    if isinstance(value, _CONTAINERS):
        return True
    if is_random_generator(value):
        return True
    is_code = isinstance(value, type | FunctionType | ModuleType)
    return not is_code and not is_library_class(type(value))


def results_as_made(vertices: list[Vertex], moving: Mask) -> frozenset[Place]:
    """The values that are as the functions of a pass made them; remembers those that are new.

    Args:
        vertices: Those of a graph in which all held values count.
        moving: What its functions write; of these values the history says nothing.
    """
    if _counts_all.get():
        return frozenset()
    found: set[Place] = set()
    present: set[Place] = set()
    for vertex in vertices:
        for part, inner in vertex.edges:
            if not part.held:
                continue
            place = id(vertex.value), part.label.partition(" ")[2]
            present.add(place)
            if moving.hides_part(vertex, part) or (inner is not None and moving.hides(inner)):
                continue
            if _is_as_made(place, vertex.value, b"" if inner is None else inner.digest):
                found.add(place)
    reached = {id(vertex.value) for vertex in vertices} if _known else set()
    for place in [each for each in list(_known) if each[0] in reached and each not in present]:
        _known.pop(place, None)  # the cache was emptied
    return frozenset(found)


def _is_as_made(place: Place, owner: Any, digest: bytes) -> bool:
    known = _known.get(place)
    if known is None or known[0]() is not owner:
        reference: Callable[[], Any]
        try:
            reference = weakref.ref(owner, lambda _: _known.pop(place, None))
        except TypeError:
            # A tuple with attributes, which has no weak references, is held. There are few.
            reference = functools.partial(_same, owner)
        if len(_known) >= _MOST_KNOWN:
            _known.clear()  # then more counts than need be
        known = _known[place] = reference, digest if _runs_pass.get() else None
    return known[1] == digest


def _same(owner: Any) -> Any:
    return owner
