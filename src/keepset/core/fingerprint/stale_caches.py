"""Stale caches: results that ``lru_cache`` holds of another version of what its function uses.

What such a cache holds follows from the function, and does not count. That is no longer so when a
variable of the function has changed since: then the program goes on with results of both.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from keepset.core.fingerprint.sketch import Part
from keepset.core.fingerprint.vertex import Vertex

# Of each cached function, the digest with which it was seen first, and whether it had others since.
_seen: dict[int, tuple[weakref.ref[Any], bytes, bool]] = {}

_counted: ContextVar[frozenset[int]] = ContextVar("stale", default=frozenset())


class Mask(Protocol):
    """What of a graph moves."""

    def hides(self, vertex: Vertex) -> bool: ...

    def hides_part(self, vertex: Vertex, part: Part) -> bool: ...

    def hidden_keys(self, vertex: Vertex) -> frozenset[Any]: ...


@contextmanager
def counting_stale(ids: frozenset[int]) -> Iterator[None]:
    """Count that these caches hold results of several versions."""
    token = _counted.set(ids)
    try:
        yield
    finally:
        _counted.reset(token)


def is_counted_stale(value: Any) -> bool:
    return id(value) in _counted.get()


def stale_caches(vertices: Iterable[Vertex], moving: Mask) -> frozenset[int]:
    """The ids of cached functions that hold results of several versions; remembers this one.

    Of those that lead to state of the functions' own, which moves, nothing can be said.
    """
    found = set()
    for vertex in vertices:
        if vertex.sketch is None or vertex.sketch.kind != "cached function":
            continue
        if not _leads_to(vertex, moving) and _is_stale(vertex.value, vertex.digest):
            found.add(id(vertex.value))
    return frozenset(found)


def _leads_to(vertex: Vertex, moving: Mask) -> bool:
    found, todo = {vertex}, [vertex]
    while todo:
        each = todo.pop()
        if moving.hides(each) or moving.hidden_keys(each):
            return True
        for part, inner in each.edges:
            if moving.hides_part(each, part):
                return True
            if inner is not None and inner not in found:
                found.add(inner)
                todo.append(inner)
    return False


def _is_stale(value: Any, digest: bytes) -> bool:
    key, is_stale = id(value), False
    known = _seen.get(key)
    is_known = known is not None and known[0]() is value
    if known is not None and is_known and value.cache_info().currsize:
        first = known[1]
        is_stale = known[2] or first != digest
        digest = first

    def forget(_: object) -> None:
        _seen.pop(key, None)

    _seen[key] = weakref.ref(value, forget), digest, is_stale
    return is_stale
