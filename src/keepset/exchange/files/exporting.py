"""Exporting: all elements of a pipeline into a file of another format."""

from __future__ import annotations

import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, ClassVar, Final, TypeAlias, TypeVar

from keepset.core.chunk import Chunk
from keepset.core.chunk_spec import chunk_spec, typed, widened
from keepset.core.node import Node
from keepset.core.spec import Spec, structure_and_leaves
from keepset.errors import ElementError, UnknownSpecError
from keepset.exchange.files.chunk_memory import memory_of
from keepset.exchange.files.new_file import new_file
from keepset.exchange.files.whole_run import check_finite, chunks_of
from keepset.snapshot.writing.progress import Progress
from keepset.storage import path_text
from keepset.storage.failures import writing

# What was written is made durable, and shown, every so many bytes.
_SYNC_BYTES: Final = 64 << 20
# Elements whose type nothing promises are held until they take so much memory.
_MOST_HELD_BYTES: Final = 16 << 20
_PIECE_BYTES: Final = 1 << 20

T = TypeVar("T")
Known: TypeAlias = tuple[Spec] | None


class RowWriter(ABC):
    """Writes elements of one spec into a file that is open.

    An element that does not fit is an ``ElementError`` that says what to do.
    """

    # Whether the file has a schema that elements of other lengths do not fit. Where the spec is
    # only found from elements, such a file is begun again with a wider one, and has ``reread``.
    has_schema: ClassVar[bool] = False

    @abstractmethod
    def write(self, chunk: Chunk) -> None:
        """Add elements. The row of an error counts from the first of them."""

    def reread(self, file: BinaryIO) -> Iterator[Chunk]:
        """The elements of a copy of the file, after ``finish``."""
        raise NotImplementedError

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
    name = path_text(path)
    shown = Progress(f"writing {name}", node.cardinality(), progress)
    given, durable, whole = 0, 0, False
    rows: WrittenRows | None = None
    try:
        with new_file(name, options) as file:
            rows = WrittenRows(file, opened, node.known_spec())
            for chunk in chunks_of(node):
                with numbered(given), writing(name):
                    rows.write(chunk)
                    if file.tell() - durable >= _SYNC_BYTES:
                        durable += _sync(file, durable, shown)
                given += len(chunk)
                shown.advance(len(chunk))
            if not given:
                rows.open(empty_spec(node, name))
            with writing(name):
                rows.finish()
                file.seek(0, os.SEEK_END)
                _sync(file, durable, shown)
        whole = True
    finally:
        if rows is not None:
            rows.close()
        shown.close(whole)
    return given


def _sync(file: BinaryIO, durable: int, shown: Progress) -> int:
    """Make what was written durable; how much that is more than before."""
    file.flush()
    os.fsync(file.fileno())
    more = file.tell() - durable
    shown.add_written(more)
    return more


def _check_no_none(chunk: Chunk) -> None:
    """An error if None stands where other elements have a value."""
    for path, column in zip(chunk.structure.paths(), chunk.columns, strict=True):
        if isinstance(column, list):
            for row, leaf in enumerate(column):
                if leaf is None:
                    raise ElementError(
                        "this is None, and other elements have a value; put one in its place with "
                        "map, such as NaN, -1 or b''",
                        row=row,
                        leaf=path or None,
                    )


class WrittenRows:
    """The writer of a file, which begins again where elements turn out to vary in their shapes.

    Where nothing promises a spec, that of the first elements is taken for that of all, so that
    elements which are alike make the file that a promise would make. The first of others asks for
    a wider one: what was written by then is written again, from memory or, if it is more than a
    little, from a copy of the file. A dimension widens once, so this happens a few times at most.

    Attributes:
        spec: What is known of the elements so far.
    """

    def __init__(
        self, file: BinaryIO, opened: Callable[[BinaryIO, Spec], RowWriter], known: Known
    ) -> None:
        self._file, self._opened = file, opened
        self._is_promised = known is not None
        self.spec: Spec = None if known is None else known[0]
        self._writer: RowWriter | None = None
        self._held: list[Chunk] | None = []  # all that was written, unless that is much
        self._held_bytes = 0

    def open(self, spec: Spec) -> RowWriter:
        """Begin the file."""
        self.spec = spec
        self._structure, self._leaves = structure_and_leaves(spec)
        self._writer = self._opened(self._file, spec)
        return self._writer

    def write(self, chunk: Chunk) -> None:
        """Add elements."""
        writer = self._writer
        if writer is not None and writer.has_schema and chunk.structure != self._structure:
            raise self._structure.difference(chunk.structure, 0)
        _check_no_none(chunk)
        if writer is None:
            writer = self.open(self.spec if self._is_promised else chunk_spec(chunk))
        elif writer.has_schema and not self._is_promised:
            spec = widened(self.spec, chunk)
            if spec is not self.spec:
                writer = self._begin_again(writer, spec)
        self._put(writer, chunk)
        self._hold(writer, chunk)

    def _put(self, writer: RowWriter, chunk: Chunk) -> None:
        if writer.has_schema and not self._is_promised:
            chunk = typed(chunk, self._leaves)
        writer.write(chunk)

    def _hold(self, writer: RowWriter, chunk: Chunk) -> None:
        if self._held is None:
            return
        if self._is_promised or not writer.has_schema:
            self._held = None
            return
        self._held.append(chunk)
        self._held_bytes += memory_of(chunk)
        if self._held_bytes > _MOST_HELD_BYTES:
            self._held = None

    def _begin_again(self, writer: RowWriter, spec: Spec) -> RowWriter:
        """Write what was written once more, with a wider spec."""
        # Libraries write what is left when they let go of a file, so that has to happen before.
        writer.finish()
        self._file.flush()
        if self._held is not None:
            self._empty()
            again = self.open(spec)
            for chunk in self._held:
                self._put(again, chunk)
            return again
        folder = os.path.dirname(self._file.name) if isinstance(self._file.name, str) else None
        with tempfile.TemporaryFile(dir=folder) as copy:
            self._file.seek(0)
            shutil.copyfileobj(self._file, copy, _PIECE_BYTES)
            copy.seek(0)
            self._empty()
            again = self.open(spec)
            for chunk in writer.reread(copy):
                self._put(again, chunk)
        return again

    def _empty(self) -> None:
        self._file.seek(0)
        self._file.truncate()

    def finish(self) -> None:
        """Make the file whole."""
        assert self._writer is not None
        self._writer.finish()

    def reread(self) -> Iterator[Chunk]:
        """All elements, after ``finish``, of a file that has a schema."""
        assert self._writer is not None
        self._file.seek(0)
        return self._writer.reread(self._file)

    def close(self) -> None:
        """Let go of everything but the file."""
        if self._writer is not None:
            self._writer.close()


def empty_spec(node: Node, name: str) -> Spec:
    """The spec of elements of which there is none."""
    known = node.known_spec()
    if known is None:
        raise UnknownSpecError(
            f"there are no elements to write to {name}, and so no type that they have; pass "
            "output_signature= to the stage that makes them"
        )
    return known[0]


@contextmanager
def numbered(first: int) -> Iterator[None]:
    """Let an error about one of the elements from ``first`` on name its number in the dataset."""
    try:
        yield
    except ElementError as error:
        error.at(first)
        raise


def with_row(function: Callable[[Chunk], T], chunk: Chunk) -> T:
    """What a function without effects makes of a chunk; an error names the row.

    That is found by another look at the elements, one by one.
    """
    try:
        return function(chunk)
    except ElementError as first:
        for row in range(len(chunk)):
            try:
                function(chunk[row : row + 1])
            except ElementError as error:
                error.row = row
                raise error from first.__cause__
        raise


def unfit(path: str, what: str, row: int | None = None) -> ElementError:
    """The error for a leaf that a format cannot hold, in the element of a row if that is known."""
    return ElementError(f"{path or 'the element'} cannot be written: {what}", row=row)
