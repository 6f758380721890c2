"""Own state: what the walked functions themselves write while a pass runs."""

from __future__ import annotations

from types import FunctionType

from keepset.core.fingerprint.graph import Graph
from keepset.core.fingerprint.reach import reach_of
from keepset.core.fingerprint.sketch import Part
from keepset.core.fingerprint.vertex import Vertex


class OwnState:
    """Values and names that the functions of a graph write.

    Attributes:
        values: The ids of the values whose content they change.
        names: The names that they bind: the id of what holds a name, and the name.
    """

    def __init__(self) -> None:
        self.values: set[int] = set()
        self.names: set[tuple[int, str]] = set()

    def __bool__(self) -> bool:
        return bool(self.values or self.names)

    def hides(self, vertex: Vertex) -> bool:
        return id(vertex.value) in self.values

    def hides_part(self, vertex: Vertex, part: Part) -> bool:
        if part.binding is not None:
            return part.binding in self.names
        if id(vertex.value) in self.values:
            return True
        word, _, name = part.label.partition(" ")
        return word in ("attribute", "method") and (id(vertex.value), name) in self.names


def own_state(graph: Graph) -> OwnState:
    """What the functions of a graph write."""
    state = OwnState()
    for vertex in graph.vertices:
        if vertex.sketch is not None and vertex.sketch.kind == "function":
            _assigned(vertex.value, state)
    return state


def _assigned(function: FunctionType, state: OwnState) -> None:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for name in reach_of(function.__code__).assigned:
        holder = cells.get(name)
        state.names.add((id(function.__globals__), name) if holder is None else (id(holder), ""))
