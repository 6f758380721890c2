"""Blind spots: where walked functions use what their fingerprint cannot see through.

What is used is known by the object that a name leads to, and not by how it is spelled:
``from time import time as now`` is a clock, and a function of one's own called ``open`` is none.
"""

from __future__ import annotations

import functools
import io
import re
from collections import defaultdict
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from keepset.core.fingerprint.blind import Blind
from keepset.core.fingerprint.blind_names import (
    CLOCK_WORDS,
    OF_A_WORD,
    SEEDED,
    WITHOUT_ARGUMENTS,
    Spot,
    method_spot,
    spot_of,
)
from keepset.core.fingerprint.callable_methods import MAKING, methods_of, running
from keepset.core.fingerprint.effects import ANY_KEY, Call, Effects, in_order
from keepset.core.fingerprint.file_arguments import CONSTANT, DERIVED, ELEMENT, FileArguments
from keepset.core.fingerprint.functions import effects_of_function
from keepset.core.fingerprint.ignore import SEPARATOR, Ignore
from keepset.core.fingerprint.library_files import file_spot
from keepset.core.fingerprint.origin import is_library_class, library_of
from keepset.core.fingerprint.stand_ins import Made
from keepset.core.fingerprint.targets import Bindings, Targets
from keepset.core.fingerprint.vertex import Vertex
from keepset.core.fingerprint.writers import is_global_generator, is_random_generator

_WHY = {
    "file": "the content of the file does not count; read it before the pipeline is built and let "
    "the function use the value",
    "environment": "it does not count; read it into a variable before the pipeline is built",
    "code": "what it leads to does not count; name the functions and variables themselves",
    "random": "each pass gives other elements; use random_map(fn, seed=...)",
    "clock": "each pass gives other elements; read the time before the pipeline is built",
}
_PLANS = {("polars", "LazyFrame"), ("pyarrow", "FileSystemDataset"), ("pyarrow", "UnionDataset")}
# The name of a function in a text of OmegaConf.
_RESOLVED = re.compile(r"\$\{\s*([\w.]+)\s*:")
# As many values of one argument are looked at.
_MOST_PASSED = 20
_NEXT_TO_LISTED = (
    "files whose names a function makes of its elements do not count; name them with "
    "ks.Dataset.list_files too, and zip the two"
)

_NAMED_FILES = (
    "the files that it names count by their names and not by their content; name them with "
    "ks.Dataset.list_files and open them in a function behind it, or pass fingerprint=... and "
    "change it whenever the files do"
)


def blind_spots(root: Vertex, vertices: list[Vertex], ignore: Ignore | None) -> tuple[Blind, ...]:
    """What the functions that ``root`` runs cannot be compared by, without what is ignored."""
    finds = (_generators, _plans, _files, _resolvers)
    held = (each for find in finds for each in find(vertices))
    found = dict.fromkeys([*_Search(root).run(), *held])
    if ignore is None:
        return tuple(found)
    return tuple(
        blind for blind in found if not ignore.matches(f"{blind.where}{SEPARATOR}{blind.label}")
    )


def _generators(vertices: list[Vertex]) -> Iterator[Blind]:
    """Random generators that functions use: each draw changes what the next one gives."""
    for vertex in vertices:
        above = vertex.parent
        if above is None or not is_random_generator(vertex.value):
            continue
        if not is_random_generator(above.value) and not is_global_generator(vertex.value):
            remedy = "its state counts and moves with each element; use random_map(fn, seed=...)"
            yield Blind(vertex.label, above.path, "random", "", remedy)


def _plans(vertices: list[Vertex]) -> Iterator[Blind]:
    """Queries that run when they are asked: what they read then is not part of them."""
    for vertex in vertices:
        kind, above = type(vertex.value), vertex.parent
        if above is not None and (library_of(kind), kind.__name__) in _PLANS:
            remedy = (
                "the files and functions behind it do not count; collect it before the pipeline"
            )
            yield Blind(vertex.label, above.path, "file", "", remedy)


def _files(vertices: list[Vertex]) -> Iterator[Blind]:
    """Data sets of libraries that read a file for each element."""
    for vertex in vertices:
        spot = file_spot(vertex)
        if spot is not None:
            yield Blind(spot.label, vertex.path, "file", CONSTANT, _NAMED_FILES)


def _resolvers(vertices: list[Vertex]) -> Iterator[Blind]:
    """Texts in a configuration of OmegaConf that functions make into values: ``${scale:2}``."""
    for vertex in vertices:
        if library_of(type(vertex.value)) != "omegaconf":
            continue
        for part, _ in vertex.edges:
            for name in _RESOLVED.findall(part.value) if isinstance(part.value, str) else ():
                if name.startswith("oc.") and name != "oc.env":
                    continue  # they take what is in the configuration
                kind = "environment" if name == "oc.env" else "code"
                remedy = (
                    "what it gives does not count; take the plain values before the pipeline is "
                    "built, OmegaConf.to_container(config, resolve=True)"
                )
                yield Blind(f"resolver {name}", _outermost(vertex).path, kind, "", remedy)


def _outermost(vertex: Vertex) -> Vertex:
    """The configuration that a part of one belongs to."""
    while vertex.parent is not None and "omegaconf" in (
        library_of(type(vertex.parent.value)),
        library_of(type(vertex.parent.parent.value)) if vertex.parent.parent else "",
    ):
        vertex = vertex.parent
    return vertex


class _Search:
    def __init__(self, root: Vertex) -> None:
        self._targets = Targets(effects_of_function)
        self._root, self._running = root, running([root])
        made = self._made_classes()
        self._functions = [
            vertex
            for vertex in self._running
            if vertex.sketch is not None
            and vertex.sketch.kind == "function"
            and (vertex.value.__name__ not in MAKING or vertex.parent in made)
        ]
        self._made = {vertex.value for vertex in made}
        self._instances = self._find_instances()
        self._owners: dict[int, str] = {}
        self._bindings: dict[int, Bindings] = {}
        self._bind_methods()
        functions = [vertex.value for vertex in self._functions]
        self._bind_arguments(functions)
        self._targets.arguments_of = self._bound
        self._files = FileArguments(
            functions, self._owners, effects_of_function, self._targets, self._bound
        )

    def run(self) -> list[Blind]:
        inside = [blind for vertex in self._functions for blind in self._spots(vertex)]
        return [*self._of_root(), *inside]

    def _of_root(self) -> Iterator[Blind]:
        """What a stage is given itself: ``map(np.load)``, ``flat_map(partial(ks.read_csv))``."""
        value = self._root.value
        spot = spot_of(value)
        if spot is not None and not _needs_look(spot):
            names_file = isinstance(value, functools.partial) and bool(value.args)
            origin = CONSTANT if names_file else ELEMENT
            yield _blind(spot, self._root.path, origin if spot.kind == "file" else "")

    def _made_classes(self) -> set[Vertex]:
        """The classes of which functions may make objects; those of objects that are there are not.

        What ``__init__`` reads then is in the object, and counts.
        """
        found = {self._root} if isinstance(self._root.value, type) else set()
        for vertex in self._running:
            for part, inner in vertex.edges:
                if inner is not None and isinstance(inner.value, type) and part.tag != b"class":
                    found.add(inner)
        return found

    def _find_instances(self) -> dict[type, list[Any]]:
        """The objects of the user's classes, by each class that they belong to."""
        found: dict[type, list[Any]] = defaultdict(list)
        for vertex in self._running:
            if vertex.sketch is not None and not is_library_class(type(vertex.value)):
                for base in type(vertex.value).__mro__:
                    found[base].append(vertex.value)
        return found

    def _bind_methods(self) -> None:
        """Find the parameters of methods that stand for their object, and the objects."""
        for vertex in self._running:
            if isinstance(vertex.value, functools.partial):
                for function, bound in self._targets.runs(vertex.value):
                    self._bindings[id(function)] = bound
            if vertex.sketch is not None and vertex.sketch.kind == "class":
                for _, function, owner in methods_of(vertex, self._running):
                    effects = effects_of_function(function)
                    if effects is not None and effects.parameters:
                        self._owners[id(function)] = effects.parameters[0]
                        objects = self._instances.get(vertex.value, [])
                        if vertex.value in self._made:
                            objects = [*objects, Made(vertex.value)]
                        given = [vertex.value] if owner == "class" else objects
                        self._bindings[id(function)] = self._targets.bound(function, [given])

    def _bind_arguments(self, functions: list[FunctionType]) -> None:
        """Find what functions pass to each other that is there already: a path, a reader."""
        for function in functions:
            effects = effects_of_function(function)
            for call in effects.calls if effects is not None else ():
                for inner, passed in self._targets.callees(function, call, self._bound(function)):
                    bound = self._bindings.setdefault(id(inner), self._targets.bound(inner))
                    for name, values in passed.items():
                        known = {id(each) for each in bound.get(name, ())}
                        new = [each for each in values if id(each) not in known]
                        bound[name] = [*bound.get(name, ()), *new[:_MOST_PASSED]]

    def _bound(self, function: FunctionType) -> Bindings:
        known = self._bindings.get(id(function))
        return self._targets.bound(function) if known is None else known

    def _spots(self, vertex: Vertex) -> Iterator[Blind]:
        function, effects = vertex.value, effects_of_function(vertex.value)
        if effects is None:
            return
        bound = self._bound(function)
        called = set()
        for call in effects.calls:
            called.add(call.path)
            methods = list(self._methods(function, call, bound))
            for spot in methods:
                root, steps = call.path
                names = frozenset({(root, steps[:-1])})
                is_path = spot.name.startswith("Path.")
                origin = self._files.origin(function, call, names if is_path else None)
                yield _blind(spot, vertex.path, origin)
            for spot in () if methods else self._of_call(function, call, bound):
                is_file = spot.kind == "file"
                yield _blind(
                    spot, vertex.path, self._files.origin(function, call) if is_file else ""
                )
        yield from self._of_uses(vertex, effects, called, bound)

    def _of_uses(
        self, vertex: Vertex, effects: Effects, called: set[Any], bound: Bindings
    ) -> Iterator[Blind]:
        """What is not called but passed on, or is no function."""
        for path in in_order(effects.uses - called):
            if path[1] and path[1][-1] in (("attr", "__globals__"), ("attr", "f_globals")):
                yield _blind(Spot(f"function.{path[1][-1][1]}", "code"), vertex.path, "")
            for value in self._targets.values(vertex.value, path, bound):
                spot = spot_of(value)
                if spot is not None and not _needs_look(spot):
                    yield _blind(spot, vertex.path, DERIVED if spot.kind == "file" else "")

    def _methods(self, function: FunctionType, call: Call, bound: Bindings) -> Iterator[Spot]:
        """The methods of paths and other objects that read files."""
        root, steps = call.path
        if not steps or steps[-1][0] != "attr":
            return
        for value in self._targets.values(function, (root, steps[:-1]), bound):
            spot = method_spot(value, steps[-1][1])
            if spot is not None and not (spot.name == "Path.open" and _only_writes(call, 0)):
                yield spot

    def _of_call(self, function: FunctionType, call: Call, bound: Bindings) -> Iterator[Spot]:
        _, steps = call.path
        if steps and steps[-1] == ("attr", "__subclasses__"):
            yield Spot("type.__subclasses__", "code")
        for value in self._targets.values(function, call.path, bound):
            spot = spot_of(value)
            if spot is not None and self._applies(spot, function, call, bound):
                yield spot

    def _applies(self, spot: Spot, function: FunctionType, call: Call, bound: Bindings) -> bool:
        if spot.name in SEEDED:
            return call.is_empty or self._first_is_none(function, call, bound)
        if spot.name in WITHOUT_ARGUMENTS:
            return call.is_empty
        if spot.name in OF_A_WORD:
            return bool(call.constants) and call.constants[0] in CLOCK_WORDS
        if spot.name == "time.strftime":
            return len(call.constants) < 2 and not call.keywords
        if spot.kind == "random" and any(name == "generator" for name, _ in call.keywords):
            return False  # torch.rand(3, generator=...)
        if spot.kind == "file" and self._is_in_memory(function, call, bound):
            return False
        return not (spot.kind == "file" and _only_writes(call, 1))

    def _is_in_memory(self, function: FunctionType, call: Call, bound: Bindings) -> bool:
        """Whether what is opened is a stream that the function makes: ``np.load(BytesIO(x))``."""
        given = [paths for name, paths in call.keywords if name == "fileobj"]
        paths = frozenset[Any]().union(*given, *call.arguments[:1])
        found = self._targets.of_all(function, paths, bound)
        return any(isinstance(each, Made) and issubclass(each.kind, io.IOBase) for each in found)

    def _first_is_none(self, function: FunctionType, call: Call, bound: Bindings) -> bool:
        """Whether the seed is None, as a constant or as a variable."""
        if call.constants:
            if call.constants[0] != ANY_KEY:
                return call.constants[0] is None
            paths = call.arguments[0] if call.arguments else frozenset()
        else:
            paths = next((paths for name, paths in call.keywords if name == "seed"), frozenset())
        return any(value is None for value in self._targets.of_all(function, paths, bound))


def _blind(spot: Spot, where: str, origin: str) -> Blind:
    remedy = _NEXT_TO_LISTED if origin == DERIVED else _WHY[spot.kind]
    return Blind(spot.label, where, spot.kind, origin, remedy)


def _needs_look(spot: Spot) -> bool:
    names = {*SEEDED, *WITHOUT_ARGUMENTS, *OF_A_WORD, "time.strftime"}
    return spot.name in names


def _only_writes(call: Call, at: int) -> bool:
    """Whether a file is opened for writing alone: a log."""
    modes = [call.constants[at] if at < len(call.constants) else "r", dict(call.modes).get("mode")]
    return any(isinstance(mode, str) and mode[:1] in "wax" and "+" not in mode for mode in modes)
