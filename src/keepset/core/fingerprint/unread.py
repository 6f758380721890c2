"""Unread: own state that no function reads, such as a counter of calls, and so never counts.

It must be certain. So only numbers that are counted up and Python's own containers that are added
to are looked at: nothing that is done to them can fail, or do anything else, because of what they
hold. They must be reached by one name alone, a variable or an attribute of an object of a plain
class.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from keepset.core.fingerprint.callable_methods import MAKING
from keepset.core.fingerprint.class_attributes import attributes_of, has_class_attribute, is_a
from keepset.core.fingerprint.functions import reads_of_function
from keepset.core.fingerprint.graph import Graph
from keepset.core.fingerprint.objects import is_plain_class
from keepset.core.fingerprint.origin import function_behind
from keepset.core.fingerprint.own_state import OwnState
from keepset.core.fingerprint.reads import Reads
from keepset.core.fingerprint.sketch import Part
from keepset.core.fingerprint.vertex import Vertex

# By these, a variable or an attribute can be read without its name in the code.
_ANY_NAME = {
    *("__dict__", "__getattribute__", "__globals__", "attrgetter", "eval", "exec", "f_globals"),
    *("getattr", "globals", "locals", "vars"),
}
_NUMBERS = (int, float, np.number)
_ADDED_TO = (Counter, dict, list, set, deque)


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
            and (reads := reads_of_function(vertex.value)) is not None
        }
        self._by_id = {id(vertex.value): vertex for vertex in graph.vertices}
        self._above: dict[int, list[tuple[Vertex, Part]]] = defaultdict(list)
        for vertex in graph.vertices:
            for part, inner in vertex.edges:
                if inner is not None:
                    self._above[id(inner.value)].append((vertex, part))
        # Modules that are used as a whole, by the id of their namespace.
        self._modules = {
            id(vars(vertex.value)) for vertex in graph.vertices if is_a(vertex.value, ModuleType)
        }
        self._attributes = frozenset[str]().union(*(r.attributes for r in self._functions.values()))

    @property
    def reads_by_any_name(self) -> bool:
        """Whether some function may read variables by names that are made at run time."""
        names = frozenset[str]().union(*(reads.names for reads in self._functions.values()))
        return not _ANY_NAME.isdisjoint(names | self._attributes)

    def run(self, moving: OwnState) -> Unread:
        found = Unread()
        for owner, name in moving.names:
            if self._is_unread_number(owner, name):
                found.names.add((owner, name))
        for key in {*moving.values, *moving.items, *moving.keys}:
            if self._is_unread_container(key):
                found.values.add(key)
        return found

    def _is_unread_number(self, owner: int, name: str) -> bool:
        vertex = self._by_id.get(owner)
        if vertex is not None:
            value = attributes_of(vertex.value).get(name)
            return is_a(value, _NUMBERS) and self._is_unread_attribute(vertex, name)
        bound = list(self._bound(owner, name))
        if owner in self._modules or not bound or name in self._attributes:
            return False
        return all(
            is_a(value, _NUMBERS) and known not in reads.names for known, value, reads in bound
        )

    def _bound(self, owner: int, name: str) -> Iterator[tuple[str, Any, Reads]]:
        """The functions that have a variable: what they call it, and what it stands for now."""
        for function, reads in self._functions.items():
            if name:
                if id(function.__globals__) == owner:
                    yield name, function.__globals__.get(name), reads
                continue
            cells = function.__closure__ or ()
            for free, cell in zip(function.__code__.co_freevars, cells, strict=True):
                if id(cell) == owner:
                    yield free, _content(cell), reads

    def _is_unread_attribute(self, vertex: Vertex, name: str) -> bool:
        """Whether functions use an object of a plain class, and not this attribute of it."""
        kind = type(vertex.value)
        # Methods that dataclasses writes read all fields, and are not among the functions.
        is_dataclass = has_class_attribute(kind, "__dataclass_fields__")
        if name in self._attributes or is_dataclass or not is_plain_class(kind):
            return False
        for above, part in self._above[id(vertex.value)]:
            if is_a(above.value, MethodType) and part.label == "self":
                continue
            if not self._is_only_for_attributes(above, part):
                return False
        methods = (function_behind(item) for base in kind.__mro__ for item in vars(base).values())
        return not any(self._uses_self(each) for each in methods if type(each) is FunctionType)

    def _is_only_for_attributes(self, above: Vertex, part: Part) -> bool:
        """Whether a function uses a variable only for single attributes of what it holds."""
        reads = self._functions.get(above.value) if type(above.value) is FunctionType else None
        name = _own_name(part)
        return reads is not None and part.binding is not None and name not in reads.bare | {""}

    def _uses_self(self, method: FunctionType) -> bool:
        reads = self._functions.get(method)
        uses = {*method.__code__.co_varnames[:1]}
        if method.__name__ not in MAKING:
            uses.add("super")  # a method of a base may use all of the object
        return reads is not None and bool(uses & reads.bare)

    def _is_unread_container(self, key: int) -> bool:
        vertex = self._by_id.get(key)
        if vertex is None or type(vertex.value) not in _ADDED_TO:
            return False
        if getattr(vertex.value, "maxlen", None) is not None:
            return False
        above = self._above[key]
        return bool(above) and all(
            self._is_unread_place(*each) and not self._may_miss_place(vertex.value, each[1])
            for each in above
        )

    def _may_miss_place(self, value: Any, part: Part) -> bool:
        """Whether an item is assigned to a place, or counted up there, that may not be there."""
        name = part.label.partition(" ")[2].rpartition(".")[2]
        if isinstance(value, dict):
            return not self._can_be_counted(value, name)
        placed = frozenset[str]().union(*(reads.placed for reads in self._functions.values()))
        return name in placed or bool(self._counted_keys(name))

    def _counted_keys(self, name: str) -> set[Any]:
        reads = self._functions.values()
        return {key for each in reads for known, key in each.counted if known == name}

    def _can_be_counted(self, value: dict[Any, Any], name: str) -> bool:
        """Whether there is a number under each key that is counted up, and so it cannot fail."""
        if type(value) is Counter:
            return all(is_a(each, _NUMBERS) for each in value.values())
        return all(is_a(value.get(key), _NUMBERS) for key in self._counted_keys(name))

    def _is_unread_place(self, above: Vertex, part: Part) -> bool:
        if type(above.value) is FunctionType:
            reads = self._functions.get(above.value)
            if reads is None or part.binding is None or part.binding[0] in self._modules:
                return False
            word, _, name = part.label.partition(" ")
            if "." in name:
                return name.rpartition(".")[2] not in self._attributes  # `settings.SEEN`
            return bool(_own_name(part)) and name not in reads.names
        word, _, name = part.label.partition(" ")
        return word == "attribute" and self._is_unread_attribute(above, name)


def _own_name(part: Part) -> str:
    """The name of a variable in the code of the function that uses it; "" if that may be another.

    A variable of a module is an attribute there, and an import may give it another name.
    """
    word, _, name = part.label.partition(" ")
    return "" if word == "imported" or "." in name else name


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
