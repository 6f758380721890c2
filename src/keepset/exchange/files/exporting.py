"""Exporting: all elements of a pipeline into a file of another format."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, BinaryIO, Final

from keepset.core.chunk import Chunk
from keepset.core.column import column_spec
from keepset.core.node import Node
from keepset.core.spec import Spec
from keepset.errors import ElementError, UnknownSpecError
from keepset.exchange.files.new_file import new_file
from keepset.exchange.files.whole_run import check_finite, chunks_of
from keepset.snapshot.writing.progress import Progress
from keepset.storage.failures import writing

# What was written is made durable, and shown, every so many bytes.
_SYNC_BYTES: Final = 64 << 20


class RowWriter(ABC):
    """Writes elements of one spec into a file that is open.

    An element that does not fit is an ``ElementError`` that says what to do.
    """

    @abstractmethod
    def write(self, chunk: Chunk) -> None:
        """Add elements."""

    @abstractmethod
    def finish(self) -> None:
        """Write what is left, so that the file is whole."""

    def close(self) -> None:
        """Let go of everything but the file itself; ``finish`` may not have been called."""


def export(
    node: Node,
    path: str | os.PathLike[str],
    opened: Callable[[BinaryIO, Spec], RowWriter],
    *,
    progress: bool | None = None,
    options: dict[str, Any] | None = None,
) -> int:
    """Write all elements to a file, which takes its name when it is whole; how many there were."""
    check_finite(node)
    name = os.fspath(path)
    shown = Progress(f"writing {name}", node.cardinality(), progress)
    given, durable, whole = 0, 0, False
    writer: RowWriter | None = None
    try:
        with new_file(name, options) as file:
            for chunk in chunks_of(node):
                if writer is None:
                    writer = opened(file, first_spec(node, chunk))
                with writing(name):
                    writer.write(chunk)
                    if file.tell() - durable >= _SYNC_BYTES:
                        durable += _sync(file, durable, shown)
                given += len(chunk)
                shown.advance(len(chunk))
            if writer is None:
                writer = opened(file, empty_spec(node, name))
            with writing(name):
                writer.finish()
                file.seek(0, os.SEEK_END)
                _sync(file, durable, shown)
        whole = True
    finally:
        if writer is not None:
            writer.close()
        shown.close(whole)
    return given


def _sync(file: BinaryIO, durable: int, shown: Progress) -> int:
    """Make what was written durable; how much that is more than before."""
    file.flush()
    os.fsync(file.fileno())
    more = file.tell() - durable
    shown.add_written(more)
    return more


def first_spec(node: Node, first: Chunk) -> Spec:
    """What is known of the elements when the first of them are there."""
    known = node.known_spec()
    if known is not None:
        return known[0]
    return first.structure.build([column_spec(column) for column in first.columns])


def empty_spec(node: Node, name: str) -> Spec:
    """The spec of elements of which there is none."""
    known = node.known_spec()
    if known is None:
        raise UnknownSpecError(
            f"there are no elements to write to {name}, and so no type that they have; pass "
            "output_signature= to the stage that makes them"
        )
    return known[0]


def unfit(path: str, what: str) -> ElementError:
    """The error for a leaf that a format cannot hold."""
    return ElementError(f"{path or 'the element'} cannot be written: {what}")
