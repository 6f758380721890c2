"""Recorder: turns a stream of elements into segments, in a thread of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future

import numpy as np

from keepset.codecs import Codec
from keepset.core.chunk import Chunk
from keepset.core.column import column_spec
from keepset.core.dtypes import Array
from keepset.core.spec import Spec, common_supertype
from keepset.errors import ElementError
from keepset.format.encodings.encoding import TooLargeError
from keepset.format.layout import Layout
from keepset.format.manifest import KeptChunk, Manifest, Segment
from keepset.format.order import order_of
from keepset.format.segment import SegmentWriter
from keepset.snapshot.compression import choose_codec
from keepset.snapshot.staging import Staging, copied
from keepset.storage import ObjectWriter, Store

CHUNK_BYTES = 2 << 20
SEGMENT_BYTES = 128 << 20
# Elements of many shards that wait for their chunks to fill.
_MOST_STAGED_BYTES = 64 << 20
_MOST_WAITING = 4


class Recorder:
    """Keeps the elements that are added, in files named after ``run``.

    ``add`` copies and returns; encoding, compressing and writing happen behind it. ``cut`` makes
    everything so far durable and gives the manifest of what was added since the last cut. An error
    of the thread comes out of the next call.
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
    ) -> None:
        self._chunk_bytes = chunk_bytes
        self._staged: dict[int, Staging] = {}
        self._staged_bytes = 0
        self._rows_per_chunk = 0
        self._writing = _Writing(
            store, run, compression, Layout(spec) if has_spec else None, segment_bytes, on_written
        )
        self._orders: list[Array] = []
        self._elements = 0
        self._jobs: queue.Queue[Callable[[], None] | None] = queue.Queue(_MOST_WAITING)
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="keepset-recorder", daemon=True)
        self._thread.start()

    def add(self, chunk: Chunk, shards: Array | None = None) -> None:
        """Keep a copy of these elements; ``shards`` says where each belongs."""
        self._check()
        if not len(chunk):
            return
        own = copied(chunk)
        self._elements += len(own)
        if shards is None:
            self._stage(0, own)
            return
        self._orders.append(shards)
        for shard in np.unique(shards).tolist():
            self._stage(shard, own.take(np.flatnonzero(shards == shard)))

    def _stage(self, shard: int, chunk: Chunk) -> None:
        staging = self._staged.setdefault(shard, Staging())
        before = staging.size_bytes
        staging.add(chunk)
        self._staged_bytes += staging.size_bytes - before
        if not self._rows_per_chunk:
            each = max(1, chunk.size_bytes // len(chunk))
            self._rows_per_chunk = max(1, self._chunk_bytes // each)
        while staging.rows >= self._rows_per_chunk or staging.size_bytes >= 2 * self._chunk_bytes:
            self._hand_over(shard, staging)
        while self._staged_bytes > _MOST_STAGED_BYTES:
            largest = max(self._staged, key=lambda shard: self._staged[shard].size_bytes)
            self._hand_over(largest, self._staged[largest])

    def _hand_over(self, shard: int, staging: Staging) -> None:
        before = staging.size_bytes
        chunk = staging.take(self._rows_per_chunk)
        self._staged_bytes += staging.size_bytes - before
        self._check()
        self._jobs.put(lambda: self._write(shard, chunk))

    def cut(self, then: Callable[[Manifest], None] | None = None) -> Future[Manifest]:
        """Make everything that was added durable; what there is since the last cut.

        ``then`` is called with it in the recorder's thread, before anything that is added later.
        """
        self._check()
        for shard, staging in self._staged.items():
            if staging.rows:
                self._hand_over(shard, staging)
        elements, self._elements = self._elements, 0
        orders, self._orders = self._orders, []
        future: Future[Manifest] = Future()

        def finish() -> None:
            try:
                self._check()
                manifest = self._writing.cut(elements, orders)
                if then is not None:
                    then(manifest)
                future.set_result(manifest)
            except BaseException as error:
                future.set_exception(error)
                raise

        self._jobs.put(finish)
        return future

    def close(self) -> None:
        """Stop. What was added since the last cut is dropped."""
        if self._thread.is_alive():
            self._jobs.put(None)
            self._thread.join()
        self._writing.abort()

    def _write(self, shard: int, chunk: Chunk) -> None:
        if self._failure is None:
            self._writing.write(shard, chunk)

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        # After a failure it goes on taking jobs, because somebody may wait for room in the queue
        # or for a cut, which then fails for the same reason.
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except BaseException as error:
                self._failure = self._failure or error


class _Writing:
    """The files: everything that only the recorder's thread touches."""

    def __init__(
        self,
        store: Store,
        run: str,
        compression: str,
        layout: Layout | None,
        segment_bytes: int,
        on_written: Callable[[int], None] | None,
    ) -> None:
        self._store, self._run, self._compression = store, run, compression
        self._layout, self._segment_bytes = layout, segment_bytes
        self._on_written = on_written
        self._codec: Codec | None = None
        self._segment: SegmentWriter | None = None
        self._file: ObjectWriter | None = None
        self._number = 0
        self._segments: list[Segment] = []
        self._chunks: list[KeptChunk] = []

    def write(self, shard: int, chunk: Chunk) -> None:
        layout = self._layout_for(chunk)
        if self._codec is None:
            self._codec = choose_codec(self._compression, layout, chunk, self._store.is_remote)
        try:
            self._put(shard, chunk, layout)
        except TooLargeError:
            self._finish_segment()
            self._layout = Layout(layout.spec, wide=True)
            self._put(shard, chunk, self._layout)

    def _layout_for(self, chunk: Chunk) -> Layout:
        """The layout so far, or a wider one if the elements do not fit it."""
        try:
            spec = chunk.structure.build([column_spec(column) for column in chunk.columns])
            if self._layout is not None:
                spec = common_supertype([self._layout.spec, spec])
        except ElementError as error:
            raise ElementError(
                f"elements that are kept must be of one type: {error}; convert them with map, or "
                "give output_signature"
            ) from error
        if self._layout is not None:
            if spec == self._layout.spec:
                return self._layout
            self._finish_segment()
        self._layout = Layout(spec, wide=self._layout is not None and self._layout.wide)
        return self._layout

    def _put(self, shard: int, chunk: Chunk, layout: Layout) -> None:
        assert self._codec is not None
        if self._segment is None:
            name = f"segments/{self._run}-{self._number}{self._codec.suffix}"
            self._number += 1
            self._file = self._store.writer(name)
            self._segment = SegmentWriter(name, layout, self._codec, self._file)
        before = self._segment.size_bytes
        entry = self._segment.write(chunk)
        self._chunks.append(KeptChunk(len(self._segments), shard, entry))
        if self._on_written is not None:
            self._on_written(self._segment.size_bytes - before)
        if self._segment.size_bytes >= self._segment_bytes:
            self._finish_segment()

    def _finish_segment(self) -> None:
        if self._segment is None:
            return
        assert self._file is not None
        assert self._layout is not None
        assert self._codec is not None
        entry = self._segment.close()
        self._file.close()
        layout = self._layout
        self._segments.append(Segment(entry, layout.spec, layout.wide, self._codec.name))
        self._segment = self._file = None

    def cut(self, elements: int, orders: list[Array]) -> Manifest:
        self._finish_segment()
        segments, self._segments = self._segments, []
        chunks, self._chunks = self._chunks, []
        order = order_of(np.concatenate(orders)) if orders else None
        spec = None if self._layout is None else self._layout.spec
        return Manifest(spec, elements, tuple(segments), tuple(chunks), order)

    def abort(self) -> None:
        if self._file is not None:
            self._file.abort()
            self._segment = self._file = None
