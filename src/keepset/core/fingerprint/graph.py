"""Graph: values joined to their parts, hashed from the leaves up, cycles included.

A value that contains itself, or functions that call each other, form a ring in which nothing can
be hashed first. Rings are hashed in rounds: each member starts from its own content and takes in
the digests of its parts again and again, until no round tells more members apart. The result does
not depend on where the ring is entered, nor on whether equal values are one object or two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from keepset.core.fingerprint.facts import Facts, digest_of
from keepset.core.fingerprint.sketch import Part, Sketch, Uncountable
from keepset.errors import FingerprintError

# How much of the graph is spelled out for people.
_MAX_DEPTH, _MAX_CHILDREN, _MAX_FACTS = 40, 100, 4000

_VERBS = {
    "captured": "captures",
    "global": "uses the global",
    "attribute": "has the attribute",
    "default": "has the default",
    "argument": "has the argument",
}


class _Vertex:
    __slots__ = ("digest", "edges", "label", "own", "parent", "sketch", "value")

    def __init__(self, value: Any, parent: _Vertex | None, label: str) -> None:
        # The value is held so that its id stays its own while the graph lives.
        self.value, self.parent, self.label = value, parent, label
        self.sketch = Sketch("", "")
        self.edges: list[tuple[Part, _Vertex]] = []
        self.own = self.digest = b""


class Graph:
    """Everything that can be reached from one value."""

    def __init__(self, root: Any, name: str, rule: Callable[[Any], Sketch]) -> None:
        self._name, self._rule = name, rule
        self._vertices: dict[int, _Vertex] = {}
        self.root = self._vertex(root, None, name)
        self._expand()
        for ring in _rings(self.root):
            _hash(ring)

    @property
    def libraries(self) -> set[str]:
        return {v.sketch.library for v in self._vertices.values() if v.sketch.library}

    def facts(self) -> Facts:
        """The tree for people."""
        return _Telling().tell(self.root, 0)

    def _vertex(self, value: Any, parent: _Vertex | None, label: str) -> _Vertex:
        found = self._vertices.get(id(value))
        if found is None:
            found = self._vertices[id(value)] = _Vertex(value, parent, label)
        return found

    def _expand(self) -> None:
        # A list and not recursion: values may be nested deeper than Python's stack.
        todo = [self.root]
        while todo:
            vertex = todo.pop()
            try:
                sketch = vertex.sketch = self._rule(vertex.value)
            except Uncountable as problem:
                raise self._error(vertex, problem) from None
            vertex.own = digest_of(sketch.kind.encode(), sketch.own)
            for part in sketch.parts:
                known = len(self._vertices)
                inner = self._vertex(part.value, vertex, part.label)
                vertex.edges.append((part, inner))
                if len(self._vertices) > known:
                    todo.append(inner)

    def _error(self, vertex: _Vertex, problem: Uncountable) -> FingerprintError:
        path: list[str] = []
        step: _Vertex | None = vertex
        while step is not None:
            path.append(step.label)
            step = step.parent
        *above, last = reversed(path)
        if above:
            word, _, rest = last.partition(" ")
            what = f"{_VERBS[word]} '{rest}'" if word in _VERBS else f"holds {last}"
            said = f"{' > '.join(above)} {what} ({problem.what})"
        else:
            said = f"{last} is {problem.what}"
        return FingerprintError(
            f"{said}, which has no content that could be compared{problem.remark}; make it inside "
            "the function, give its class a __keepset_fingerprint__ method, or pass "
            'fingerprint="..." with a text that you change whenever the result does',
            path=" > ".join([*above, last]),
        )


def _hash(ring: list[_Vertex]) -> None:
    if len(ring) == 1 and all(inner is not ring[0] for _, inner in ring[0].edges):
        ring[0].digest = _digest(ring[0])
        return
    for vertex in ring:
        vertex.digest = vertex.own
    classes: set[bytes] = set()
    while len({vertex.digest for vertex in ring}) > len(classes):
        classes = {vertex.digest for vertex in ring}
        steps = [(vertex.digest, _digest(vertex)) for vertex in ring]
        for vertex, (_, digest) in zip(ring, steps, strict=True):
            vertex.digest = digest
    # The last step of all classes together describes the whole ring. Without it, two long rings
    # that look alike for a few steps around their entrance would be taken for the same.
    whole = digest_of(*(item for step in sorted(set(steps)) for item in step))
    for vertex in ring:
        vertex.digest = digest_of(b"ring", vertex.digest, whole)


def _digest(vertex: _Vertex) -> bytes:
    inner = [(part.tag, child.digest) for part, child in vertex.edges]
    if not vertex.sketch.ordered:
        inner.sort()
    return digest_of(vertex.own, *(item for pair in inner for item in pair))


def _rings(root: _Vertex) -> Iterator[list[_Vertex]]:
    """The strongly connected parts, each after all that it leads to (Tarjan, without recursion)."""
    index: dict[_Vertex, int] = {root: 0}
    lowest: dict[_Vertex, int] = {root: 0}
    open_ones: list[_Vertex] = [root]
    is_open = {root}
    path = [(root, iter(root.edges))]
    while path:
        vertex, edges = path[-1]
        for _, inner in edges:
            if inner not in index:
                index[inner] = lowest[inner] = len(index)
                open_ones.append(inner)
                is_open.add(inner)
                path.append((inner, iter(inner.edges)))
                break
            if inner in is_open:
                lowest[vertex] = min(lowest[vertex], index[inner])
        else:
            path.pop()
            if path:
                above = path[-1][0]
                lowest[above] = min(lowest[above], lowest[vertex])
            if lowest[vertex] == index[vertex]:
                start = _last(open_ones, vertex)
                ring = open_ones[start:]
                del open_ones[start:]
                is_open.difference_update(ring)
                yield ring


def _last(vertices: list[_Vertex], wanted: _Vertex) -> int:
    at = len(vertices) - 1
    while vertices[at] is not wanted:
        at -= 1
    return at


class _Telling:
    """Spells a graph out as a tree, each vertex once and within bounds."""

    def __init__(self) -> None:
        self._told: set[bytes] = set()

    def tell(self, vertex: _Vertex, depth: int) -> Facts:
        sketch, children = vertex.sketch, []
        fresh = vertex.digest not in self._told
        listed = sketch.listed and len(vertex.edges) <= _MAX_CHILDREN
        if fresh and listed and depth < _MAX_DEPTH and len(self._told) < _MAX_FACTS:
            self._told.add(vertex.digest)
            children = [(part.label, self.tell(inner, depth + 1)) for part, inner in vertex.edges]
        return Facts(
            digest=vertex.digest.hex(),
            kind=sketch.kind,
            text=sketch.text,
            own=vertex.own.hex(),
            children=tuple(children),
            source=sketch.source if fresh else "",
        )
