"""What all elements have in common, found before the first of them is handed on."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from typing import Any, BinaryIO

from keepset.core.chunk import Chunk
from keepset.core.chunk_spec import chunk_spec, widened
from keepset.core.node import INFINITE, Node
from keepset.core.spec import Spec
from keepset.errors import InvalidArgumentError
from keepset.exchange.arrow.file import ArrowWriter
from keepset.exchange.files.chunk_memory import memory_of
from keepset.exchange.files.exporting import WrittenRows, empty_spec, numbered
from keepset.exchange.files.whole_run import chunks_of
from keepset.nodes.take import Take
from keepset.storage.failures import writing


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

    Where only elements can tell, all of them are looked at first. Those that take more memory than
    ``most_bytes`` wait in a file.
    """
    chunks = chunks_of(node)
    known = node.known_spec()
    if known is not None:
        return known[0], chunks
    held: list[Chunk] = []
    size, given, spec = 0, 0, None
    for chunk in chunks:
        with numbered(given):
            spec = widened(spec, chunk) if held else chunk_spec(chunk)
        held.append(chunk)
        given += len(chunk)
        size += memory_of(chunk)
        if size >= most_bytes:
            return _filed(_rest(held, chunks))
    if not held:
        return empty_spec(node, "a table"), iter(())
    return spec, _rest(held, iter(()))


def _rest(held: list[Chunk], chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    # What was handed on is let go, as whoever gets it makes something else of it.
    held.reverse()
    while held:
        yield held.pop()
    yield from chunks


def _filed(chunks: Iterator[Chunk]) -> tuple[Spec, Iterator[Chunk]]:
    """The same elements by way of a file, when all of them have been seen."""
    file: Any = tempfile.TemporaryFile()  # noqa: SIM115  # closed when all is read again
    rows, given = WrittenRows(file, ArrowWriter, None), 0
    try:
        for chunk in chunks:
            with numbered(given), writing("a temporary file"):
                rows.write(chunk)
            given += len(chunk)
        with writing("a temporary file"):
            rows.finish()
    except BaseException:
        rows.close()
        file.close()
        raise
    return rows.spec, _reread(rows, file)


def _reread(rows: WrittenRows, file: BinaryIO) -> Iterator[Chunk]:
    with file:
        yield from rows.reread()
