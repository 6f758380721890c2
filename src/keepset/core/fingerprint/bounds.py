"""Bounds: when a walk over values gives up, because it would not end or not fit into memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from keepset.core.fingerprint.sketch import Sketch, Uncountable
from keepset.core.fingerprint.vertex import Vertex
from keepset.errors import FingerprintError

# Values of a graph; each takes about 300 bytes.
MAX_VALUES = 5_000_000
# Objects on the way to one object. Lists in lists may be deeper.
MAX_OBJECTS_DEEP = 100_000
# So many classes of one name on the way to an object are made by the walk itself (MagicMock).
_MAX_TWINS = 50
# At these depths it is checked whether objects make others when they are looked at.
_CHECKED_EVERY, _LOOKED_BACK = 500, 30


class Bounds:
    """Watches one walk; raises FingerprintError where it should not go on."""

    def __init__(self, rule: Callable[[Any], Sketch]) -> None:
        self._rule = rule

    def check(self, vertex: Vertex, values: int) -> None:
        """Look at a vertex that is about to be expanded, in a graph of so many values."""
        if values > MAX_VALUES:
            raise _gave_up(vertex, f"after {values:,} values")
        deep = vertex.objects
        if deep < _MAX_TWINS or deep % _MAX_TWINS:
            return
        if deep >= MAX_OBJECTS_DEEP:
            raise _gave_up(vertex, f"at {deep:,} objects inside each other")
        above = _objects_above(vertex, 2 * _MAX_TWINS)
        names = {(type(each.value).__module__, type(each.value).__qualname__) for each in above}
        types = {type(each.value) for each in above}
        if len(types) - len(names) >= _MAX_TWINS // 2:
            raise _gave_up(vertex, "where each object has a class of its own, as mocks have")
        if deep % _CHECKED_EVERY == 0 and self._are_made_anew(above[:_LOOKED_BACK]):
            raise _gave_up(vertex, "where objects make new ones whenever they are looked at")

    def _are_made_anew(self, vertices: list[Vertex]) -> bool:
        """Whether looking at the objects again gives other objects than the first time."""
        fresh = 0
        for vertex in vertices:
            before = {id(inner.value) for _, inner in vertex.edges if inner is not None}
            again = self._rule(vertex.value)
            made = [part.value for part in again.parts if id(part.value) not in before]
            fresh += any(map(_has_attributes, made))
        return fresh > len(vertices) // 2


def _has_attributes(value: Any) -> bool:
    kind = type(value)
    return bool(kind.__dictoffset__) and not issubclass(kind, type)


def bounded(items: Iterable[Any]) -> list[Any]:
    """The items that an object says a copy of it would get, which may be without end."""
    found = list(itertools.islice(items, MAX_VALUES + 1))
    if len(found) > MAX_VALUES:
        raise Uncountable(f"an object of more than {MAX_VALUES:,} items")
    return found


def _objects_above(vertex: Vertex, limit: int) -> list[Vertex]:
    found: list[Vertex] = []
    step = vertex.parent
    while step is not None and len(found) < limit:
        if step.sketch is not None and step.sketch.kind == "object":
            found.append(step)
        step = step.parent
    return found


def _gave_up(vertex: Vertex, where: str) -> FingerprintError:
    *above, last = vertex.labels()
    if len(above) > 6:
        above = [*above[:3], "...", *above[-2:]]
    path = " > ".join([*above, last])
    first = vertex.labels()[1] if len(vertex.labels()) > 1 else last
    return FingerprintError(
        f"{path}: the fingerprint gave up {where}; leave the value out with "
        f'ignore=["{first}"], give its class a __keepset_fingerprint__ method, or pass '
        'fingerprint="..." with a text that you change whenever the result does',
        path=path,
    )
