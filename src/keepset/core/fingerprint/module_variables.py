"""Module variables: what functions use of the user's own modules, to compare two processes.

A function of a module goes to a worker process by name, and the worker imports the module anew:
what the program has set there since it was imported is not in the worker.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator, Sequence
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from keepset.core.fingerprint.class_attributes import is_a
from keepset.core.fingerprint.graph import is_left_out
from keepset.core.fingerprint.library_state import WithoutLibraryState
from keepset.core.fingerprint.mask import Mask
from keepset.core.fingerprint.moment import Moment
from keepset.core.fingerprint.origin import (
    is_library_class,
    is_library_function,
    is_library_module,
    module_of,
)
from keepset.core.fingerprint.own_state import OwnState
from keepset.core.fingerprint.sharing import Sharing
from keepset.core.fingerprint.sketch import Part
from keepset.core.fingerprint.value import graph_and_own_state
from keepset.core.fingerprint.vertex import Vertex

# The name of a module, and a name in it; ``Settings.SIZE`` for an attribute of a class there.
Variable = tuple[str, str]


class Uses(NamedTuple):
    """What some values come to in one process.

    Attributes:
        digest: That of all of them, without library objects.
        variables: The same of each variable of a module that their functions use, and of each
            attribute of the classes of modules.
    """

    digest: bytes
    variables: dict[Variable, bytes]


class Walked(NamedTuple):
    """What some values come to here, with what another process needs to come to the same.

    Attributes:
        uses: The digests.
        values: What the variables hold.
        sources: The lines of the files that the functions are from: a notebook has no file.
        classes: The classes of modules that they use, by module and name.
    """

    uses: Uses
    values: dict[Variable, Any]
    sources: dict[str, list[str]]
    classes: frozenset[Variable]


def walked(values: Sequence[tuple[str, Any]], *, thorough: bool) -> Walked:
    """Walk all that some values use.

    Args:
        values: Functions and other values, each with a name.
        thorough: Whether all of large arrays counts, and not only a sample, and results that
            caches hold and that the program has changed, or that were there before: a worker
            makes its own.
    """
    with Moment(sampled=not thorough):
        graph, moving, _ = graph_and_own_state(values, None, looks_at_caches=thorough)
    modules = {
        id(vars(module)): name
        for name, module in list(sys.modules.items())
        if isinstance(module, ModuleType) and name != "__main__" and not is_library_module(module)
    }
    held: dict[Variable, tuple[Part, Vertex | None]] = {}
    sources: dict[str, list[str]] = {}
    classes: set[Variable] = set()
    for vertex in graph.vertices:
        for part, inner in vertex.edges:
            if part.binding is not None and part.binding[0] in modules:
                held[modules[part.binding[0]], part.binding[1]] = part, inner
        if _is_own_class(vertex.value):
            classes.add((vertex.value.__module__, vertex.value.__qualname__))
            for name, part, inner in _class_attributes(vertex):
                held[vertex.value.__module__, name] = part, inner
        if type(vertex.value) is FunctionType and not is_library_function(vertex.value):
            file = vertex.value.__code__.co_filename
            sources[file] = linecache.getlines(file)
    # State that functions write is what it is here when the pass begins, in the worker as well.
    mask = _Comparable(WithoutLibraryState(OwnState()), holds_results=thorough)
    found = graph.digests_without(mask, [inner for _, inner in held.values() if inner is not None])
    variables = {
        variable: graph.leaf_digest(part.value) if inner is None else found[inner]
        for variable, (part, inner) in held.items()
    }
    digest = b"".join(Sharing(graph, moving).joined(found, mask).values())
    parts = {variable: held[variable][0] for variable in variables}
    contents = {name: part.value for name, part in parts.items() if not is_left_out(part)}
    return Walked(Uses(digest, variables), contents, sources, frozenset(classes))


def _class_attributes(vertex: Vertex) -> Iterator[tuple[str, Part, Vertex | None]]:
    """What a class of the user's holds itself."""
    kind = vertex.value
    for part, inner in vertex.edges:
        word, _, name = part.label.partition(" ")
        # Fields, members of enums and the like are other views of what the class was made of.
        if word in ("attribute", "method") and name in vars(kind):
            yield f"{kind.__qualname__}.{name}", part, inner


def _is_own_class(value: Any) -> bool:
    """Whether this is a class of the user's that another process finds by its name."""
    return is_a(value, type) and not is_library_class(value) and _is_found_by_name(value)


def _is_found_by_name(kind: type) -> bool:
    found: Any = None if getattr(kind, "__module__", "") == "__main__" else module_of(kind)
    for name in kind.__qualname__.split("."):
        found = vars(found).get(name) if isinstance(found, ModuleType | type) else None
    return found is kind


class _Comparable:
    """Hides what another mask hides, and results that caches hold unless those are to count."""

    def __init__(self, mask: Mask, *, holds_results: bool) -> None:
        self._mask, self._holds_results = mask, holds_results

    def hides(self, vertex: Vertex) -> bool:
        return self._mask.hides(vertex)

    def hides_part(self, vertex: Vertex, part: Part) -> bool:
        is_result = part.held and not self._holds_results
        return is_result or self._mask.hides_part(vertex, part)

    def hidden_keys(self, vertex: Vertex) -> frozenset[Any]:
        return self._mask.hidden_keys(vertex)
