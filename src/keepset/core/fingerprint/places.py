"""Places: what holds the state that functions move, and what each holds now."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any, Final

from keepset.core.fingerprint.graph import Graph, is_left_out
from keepset.core.fingerprint.ignore import SEPARATOR
from keepset.core.fingerprint.own_state import OwnState
from keepset.core.fingerprint.sketch import Part
from keepset.core.fingerprint.stamps import living, stamps_of
from keepset.core.fingerprint.vertex import Vertex
from keepset.core.record import record

# The stamp of what holds state, or that and a name in it.
Place = Any
# What a name holds that is not bound yet, and what a name holds that is None.
_UNSET: Final = "unset"


@record
class StateAt:
    """What one place holds.

    Attributes:
        path: The way to it, as ``explain`` prints it; empty where nothing is spelled out.
        digest: Of what it holds.
    """

    path: str
    digest: str

    @property
    def is_unset(self) -> bool:
        """Whether it holds nothing yet, or None."""
        return self.digest == _UNSET


def places_in(moving: OwnState, graph: Graph, *, spelled_out: bool) -> dict[Place, StateAt]:
    """Where functions hold state that counts in a graph, also names that are not bound yet.

    What the user ignores, and what functions write elsewhere, is not among them. Objects go by
    their stamps: the next one with the same id is another place.
    """
    if not moving:
        stamps_of({}, ())  # lets go of what is gone
        return {}
    reached = {id(vertex.value): vertex.value for vertex in graph.vertices}
    parts = {part.binding: (v, part) for v in graph.vertices for part, _ in v.edges if part.binding}
    bound = {owner for owner, _ in parts}
    known = reached | _spaces(moving, reached, bound)
    left_out = set(graph.left_out_names())
    contents = {*moving.values, *moving.items, *moving.keys} & reached.keys()
    holding = {owner for owner, _ in moving.names} & known.keys()
    stamps = stamps_of(known, contents | holding)
    vertices = {id(v.value): v for v in graph.vertices if id(v.value) in contents | holding}
    shown = graph.shown if spelled_out else None
    found: dict[Place, StateAt] = {}
    for owner, name in moving.names:
        if (owner in known or owner in bound) and (owner, name) not in left_out:
            place = (stamps.get(owner, owner), name)
            found[place] = _state_of_name(graph, vertices, parts, owner, name, shown)
    for each in contents:
        vertex = vertices[each]
        found[stamps[each]] = StateAt(_path(vertex, None, shown), vertex.digest.hex())
    return found


def _spaces(moving: OwnState, reached: Mapping[int, Any], bound: set[int]) -> dict[int, Any]:
    """The namespaces and cells of functions, by their ids."""
    spaces: dict[int, Any] = {}
    for value in reached.values():
        if type(value) is FunctionType:
            spaces[id(value.__globals__)] = value.__globals__
            spaces |= {id(cell): cell for cell in value.__closure__ or ()}
    # A module of which only variables are used, and no function; or one of a helper elsewhere.
    owners = bound | {owner for owner, _ in moving.names}
    if not owners <= reached.keys() | spaces.keys():
        modules = [each for each in list(sys.modules.values()) if isinstance(each, ModuleType)]
        spaces = {id(vars(each)): vars(each) for each in modules} | spaces
    return spaces


def _state_of_name(
    graph: Graph,
    vertices: Mapping[int, Vertex],
    parts: Mapping[tuple[int, str], tuple[Vertex, Part]],
    owner: int,
    name: str,
    shown: Callable[[str], str] | None,
) -> StateAt:
    vertex, part = parts.get((owner, name), (None, None))
    if vertex is None:
        vertex = vertices.get(owner)
        part = None if vertex is None else _attribute(vertex, name)
    if vertex is None:
        return StateAt(f"global {name}", _UNSET)
    path = _path(vertex, part.label if part is not None else f"attribute {name}", shown)
    if part is None or part.value is None:
        return StateAt(path, _UNSET)
    inner = next((inner for each, inner in vertex.edges if each is part), None)
    digest = graph.leaf_digest(part.value) if inner is None else inner.digest
    return StateAt(path, digest.hex())


def _attribute(vertex: Vertex, name: str) -> Part | None:
    words = ("attribute", "cached", "method")
    labels = {f"{word} {name}" for word in words}
    return next((part for part, _ in vertex.edges if part.label in labels), None)


def _path(vertex: Vertex, last: str | None, shown: Callable[[str], str] | None) -> str:
    if shown is None:
        return ""
    labels = vertex.labels() if last is None else [*vertex.labels(), last]
    return SEPARATOR.join(map(shown, labels))


def places_met(moving: OwnState, graph: Graph, places: set[Place]) -> tuple[set[Place], set[Place]]:
    """Which of some places the functions of a graph reach, and which of these they write."""
    ids = living(each[0] if isinstance(each, tuple) else each for each in places)
    named: dict[tuple[int, str], Place] = {}
    held: dict[int, Place] = {}
    for place in places:
        if not isinstance(place, tuple):
            if place in ids:
                held[ids[place]] = place
        elif (owner := ids.get(place[0])) is not None:
            named[owner, place[1]] = place
    owners = {owner for owner, _ in named}
    met: set[Place] = set()
    reached: set[int] = set()
    for vertex in graph.vertices:
        key = id(vertex.value)
        reached.add(key)
        if key in held:
            met.add(held[key])
        for part, _ in vertex.edges:
            if part.binding in named and not is_left_out(part):
                met.add(named[part.binding])
        if key in owners:
            read = {name for owner, name in named if owner == key and _attribute(vertex, name)}
            met |= {named[key, name] for name in read}
    written = {place for name, place in named.items() if name in moving.names}
    contents = {*moving.values, *moving.items, *moving.keys} & reached
    written |= {place for key, place in held.items() if key in contents}
    left_out = {named[name] for name in graph.left_out_names() if name in named}
    return (met | written) - left_out, written - left_out
