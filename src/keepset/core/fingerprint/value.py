"""Value: the fingerprint of any Python value, functions included."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from contextlib import ExitStack
from types import FunctionType, ModuleType
from typing import Any

from keepset.core.fingerprint.arrays import array_sketch
from keepset.core.fingerprint.blind_spots import blind_spots
from keepset.core.fingerprint.class_attributes import is_disguised
from keepset.core.fingerprint.classes import class_sketch
from keepset.core.fingerprint.facts import Facts, counting_versions
from keepset.core.fingerprint.functions import function_sketch
from keepset.core.fingerprint.graph import Graph, items_of
from keepset.core.fingerprint.held_results import (
    RESULT,
    counting_memos,
    has_parameters,
    is_cache,
    leaving_out,
    results_as_made,
    without_results,
)
from keepset.core.fingerprint.ignore import Ignore
from keepset.core.fingerprint.introspection import counting
from keepset.core.fingerprint.library_state import WithoutLibraryState, has_library_state
from keepset.core.fingerprint.moment import Moment, is_light, this_moment
from keepset.core.fingerprint.names import module_sketch
from keepset.core.fingerprint.objects import attributes_of_records, object_sketch
from keepset.core.fingerprint.origin import library_version
from keepset.core.fingerprint.own_state import OwnState, own_state
from keepset.core.fingerprint.places import Place, places_in, places_met
from keepset.core.fingerprint.plain import plain_sketch
from keepset.core.fingerprint.plain_data import holds_any
from keepset.core.fingerprint.sharing import Sharing
from keepset.core.fingerprint.sketch import Sketch
from keepset.core.fingerprint.stale_caches import counting_stale, stale_caches
from keepset.core.fingerprint.unread import Unread, unread_state
from keepset.core.fingerprint.vertex import Vertex

# The first rule that knows a value describes it.
_RULES = (plain_sketch, module_sketch, class_sketch, array_sketch, function_sketch)


def fingerprint_of_value(
    value: Any, *, name: str = "value", strict: bool = False, ignore: Ignore | None = None
) -> Facts:
    """Hash a value by what it is and does, the same in every process and on every machine.

    The user's own functions and classes count by value, with everything that they use; what
    belongs to libraries counts by name.

    Args:
        value: Anything: numbers, arrays, containers, objects, functions.
        name: What messages call it, such as ``"map(decode)"``.
        strict: Count the versions of the libraries that are used, too.
        ignore: The parts that do not count.

    Raises:
        FingerprintError: For something without content that could be compared, such as a lock.

    Example:
        >>> fingerprint_of_value({"a": 1, "b": 2}) == fingerprint_of_value({"b": 2, "a": 1})
        False
        >>> fingerprint_of_value({"a", "b"}) == fingerprint_of_value({"b", "a"})
        True
    """
    return fingerprints_of_values([(name, value)], strict=strict, ignore=ignore)[0]


def fingerprints_of_values(
    values: Sequence[tuple[str, Any]],
    *,
    strict: bool = False,
    ignore: Ignore | None = None,
    spelled_out: bool = True,
    finds_blind: bool = True,
) -> list[Facts]:
    """The facts of several values that belong to one pipeline, each with its name.

    Each has the digest that it has alone, unless one of them reads the annotations, docstrings or
    names of functions, which then count for all, or two of them share an object and that matters.
    What one of the functions writes is own state for all of them: a memo that one stage fills and
    another one reads.

    Without ``spelled_out``, the facts are digests and no more: nothing is described for people.
    Without ``finds_blind``, what cannot be seen through is not looked for.
    """
    graph, moving, leaves_out_results = graph_and_own_state(values, ignore)
    graph.refuse(moving)
    state = places_in(moving, graph, spelled_out=spelled_out)
    places = frozenset(state)
    sharing = Sharing(graph, moving)
    whole = sharing.joined({root: root.digest for root in graph.roots})
    fixed = sharing.joined(graph.digests_without(moving), moving) if moving else whole
    firm = fixed
    if any(map(has_library_state, graph.vertices)):
        mask = WithoutLibraryState(moving)
        firm = sharing.joined(graph.digests_without(mask), mask)
    has_caches = any(map(is_cache, graph.vertices))
    counts_results = has_caches and any(
        part.held for vertex in graph.vertices for part, _ in vertex.edges
    )
    result = []
    for root in graph.roots:
        facts = Facts(whole[root].hex(), _kind(root), "")
        reached = graph.reachable(root) if spelled_out or strict else []
        if spelled_out:
            facts = sharing.told(root, whole[root], graph.facts(root, moving or None))
            if finds_blind:
                facts = dataclasses.replace(facts, blind=blind_spots(root, reached, ignore))
        libraries = {v.sketch.library for v in reached if v.sketch and v.sketch.library}
        facts = dataclasses.replace(
            facts,
            versions=dict(sorted(map(library_version, libraries))),
            fixed=fixed[root].hex(),
            firm=firm[root].hex(),
            places=places,
            state=state,
            has_caches=has_caches,
            counts_results=counts_results,
            leaves_out_results=leaves_out_results,
        )
        result.append(counting_versions(facts) if strict else facts)
    return result


def _kind(vertex: Vertex) -> str:
    # Only containers of plain values have no sketch, and their kind is their type's name.
    return vertex.sketch.kind if vertex.sketch else type(vertex.value).__name__


def graph_and_own_state(
    values: Sequence[tuple[str, Any]], ignore: Ignore | None, *, looks_at_caches: bool = True
) -> tuple[Graph, OwnState, bool]:
    """The graph of some values, what their functions write in it, and if it leaves out results."""
    # Arrays are hashed once, also if there is a second graph.
    with this_moment(), ExitStack() as counting_more:
        graph = _graph(values, ignore)
        moving = own_state(graph)
        memos, opens = _changing_memos(graph, moving), _is_data_written(graph, moving)
        counting_more.enter_context(counting_memos(memos))
        if memos or opens:
            graph = _graph(values, ignore, opens)
            moving = own_state(graph)
        if memos and not opens and (opens := _is_data_written(graph, moving)):
            graph = _graph(values, ignore, opens)  # what a memo holds is data, too
            moving = own_state(graph)
        unread = unread_state(graph, moving)
        looks = looks_at_caches and not is_light()
        stale = stale_caches(graph.vertices, moving, _function_digest) if looks else ()
        as_made: frozenset[Any] = frozenset()
        if looks:
            as_made = results_as_made(graph.vertices, moving, digest_of_content)
        if unread or stale or as_made:
            with counting_stale(frozenset(stale)), leaving_out(as_made):
                graph = _graph(values, ignore, opens, unread)
            moving = own_state(graph)
            moving.forget(unread.names, unread.values)
        return graph, moving, bool(as_made)


def _changing_memos(graph: Graph, moving: OwnState) -> frozenset[int]:
    """The memos with arguments whose results functions change."""
    if not any(name == RESULT for _, name in moving.names):
        return frozenset()
    return frozenset(
        id(vertex.value)
        for vertex in graph.vertices
        if isinstance(vertex.value, functools._lru_cache_wrapper)
        and has_parameters(vertex.value)
        and (id(vertex.value), RESULT) in moving.names
    )


def reaches_what_is_written(
    values: Sequence[tuple[str, Any]], by_others: Sequence[tuple[str, Any]]
) -> bool:
    """Whether some values lead to what the functions of others write."""
    with Moment(light=True):  # what arrays hold does not matter
        written = own_state(_graph(by_others, None))
        if not written:
            return False
        # An object, or a cache that holds nothing yet: what it is going to have is not there.
        owners = {owner for owner, _ in written.names}
        return any(
            id(vertex.value) in owners
            or written.hides(vertex)
            or written.hidden_keys(vertex)
            or any(written.hides_part(vertex, part) for part, _ in vertex.edges)
            for vertex in _graph(values, None).vertices
        )


def places_reached(
    values: Sequence[tuple[str, Any]], places: set[Place], ignore: Ignore | None = None
) -> tuple[set[Place], set[Place]]:
    """Which of some places that hold state the values lead to, and which of these they write."""
    with Moment(light=True):  # what arrays hold does not matter
        graph, moving, _ = graph_and_own_state(values, ignore, looks_at_caches=False)
        return places_met(moving, graph, places)


def _function_digest(cached: Any) -> bytes:
    # What other caches hold that it calls has a history of its own.
    with without_results():
        return _graph([("function", cached.__wrapped__)], None).roots[0].digest


def digest_of_content(value: Any) -> bytes:
    """The digest of the data of a value, to tell whether a program has changed it.

    Code counts by its text alone: the variables that it uses change for other reasons.
    """
    with this_moment(), without_results():
        graph = Graph([("value", value)], _content_sketch, records=attributes_of_records)
        return graph.roots[0].digest


def _content_sketch(value: Any) -> Sketch:
    if isinstance(value, type | ModuleType):
        name = value.__qualname__ if isinstance(value, type) else value.__name__
        return Sketch("code", name, f"{value.__module__}.{name}".encode())
    sketch = _sketch(value)
    if isinstance(value, FunctionType):
        used = (b"global ", b"imported ")
        parts = [part for part in sketch.parts if not part.tag.startswith(used)]
        return Sketch(sketch.kind, sketch.text, sketch.own, parts)
    return sketch


def _is_data_written(graph: Graph, moving: OwnState) -> bool:
    """Whether a part of plain data is own state: it is looked into, to leave out that part."""
    if any(_is_written_inside(vertex, moving) for vertex in graph.data):
        return True
    return any(_writes_records(vertex, moving) for vertex in graph.records)


def _is_written_inside(vertex: Vertex, moving: OwnState) -> bool:
    if moving.hides(vertex):
        return False
    places = moving.values | moving.items | moving.keys.keys()
    return bool(moving.hidden_keys(vertex)) or holds_any(vertex.value, places)


def _writes_records(vertex: Vertex, moving: OwnState) -> bool:
    """Whether functions write single records or items, and not only all of them as a whole."""
    if id(vertex.value) in moving.inside or moving.hidden_keys(vertex):
        return True
    if moving.hides(vertex):
        return False
    written = {owner for owner, _ in moving.names} | moving.values | moving.items
    written |= moving.keys.keys()
    return not written.isdisjoint(map(id, items_of(vertex.value)))


def _graph(
    values: Sequence[tuple[str, Any]],
    ignore: Ignore | None,
    opens_data: bool = False,
    unread: Unread | None = None,
) -> Graph:
    """The graph in which everything counts that the functions in it read of functions."""
    aspects: frozenset[str] = frozenset()
    while True:
        with counting(aspects) as met:
            graph = Graph(
                values,
                _sketch,
                ignore,
                opens_data,
                unread.holds if unread else None,
                attributes_of_records,
            )
        if aspects.issuperset(met.aspects):
            return graph
        aspects |= met.aspects


def _sketch(value: Any) -> Sketch:
    if is_disguised(type(value)):
        return object_sketch(value)
    for rule in _RULES:
        sketch = rule(value)
        if sketch is not None:
            return sketch
    return object_sketch(value)
