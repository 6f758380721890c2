"""Stale caches: results that ``lru_cache`` holds of another version of what its function uses.

What such a cache holds follows from the function, and does not count. That is no longer so when a
variable of the function has changed since: then the program goes on with results of both.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from keepset.core.fingerprint.mask import Mask
from keepset.core.fingerprint.vertex import Vertex

# Of each cached function, the digest with which it was seen first, and whether it had others since.
_seen: dict[int, tuple[weakref.ref[Any], bytes, bool]] = {}

_stale: ContextVar[frozenset[int]] = ContextVar("stale", default=frozenset())
# Which results a stale cache holds is not known: what is made of them is for this process alone.
_THIS_PROCESS = os.urandom(16)


@contextmanager
def counting_stale(ids: frozenset[int]) -> Iterator[None]:
    """Count that these caches hold results of several versions."""
    token = _stale.set(ids)
    try:
        yield
    finally:
        _stale.reset(token)


def stale_mark(value: Any) -> bytes | None:
    """What a cache counts by that holds results of several versions; None for others."""
    return _THIS_PROCESS if id(value) in _stale.get() else None


def stale_caches(
    vertices: Iterable[Vertex], moving: Mask, digest: Callable[[Any], bytes]
) -> frozenset[int]:
    """The ids of cached functions that hold results of several versions; remembers this one.

    Of those that lead to state of the functions' own, which moves, nothing can be said.

    Args:
        vertices: Those of a graph.
        moving: What its functions write.
        digest: That of a function alone, whatever else the pipeline reads or ignores.
    """
    found = set()
    for vertex in vertices:
        if vertex.sketch is None or vertex.sketch.kind != "cached function":
            continue
        if not _leads_to(vertex, moving) and _is_stale(vertex.value, digest(vertex.value)):
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
