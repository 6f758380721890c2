"""Sharing: which values are reached in more than one way, where code can tell one from two alike.

A digest counts content, and one object has the same content as two that are alike. Code tells them
apart where it compares by identity (``is``, ``id``, keys of dicts, members of sets), and where it
writes to the one and reads the other: two functions that share a random generator draw other
numbers than two with a generator each. Of such values the places count at which they are held.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import FunctionType, ModuleType

from keepset.core.fingerprint.facts import Facts, digest_of
from keepset.core.fingerprint.graph import Graph, is_hidden
from keepset.core.fingerprint.ignore import SEPARATOR
from keepset.core.fingerprint.mask import Mask
from keepset.core.fingerprint.origin import is_library_class
from keepset.core.fingerprint.own_state import OwnState
from keepset.core.fingerprint.sketch import Part, shortened
from keepset.core.fingerprint.vertex import Vertex

LABEL = "shared objects"
_SETS = {"set", "frozenset"}
_SEQUENCES = {"list", "tuple", "deque"}
_CODE = (type, FunctionType, ModuleType)
# How far up the places of a value are told apart.
_LEVELS = 4
# How many values are named for people, and how many places of each.
_NAMED = 3

# What holds a value, and as which part; None for a value that was given itself.
_Place = tuple[Vertex | None, bytes, str]
_Labels = dict[Vertex | None, bytes]


class Sharing:
    """The values of a graph of which it counts whether they are one or several."""

    def __init__(self, graph: Graph, moving: OwnState) -> None:
        self._graph, self._moving = graph, moving
        self._pairs: set[Vertex] = set()
        self._candidates: set[Vertex] = set()
        # In most graphs nothing but functions and classes is met again.
        met_again = [each for each in graph.met_again if not isinstance(each.value, _CODE)]
        if met_again:
            self._pairs = set(_pairs(graph.vertices))
            places = _places(graph, None)
            self._candidates = {
                each for each in met_again if self._matters(each, places.get(each, []))
            }

    def joined(self, digests: dict[Vertex, bytes], mask: Mask | None = None) -> dict[Vertex, bytes]:
        """The digests of the roots, with what is shared below each.

        Args:
            digests: Those without.
            mask: What is left out in them.
        """
        found = {root: digests[root] for root in self._graph.roots}
        if not self._candidates:
            return found
        places = _places(self._graph, mask)
        shared = {each for each in self._candidates if len(places.get(each, ())) > 1}
        labels = self._labels(shared, places, mask)
        each_one = {
            each: digest_of(b"shared", *_positions(places[each], labels)) for each in shared
        }
        for root in found:
            here = sorted(each_one[each] for each in _visible([root], mask) if each in shared)
            if here:
                found[root] = digest_of(b"sharing", found[root], *here)
        return found

    def told(self, root: Vertex, facts: Facts) -> Facts:
        """The facts of a root, with what is shared below it."""
        digest = self.joined({each: each.digest for each in self._graph.roots})[root]
        if digest == root.digest:
            return facts
        places = _places(self._graph, None)
        shared = [each for each in self._graph.reachable(root) if each in self._candidates]
        texts = [_text(places[each]) for each in shared[:_NAMED]]
        more = f" and {len(shared) - _NAMED:,} more" if len(shared) > _NAMED else ""
        own = digest_of(digest).hex()
        child = Facts(own, "sharing", "; ".join(texts) + more, own)
        return replace(facts, digest=digest.hex(), children=(*facts.children, (LABEL, child)))

    def _matters(self, vertex: Vertex, places: list[_Place]) -> bool:
        """Whether code can tell one such value at two places from two."""
        if len(places) < 2:
            return False
        key = id(vertex.value)
        written, moving = {owner for owner, _ in self._moving.names}, self._moving
        if key in moving.values or key in moving.items or key in moving.keys or key in written:
            return True
        if not _compares_by_identity(vertex):
            return False
        holds_nothing = all(part.tag == b"class" for part, _ in vertex.edges)
        return (
            holds_nothing or self._graph.comparisons.by_is or any(map(self._is_compared_at, places))
        )

    def _is_compared_at(self, place: _Place) -> bool:
        holder, tag, _ = place
        if holder is None or holder.sketch is None:
            return False
        if holder.sketch.kind in _SETS or (holder in self._pairs and tag == b"item 0"):
            return True
        return self._graph.comparisons.by_in and holder.sketch.kind in _SEQUENCES

    def _labels(
        self, shared: set[Vertex], places: dict[Vertex, list[_Place]], mask: Mask | None
    ) -> _Labels:
        """What tells the holders of shared values apart: their content, and where they are."""
        levels = [_holders(shared, places)]
        for _ in range(_LEVELS - 1):
            levels.append(_holders(levels[-1], places))
        above = {each for level in levels for each in level}
        if mask is None:
            labels: _Labels = {each: each.digest for each in above}
        else:
            masked = self._graph.digests_without(mask, list(above))
            labels = {each: masked[each] for each in above}
        labels[None] = b"root"
        for level in levels[-2::-1]:
            found: _Labels = {
                each: digest_of(labels[each], *_positions(places[each], labels)) for each in level
            }
            labels |= found
        return labels


def _places(graph: Graph, mask: Mask | None) -> dict[Vertex, list[_Place]]:
    """Where each value is held, as far as the mask shows it."""
    places: dict[Vertex, list[_Place]] = {}
    for root in graph.roots:
        places.setdefault(root, []).append((None, b"root", root.label))
    for vertex in _visible(graph.roots, mask):
        if vertex.sketch is not None and vertex.sketch.kind == "order":
            continue  # another view of the keys of a dict
        for part, inner in _edges(vertex, mask):
            places.setdefault(inner, []).append((vertex, part.tag, part.label))
    return places


def _visible(roots: Iterable[Vertex], mask: Mask | None) -> Iterator[Vertex]:
    seen = dict.fromkeys(roots)
    todo = list(seen)
    while todo:
        vertex = todo.pop()
        yield vertex
        for _, inner in _edges(vertex, mask):
            if inner not in seen:
                seen[inner] = None
                todo.append(inner)


def _edges(vertex: Vertex, mask: Mask | None) -> Iterator[tuple[Part, Vertex]]:
    for part, inner in vertex.edges:
        if inner is not None and (mask is None or not is_hidden(mask, vertex, part)):
            yield part, inner


def _pairs(vertices: Iterable[Vertex]) -> Iterator[Vertex]:
    """The pairs of a key and an item that stand for what a dict holds."""
    for vertex in vertices:
        for part, inner in vertex.edges:
            if part.tag == b"pair" and inner is not None:
                yield inner


def _compares_by_identity(vertex: Vertex) -> bool:
    kind = type(vertex.value)
    if vertex.sketch is None or vertex.sketch.kind != "object":
        return False
    if hasattr(kind, "__keepset_fingerprint__"):
        return False  # the class says what counts
    return kind is object or (
        getattr(kind, "__eq__", None) is object.__eq__ and not is_library_class(kind)
    )


def _holders(values: Iterable[Vertex], places: dict[Vertex, list[_Place]]) -> set[Vertex]:
    return {holder for each in values for holder, _, _ in places[each] if holder is not None}


def _positions(places: list[_Place], labels: _Labels) -> list[bytes]:
    return sorted(digest_of(labels[holder], tag) for holder, tag, _ in places)


def _text(places: list[_Place]) -> str:
    names = [
        label if holder is None else SEPARATOR.join((holder.label, label))
        for holder, _, label in places[:_NAMED]
    ]
    return shortened(" is ".join(names), 200)
