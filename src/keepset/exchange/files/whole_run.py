"""All elements of a pipeline, for those who write them one behind the other."""

from __future__ import annotations

import time
from collections.abc import Iterator

from keepset.core.chunk import Chunk
from keepset.core.node import INFINITE, Node
from keepset.core.pace import Pace
from keepset.core.run import start
from keepset.errors import InvalidArgumentError


def chunks_of(node: Node, skip: int = 0) -> Iterator[Chunk]:
    """All elements, a few at a time."""
    run = start(node)
    cursor = node.cursor(run)
    try:
        cursor.skip(skip)
        pace = Pace(True)
        while True:
            began = time.perf_counter()
            chunk = cursor.read(pace.size)
            if not len(chunk):
                return
            seconds = time.perf_counter() - began
            yield chunk
            pace.adapt(seconds, chunk.size_bytes)
    finally:
        cursor.close()
        run.session.close()


def check_finite(node: Node) -> None:
    """An error if there is no end of the elements."""
    if node.cardinality() == INFINITE:
        raise InvalidArgumentError(
            f"{node.title} never ends, so it cannot be written; use take(n) to write the first n"
        )
