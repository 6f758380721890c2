"""What all elements have in common, found before the first of them is handed on."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from keepset.core.chunk import Chunk
from keepset.core.column import column_spec
from keepset.core.node import INFINITE, Node
from keepset.core.spec import Spec, common_supertype
from keepset.errors import ElementError, InvalidArgumentError
from keepset.exchange.files.exporting import empty_spec
from keepset.exchange.files.whole_run import chunks_of
from keepset.nodes.take import Take


def first_elements(node: Node, limit: int | None) -> Node:
    """At most so many elements; an error if there is no end of them."""
    if limit is not None:
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
            raise InvalidArgumentError(f"limit={limit!r} must be a whole number, or None for all")
        return Take(parent=node, count=limit)
    if node.cardinality() == INFINITE:
        raise InvalidArgumentError(
            f"{node.title} never ends, so no table can hold it; pass limit=n, or use take(n)"
        )
    return node


def foreseen(node: Node, most_bytes: int = sys.maxsize) -> tuple[Spec, Iterator[Chunk]]:
    """The spec of the elements, and all of them, a few at a time.

    Where only elements can tell, they are held until about ``most_bytes`` of them are known, and
    the spec is what those have in common.
    """
    chunks = chunks_of(node)
    known = node.known_spec()
    if known is not None:
        return known[0], chunks
    held: list[Chunk] = []
    size, spec = 0, None
    for chunk in chunks:
        held.append(chunk)
        found = chunk.structure.build([column_spec(column) for column in chunk.columns])
        spec = found if len(held) == 1 else _common(spec, found)
        size += chunk.size_bytes
        if size >= most_bytes:
            break
    if not held:
        return empty_spec(node, "a table"), iter(())
    return spec, _rest(held, chunks)


def _common(one: Spec, other: Spec) -> Spec:
    try:
        return common_supertype([one, other])
    except ElementError as error:
        raise ElementError(f"{error}; bring all elements to one type with map") from error


def _rest(held: list[Chunk], chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    # What was handed on is let go, as whoever gets it makes something else of it.
    held.reverse()
    while held:
        yield held.pop()
    yield from chunks
