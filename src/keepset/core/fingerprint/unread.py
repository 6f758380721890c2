"""Unread: own state that no function reads, such as a counter of calls, and so never counts."""

from __future__ import annotations

import builtins
import logging
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from types import FunctionType, MethodType
from typing import Any

from keepset.core.fingerprint.functions import reads_of_function
from keepset.core.fingerprint.graph import Graph
from keepset.core.fingerprint.origin import function_behind, is_library_class
from keepset.core.fingerprint.own_state import OwnState
from keepset.core.fingerprint.reads import Reads
from keepset.core.fingerprint.sketch import Part
from keepset.core.fingerprint.vertex import Vertex

# By these, a variable or an attribute can be read without its name in the code.
_ANY_NAME = {"__dict__", "__globals__", "eval", "exec", "f_globals", "globals", "locals", "vars"}
# What may run where an attribute is set or read.
_HOOKS = ("__setattr__", "__getattr__", "__getattribute__")


class Unread:
    """What functions write and never read: names by what holds them, and containers by id."""

    def __init__(self) -> None:
        self.names: set[tuple[int, str]] = set()
        self.values: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self.names or self.values)

    def holds(self, vertex: Vertex, part: Part) -> bool:
        """Whether a part of a vertex is one of these."""
        if part.binding is not None and part.binding in self.names:
            return True
        word, _, name = part.label.partition(" ")
        if word == "attribute" and (id(vertex.value), name) in self.names:
            return True
        return id(part.value) in self.values


def unread_state(graph: Graph, moving: OwnState) -> Unread:
    """What of the own state of a graph no function reads."""
    search = _Search(graph) if moving else None
    return Unread() if search is None or search.reads_by_any_name else search.run(moving)


class _Search:
    def __init__(self, graph: Graph) -> None:
        self._functions = {
            vertex.value: reads
            for vertex in graph.vertices
            if type(vertex.value) is FunctionType
            and (reads := _without_speeches(vertex.value)) is not None
        }
        self._by_id = {id(vertex.value): vertex for vertex in graph.vertices}
        self._above: dict[int, list[tuple[Vertex, Part]]] = defaultdict(list)
        for vertex in graph.vertices:
            for part, inner in vertex.edges:
                if inner is not None:
                    self._above[id(inner.value)].append((vertex, part))
        self._roots = {id(root.value) for root in graph.roots}
        self._attributes = frozenset[str]().union(*(r.attributes for r in self._functions.values()))

    @property
    def reads_by_any_name(self) -> bool:
        """Whether some function may read variables by names that are made at run time."""
        names = frozenset[str]().union(*(reads.names for reads in self._functions.values()))
        return not _ANY_NAME.isdisjoint(names | self._attributes)

    def run(self, moving: OwnState) -> Unread:
        found = Unread()
        for owner, name in moving.names:
            if self._is_unread_name(owner, name):
                found.names.add((owner, name))
        for key in {*moving.values, *moving.items, *moving.keys}:
            if self._is_unread_container(key):
                found.values.add(key)
        return found

    def _is_unread_name(self, owner: int, name: str) -> bool:
        value = self._by_id.get(owner)
        if value is not None and not isinstance(value.value, FunctionType):
            return self._is_unread_attribute(value, name)
        holders = list(self._holders(owner, name))
        if any(not is_library_class(type(item)) for item in self._bound(owner, name)):
            return False  # its class may do anything where it is written to
        # A variable of a module may be read as an attribute of it, too.
        is_read = any(known in reads.names for known, reads in holders)
        return bool(holders) and not is_read and name not in self._attributes

    def _holders(self, owner: int, name: str) -> Iterator[tuple[str, Reads]]:
        """The functions that have a variable, and what they call it."""
        for function, reads in self._functions.items():
            if name:
                if id(function.__globals__) == owner:
                    yield name, reads
                continue
            cells = function.__closure__ or ()
            for free, cell in zip(function.__code__.co_freevars, cells, strict=True):
                if id(cell) == owner:
                    yield free, reads

    def _bound(self, owner: int, name: str) -> Iterator[Any]:
        """What a variable stands for now."""
        for function in self._functions:
            if name and id(function.__globals__) == owner and name in function.__globals__:
                yield function.__globals__[name]
            for cell in function.__closure__ or ():
                if id(cell) == owner and not name:
                    with suppress(ValueError):
                        yield cell.cell_contents

    def _is_unread_attribute(self, vertex: Vertex, name: str) -> bool:
        kind = type(vertex.value)
        if name in self._attributes or is_library_class(kind) or isinstance(vertex.value, type):
            return False
        if any(hook in vars(base) for base in kind.__mro__[:-1] for hook in _HOOKS):
            return False
        return self._is_used_by_attributes(vertex)

    def _is_used_by_attributes(self, vertex: Vertex) -> bool:
        """Whether functions use an object only for single attributes of it."""
        for above, part in self._above[id(vertex.value)]:
            if isinstance(above.value, MethodType) and part.label == "self":
                continue
            name = part.label.partition(" ")[2]
            reads = self._functions.get(above.value) if _is_function(above.value) else None
            if reads is None or part.binding is None or "." in name or name in reads.bare:
                return False
        for kind in type(vertex.value).__mro__:
            for item in vars(kind).values():
                function = function_behind(item)
                reads = self._functions.get(function) if _is_function(function) else None
                if reads is not None and set(function.__code__.co_varnames[:1]) & reads.bare:
                    return False
        return True

    def _is_unread_container(self, key: int) -> bool:
        if key in self._roots or key not in self._by_id:
            return False
        if not is_library_class(type(self._by_id[key].value)):
            return False
        above = self._above[key]
        for vertex, part in above:
            name = part.label.partition(" ")[2]
            if part.binding is not None and _is_function(vertex.value) and "." not in name:
                reads = self._functions.get(vertex.value)
                if reads is None or name in reads.names:
                    return False
            elif part.label.startswith("attribute ") and not _is_function(vertex.value):
                if not self._is_unread_attribute(vertex, name):
                    return False
            else:
                return False
        return bool(above)


def _is_function(value: Any) -> bool:
    return type(value) is FunctionType


def _without_speeches(function: FunctionType) -> Reads | None:
    """What a function reads, apart from what it only prints or logs."""
    reads = reads_of_function(function)
    if reads is None:
        return None
    names, attributes, bare = set(reads.names), set(reads.attributes), set(reads.bare)
    for speech in reads.speeches:
        if not _speaks(function, speech.speaker):
            names |= speech.reads.names | {speech.speaker}
            attributes |= speech.reads.attributes
            bare |= speech.reads.bare
    return Reads(frozenset(names), frozenset(attributes), frozenset(bare))


def _speaks(function: FunctionType, name: str) -> bool:
    found = function.__globals__.get(name, getattr(builtins, name, None))
    return found is print or found is logging or isinstance(found, logging.Logger)
