"""Rings: the parts of a graph that lead back to themselves, and how they are hashed.

A value that contains itself, or functions that call each other, form a ring in which nothing can
be hashed first. Rings are hashed in rounds: each member starts from its own content and takes in
the digests of its parts again and again, until no round tells more members apart. The result does
not depend on where the ring is entered, nor on whether equal values are one object or two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from keepset.core.fingerprint.facts import digest_of
from keepset.core.fingerprint.vertex import Vertex


def rings(
    roots: list[Vertex], following: Callable[[Vertex], list[Vertex]]
) -> Iterator[list[Vertex]]:
    """The strongly connected parts, each after all that it leads to (Tarjan, without recursion)."""
    index: dict[Vertex, int] = {}
    lowest: dict[Vertex, int] = {}
    open_ones: list[Vertex] = []
    is_open: set[Vertex] = set()
    for root in roots:
        if root in index:
            continue
        index[root] = lowest[root] = len(index)
        open_ones.append(root)
        is_open.add(root)
        path = [(root, iter(following(root)))]
        while path:
            vertex, edges = path[-1]
            for inner in edges:
                if inner not in index:
                    index[inner] = lowest[inner] = len(index)
                    open_ones.append(inner)
                    is_open.add(inner)
                    path.append((inner, iter(following(inner))))
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


def _last(vertices: list[Vertex], wanted: Vertex) -> int:
    at = len(vertices) - 1
    while vertices[at] is not wanted:
        at -= 1
    return at


def hash_ring(
    ring: list[Vertex],
    following: Callable[[Vertex], list[Vertex]],
    digest: Callable[[Vertex], bytes],
    own: dict[Vertex, bytes],
    digests: dict[Vertex, bytes],
) -> None:
    """Find the digests of the members of a ring, of which all that they lead to have theirs.

    Args:
        ring: Its members; a single vertex that does not lead to itself is hashed at once.
        following: What a vertex leads to.
        digest: Makes the digest of a vertex of those in ``digests``.
        own: The digests of vertices without their parts.
        digests: Where the results go.
    """
    if len(ring) == 1 and all(inner is not ring[0] for inner in following(ring[0])):
        digests[ring[0]] = digest(ring[0])
        return
    for vertex in ring:
        digests[vertex] = own[vertex]
    classes: set[bytes] = set()
    while len({digests[vertex] for vertex in ring}) > len(classes):
        classes = {digests[vertex] for vertex in ring}
        steps = [(digests[vertex], digest(vertex)) for vertex in ring]
        for vertex, (_, after) in zip(ring, steps, strict=True):
            digests[vertex] = after
    # The last step of all classes together describes the whole ring. Without it, two long rings
    # that look alike for a few steps around their entrance would be taken for the same.
    whole = digest_of(*(item for step in sorted(set(steps)) for item in step))
    for vertex in ring:
        digests[vertex] = digest_of(b"ring", digests[vertex], whole)
