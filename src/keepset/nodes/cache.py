"""Cache: keep what the first complete pass gives, and replay it from then on.

What comes out is read-only in every pass, the first included, so that nothing a consumer does can
change what is kept. Elements are kept in memory, or in one chunk file (``format.chunk_file``) that
appears under its name only when it is whole: a pass that stops early, fails or is killed leaves
nothing behind, and needs no lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from threading import Lock
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary, finalize

from keepset.core.chunk import EMPTY, Chunk, concat
from keepset.core.cursor import Cursor, State, skip_to_place
from keepset.core.node import Node, stage
from keepset.core.parameter import parameter, upstream
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.errors import KeepsetError
from keepset.nodes.cache_store import (
    FileStore,
    Keeper,
    Kept,
    MemoryStore,
    Origin,
    Store,
    frozen,
    size_bytes,
)
from keepset.nodes.remembered import KeptRows
from keepset.storage import local_path

# How much is asked for at once while filling, so that copies stay small beside the data.
_READ_BYTES = 4 << 20
_FIRST_READ = 16
_FILL_IT = "iterate over it once, and ds[i] reads what it holds"


@stage
class Cache(Node):
    """The parent's elements, computed once: in memory, or in the file ``filename``.

    Whoever reads to the end first fills the cache; until then every pass computes for itself. A
    pass in which an element failed is not kept. A file is replayed by any later process. It is
    not compared with the pipeline, but for its spec where that is known: delete the file when the
    pipeline changes.

    A dataclass element that is read from a file is of its own class where this process wrote the
    file or knows the spec without running; otherwise it is a named tuple of the same name.

    Before a snapshot it replays nothing that another pass has left: what a snapshot stores is
    computed by the pipeline whose fingerprint it has. Where the pass reads it once it is passed
    over; where it reads it again, as behind a ``repeat``, that pass fills a store of its own.

    A pass restored from a state that was taken while the cache was being filled goes on without
    filling it; the next pass does that, and gives the same order. One restored from a replay whose
    cache is gone computes the elements again from the beginning, as they were, and keeps them.
    """

    is_physical = True

    parent: Node = upstream()
    filename: str = parameter(default="", identity=False)  # where, not what
    store: Store = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "filename", local_path(self.filename, "the file of a cache"))
        store = FileStore(self.filename) if self.filename else MemoryStore()
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
        computation = run.session.computation
        caches = computation.resource((_CachesOfPass, computation), _CachesOfPass)
        if not run.computes_anew:
            return _CacheCursor(self, run, self.store, caches)
        # What is remembered is not compared with the pipeline, and may be of another one.
        if not self._is_read_again(run):
            return self.parent.cursor(run.input(0))
        return _CacheCursor(self, run, caches.own_store(self), caches)

    def _is_read_again(self, run: Run) -> bool:
        """Whether more than one cursor is opened in the pass, each of which gives the same."""
        if run.repetition or run.session.is_nested:
            return True
        return sum(node is self for node in run.session.root.walk()) > 1

    def cardinality(self) -> int:
        return self.parent.cardinality()

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)

    def obstacle(self) -> str | None:
        # Also once it is full: stages downstream must decide the same way in every process.
        return f"{self.title} is filled from the front; {_FILL_IT}"

    def positional(self) -> Node:
        kept = self.store.find(self.parent)
        if kept is not None:
            return KeptRows(parent=self.parent, kept=kept)
        parent = self.parent.positional()
        # Elements are computed again, as they are in a pass that leaves the cache unfilled.
        return parent if parent.obstacle() is None else self

    @property
    def may_run_ahead(self) -> bool:
        """Whether elements may be computed before somebody needs them, or are there already."""
        return self.parent.may_run_ahead or self.store.find(self.parent) is not None


class _CachesOfPass:
    """What the cursors of one pass share, by the stores of their caches.

    A function may build a cache for each element, so that nothing here keeps a store alive.
    """

    def __init__(self) -> None:
        self._plans: WeakKeyDictionary[Store, _Plan] = WeakKeyDictionary()
        self._own: WeakKeyDictionary[Store, Store] = WeakKeyDictionary()
        self._lock = Lock()  # functions may run in several threads
        self._process = os.getpid()

    def plan(self, store: Store) -> _Plan:
        with self._lock:
            return self._plans.setdefault(store, _Plan())

    def own_store(self, node: Cache) -> Store:
        """A store for this pass alone."""
        with self._lock:
            if node.store not in self._own:
                self._own[node.store] = self._make(node.filename)
            return self._own[node.store]

    @staticmethod
    def _make(filename: str) -> Store:
        if not filename:
            return MemoryStore()
        store = FileStore(f"{filename}.{uuid4().hex}")
        finalize(store, _remove, store.path, os.getpid())
        return store

    def close(self) -> None:
        with self._lock:
            for store in list(self._own.values()):
                if isinstance(store, FileStore):
                    _remove(store.path, self._process)
            self._own.clear()


def _remove(path: str, process: int) -> None:
    # A process that was forked meanwhile leaves it to its parent.
    if os.getpid() == process:
        with suppress(FileNotFoundError):
            os.remove(path)


class _Plan:
    """The pass that a restored run takes the cache to be filled by, if it knows one.

    Such a run may find the cache empty where the original found it filled. Whatever it computes in
    its place must be in the original order.
    """

    def __init__(self) -> None:
        self.origin: Origin | None = None

    def allows(self, kept: Kept) -> bool:
        """Whether what is kept is what the plan would give."""
        return self.origin is None or not self.origin["draws"] or self.origin == kept.origin


def _origin_of(run: Run) -> Origin:
    # Places are told from the cache on, so that they hold wherever it stands in a pipeline.
    start = len(run.where)
    draws = run.session.draws.items()
    upstream = {k[start:]: list(v) for k, v in draws if k.startswith(f"{run.where}.")}
    return {"draws": upstream, "repetition": list(run.repetition)}


def _upstream(run: Run, origin: Origin) -> Run:
    """The view with which the parent makes the choices of ``origin`` again."""
    run.session.draws.update({run.where + k: list(v) for k, v in origin["draws"].items()})
    return run.input(0)._replace(repetition=tuple(origin["repetition"]))


class _CacheCursor(Cursor):
    """Replays or fills, whichever it finds it has to do when it is first used."""

    def __init__(self, node: Cache, run: Run, store: Store, caches: _CachesOfPass) -> None:
        self._node, self._run, self._store = node, run, store
        self._plan = caches.plan(store)
        self._mode: Cursor | None = None

    def _open(self) -> Cursor:
        if self._mode is None:
            kept = self._store.find(self._node.parent)
            if kept is not None and self._plan.allows(kept):
                self._mode = _Replay(kept)
            else:
                origin = self._plan.origin or _origin_of(self._run)
                # Before anything is read, so that a bad filename costs no element.
                self._mode = self._first_pass(origin, self._store.keeper())
        return self._mode

    def _first_pass(self, origin: Origin, keeper: Keeper | None) -> _FirstPass:
        return _FirstPass(self._node, self._run, self._store, self._plan, origin, keeper)

    def read(self, max_rows: int) -> Chunk:
        return self._open().read(max_rows)

    def skip(self, count: int) -> int:
        return self._open().skip(count)

    def state(self) -> State:
        return self._open().state()

    def restore(self, state: State) -> None:
        self._plan.origin = state["filled_by"] or self._plan.origin
        if "parent" in state:
            self._mode = self._first_pass(state["origin"], None)
            self._mode.restore(state)
        else:
            skip_to_place(self, state["given"])

    def close(self) -> None:
        if self._mode is not None:
            self._mode.close()


class _Replay(Cursor):
    def __init__(self, kept: Kept) -> None:
        self._kept, self._given = kept, 0
        self._chunk, self._number = EMPTY, -1

    def read(self, max_rows: int) -> Chunk:
        if self._given >= self._kept.rows:
            return EMPTY
        number = self._kept.find(self._given)
        if number != self._number:
            self._chunk, self._number = self._kept.chunk(number), number
        start = self._given - self._kept.first_rows[number]
        rows = self._chunk[start : start + max_rows]
        self._given += len(rows)
        return rows

    def skip(self, count: int) -> int:
        skipped = min(count, self._kept.rows - self._given)
        self._given += skipped
        return skipped

    def state(self) -> State:
        return {"given": self._given, "filled_by": self._kept.origin}

    def restore(self, state: State) -> None:
        self._given = state["given"]


class _FirstPass(Cursor):
    """Computes and, unless it was restored in the middle and has no keeper, keeps."""

    def __init__(
        self,
        node: Cache,
        run: Run,
        store: Store,
        plan: _Plan,
        origin: Origin,
        keeper: Keeper | None,
    ) -> None:
        self._node, self._store, self._plan = node, store, plan
        self._origin, self._keeper = origin, keeper
        self._parent = node.parent.cursor(_upstream(run, origin))
        self._given = 0
        self._limit = _FIRST_READ
        self._is_whole = True
        self._filled_by: Origin | None = None
        self._error: Exception | None = None

    def read(self, max_rows: int) -> Chunk:
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        try:
            chunk = self._parent.read(min(max_rows, self._limit))
            parts = frozen(chunk)
        except BaseException:
            self._give_up()
            raise
        try:
            self._keep(parts)
        except (KeepsetError, OSError) as error:
            self._give_up()
            error.add_note(f"in {self._node.title}: nothing is kept of this pass")
            if not parts:
                raise
            # The rows are good; what is wrong is said on the next read.
            self._error = error
        return concat(parts)

    def _keep(self, parts: list[Chunk]) -> None:
        sizes = list(map(size_bytes, parts))
        rows = sum(map(len, parts))
        self._given += rows
        self._limit = max(1, _READ_BYTES * rows // max(sum(sizes), 1))
        if self._keeper is not None:
            for part, size in zip(parts, sizes, strict=True):
                self._keeper.add(part, size)
        # Complete when it says so, or when all are there, though nobody asks for the end.
        if self._is_whole and (not parts or self._given == self._node.cardinality()):
            self._finish()

    def _finish(self) -> None:
        self._filled_by = self._plan.origin or self._origin
        if self._keeper is None:
            self._plan.origin = self._filled_by
        else:
            self._keeper.finish(self._origin, replaces=self._plan.origin == self._origin)
            # Another pass may have been quicker.
            if (kept := self._store.find(self._node.parent)) is not None:
                self._filled_by = kept.origin
        self._keeper, self._is_whole = None, False

    def _give_up(self) -> None:
        keeper, self._keeper, self._is_whole = self._keeper, None, False
        if keeper is not None:
            keeper.discard()

    def state(self) -> State:
        return {
            "given": self._given,
            "parent": self._parent.state(),
            "origin": self._origin,
            "is_whole": self._is_whole,
            "filled_by": self._filled_by or self._plan.origin,
        }

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        self._given, self._is_whole = state["given"], state["is_whole"]

    def close(self) -> None:
        self._give_up()
        self._parent.close()
