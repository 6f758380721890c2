"""Sharing: which values are reached in more than one way, where code can tell one from two alike.

A digest counts content, and one object has the same content as two that are alike. Code tells them
apart where it compares by identity (``is``, ``id``, keys of dicts, members of sets), where it
writes to the one and reads the other, as two functions that share a random generator do, and in
deep copies. Such values are marked. Every further way to a value that is marked, or leads to a
marked one, counts: the way itself, and the way by which it was met first.

Of a class there is one, as a rule, and code tells it from another in many ways: ``isinstance``,
``except``, members of enums. Two classes of one name, of a module that was imported twice or of a
notebook cell that was run again, are marked, and count wherever they are met.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import Enum
from itertools import islice
from types import FunctionType, ModuleType
from typing import Any

from keepset.core.cached import cached_property
from keepset.core.fingerprint.comparisons import (
    ITEM,
    Chain,
    copies_with_sharing,
    is_copier,
)
from keepset.core.fingerprint.facts import Facts, digest_of
from keepset.core.fingerprint.functions import comparisons_of_function
from keepset.core.fingerprint.graph import Graph, is_hidden
from keepset.core.fingerprint.ignore import SEPARATOR
from keepset.core.fingerprint.mask import Mask
from keepset.core.fingerprint.origin import is_library_class, is_library_function
from keepset.core.fingerprint.own_state import OwnState
from keepset.core.fingerprint.sketch import Part, shortened
from keepset.core.fingerprint.vertex import Vertex

LABEL = "shared objects"
_SETS = {"set", "frozenset"}
_INSIDE_KEYS = {"tuple", "frozenset", "namedtuple"}
_OF_CONTAINERS = ("item ", "key ", "an item")
_SINGLE = (type, ModuleType, Enum, type(None))
_IMMUTABLE = (*_SINGLE, tuple, frozenset, str, bytes, int, float, complex)
# How many items of a container are looked at of which one is compared.
_MOST_ITEMS = 1000
# How many of the shared values are named for people.
_NAMED = 3
# How far down the members of a set are looked at to tell them apart.
_DEEPEST = 3

_Edges = dict[Vertex, list[tuple[Part, Vertex]]]


class _Way:
    """A further way to a value that was met before: what holds it, and as which part."""

    __slots__ = ("digest", "holder", "label", "value")

    def __init__(self, digest: bytes, holder: Vertex | None, label: str, value: Vertex) -> None:
        self.digest, self.holder, self.label, self.value = digest, holder, label, value


class Sharing:
    """What of a graph is one object in several places, and counts."""

    def __init__(self, graph: Graph, moving: OwnState) -> None:
        self._graph, self._moving = graph, moving
        self._written = {owner for owner, _ in moving.names}
        self._written |= moving.values | moving.items | moving.keys.keys()
        self._twins = _twin_classes(graph)
        self._whole = self._ways(None)

    def joined(self, digests: dict[Vertex, bytes], mask: Mask | None = None) -> dict[Vertex, bytes]:
        """The digests of the roots, with what is shared below each.

        Args:
            digests: Those without.
            mask: What is left out in them.
        """
        found = {root: digests[root] for root in self._graph.roots}
        ways = self._ways(mask) if mask is not None and self._whole else self._whole
        for root, each in zip(self._graph.roots, ways, strict=False):
            if each:
                shared = sorted(way.digest for way in each)
                found[root] = digest_of(b"sharing", found[root], *shared)
        return found

    def told(self, root: Vertex, digest: bytes, facts: Facts) -> Facts:
        """The facts of a root, with what is shared below it.

        Args:
            root: Its vertex.
            digest: What ``joined`` has made of it.
            facts: Those without.
        """
        ways = [
            way
            for each, found in zip(self._graph.roots, self._whole, strict=False)
            if each is root
            for way in found
        ]
        if not ways:
            return facts
        texts = [self._text(way) for way in ways[:_NAMED]]
        more = f" and {len(ways) - _NAMED:,} more" if len(ways) > _NAMED else ""
        own = digest_of(*sorted(way.digest for way in ways)).hex()
        child = Facts(own, "sharing", "; ".join(texts) + more, own)
        return replace(facts, digest=digest.hex(), children=(*facts.children, (LABEL, child)))

    def _text(self, way: _Way) -> str:
        names = [way.label] if way.holder is None else [way.holder.label, way.label]
        first = [way.value.label]
        if way.value.parent is not None:
            first.insert(0, way.value.parent.label)
        shown = [SEPARATOR.join(map(self._graph.shown, each)) for each in (names, first)]
        return shortened(" is ".join(shown), 200)

    def _ways(self, mask: Mask | None) -> list[list[_Way]]:
        """For each root, the further ways to values that matter; none if there are none at all."""
        if not self._graph.met_again and not self._moving.names and not self._twins:
            return []
        edges = {vertex: list(_edges(vertex, mask)) for vertex in _visible(self._graph.roots, mask)}
        marked = self._marked(edges)
        if not marked:
            return []
        relevant = _leading_to(marked, edges)
        cells = self._written_cells(edges)
        is_single = relevant.isdisjoint(self._graph.met_again) and not self._twins
        if is_single and not _has_twice(cells.values()):
            return []
        return _Walk(self._graph, mask, edges, relevant, cells, self._twins).run()

    def _written_cells(self, vertices: Iterable[Vertex]) -> dict[Vertex, list[tuple[str, int]]]:
        """The variables of closures that functions write, by the functions that use them.

        Two functions may share a variable that holds a number.
        """
        names = self._moving.names
        found: dict[Vertex, list[tuple[str, int]]] = {}
        for vertex in vertices:
            if type(vertex.value) is FunctionType and vertex.value.__closure__:
                cells = zip(
                    vertex.value.__code__.co_freevars, vertex.value.__closure__, strict=True
                )
                written = [(name, id(cell)) for name, cell in cells if (id(cell), "") in names]
                if written:
                    found[vertex] = sorted(written)
        return found

    def _marked(self, edges: _Edges) -> set[Vertex]:
        """The values of which it matters that they are one."""
        compared, is_any, searches = self._compared(edges)
        mutable = self._shared_mutables() if self._tells_apart(edges) else set()
        pairs = {inner for found in edges.values() for part, inner in found if part.tag == b"pair"}
        marked = (self._twins & edges.keys()) | self._inside_large(edges)
        for vertex, found in edges.items():
            if (
                self._is_written(vertex)
                or id(vertex.value) in compared
                or vertex in mutable
                or (_compares_by_identity(vertex) and (is_any or _holds_nothing(vertex)))
            ):
                marked.add(vertex)
            is_set = vertex.sketch is not None and vertex.sketch.kind in _SETS
            for part, inner in found:
                if is_set or (vertex in pairs and part.tag == b"item 0"):
                    marked.update(filter(_is_found_by_identity, _inside_key(inner, edges)))
                elif searches and part.label.startswith(_OF_CONTAINERS):
                    marked.update(filter(_is_found_by_identity, (inner,)))
        return marked

    def _inside_large(self, edges: _Edges) -> set[Vertex]:
        """What is inside of large containers of which functions write any member."""
        todo = [vertex for vertex in edges if id(vertex.value) in self._moving.inside]
        found: set[Vertex] = set()
        while todo:
            for part, inner in edges[todo.pop()]:
                if inner not in found and part.tag != b"class":
                    found.add(inner)
                    todo.append(inner)
        return {each for each in found if not isinstance(each.value, _IMMUTABLE)}

    def _is_written(self, vertex: Vertex) -> bool:
        if id(vertex.value) in self._written:
            return True
        # A function that writes a variable of its closure or of its module.
        names = self._moving.names
        return type(vertex.value) is FunctionType and any(
            part.binding in names for part, _ in vertex.edges if part.binding is not None
        )

    def _tells_apart(self, vertices: Iterable[Vertex]) -> bool:
        """Whether a function copies or compares something of which nothing says what it is."""
        for vertex in vertices:
            if is_copier(vertex.value):
                return True  # also under another name: a default, an item
            if type(vertex.value) is FunctionType:
                found = comparisons_of_function(vertex.value)
                if found is not None and (found.anything or copies_with_sharing(vertex.value)):
                    return True
        return False

    def _shared_mutables(self) -> set[Vertex]:
        found = self._graph.met_again
        return {each for each in found if not isinstance(each.value, _IMMUTABLE)}

    def _compared(self, vertices: Iterable[Vertex]) -> tuple[set[int], bool, bool]:
        """What functions compare with ``is``, and whether they search containers.

        The ids of what the operands stand for; and whether one may stand for anything, because
        functions bind it anew.
        """
        ids: set[int] = set()
        is_any = searches = False
        for vertex in vertices:
            function = vertex.value
            if type(function) is not FunctionType:
                continue
            found = comparisons_of_function(function)
            if found is None:
                continue
            searches = searches or found.searches
            for chain in found.operands:
                values = self._operand(function, chain)
                is_any = is_any or values is None
                # There is one of each of these, wherever it is used.
                ids.update(id(each) for each in values or () if not isinstance(each, _SINGLE))
            for chain in found.equated:
                equated = self._operand(function, chain) or ()
                ids.update(id(each) for each in equated if type(each) is FunctionType)
        return ids, is_any, searches

    def _operand(self, function: FunctionType, chain: Chain) -> list[Any] | None:
        """What an operand stands for; None if functions bind it anew."""
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        place: tuple[int, str]
        try:
            if chain[0] in cells:
                place = id(cells[chain[0]]), ""
                value = cells[chain[0]].cell_contents
            else:
                place = id(function.__globals__), chain[0]
                value = function.__globals__[chain[0]]
            if place in self._moving.names:
                return None
            values = [value]
            for name in chain[1:]:
                if name == ITEM:
                    values = [item for each in values for item in _items(each)]
                    continue
                holders = [vars(each) if isinstance(each, ModuleType) else each for each in values]
                if any((id(each), name) in self._moving.names for each in holders):
                    return None
                values = [vars(each)[name] for each in values]
        except (KeyError, TypeError, ValueError):  # a builtin, a property, not assigned yet
            return None if place in self._moving.names else []
        return values


def _items(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = dict.values(value)
    elif not isinstance(value, list | tuple):
        return []
    return list(islice(value, _MOST_ITEMS))


class _Walk:
    """Goes through what matters, always in the same order, and notes what it meets again."""

    def __init__(
        self,
        graph: Graph,
        mask: Mask | None,
        edges: _Edges,
        relevant: set[Vertex],
        cells: dict[Vertex, list[tuple[str, int]]],
        twins: set[Vertex],
    ) -> None:
        self._graph, self._mask, self._edges, self._relevant = graph, mask, edges, relevant
        self._cells, self._twins = cells, twins
        self._places_of_cells: dict[int, bytes] = {}
        self._places: dict[Vertex, bytes] = {}
        self._ways: list[list[_Way]] = [[] for _ in graph.roots]
        # Sets, whose members have no order: what else leads to them is known when all is done.
        self._later: list[tuple[Vertex, int]] = []

    def run(self) -> list[list[_Way]]:
        for number, root in enumerate(self._graph.roots):
            if root in self._relevant:
                place = digest_of(b"root", str(number).encode())
                self._meet(place, None, root.label, root, number)
        while self._later:
            vertex, number = self._later.pop(0)
            place = digest_of(self._places[vertex], b"member")
            for part, child, label in self._members(vertex):
                inner = place if child in self._places else digest_of(place, label)
                self._meet(inner, vertex, part.label, child, number)
        return self._ways

    def _meet(
        self, place: bytes, holder: Vertex | None, label: str, vertex: Vertex, number: int
    ) -> None:
        if vertex in self._places:
            digest = digest_of(place, self._places[vertex])
            self._ways[number].append(_Way(digest, holder, label, vertex))
            return
        self._places[vertex] = place
        todo = [vertex]
        while todo:
            holder = todo.pop()
            if holder.sketch is not None and holder.sketch.kind in _SETS:
                self._later.append((holder, number))
                continue
            self._meet_cells(holder, number)
            fresh, counts = [], dict[bytes, int]()
            for part, child in self._sorted(holder):
                counts[part.tag] = counts.get(part.tag, -1) + 1
                at = str(counts[part.tag]).encode()
                place = digest_of(self._places[holder], part.tag, at)
                if child in self._places:
                    digest = digest_of(place, self._places[child])
                    self._ways[number].append(_Way(digest, holder, part.label, child))
                else:
                    self._places[child] = place
                    fresh.append(child)
                    if child in self._twins:
                        digest = digest_of(b"twin", place)
                        self._ways[number].append(_Way(digest, holder, part.label, child))
            todo += reversed(fresh)

    def _meet_cells(self, function: Vertex, number: int) -> None:
        for name, cell in self._cells.get(function, ()):
            place = digest_of(self._places[function], b"cell", name.encode())
            known = self._places_of_cells.setdefault(cell, place)
            if known is not place:
                way = _Way(digest_of(place, known), function, f"captured {name}", function)
                self._ways[number].append(way)

    def _sorted(self, vertex: Vertex) -> list[tuple[Part, Vertex]]:
        found = [edge for edge in self._edges[vertex] if edge[1] in self._relevant]
        if vertex.sketch is None or vertex.sketch.ordered:
            return found
        # Pairs of a dict have one tag, and stay in its order.
        return sorted(found, key=lambda edge: edge[0].tag)

    def _members(self, vertex: Vertex) -> Iterator[tuple[Part, Vertex, bytes]]:
        """The members of a set: those that were met elsewhere, then others that can be told apart.

        Of those that are alike and were not met elsewhere nothing says which comes first. What is
        shared below them does not count, so that it does not depend on where they are in memory.
        """
        members = [edge for edge in self._edges[vertex] if edge[1] in self._relevant]
        others = [(part, child) for part, child in members if child not in self._places]
        for part, child in members:
            if child in self._places:
                yield part, child, b""
        digests = self._digests
        labelled = [(self._label(child, digests[child], 0), part, child) for part, child in others]
        alike = Counter(label for label, _, _ in labelled)
        for label, part, child in sorted(labelled, key=lambda each: each[0]):
            if alike[label] == 1:
                yield part, child, label

    def _label(self, vertex: Vertex, digest: bytes, depth: int) -> bytes:
        """What tells a member apart: its content, and what it leads to that was met elsewhere."""
        if vertex in self._places:
            return digest_of(b"met", self._places[vertex])
        if depth == _DEEPEST:
            return digest
        inner = [
            digest_of(part.tag, self._label(child, b"", depth + 1))
            for part, child in self._sorted(vertex)
        ]
        is_set = vertex.sketch is not None and vertex.sketch.kind in _SETS
        return digest_of(digest, *(sorted(inner) if is_set else inner))

    @cached_property
    def _digests(self) -> dict[Vertex, bytes]:
        """Those of the members of all sets, found in one walk."""
        sets = [each for each in self._edges if each.sketch and each.sketch.kind in _SETS]
        members = [child for each in sets for _, child in self._edges[each]]
        if self._mask is None:
            return {vertex: vertex.digest for vertex in members}
        return self._graph.digests_without(self._mask, members)


def _has_twice(cells: Iterable[list[tuple[str, int]]]) -> bool:
    counts = Counter(cell for found in cells for _, cell in found)
    return any(count > 1 for count in counts.values())


def _visible(roots: Iterable[Vertex], mask: Mask | None) -> list[Vertex]:
    seen = dict.fromkeys(roots)
    todo = list(seen)
    while todo:
        for _, inner in _edges(todo.pop(), mask):
            if inner not in seen:
                seen[inner] = None
                todo.append(inner)
    return list(seen)


def _edges(vertex: Vertex, mask: Mask | None) -> Iterator[tuple[Part, Vertex]]:
    if vertex.sketch is not None and vertex.sketch.kind == "order":
        return  # another view of the keys of a dict
    for part, inner in vertex.edges:
        if inner is not None and (mask is None or not is_hidden(mask, vertex, part)):
            yield part, inner


def _leading_to(marked: set[Vertex], edges: _Edges) -> set[Vertex]:
    above: dict[Vertex, list[Vertex]] = {}
    for vertex, inner in edges.items():
        for _, child in inner:
            above.setdefault(child, []).append(vertex)
    found, todo = set(marked), list(marked)
    while todo:
        for holder in above.get(todo.pop(), ()):
            if holder not in found:
                found.add(holder)
                todo.append(holder)
    return found


def _inside_key(vertex: Vertex, edges: _Edges) -> Iterator[Vertex]:
    """A key or a member, and what it is compared by if it is a tuple."""
    todo, seen = [vertex], {vertex}
    while todo:
        each = todo.pop()
        yield each
        if each.sketch is not None and each.sketch.kind in _INSIDE_KEYS:
            inner = [child for _, child in edges.get(each, ()) if child not in seen]
            seen.update(inner)
            todo += inner


def _twin_classes(graph: Graph) -> set[Vertex]:
    """The classes of the user's of which there is another one with the same name."""
    found: dict[str, list[Vertex]] = {}
    for vertex in graph.vertices:
        if issubclass(type(vertex.value), type) and not is_library_class(vertex.value):
            found.setdefault(vertex.value.__name__, []).append(vertex)
    return {vertex for alike in found.values() if len(alike) > 1 for vertex in alike}


def _is_found_by_identity(vertex: Vertex) -> bool:
    """Whether a key, or an item that is searched, equals itself alone."""
    if type(vertex.value) is FunctionType:
        return not is_library_function(vertex.value)
    return _compares_by_identity(vertex)


def _compares_by_identity(vertex: Vertex) -> bool:
    kind = type(vertex.value)
    if vertex.sketch is None or vertex.sketch.kind != "object":
        return False
    if kind is object:
        return True
    if is_library_class(kind):
        return False
    # Not by attributes of the class, of which a metaclass may make anything.
    definers = [base for base in type.__getattribute__(kind, "__mro__") if "__eq__" in vars(base)]
    decides = any("__keepset_fingerprint__" in vars(base) for base in kind.__mro__)
    return definers[:1] == [object] and not decides


def _holds_nothing(vertex: Vertex) -> bool:
    return all(part.tag == b"class" for part, _ in vertex.edges)
