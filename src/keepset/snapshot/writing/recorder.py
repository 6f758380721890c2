"""Recorder: turns a stream of elements into segments, in a thread of its own."""

from __future__ import annotations

import logging
import math
import os
import queue
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait

import numpy as np

from keepset.core.checksum import crc32c_function
from keepset.core.chunk import Chunk
from keepset.core.dtypes import Array
from keepset.core.spec import Spec
from keepset.core.structure import Structure, structure_of
from keepset.errors import ElementError, PendingSnapshotError
from keepset.format.layout import Layout
from keepset.format.manifest import Manifest
from keepset.format.order import OrderBuilder
from keepset.snapshot.writing.segments import Segments
from keepset.snapshot.writing.sizes import CHUNK_BYTES, SEGMENT_BYTES
from keepset.snapshot.writing.staging import (
    Block,
    Form,
    Staging,
    copied,
    is_read_only,
    loose_columns,
)
from keepset.storage import Store
from keepset.storage.patience import Patience

# Elements of many shards that wait for their chunks to fill.
_MOST_STAGED_BYTES = 64 << 20
_MOST_WAITING = 4
# Larger blocks are seldom worth their memory once they are written.
_LARGEST_SPARE_BYTES = 16 << 20
# Whoever waits longer for a store is told what for. A client of a bucket tries for a minute by
# itself, in silence, when its server is gone in the middle of a request.
_LONG_WAIT_S = 10.0

_log = logging.getLogger("keepset")


class Recorder:
    """Keeps the elements that are added, in files named after ``run``.

    ``add`` copies and returns; encoding, compressing and writing happen behind it. ``cut`` makes
    everything so far durable and gives the manifest of what was added since the last cut. An error
    of the thread comes out of the next call.

    With ``holds_views`` arrays that cannot be written to are not copied: for those who let nobody
    run meanwhile that could change what they are views of. With ``patience`` the thread repeats
    what a full or unreachable disk refuses, as long as that lasts, while ``add`` waits. ``first``
    is the number of the first element that is added, for messages.
    """

    def __init__(
        self,
        store: Store,
        run: str,
        compression: str,
        *,
        spec: Spec | None = None,
        has_spec: bool = False,
        chunk_bytes: int = CHUNK_BYTES,
        segment_bytes: int = SEGMENT_BYTES,
        on_written: Callable[[int], None] | None = None,
        holds_views: bool = False,
        patience: Patience | None = None,
        first: int = 0,
    ) -> None:
        crc32c_function()  # imported now: later there may be no file descriptor left for that
        self._patience = patience or Patience(0)
        self._chunk_bytes, self._holds_views = chunk_bytes, holds_views
        self._staged: dict[int, Staging] = {}
        self._spare: deque[Block] = deque()  # written and free
        self._staged_bytes = 0
        self._rows_per_chunk = 0
        self._segments = Segments(
            store, run, compression, Layout(spec) if has_spec else None, segment_bytes, on_written
        )
        self._structure: Structure | None = structure_of(spec) if has_spec else None
        self._order = OrderBuilder()
        self._elements = 0  # since the last cut
        self._next = self._first = first
        self._written: dict[int, int] = {}  # how many elements of each shard
        self._has_shards = False
        self._jobs: queue.Queue[Callable[[], None] | None] = queue.Queue(_MOST_WAITING)
        self._failure: BaseException | None = None
        self._url, self._has_told = store.object_url(run), False
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._work, name="keepset-recorder", daemon=True)
        self._thread.start()

    def add(self, chunk: Chunk, shards: Array | None = None) -> None:
        """Keep a copy of these elements; ``shards`` says where each belongs."""
        self._check()
        if not len(chunk):
            return
        self._elements += len(chunk)
        try:
            self._take_in(chunk, shards)
        except ElementError as error:
            error.at(self._next)
            raise
        self._next += len(chunk)

    def _take_in(self, chunk: Chunk, shards: Array | None) -> None:
        structure = self._structure = self._structure or chunk.structure
        # Here, where elements are in order: columns compare them with the first of their chunk.
        if chunk.structure != structure:
            raise structure.difference(chunk.structure, 0)
        if shards is None:
            self._add_all(chunk)
            return
        self._has_shards = True
        own = copied(chunk)
        self._order.add(shards)
        for shard in np.unique(shards).tolist():
            self._stage(shard, own.take(np.flatnonzero(shards == shard)))

    @property
    def room(self) -> int:
        """How many elements the next chunk still lacks, if all go into one shard."""
        staging = self._staged.get(0)
        return self._rows_per_chunk - (0 if staging is None else staging.rows)

    def _add_all(self, chunk: Chunk) -> None:
        """Keep elements that are not divided among shards."""
        if self._holds_views and is_read_only(chunk):
            self._stage(0, chunk)
            return
        columns = loose_columns(chunk)
        form = Form.of(chunk.structure, columns)
        if form is None:
            self._stage(0, copied(chunk))
            return
        staging = self._staged.setdefault(0, Staging())
        self._note_size(chunk)
        start = 0
        while start < len(chunk):
            if not staging.has_room_for(form):
                staging.open_block(self._block(form, chunk.size_bytes / len(chunk)))
            before = staging.size_bytes
            start += staging.fill(columns, start)
            self._staged_bytes += staging.size_bytes - before
            self._hand_over_full(0, staging)

    def _block(self, form: Form, row_bytes: float) -> Block:
        """One that was written, or a new one."""
        while self._spare:  # no other thread takes from it
            block = self._spare.pop()
            if block.form == form:
                block.used = 0
                return block
        most = max(1, math.ceil(2 * self._chunk_bytes / max(row_bytes, 1)))
        return Block(form, min(self._rows_per_chunk, most))

    def _stage(self, shard: int, chunk: Chunk) -> None:
        staging = self._staged.setdefault(shard, Staging())
        before = staging.size_bytes
        staging.add(chunk)
        self._staged_bytes += staging.size_bytes - before
        self._note_size(chunk)
        self._hand_over_full(shard, staging)
        while self._staged_bytes > _MOST_STAGED_BYTES:
            largest = max(self._staged, key=lambda shard: self._staged[shard].size_bytes)
            self._hand_over(largest, self._staged[largest])

    def _note_size(self, chunk: Chunk) -> None:
        if not self._rows_per_chunk:
            self._rows_per_chunk = _rows_for(self._chunk_bytes, chunk.size_bytes / len(chunk))

    def _hand_over_full(self, shard: int, staging: Staging) -> None:
        while staging.rows >= self._rows_per_chunk or staging.size_bytes >= 2 * self._chunk_bytes:
            self._hand_over(shard, staging)

    def _hand_over(self, shard: int, staging: Staging) -> None:
        before = staging.size_bytes
        chunk, block = staging.take(self._rows_per_chunk)
        self._staged_bytes += staging.size_bytes - before
        self._check()
        self._hand_in(lambda: self._write(shard, chunk, block))

    def cut(self, then: Callable[[Manifest], None] | None = None) -> Future[Manifest]:
        """Make everything that was added durable; what there is since the last cut.

        ``then`` is called with it in the recorder's thread, before anything that is added later.
        """
        self._check()
        for shard, staging in self._staged.items():
            if staging.rows:
                self._hand_over(shard, staging)
        elements, self._elements = self._elements, 0
        order = self._order.take()
        future: Future[Manifest] = Future()

        def finish() -> None:
            try:
                self._check()
                manifest = self._segments.cut(elements, order)
                if then is not None:
                    then(manifest)
                if elements:
                    self._patience.note_stored()
                future.set_result(manifest)
            except BaseException as error:
                future.set_exception(error)
                raise

        self._hand_in(finish)
        return future

    def finished(self, cut: Future[Manifest]) -> Manifest:
        """What a cut comes to, waited for."""
        if not wait([cut], _LONG_WAIT_S).done:
            self._tell_of_waiting()
        return cut.result()

    def unified(self, manifest: Manifest) -> Manifest:
        """As of the segments. To be called by ``then``, or after the last cut is done."""
        return self._segments.unified(manifest)

    def close(self) -> None:
        """Stop. What was added since the last cut is dropped."""
        self._patience.end()
        if self._thread.is_alive():
            self._jobs.put(None)
            self._thread.join()
        self._segments.abort()

    def _hand_in(self, job: Callable[[], None]) -> None:
        try:
            self._jobs.put(job, timeout=_LONG_WAIT_S)
        except queue.Full:
            self._tell_of_waiting()
            self._jobs.put(job)

    def _tell_of_waiting(self) -> None:
        if not self._has_told:
            self._has_told = True
            _log.warning(
                "%s has not taken what was written for %.0f s; the pass waits for it",
                self._url,
                _LONG_WAIT_S,
            )

    def _write(self, shard: int, chunk: Chunk, block: Block | None) -> None:
        if self._failure is not None:
            return
        written = self._written.get(shard, 0)
        try:
            self._segments.write(shard, chunk)
        except ElementError as error:
            if self._has_shards and error.row is not None:
                where = f" (it is number {written + error.row} of shard {shard})"
                raise error.told("", where) from error
            error.at(self._first + written)
            raise
        self._written[shard] = written + len(chunk)
        if block is not None and block.rows * block.row_bytes <= _LARGEST_SPARE_BYTES:
            self._spare.append(block)

    def _check(self) -> None:
        if self._process != os.getpid():
            raise PendingSnapshotError(
                "this process was forked from one that writes, and goes on with its work; write in "
                "one of them only"
            )
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        with self._patience.here():
            self._take_jobs()

    def _take_jobs(self) -> None:
        # After a failure it goes on taking jobs, because somebody may wait for room in the queue
        # or for a cut, which then fails for the same reason.
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except BaseException as error:
                self._failure = self._failure or error


def _rows_for(chunk_bytes: int, row_bytes: float) -> int:
    """How many rows make about so many bytes.

    A power of two, as most batches are, so that a batch seldom has rows of two chunks, which would
    have to be copied to be together.
    """
    return int(2 ** max(0, round(math.log2(chunk_bytes / max(row_bytes, 1)))))
