"""Tree: a graph spelled out for people, each vertex once and within bounds."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import replace
from typing import Any

from keepset.core.fingerprint.facts import Facts, digest_of
from keepset.core.fingerprint.hidden import Hidden
from keepset.core.fingerprint.mask import Mask
from keepset.core.fingerprint.plain import ORDER
from keepset.core.fingerprint.plain_data import data_facts
from keepset.core.fingerprint.sketch import Part, Sketch
from keepset.core.fingerprint.vertex import Vertex

# How much of the graph is spelled out.
_MAX_DEPTH, _MAX_CHILDREN, _MAX_FACTS = 40, 100, 4000


class Tree:
    """Spells a graph out as a tree, each vertex once and within bounds."""

    def __init__(
        self,
        rule: Callable[[Any], Sketch],
        leaf_digest: Callable[[Any], bytes],
        hidden: Hidden,
        moving: Mask | None,
        data: Set[Vertex],
    ) -> None:
        self._rule, self._leaf_digest, self._hidden = rule, leaf_digest, hidden
        self._moving, self._data = moving, data
        self._spelled_out: set[bytes] = set()

    def facts(self, vertex: Vertex, depth: int, strength: int) -> Facts:
        if vertex in self._data:
            return data_facts(vertex.value, vertex.digest, vertex.own, self._hidden.label)
        fresh, hidden = vertex.digest not in self._spelled_out, self._hidden
        sketch = vertex.sketch or self._rule(vertex.value)
        edges: list[tuple[Part, Vertex | None]] = [(part, None) for part in sketch.parts]
        edges = vertex.edges if vertex.sketch else edges
        children = []
        if not sketch.listed or len(edges) > _MAX_CHILDREN:
            # Whether only the order changed is said of containers of any size.
            order = [edge for edge in edges if edge[0].label == ORDER]
            if order and fresh:
                children.append(("items", self._items(edges, sketch)))
            edges = order
        if fresh and depth < _MAX_DEPTH and len(self._spelled_out) < _MAX_FACTS:
            self._spelled_out.add(vertex.digest)
            for part, inner in edges:
                below = hidden.strength(part.label, part.value, vertex.value, strength)
                if inner is None:
                    facts = self._leaf(part.value, below)
                else:
                    facts = self.facts(inner, depth + 1, below)
                if self._moves(vertex, part, inner):
                    facts = replace(facts, moves=True)
                children.append((hidden.label(part.label), facts))
        return Facts(
            digest=vertex.digest.hex(),
            kind=sketch.kind,
            text=hidden.text(vertex.value, sketch, strength),
            own=vertex.own.hex(),
            children=tuple(children),
            source=hidden.source(sketch.source) if fresh else "",
        )

    def _moves(self, vertex: Vertex, part: Part, inner: Vertex | None) -> bool:
        moving = self._moving
        if moving is None:
            return False
        return moving.hides_part(vertex, part) or (inner is not None and moving.hides(inner))

    def _items(self, edges: list[tuple[Part, Vertex | None]], sketch: Sketch) -> Facts:
        """The items of a container apart from their order."""
        pairs = sorted(
            (part.tag, self._leaf_digest(part.value) if inner is None else inner.digest)
            for part, inner in edges
            if part.label != ORDER
        )
        digest = digest_of(*(item for pair in pairs for item in pair))
        return Facts(digest.hex(), "items", sketch.text)

    def _leaf(self, value: Any, strength: int) -> Facts:
        sketch = self._rule(value)
        own = digest_of(sketch.kind.encode(), sketch.own)
        text = self._hidden.text(value, sketch, strength)
        return Facts(self._leaf_digest(value).hex(), sketch.kind, text, own.hex())
