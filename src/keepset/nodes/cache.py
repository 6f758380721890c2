"""Cache: keep what the first complete pass gives, and replay it from then on.

What comes out is read-only in every pass, the first included, so that nothing a consumer does can
change what is kept. Elements are kept in memory, or in one chunk file (``format.chunk_file``) that
appears under its name only when it is whole: a pass that stops early, fails or is killed leaves
nothing behind, and needs no lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import groupby
from threading import Lock
from typing import Any, Protocol, TypeAlias

import numpy as np

from keepset.core.chunk import EMPTY, Chunk, concat
from keepset.core.column import Column, column_take
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.node import Node
from keepset.core.ragged import Ragged
from keepset.core.run import Run
from keepset.core.sparse import Sparse
from keepset.core.spec import Spec, structure_and_leaves
from keepset.core.structure import Structure, structure_of
from keepset.errors import ElementError, InvalidArgumentError
from keepset.format.chunk_file import (
    ChunkFileReader,
    ChunkFileWriter,
    Rows,
    file_identity,
    read_only,
)

# Rows that come in small portions are kept in groups of about this size.
_GROUP_BYTES = 1 << 20
_GROUP_ROWS = 1 << 16
# How much is asked for at once while filling, so that copies stay small beside the data.
_READ_BYTES = 4 << 20
_FIRST_READ = 16


@dataclass(frozen=True, kw_only=True, eq=False)
class Cache(Node):
    """The parent's elements, computed once: in memory, or in the file ``filename``.

    Whoever reads to the end first fills the cache; until then every pass computes for itself. A
    pass in which an element failed is not kept. A file is replayed by any later process. It is
    not compared with the pipeline, but for its spec where that is known: delete the file when the
    pipeline changes.

    A dataclass element that is read from a file is of its own class where this process wrote the
    file or knows the spec without running; otherwise it is a named tuple of the same name.

    A pass restored from a state that was taken while the cache was being filled goes on without
    filling it; the next pass does that, and gives the same order. One restored from a replay whose
    cache is gone computes the elements again from the beginning, as they were, and keeps them.
    """

    parent: Node
    filename: str = ""
    store: Store = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "filename", os.fspath(self.filename))
        store = _FileStore(self.filename) if self.filename else _MemoryStore()
        object.__setattr__(self, "store", store)

    def __getstate__(self) -> dict[str, Any]:
        # What is kept stays in its process; a copy elsewhere begins empty, or with the file.
        return {key: value for key, value in super().__getstate__().items() if key != "store"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__post_init__()

    @property
    def parameters(self) -> dict[str, Any]:
        return {"filename": self.filename} if self.filename else {}

    def cursor(self, run: Run) -> Cursor:
        return _CacheCursor(self, run)

    def cardinality(self) -> int:
        return self.parent.cardinality()

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)

    def obstacle(self) -> str | None:
        obstacle = self.parent.obstacle()
        # Stages that go by position need the length, and that stays the parent's.
        if obstacle is None or self.cardinality() < 0:
            return obstacle
        return obstacle if self.store.find(self.parent) is None else None

    def gather(self, indices: Array, run: Run) -> Chunk:
        kept = self.kept(run)
        if kept is not None:
            return kept.gather(indices)
        return self.parent.gather(indices, (self.plan(run).origin or Origin.of(run)).upstream(run))

    def kept(self, run: Run) -> Kept | None:
        """What is in the store, if this run may replay it."""
        kept, planned = self.store.find(self.parent), self.plan(run).origin
        return kept if kept is None or planned is None or planned.gives(kept) else None

    def plan(self, run: Run) -> Plan:
        return run.session.resource(self.store, Plan)


@dataclass(frozen=True)
class Origin:
    """What the random choices of a pass came from: the seeds drawn upstream, and its repetition."""

    draws: dict[str, list[int]]
    repetition: tuple[int, ...]

    @classmethod
    def of(cls, run: Run) -> Origin:
        # Places are told from the cache on, so that they hold wherever it stands in a pipeline.
        start = len(run.where)
        draws = run.session.draws.items()
        upstream = {k[start:]: list(v) for k, v in draws if k.startswith(f"{run.where}.")}
        return cls(upstream, run.repetition)

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Origin:
        return cls(facts["draws"], tuple(facts["repetition"]))

    def to_json(self) -> dict[str, Any]:
        return {"draws": self.draws, "repetition": list(self.repetition)}

    def upstream(self, run: Run) -> Run:
        """The view with which the parent makes the same choices again."""
        run.session.draws.update({run.where + k: list(v) for k, v in self.draws.items()})
        return replace(run.input(0), repetition=self.repetition)

    def gives(self, kept: Kept) -> bool:
        """Whether a pass like this one gives what is kept."""
        return not self.draws or self == kept.origin


class Plan:
    """The pass that a run takes the cache to be filled by, if it knew that before it could read it.

    A run that was restored may find the cache empty where the original found it filled. Whatever
    it computes in its place must be in the original order.
    """

    def __init__(self) -> None:
        self.origin: Origin | None = None

    def close(self) -> None:
        pass


class Kept:
    """The elements of a complete pass, to be read from any place."""

    def __init__(
        self, first_rows: list[int], chunk: Callable[[int, Rows], Chunk], origin: Origin
    ) -> None:
        self.rows, self.origin = first_rows[-1], origin
        self._first_rows, self._chunk = np.array(first_rows), chunk

    def read(self, start: int, max_rows: int) -> Chunk:
        if start >= self.rows:
            return EMPTY
        number = int(np.searchsorted(self._first_rows, start, side="right")) - 1
        first, stop = self._first_rows[number : number + 2].tolist()
        return self._chunk(number, slice(start - first, min(start + max_rows, stop) - first))

    def gather(self, indices: Array) -> Chunk:
        if not len(indices):
            return EMPTY
        numbers = np.searchsorted(self._first_rows, indices, side="right") - 1
        order = np.argsort(numbers, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)
        parts = []
        for group in groups:
            number = int(numbers[group[0]])
            parts.append(self._chunk(number, indices[group] - self._first_rows[number]))
        # Groups of one chunk are in order already.
        return parts[0] if len(parts) == 1 else concat(parts).take(np.argsort(order))


class _Keeper(Protocol):
    """Collects the chunks of one pass."""

    def add(self, part: Chunk) -> None: ...

    def finish(self, origin: Origin, replaces: bool) -> None:
        """Publish what was collected, unless another pass has done so and must stay."""

    def discard(self) -> None: ...


class _MemoryStore:
    """What a data set without a filename keeps; all passes over it share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: Kept | None = None

    def find(self, parent: Node) -> Kept | None:
        return self._kept

    def keeper(self) -> _Keeper:
        return _MemoryKeeper(self)

    def publish(self, kept: Kept, replaces: bool) -> None:
        with self._lock:
            if self._kept is None or replaces:
                self._kept = kept


class _MemoryKeeper:
    def __init__(self, store: _MemoryStore) -> None:
        self._store = store
        self._group = _Group(self._keep)
        self._chunks: list[Chunk] = []
        self._first_rows = [0]

    def add(self, part: Chunk) -> None:
        self._group.add(part)

    def _keep(self, chunk: Chunk) -> None:
        for column in chunk.columns:
            if isinstance(column, np.ndarray):
                read_only(column)
        # Columns alone: rows that somebody made of them stay with the chunk that was given out.
        self._chunks.append(Chunk.from_columns(chunk.structure, chunk.columns, len(chunk)))
        self._first_rows.append(self._first_rows[-1] + len(chunk))

    def finish(self, origin: Origin, replaces: bool) -> None:
        self._group.flush()
        chunks = self._chunks

        def rows_of(number: int, rows: Rows) -> Chunk:
            # A new chunk each time, so that rows made of it are the reader's own.
            return _pick(chunks[number], rows)

        self._store.publish(Kept(self._first_rows, rows_of, origin), replaces)

    def discard(self) -> None:
        self._chunks = []


class _FileStore:
    """What a data set keeps in a file, which may also come from another process."""

    def __init__(self, path: str) -> None:
        self.path = path
        # The structure that this process saw: a file does not know the classes of records.
        self.structure: Structure | None = None
        self._lock = Lock()
        self._kept: Kept | None = None
        self._identity: tuple[int, ...] = ()

    def find(self, parent: Node) -> Kept | None:
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
        known = parent.known_spec()
        if known and reader.spec and not _fits(known[0], reader.spec[0]):
            raise InvalidArgumentError(
                f"the cache file {self.path} holds elements of {reader.spec[0]}, but the data set "
                f"gives {known[0]}: another pipeline wrote it; delete it or choose another filename"
            )
        live = self.structure or (structure_of(known[0]) if known else None)
        self._identity = reader.identity

        def rows_of(number: int, rows: Rows) -> Chunk:
            chunk = reader.chunk(number, rows)
            if chunk.structure != live:
                return chunk
            return Chunk.from_columns(live, chunk.columns, len(chunk))

        note = reader.note or {"draws": {}, "repetition": []}
        return Kept(reader.first_rows, rows_of, Origin.from_json(note))

    def keeper(self) -> _Keeper:
        try:
            os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
            return _FileKeeper(self, ChunkFileWriter(self.path))
        except OSError as error:
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


class _FileKeeper:
    def __init__(self, store: _FileStore, writer: ChunkFileWriter) -> None:
        self._store, self._writer = store, writer
        self._group = _Group(writer.append)
        self._structure: Structure | None = None

    def add(self, part: Chunk) -> None:
        self._structure = self._structure or part.structure
        self._group.add(part)

    def finish(self, origin: Origin, replaces: bool) -> None:
        if os.path.exists(self._store.path) and not replaces:
            self.discard()
            return
        self._group.flush()
        self._writer.commit(origin.to_json())
        self._store.structure = self._structure

    def discard(self) -> None:
        self._writer.discard()


Store: TypeAlias = _MemoryStore | _FileStore


class _Group:
    """Joins small chunks, so that an expensive pipeline is not kept row by row."""

    def __init__(self, emit: Callable[[Chunk], None]) -> None:
        self._emit = emit
        self._parts: list[Chunk] = []
        self._rows = self._bytes = 0

    def add(self, part: Chunk) -> None:
        if self._parts and part.structure != self._parts[0].structure:
            self.flush()
        self._parts.append(part)
        self._rows += len(part)
        self._bytes += sum(map(_column_bytes, part.columns))
        if self._bytes >= _GROUP_BYTES or self._rows >= _GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        parts, self._parts, self._rows, self._bytes = self._parts, [], 0, 0
        if parts:
            self._emit(concat(parts))


class _CacheCursor(Cursor):
    """Replays or fills, whichever it finds it has to do when it is first used."""

    def __init__(self, node: Cache, run: Run) -> None:
        self._node, self._run = node, run
        self._mode: _Replay | _FirstPass | None = None

    def _open(self) -> _Replay | _FirstPass:
        if self._mode is None:
            kept, planned = self._node.kept(self._run), self._node.plan(self._run).origin
            if kept is not None:
                self._mode = _Replay(kept)
            else:
                origin = planned or Origin.of(self._run)
                self._mode = _FirstPass(self._node, self._run, origin, planned is not None)
        return self._mode

    def read(self, max_rows: int) -> Chunk:
        return self._open().read(max_rows)

    def skip(self, count: int) -> int:
        return self._open().skip(count)

    def state(self) -> State:
        return self._open().state()

    def restore(self, state: State) -> None:
        origin = Origin.from_json(state)
        if state["settled"]:
            self._node.plan(self._run).origin = origin
            kept = self._node.kept(self._run)
            if kept is not None:
                self._mode = _Replay(kept)
                self._mode.skip(state["given"])
                return
        self._mode = _FirstPass(self._node, self._run, origin, state["settled"])
        if state["parent"] is None:
            self._mode.skip(state["given"])
        else:
            self._mode.restore(state)

    def close(self) -> None:
        if self._mode is not None:
            self._mode.close()


class _Replay(Cursor):
    def __init__(self, kept: Kept) -> None:
        self._kept, self._given = kept, 0

    def read(self, max_rows: int) -> Chunk:
        chunk = self._kept.read(self._given, max_rows)
        self._given += len(chunk)
        return chunk

    def skip(self, count: int) -> int:
        skipped = min(count, self._kept.rows - self._given)
        self._given += skipped
        return skipped

    def state(self) -> State:
        origin = self._kept.origin.to_json()
        return {"given": self._given, "parent": None, "settled": True, **origin}

    def restore(self, state: State) -> None:
        self._given = state["given"]


class _FirstPass(Cursor):
    """Computes and, unless it was restored in the middle, keeps.

    ``settled`` says that the cache is known to have been filled by a pass of this origin.
    """

    def __init__(self, node: Cache, run: Run, origin: Origin, settled: bool) -> None:
        self._node, self._origin, self._settled = node, origin, settled
        self._plan = node.plan(run)
        self._parent = node.parent.cursor(origin.upstream(run))
        self._given = 0
        self._limit = _FIRST_READ
        self._keeper: _Keeper | None = None
        self._begins = True
        self._is_whole = True
        self._error: Exception | None = None

    def read(self, max_rows: int) -> Chunk:
        if self._begins:
            # Before anything is read, so that a bad filename costs no element.
            self._keeper, self._begins = self._node.store.keeper(), False
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        try:
            chunk = self._parent.read(min(max_rows, self._limit))
            parts = _frozen(chunk) if len(chunk) else []
        except BaseException:
            self._give_up()
            raise
        if parts:
            return self._keep(parts, len(chunk))
        try:
            self._finish()
        except (ElementError, OSError) as error:
            raise self._explain(error) from None
        return EMPTY

    def _keep(self, parts: list[Chunk], rows: int) -> Chunk:
        self._given += rows
        size = sum(_column_bytes(column) for part in parts for column in part.columns)
        self._limit = max(1, _READ_BYTES * rows // max(size, 1))
        try:
            if self._keeper is not None:
                for part in parts:
                    self._keeper.add(part)
            if self._given == self._node.cardinality():
                # Complete, even if nobody asks for the end.
                self._finish()
        except (ElementError, OSError) as error:
            # The rows are good; what is wrong is said on the next read.
            self._error = self._explain(error)
        return concat(parts)

    def _finish(self) -> None:
        if not self._is_whole:
            return
        if self._keeper is not None:
            self._keeper.finish(self._origin, self._settled)
        else:
            self._plan.origin = self._origin
        self._keeper, self._is_whole = None, False

    def _give_up(self) -> None:
        keeper, self._keeper, self._is_whole = self._keeper, None, False
        if keeper is not None:
            keeper.discard()

    def _explain(self, error: Exception) -> Exception:
        self._give_up()
        error.add_note(f"in {self._node.title}: nothing is kept of this pass")
        return error

    def state(self) -> State:
        parent, origin = self._parent.state(), self._origin.to_json()
        return {"given": self._given, "parent": parent, "settled": self._settled, **origin}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        self._given, self._begins = state["given"], False

    def close(self) -> None:
        self._give_up()
        self._parent.close()


def _frozen(chunk: Chunk) -> list[Chunk]:
    """Copies of the elements that nobody can change; several chunks if structures differ."""
    try:
        return [_frozen_columns(chunk)]
    except ElementError:
        groups = [list(rows) for _, rows in groupby(chunk.rows, key=structure_of)]
        return [_frozen_columns(Chunk.from_rows(rows)) for rows in groups]


def _frozen_columns(chunk: Chunk) -> Chunk:
    columns: list[Column] = [
        [_frozen_leaf(leaf) for leaf in column]
        if isinstance(column, list)
        else read_only(np.array(column, order="C"))
        for column in chunk.columns
    ]
    return Chunk.from_columns(chunk.structure, columns, len(chunk))


def _frozen_leaf(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray):
        return read_only(np.array(leaf, order="C"))
    if isinstance(leaf, Ragged):
        return Ragged(_frozen_leaf(leaf.values), _frozen_leaf(leaf.row_splits))
    if isinstance(leaf, Sparse):
        parts = map(_frozen_leaf, (leaf.indices, leaf.values, leaf.dense_shape))
        return Sparse(*parts)
    if isinstance(leaf, bytes | np.generic) or hasattr(leaf, "__keepset_node__"):
        return leaf
    raise ElementError(f"a value of type {type(leaf).__name__} stands among leaves")


def _pick(chunk: Chunk, rows: Rows) -> Chunk:
    if isinstance(rows, slice):
        columns = [column[rows] for column in chunk.columns]
        return Chunk.from_columns(chunk.structure, columns, rows.stop - rows.start)
    columns = [column_take(column, rows) for column in chunk.columns]
    for column in columns:
        if isinstance(column, np.ndarray):
            read_only(column)
    return Chunk.from_columns(chunk.structure, columns, len(rows))


def _column_bytes(column: Column) -> int:
    if isinstance(column, list):
        return sum(map(_leaf_bytes, column))
    return _leaf_bytes(column)


def _leaf_bytes(leaf: Any) -> int:
    if isinstance(leaf, np.ndarray):
        return sum(map(len, leaf.ravel().tolist())) if leaf.dtype == object else leaf.nbytes
    if isinstance(leaf, Ragged):
        return _leaf_bytes(leaf.values) + leaf.row_splits.nbytes
    if isinstance(leaf, Sparse):
        return _leaf_bytes(leaf.values) + leaf.indices.nbytes
    return len(leaf) if isinstance(leaf, bytes) else getattr(leaf, "nbytes", 0)
