"""Cache stores: what a cache keeps, in memory or in a file, and how a pass puts it there."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, groupby
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from keepset.core.chunk import Chunk, concat
from keepset.core.column import Column
from keepset.core.dtypes import Array
from keepset.core.jagged import Jagged
from keepset.core.node import Node
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.spec import Spec, structure_and_leaves
from keepset.core.structure import Structure, structure_of
from keepset.errors import ElementError, InvalidArgumentError
from keepset.format.chunk_file import ChunkFileReader, ChunkFileWriter, file_identity
from keepset.format.columns import read_only
from keepset.storage.failures import failed, is_full, writing

# Rows that come in small portions are kept in groups of about this size.
_GROUP_BYTES = 1 << 20
_GROUP_ROWS = 1 << 16

# Which pass gave what is kept, as JSON: the seeds drawn upstream, and its repetition.
Origin: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Kept:
    """The elements of a complete pass, chunk by chunk."""

    origin: Origin
    # The number of the first element of each chunk, and at last the number of all elements.
    first_rows: list[int]
    # Gives a new chunk each time, so that rows made of it are the reader's own.
    chunk: Callable[[int], Chunk]

    @property
    def rows(self) -> int:
        return self.first_rows[-1]

    def find(self, row: int) -> int:
        """The number of the chunk that holds element ``row``."""
        return bisect_right(self.first_rows, row) - 1


class Keeper(ABC):
    """Collects the elements of one pass, in groups: an expensive pipeline gives them singly."""

    def __init__(self) -> None:
        self._parts: list[Chunk] = []
        self._rows = self._bytes = 0

    def add(self, part: Chunk, size_bytes: int) -> None:
        if self._parts and part.structure != self._parts[0].structure:
            self._flush()
        self._parts.append(part)
        self._rows += len(part)
        self._bytes += size_bytes
        if self._bytes >= _GROUP_BYTES or self._rows >= _GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        parts, self._parts, self._rows, self._bytes = self._parts, [], 0, 0
        if parts:
            self._put(concat(parts))

    @abstractmethod
    def _put(self, chunk: Chunk) -> None: ...

    def finish(self, origin: Origin, replaces: bool) -> None:
        """Publish what was collected, unless another pass has done so and must stay."""
        self._flush()
        self._publish(origin, replaces)

    @abstractmethod
    def _publish(self, origin: Origin, replaces: bool) -> None: ...

    def discard(self) -> None:
        """Leave nothing behind."""


class MemoryStore:
    """What a data set without a filename keeps; all passes over it share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: Kept | None = None

    def find(self, parent: Node) -> Kept | None:
        return self._kept

    def keeper(self) -> Keeper:
        return _MemoryKeeper(self)

    def publish(self, kept: Kept, replaces: bool) -> None:
        with self._lock:
            if self._kept is None or replaces:
                self._kept = kept


class _MemoryKeeper(Keeper):
    def __init__(self, store: MemoryStore) -> None:
        super().__init__()
        self._store = store
        self._chunks: list[Chunk] = []

    def _put(self, chunk: Chunk) -> None:
        for column in chunk.columns:
            if isinstance(column, np.ndarray):
                read_only(column)
            elif isinstance(column, Jagged):
                read_only(column.values)
        self._chunks.append(_columns_alone(chunk))

    def _publish(self, origin: Origin, replaces: bool) -> None:
        chunks = self._chunks
        first_rows = list(accumulate(map(len, chunks), initial=0))
        kept = Kept(origin, first_rows, lambda number: _columns_alone(chunks[number]))
        self._store.publish(kept, replaces)


def _columns_alone(chunk: Chunk, structure: Structure | None = None) -> Chunk:
    """The same columns, without the rows that somebody may have made of them."""
    return Chunk.from_columns(structure or chunk.structure, chunk.columns, len(chunk))


class FileStore:
    """What a data set keeps in a file, which may also come from another process."""

    def __init__(self, path: str) -> None:
        self.path = path
        # The structures that this process saw: a file does not know the classes of records.
        self.structures: dict[Structure, Structure] = {}
        self._lock = Lock()
        self._kept: Kept | None = None
        self._identity: tuple[int, ...] = ()

    def find(self, parent: Node) -> Kept | None:
        """What the file holds, if there is one; an error if it cannot be of this ``parent``."""
        with self._lock:
            try:
                # The file may have been deleted or replaced since it was opened.
                if self._kept is None or file_identity(os.stat(self.path)) != self._identity:
                    self._kept = None
                    self._kept = self._open(parent)
            except (FileNotFoundError, NotADirectoryError):
                self._kept = None
            except OSError as error:
                raise self._unusable("read", error) from error
            return self._kept

    def _open(self, parent: Node) -> Kept:
        reader = ChunkFileReader(self.path)
        if (known := parent.known_spec()) is not None:
            if reader.spec is not None and not _fits(known[0], reader.spec[0]):
                raise InvalidArgumentError(
                    f"the cache file {self.path} holds elements of {reader.spec[0]}, but the data "
                    f"set gives {known[0]}: another pipeline wrote it; delete it or choose another "
                    "filename"
                )
            self.note_structure(structure_of(known[0]))
        self._identity = reader.identity

        def chunk(number: int) -> Chunk:
            found = reader.chunk(number)
            return _columns_alone(found, self.structures.get(found.structure))

        return Kept(reader.note, reader.first_rows, chunk)

    def note_structure(self, structure: Structure) -> None:
        self.structures.setdefault(structure, structure)

    def keeper(self) -> Keeper:
        try:
            os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
            return _FileKeeper(self, ChunkFileWriter(self.path))
        except OSError as error:
            if is_full(error):
                raise failed("write", self.path, error) from error
            raise self._unusable("write", error) from error

    def _unusable(self, verb: str, error: OSError) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"cannot {verb} the cache file {self.path}: {error.strerror}; pass a filename in a "
            "directory where files can be written and read"
        )


def _fits(known: Spec, found: Spec) -> bool:
    # Each spec is taken apart by its own structure: records in a file are of classes of their own.
    (promised, leaves), (given, others) = map(structure_and_leaves, (known, found))
    if promised != given:
        return False
    return all(leaf.is_compatible_with(o) for leaf, o in zip(leaves, others, strict=True))


class _FileKeeper(Keeper):
    def __init__(self, store: FileStore, writer: ChunkFileWriter) -> None:
        super().__init__()
        self._store, self._writer = store, writer

    def _put(self, chunk: Chunk) -> None:
        self._store.note_structure(chunk.structure)
        with writing(self._store.path):
            self._writer.append(chunk)

    def _publish(self, origin: Origin, replaces: bool) -> None:
        if replaces or not os.path.exists(self._store.path):
            with writing(self._store.path):
                self._writer.commit(origin)
        else:
            self.discard()

    def discard(self) -> None:
        self._writer.discard()


Store: TypeAlias = MemoryStore | FileStore


def frozen(chunk: Chunk) -> list[Chunk]:
    """Copies of the elements that nobody can change; several chunks if structures differ."""
    if not len(chunk):
        return []
    try:
        return [_frozen_columns(chunk)]
    except ElementError:
        groups = [list(rows) for _, rows in groupby(chunk.rows, key=structure_of)]
        return [_frozen_columns(Chunk.from_rows(rows)) for rows in groups]


def _frozen_columns(chunk: Chunk) -> Chunk:
    columns = [_frozen_column(column) for column in chunk.columns]
    return Chunk.from_columns(chunk.structure, columns, len(chunk))


def _frozen_column(column: Column) -> Column:
    if isinstance(column, Jagged):
        own = column.copy()
        read_only(own.values)
        return own
    if isinstance(column, list):
        return [_frozen_leaf(leaf) for leaf in column]
    frozen: Array = _frozen_leaf(column)
    return frozen


def _frozen_leaf(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray):
        return read_only(np.array(leaf, order="C"))
    if isinstance(leaf, Ragged):
        return Ragged(_frozen_leaf(leaf.values), _frozen_leaf(leaf.row_splits))
    if isinstance(leaf, Sparse):
        return Sparse(*map(_frozen_leaf, (leaf.indices, leaf.values, leaf.dense_shape)))
    if isinstance(leaf, bytes | str | np.generic) or hasattr(leaf, "__keepset_node__"):
        return leaf
    raise ElementError(f"a value of type {type(leaf).__name__} stands among leaves")


def size_bytes(chunk: Chunk) -> int:
    """As ``Chunk.size_bytes``, but with every leaf counted: sizes may differ a thousandfold."""
    return sum(map(_leaf_bytes, chunk.columns))


def _leaf_bytes(leaf: Any) -> int:
    if isinstance(leaf, list):
        return sum(map(_leaf_bytes, leaf))
    if isinstance(leaf, Ragged):
        return _leaf_bytes(leaf.values) + leaf.row_splits.nbytes
    if isinstance(leaf, Sparse):
        return _leaf_bytes(leaf.values) + leaf.indices.nbytes
    if isinstance(leaf, Jagged):
        return _leaf_bytes(leaf.joined()) + 16 * len(leaf)
    if isinstance(leaf, np.ndarray) and leaf.dtype == object:
        return sum(map(len, leaf.ravel().tolist()))
    return len(leaf) if isinstance(leaf, bytes | str) else getattr(leaf, "nbytes", 0)
