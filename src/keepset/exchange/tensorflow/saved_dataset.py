"""SavedDataset: the elements that TensorFlow saved, without TensorFlow."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from keepset.core.chunk import EMPTY, Chunk, concat
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.node import UNKNOWN, Node, must_run, stage
from keepset.core.parameter import parameter
from keepset.core.record import record
from keepset.core.run import Run
from keepset.core.spec import LeafSpec, Spec, TensorSpec, is_compatible, structure_and_leaves
from keepset.core.structure import LEAF, Structure, tuple_of
from keepset.errors import CorruptSnapshotError, SnapshotMismatchError
from keepset.exchange.tensorflow.components import spec_of_dtypes, stored_dtype
from keepset.exchange.tensorflow.datatypes import number_of_dtype
from keepset.exchange.tensorflow.records import MOST_BYTES
from keepset.exchange.tensorflow.saved_files import CHUNKS, METADATA, SavedFiles
from keepset.exchange.tensorflow.shard_reader import ShardReader
from keepset.storage import Store, open_store

_FIRST_ROWS, _MOST_ROWS = 16, 4096
_INDEX: Final = TensorSpec((), np.int64)


@record
class Layout:
    """How an element is made of the tensors that are stored.

    Attributes:
        leaves: What each tensor is; None where only it can tell.
        structure: How they are nested, without the number.
        has_index: Whether the first tensor is the number of the element.
    """

    __keepset_recipe__ = ("leaves", "structure", "has_index")

    leaves: tuple[LeafSpec | None, ...]
    structure: Structure
    has_index: bool

    def __keepset_fingerprint__(self) -> Any:
        return repr(self.leaves), repr(self.structure), self.has_index


def layout_of(files: SavedFiles, spec: Spec | None, store: Store) -> Layout:
    """How the elements are stored; ``spec`` is what a user says they are, if anything.

    Raises:
        SnapshotMismatchError: They are something else than the user says.
    """
    if files.spec is not None:
        if spec is not None and not is_compatible(spec, files.spec[0]):
            raise SnapshotMismatchError(
                f"{files.url} holds elements of {files.spec[0]}, not of {spec}; leave "
                "element_spec out, it is known from the files"
            )
        structure, leaves = structure_and_leaves(files.spec[0])
        return Layout(tuple(leaves), structure, False)
    try:
        if not files.dtypes and files.shards:
            raise ValueError("it says that elements have no tensors, and there are files of them")
        stored = spec_of_dtypes(files.dtypes)
    except ValueError as error:
        raise CorruptSnapshotError(
            f"{files.url} is damaged: {error}; restore the file {METADATA} from a copy, or save "
            "the dataset again",
            path=files.url,
        ) from error
    if spec is not None:
        return _layout_of_spec(files, spec)
    has_index = _is_numbered(files, store)
    count = len(stored) - has_index
    structure = LEAF if count == 1 else tuple_of(*[LEAF] * count)
    return Layout(tuple(stored), structure, has_index)


def _layout_of_spec(files: SavedFiles, spec: Spec) -> Layout:
    structure, leaves = structure_and_leaves(spec)
    dtypes = tuple(stored_dtype(leaf) for leaf in leaves)
    if files.dtypes == dtypes:
        return Layout(tuple(leaves), structure, False)
    if files.dtypes == (number_of_dtype(np.dtype(np.int64)), *dtypes):
        return Layout((_INDEX, *leaves), structure, True)
    kept = ", ".join("variant" if s is None else str(s.dtype) for s in spec_of_dtypes(files.dtypes))
    raise SnapshotMismatchError(
        f"{files.url} holds tensors of {kept}, which are no elements of {spec}; leave element_spec "
        "out to see what they are"
    )


def _is_numbered(files: SavedFiles, store: Store) -> bool:
    """Whether each element has its number before it, as without a ``shard_func``.

    Then the first elements of the shards count from zero, and the next ones go on by the number of
    shards, which is that of the writer's processors. Where that would be three or another odd
    number, what looks like a number is rather the user's own, by which a ``shard_func`` dealt.
    """
    if not files.is_snapshot or files.version < 2 or len(files.dtypes) < 2 or not files.shards:
        return False
    count = len(files.shards)
    is_odd = count > 1 and count % 2 == 1
    if is_odd or files.dtypes[0] != number_of_dtype(np.dtype(np.int64)):
        return False
    firsts: list[int] = []
    for names in files.shards:
        reader = ShardReader(store, names, files, spec_of_dtypes(files.dtypes), verify=True)
        try:
            columns = reader.read(2, 1)
        finally:
            reader.close()
        if not columns:
            return False
        numbers = columns[0]
        if not isinstance(numbers, np.ndarray) or numbers.ndim != 1:
            return False
        firsts.append(int(numbers[0]))
        if len(numbers) > 1 and int(numbers[1]) - int(numbers[0]) != len(files.shards):
            return False
    return sorted(firsts) == list(range(len(firsts)))


@stage
class TensorflowSaved(Node):
    """What ``Dataset.save``, ``snapshot`` or ``distributed_save`` of TensorFlow kept.

    Elements come in the order in which they were, where their numbers are kept; otherwise one from
    each shard in turn. With ``shard``, those of one alone.
    """

    saved: SavedFiles
    layout: Layout
    # Credentials and endpoints: the files count by what their store says of them.
    store_options: Any = parameter(default=None, identity=False, recipe=False)
    verify: bool = True
    shard: int | None = None

    def cursor(self, run: Run) -> Cursor:
        store = open_store(self.saved.url, **(self.store_options or {}))
        shards = self.saved.shards if self.shard is None else [self.saved.shards[self.shard]]
        readers = [
            ShardReader(store, names, self.saved, self.layout.leaves, self.verify)
            for names in shards
        ]
        if self.shard is None and self.layout.has_index:
            return _NumberedCursor(self, readers)
        return _InTurnCursor(self, readers)

    def cardinality(self) -> int:
        number = self.saved.num_elements
        if self.shard is not None and len(self.saved.shards) > 1:
            return UNKNOWN
        return UNKNOWN if number is None else number

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        if self.saved.spec is not None:
            return self.saved.spec[0]
        leaves = self.layout.leaves[1:] if self.layout.has_index else self.layout.leaves
        known = [leaf for leaf in leaves if leaf is not None and leaf.shape is not None]
        return self.layout.structure.build(known) if len(known) == len(leaves) else must_run()

    def obstacle(self) -> str | None:
        return f"{self.title} only goes forward; save() it, or `keepset convert` it, first"

    @property
    def outside(self) -> Any:
        # A run has a name of its own, which its files have in theirs. Those of distributed_save are
        # numbered, so that other elements have the same names.
        names = {name for shard in self.saved.shards for name in shard}
        if not any(name.startswith(CHUNKS) for name in names):
            return None
        store = open_store(self.saved.url, **(self.store_options or {}))
        return sorted(
            (info.name, info.size_bytes, info.version or info.modified_s)
            for info in store.list(CHUNKS)
            if info.name in names
        )

    @property
    def parameters(self) -> dict[str, Any]:
        return {"url": self.saved.url, "shard": self.shard}


class _Lane:
    """One shard, and what was read of it and not given yet."""

    def __init__(self, reader: ShardReader, layout: Layout) -> None:
        self._reader, self._layout = reader, layout
        self.head: Chunk = EMPTY
        self.numbers: Array = np.zeros(0, np.int64)
        self.has_ended = False

    def fill(self, rows: int, most_bytes: int) -> bool:
        """Have at least one row ready; False at the end."""
        if not len(self.head) and not self.has_ended:
            columns = self._reader.read(rows, most_bytes)
            self.has_ended = not columns
            if columns:
                if self._layout.has_index:
                    self.numbers = np.asarray(columns.pop(0))
                    count = len(self.numbers)
                else:
                    count = len(columns[0])
                self.head = Chunk.from_columns(self._layout.structure, columns, count)
        return len(self.head) > 0

    def take(self, rows: int) -> Chunk:
        """The first rows."""
        chunk, self.head = self.head[:rows], self.head[rows:]
        self.numbers = self.numbers[rows:]
        return chunk

    def skip(self, count: int) -> None:
        self._reader.skip(count)

    def end(self) -> None:
        """Give nothing more."""
        self.head, self.has_ended = EMPTY, True

    def close(self) -> None:
        self._reader.close()


class _SavedCursor(Cursor):
    """Gives blocks of rows that come from several shards."""

    def __init__(self, node: TensorflowSaved, readers: Sequence[ShardReader]) -> None:
        self._node = node
        self._lanes = [_Lane(reader, node.layout) for reader in readers]
        self._taken = np.zeros(len(readers), np.int64)  # of each shard, before the block
        self._block: Chunk = EMPTY
        self._owners: Array = np.zeros(0, np.int64)  # the shard of each row of the block
        self._given = 0
        self._rows = _FIRST_ROWS

    def read(self, max_rows: int) -> Chunk:
        if self._given == len(self._block):
            self._taken = self._counts()
            self._block, self._owners = self._next_block()
            self._given = 0
            if not len(self._block):
                self._check_end()
                return EMPTY
            self._rows = self._next_rows()
        chunk = self._block[self._given : self._given + max_rows]
        self._given += len(chunk)
        return chunk

    @abstractmethod
    def _next_block(self) -> tuple[Chunk, Array]:
        """The next rows, and the shard of each; none at the end."""

    def _next_rows(self) -> int:
        """How many rows to read of each shard: more and more, up to some megabytes.

        Powers of two, as most batches are: one that has rows of two blocks has to be copied.
        """
        row_bytes = max(1, self._block.size_bytes // len(self._block))
        most = min(_MOST_ROWS, MOST_BYTES // row_bytes) // max(1, len(self._lanes))
        return min(4 * self._rows, 1 << max(0, most.bit_length() - 1))

    def _live(self) -> list[int]:
        most_bytes = MOST_BYTES // max(1, len(self._lanes))
        rows = self._rows
        if len(self._lanes) == 1:
            rows -= int(self._taken[0]) % rows
        return [n for n, lane in enumerate(self._lanes) if lane.fill(rows, most_bytes)]

    def _counts(self) -> Array:
        """How many rows of each shard were given."""
        given = np.bincount(self._owners[: self._given], minlength=len(self._lanes))
        counts: Array = self._taken + given
        return counts

    def _check_end(self) -> None:
        expected, found = self._node.cardinality(), int(self._taken.sum())
        if expected not in (UNKNOWN, found):
            raise self._lacking(
                f"{expected} elements were saved, and {found} are there: a file is missing or was "
                "cut between two records"
            )

    def _lacking(self, what: str) -> CorruptSnapshotError:
        url = self._node.saved.url
        return CorruptSnapshotError(f"{url}: {what}; restore it from a copy", path=url)

    def state(self) -> State:
        return {"taken": self._counts().tolist()}

    def restore(self, state: State) -> None:
        self._taken = np.array(state["taken"], np.int64)
        for lane, count in zip(self._lanes, state["taken"], strict=True):
            lane.skip(count)

    def close(self) -> None:
        for lane in self._lanes:
            lane.close()


class _InTurnCursor(_SavedCursor):
    """One element from each shard in turn, until all have ended."""

    _turn = 0  # the shard to begin with, in the middle of a round

    def _next_block(self) -> tuple[Chunk, Array]:
        live = self._live()
        if not live:
            return EMPTY, np.zeros(0, np.int64)
        rows = min(len(self._lanes[n].head) for n in live)
        if self._turn:
            left, self._turn = [n for n in live if n >= self._turn], 0
            live, rows = (left, 1) if left else (live, rows)
        if len(live) == 1:
            return self._lanes[live[0]].take(rows), np.full(rows, live[0])
        parts = concat([self._lanes[n].take(rows) for n in live])
        order = np.arange(rows * len(live)).reshape(len(live), rows).T.ravel()
        return parts.take(order), np.tile(np.array(live), rows)

    def state(self) -> State:
        left = self._owners[self._given :]
        return super().state() | {"turn": int(left[0]) if len(left) else self._turn}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._turn = state["turn"]


class _NumberedCursor(_SavedCursor):
    """All elements in the order of their numbers."""

    _gap: CorruptSnapshotError | None = None

    def _next_block(self) -> tuple[Chunk, Array]:
        if self._gap is not None:
            raise self._gap
        live = self._live()
        if not live:
            return EMPTY, np.zeros(0, np.int64)
        # Behind the last number that is there of a shard, others of that shard may follow.
        last = min(int(self._lanes[n].numbers[-1]) for n in live)
        numbers, parts, owners = [], [], []
        for n in live:
            lane = self._lanes[n]
            rows = int(np.searchsorted(lane.numbers, last, side="right"))
            numbers.append(lane.numbers[:rows])
            owners.append(np.full(rows, n))
            parts.append(lane.take(rows))
        found = np.concatenate(numbers)
        order = np.argsort(found, kind="stable")
        first = int(self._taken.sum())
        fits = found[order] == np.arange(first, first + len(found))
        count = len(found) if fits.all() else int(fits.argmin())
        if count < len(found):
            self._stop_at(first + count, int(found[order[count]]))
        if not count and self._gap is not None:
            raise self._gap
        return concat(parts).take(order[:count]), np.concatenate(owners)[order[:count]]

    def _stop_at(self, missing: int, following: int) -> None:
        """Give nothing behind an element that is not there."""
        for lane in self._lanes:
            lane.end()
        if self._node.saved.is_finished:
            self._gap = self._lacking(
                f"element {missing} is missing, and {following} comes next: a file is missing or "
                "was cut between two records"
            )
