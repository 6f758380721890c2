"""Own state: what the walked functions themselves write while a pass runs."""

from __future__ import annotations

import functools
import sys
from collections import defaultdict
from collections.abc import Set
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from keepset.core.arrays import Lent
from keepset.core.cached import cached_property
from keepset.core.fingerprint.callable_methods import MAKING, methods_of, running, unwrapped
from keepset.core.fingerprint.class_attributes import has_class_attribute, is_a
from keepset.core.fingerprint.effects import ANY_KEY, Call, Write
from keepset.core.fingerprint.functions import effects_of_function
from keepset.core.fingerprint.graph import Graph
from keepset.core.fingerprint.held_results import RESULT, has_parameters
from keepset.core.fingerprint.joined_calls import JoinedCalls
from keepset.core.fingerprint.keyed import is_item_of, is_list, is_mapping
from keepset.core.fingerprint.origin import is_library_class
from keepset.core.fingerprint.plain import ORDER
from keepset.core.fingerprint.reach import reach_of
from keepset.core.fingerprint.sketch import Part
from keepset.core.fingerprint.stand_ins import (
    Dotted,
    Held,
    Inside,
    Made,
    Members,
    Namespace,
)
from keepset.core.fingerprint.targets import Bindings, Targets, in_class, registered
from keepset.core.fingerprint.vertex import Vertex
from keepset.core.fingerprint.writers import (
    class_method_writes,
    is_container,
    is_container_class,
    is_random_generator,
    is_tensor,
    method_writes,
    written_arguments,
)

# Methods that run only where something is written: `a[k] = v`, `a += b`, `a.x = v`.
_WRITING = {
    *("__setitem__", "__delitem__", "__setattr__", "__delattr__", "__set__", "__delete__"),
    *(f"__i{name}__" for name in ("add", "and", "concat", "floordiv", "lshift", "matmul", "mod")),
    *(f"__i{name}__" for name in ("mul", "or", "pow", "rshift", "sub", "truediv", "xor")),
}
_ATTRIBUTE_WRITERS = (setattr, delattr, object.__setattr__, object.__delattr__)
_UNCHANGING = (str, bytes, int, float, complex, tuple, frozenset, FunctionType, ModuleType)
# Parts of an object that do not say which of its attributes they come from.
_SHAPELESS = ("constructor", "argument", "state", "__keepset_fingerprint__()")
_MAX_DEPTH = 6
_MAX_ROUNDS = 8  # in which functions are followed again whose calls were joined


class OwnState:
    """Values and names that the functions of a graph write.

    Attributes:
        values: The ids of the values whose content they change.
        items: The ids of those of which only the items change, and not the attributes.
        keys: Of containers of which only items under known keys change, those keys, by the id of
            the container.
        names: The names that they bind: the id of what holds a name, and the name.
        inside: The ids of large containers of which they change members: which ones is not known.
    """

    def __init__(self) -> None:
        self.values: set[int] = set()
        self.items: set[int] = set()
        self.keys: dict[int, set[Any]] = {}
        self.names: set[tuple[int, str]] = set()
        self.inside: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self.values or self.items or self.keys or self.names)

    def forget(self, names: Set[tuple[int, str]], values: Set[int]) -> None:
        """Leave out some of the names and values."""
        self.names -= names
        self.values -= values
        self.items -= values
        for each in values & self.keys.keys():
            del self.keys[each]

    def hides(self, vertex: Vertex) -> bool:
        return id(vertex.value) in self.values or id(vertex.value) in self.items

    def hidden_keys(self, vertex: Vertex) -> frozenset[Any]:
        return frozenset(self.keys.get(id(vertex.value), ()))

    def hides_part(self, vertex: Vertex, part: Part) -> bool:
        if part.binding is not None:
            return part.binding in self.names
        key = id(vertex.value)
        if key in self.values:
            return True
        if key in self.keys and is_item_of(part, vertex.value, self.keys[key]):
            return True
        if part.label == ORDER:
            return any(owner == key for owner, _ in self.names)  # an attribute that is new
        word, _, name = part.label.partition(" ")
        if key in self.items and word not in ("attribute", "class"):
            return True
        return word in ("attribute", "cached", "method") and (key, name) in self.names


def own_state(graph: Graph) -> OwnState:
    """What the functions of a graph write."""
    return _Search(graph).run()


class _Search:
    def __init__(self, graph: Graph) -> None:
        self._graph, self._state = graph, OwnState()
        self._by_id = {id(vertex.value): vertex for vertex in graph.vertices}
        self._targets = Targets(effects_of_function)
        self._calls: dict[int, JoinedCalls] = {}

    @cached_property
    def _instances(self) -> dict[type, list[Any]]:
        """The objects of the user's classes, by each class that they belong to."""
        found: dict[type, list[Any]] = defaultdict(list)
        for vertex in self._by_id.values():
            kind = type(vertex.value)
            if vertex.sketch is not None and not is_library_class(kind):
                for base in kind.__mro__:
                    found[base].append(vertex.value)
        return found

    @cached_property
    def _memos(self) -> dict[type, list[Any]]:
        """The memos that may hold objects of the user's classes, by the class.

        A cached function that has parameters holds what it returns, and what that is is not in
        the graph.
        """
        found: dict[type, list[Any]] = defaultdict(list)
        for vertex in self._by_id.values():
            if isinstance(vertex.value, functools._lru_cache_wrapper) and has_parameters(
                vertex.value
            ):
                for inner in _below(vertex):
                    if isinstance(inner.value, type) and not is_library_class(inner.value):
                        found[inner.value].append(vertex.value)
        return found

    @cached_property
    def _arrays(self) -> dict[int, list[int]]:
        """The ids of the arrays that share memory, by what owns it."""
        found: dict[int, list[int]] = defaultdict(list)
        for vertex in self._by_id.values():
            if isinstance(vertex.value, np.ndarray):
                found[_memory(vertex.value)].append(id(vertex.value))
        return found

    def run(self) -> OwnState:
        found = running(self._graph.roots)
        for vertex in found:
            value, kind = vertex.value, vertex.sketch.kind if vertex.sketch else ""
            if kind == "function":
                self._run(value, self._targets.bound(value), 0)
            elif kind == "class":
                for name, function, owner in methods_of(vertex, found):
                    self._run_method(value, name, function, owner)
            elif is_a(value, functools.partial | MethodType):
                for function, bound in self._targets.runs(value):
                    self._run(function, bound, 0)
            elif isinstance(value, BuiltinMethodType):
                # As `put = SEEN.append` outside of f.
                self._method(value.__self__, value.__name__)
        for _ in range(_MAX_ROUNDS):
            grown = [each for each in self._calls.values() if each.has_grown]
            for each in grown:
                self._follow(each.function, each.taken(), each.depth or 0)
            if not grown:
                break
        return self._state

    @cached_property
    def _made(self) -> set[type]:
        """The classes of which functions may make objects, and not only those that are there."""
        edges = [edge for vertex in self._by_id.values() for edge in vertex.edges]
        return {v.value for part, v in edges if v and is_a(v.value, type) and part.tag != b"class"}

    def _run_method(self, kind: type, name: str, function: FunctionType, owner: str) -> None:
        owners: list[Any] = []
        if owner == "instance" and name in MAKING:
            owners = [Made(kind)] if kind in self._made else []
        elif owner == "instance" and name not in _WRITING:
            held = [Held(memo, RESULT, kind) for memo in self._memos.get(kind, ())]
            owners = [*self._instances.get(kind, ()), *held]
        elif owner == "class":
            owners = [v for v in (x.value for x in self._by_id.values()) if _is_class(v, kind)]
        if owners:
            self._run(function, self._targets.bound(function, [owners]), 0)

    def _run(self, function: FunctionType, bindings: Bindings, depth: int) -> None:
        """Take in what a function writes if it is called with these arguments."""
        if effects_of_function(function) is None:
            return
        calls = self._calls.get(id(function))
        if calls is None:
            calls = self._calls[id(function)] = JoinedCalls(function)
        if calls.add(bindings, depth):
            self._follow(function, bindings, depth)

    def _follow(self, function: FunctionType, bindings: Bindings, depth: int) -> None:
        effects = effects_of_function(function)
        if effects is None:
            return
        self._assigned(function)
        for write in effects.writes:
            if write.kind != "bind":
                for value in self._targets.values(function, write.path, bindings):
                    self._wrote(write, value, depth)
        for call in effects.calls:
            self._called(function, call, bindings, depth)

    def _assigned(self, function: FunctionType) -> None:
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        for name in _assigned_names(function.__code__):
            cell = cells.get(name)
            key = (id(function.__globals__), name) if cell is None else (id(cell), "")
            self._state.names.add(key)

    def _called(self, function: FunctionType, call: Call, bindings: Bindings, depth: int) -> None:
        is_given = any(call.arguments) or any(paths for _, paths in call.keywords)
        may_be_held = call.path[0][0] in ("call", "param")
        if not is_given and not may_be_held:
            return
        found = self._targets.values(function, call.path, bindings)
        if may_be_held:
            for called in found:
                if isinstance(called, Held) and called.kind is FunctionType:
                    self._changed(called)
        if not is_given:
            return
        arguments, keywords = self._targets.given(function, call.arguments, call.keywords, bindings)
        is_given = any(arguments) or any(keywords.values())
        for called in found:
            if depth < _MAX_DEPTH:
                for inner, bound in self._targets.runs(called, arguments, keywords):
                    if any(bound.values()):
                        self._run(inner, bound, depth + 1)
            if is_given:
                self._library_call(called, arguments, keywords, call.constants)
                if depth < _MAX_DEPTH:
                    for inner, bound in self._targets.passed_on(called, arguments, keywords):
                        self._run(inner, bound, depth + 1)

    def _library_call(
        self,
        called: Any,
        arguments: list[list[Any]],
        keywords: dict[str, list[Any]],
        constants: tuple[Any, ...],
    ) -> None:
        if isinstance(called, FunctionType) and effects_of_function(called) is not None:
            return
        written_to = keywords.get("file", []) if called is print else []
        if _is_of(called, "csv", ("writer", "DictWriter")):
            written_to = arguments[0] if arguments else []
        for value in written_to:
            self._wrote_text(value)
        if any(called is each for each in _ATTRIBUTE_WRITERS):
            for value in arguments[0] if arguments else ():
                self._wrote_attribute(value, constants[1] if len(constants) > 1 else ANY_KEY)
        name = called.name if isinstance(called, Dotted) else ""
        for at in written_arguments(called, name):
            for value in arguments[at] if at < len(arguments) else ():
                # An iterator of the user's own says itself what it writes.
                is_held = isinstance(value, Held)
                if called is not next or is_held or is_library_class(type(value)):
                    self._changed(value)
        for value in keywords.get("out", ()):
            self._changed(value)
        for value in (each for found in (*arguments, *keywords.values()) for each in found):
            if is_random_generator(value):
                self._changed(value)

    def _wrote_text(self, value: Any) -> None:
        """Take in that a library writes text to something: ``print(file=...)``, ``csv.writer``."""
        if method_writes(value, "write"):
            self._changed(value)
        for name in ("write", "flush"):
            function = in_class(type(value), name)
            if isinstance(function, FunctionType):
                self._run(function, self._targets.bound(function, [[value]]), 1)

    def _wrote(self, write: Write, value: Any, depth: int) -> None:
        if isinstance(value, Members | Made | Dotted):
            return
        if isinstance(value, Held):
            if _writes_held(write, value):
                self._changed(value)
        elif isinstance(value, Inside):
            is_certain = write.kind not in ("method", "read")
            if is_certain or (write.kind == "method" and class_method_writes(None, write.name)):
                self._changed(value)
        elif write.kind == "attr":
            self._wrote_attribute(value, write.name)
        elif write.kind == "item":
            self._wrote_item(value, write.name, depth)
        elif write.kind == "delete":
            # The items behind it move up.
            self._wrote_item(value, ANY_KEY if is_list(value) else write.name, depth)
        elif write.kind == "method":
            if isinstance(value, Namespace):
                if write.name in ("update", "setdefault", "pop", "clear", "__setitem__"):
                    self._wrote_attribute(value.owner, ANY_KEY)
            elif not self._method(value, write.name, write.keys):
                self._run_descriptor(value, write.name, "__get__")
        elif write.kind == "inplace":
            if is_container(value) or is_tensor(value):
                self._changed_items(value)
            elif not is_library_class(type(value)):
                self._run_writing(value, _WRITING, depth)
        elif write.kind == "read" and has_class_attribute(type(value), "default_factory"):
            self._changed(value)

    def _method(self, value: Any, name: str, keys: tuple[Any, ...] = ()) -> bool:
        """Take in that a method that comes with Python or a library is used, if it writes."""
        if isinstance(value, functools._lru_cache_wrapper) and name == "cache_info":
            self._changed(Held(value, RESULT))  # each call counts up what it returns
        elif not method_writes(value, name):
            return False
        elif keys and is_mapping(value):
            self._state.keys.setdefault(id(value), set()).update(keys)
        else:
            self._changed_items(value)
        return True

    def _wrote_attribute(self, value: Any, name: Any) -> None:
        if isinstance(value, Members | Made | Dotted | Inside):
            return
        if isinstance(value, Held):
            self._changed(value)
            return
        if isinstance(value, Namespace):
            value = value.owner
        if not isinstance(name, str):
            if not isinstance(value, dict | ModuleType | type):
                self._changed(value)
            return
        if isinstance(value, dict):
            self._state.names.add((id(value), name))  # the globals of a function
            return
        if isinstance(value, ModuleType):
            self._state.names.add((id(vars(value)), name))
            return
        self._state.names.add((id(value), name))
        self._changed(registered(value, name))
        self._run_descriptor(value, name, "__set__")
        vertex = self._by_id.get(id(value))
        if vertex is not None and vertex.sketch is not None and not isinstance(value, type):
            labels = {part.label for part in vertex.sketch.parts}
            words = {label.partition(" ")[0] for label in labels}
            # Models of pydantic have their attributes in a part of their state.
            is_shapeless = "attribute __dict__" in labels or not words.isdisjoint(_SHAPELESS)
            if is_shapeless or is_tensor(value):
                self._changed(value)

    def _wrote_item(self, value: Any, key: Any, depth: int) -> None:
        if isinstance(value, Namespace):
            self._wrote_attribute(value.owner, key)
        elif is_list(value) and isinstance(key, int):
            place = key + len(value) if key < 0 else key
            self._state.keys.setdefault(id(value), set()).add(place)
        elif is_mapping(value) and key != ANY_KEY:
            self._state.keys.setdefault(id(value), set()).add(key)
        elif is_library_class(type(value)) or is_tensor(value):
            self._changed(value)
        elif not self._run_writing(value, {"__setitem__", "__delitem__"}, depth):
            self._changed_items(value)

    def _run_writing(self, value: Any, names: set[str], depth: int) -> bool:
        """Run methods that Python calls for a write; whether there are any of the user's own."""
        found = [
            each
            for name in sorted(names)
            if isinstance(each := in_class(type(value), name), FunctionType)
        ]
        for function in found:
            if effects_of_function(function) is None:
                self._changed(value)
            elif depth < _MAX_DEPTH:
                self._run(function, self._targets.bound(function, [[value]]), depth + 1)
        return bool(found)

    def _run_descriptor(self, value: Any, name: str, method: str) -> None:
        """Run what a descriptor of the user's own does when an attribute is read or set."""
        kind = value if is_a(value, type) else type(value)
        if is_library_class(kind):
            return
        descriptor = in_class(kind, name)
        if isinstance(descriptor, property) and method == "__set__":
            for function, _ in unwrapped(descriptor.fset):
                self._run(function, self._targets.bound(function, [[value]]), 1)
            return
        function = in_class(type(descriptor), method)
        if isinstance(function, FunctionType) and effects_of_function(function) is not None:
            self._run(function, self._targets.bound(function, [[descriptor], [value]]), 1)

    def _changed_items(self, value: Any) -> None:
        if is_container(value) and not is_library_class(type(value)):
            self._state.items.add(id(value))
        else:
            self._changed(value)

    def _changed(self, value: Any) -> None:
        if value is None or isinstance(value, (*_UNCHANGING, type)):
            return
        if isinstance(value, Members | Made | Dotted | Namespace):
            return
        if isinstance(value, Inside):
            value = value.container
            self._state.inside.add(id(value))
        if isinstance(value, Held):
            self._state.names.add((id(value.owner), value.name))
            return
        if isinstance(value, np.ndarray):
            self._state.values.update(self._arrays.get(_memory(value), ()))
        self._state.values.add(id(value))
        if is_random_generator(value) and hasattr(value, "bit_generator"):
            self._state.values.add(id(value.bit_generator))


def _below(vertex: Vertex) -> set[Vertex]:
    """What a vertex leads to."""
    found, todo = {vertex}, [vertex]
    while todo:
        for _, inner in todo.pop().edges:
            if inner is not None and inner not in found:
                found.add(inner)
                todo.append(inner)
    return found


def _writes_held(write: Write, value: Held) -> bool:
    """Whether a write changes what a cache holds, of which at most the class is known."""
    kind = value.kind
    if write.kind in ("attr", "item", "delete"):
        return True
    if write.kind == "inplace":
        # What a method returns is most often a number or new, which makes no difference.
        if kind is None:
            return not value.is_result
        is_own = any(isinstance(in_class(kind, name), FunctionType) for name in _WRITING)
        return is_own or is_container_class(kind)
    if write.kind == "read":
        return kind is not None and has_class_attribute(kind, "default_factory")
    return write.kind == "method" and class_method_writes(kind, write.name)


@functools.lru_cache(maxsize=4096)
def _assigned_names(code: CodeType) -> frozenset[str]:
    return reach_of(code).assigned


def _is_of(called: Any, module: str, names: tuple[str, ...]) -> bool:
    """Whether this is one of these functions or classes of a module."""
    if isinstance(called, Dotted):
        return called.name in {f"{module}.{name}" for name in names}
    loaded = sys.modules.get(module)
    return loaded is not None and any(called is getattr(loaded, name) for name in names)


def _is_class(value: Any, kind: type) -> bool:
    return isinstance(value, type) and issubclass(value, kind)


def _memory(value: Any) -> int:
    """The id of what owns the memory of an array."""
    while isinstance(value, np.ndarray) and value.base is not None:
        base: Any = value.base
        value = base.array if isinstance(base, Lent) else base
    return id(value)
