"""Segments: the files of one writer, and what is in them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from keepset.codecs import Codec
from keepset.core.chunk import Chunk
from keepset.core.chunk_spec import chunk_spec, widened
from keepset.format.encodings.encoding import TooLargeError
from keepset.format.layout import Layout
from keepset.format.manifest import KeptChunk, Manifest, Segment
from keepset.format.order import Order
from keepset.format.readers import readers_of
from keepset.format.segment import ChunkEntry, SegmentWriter
from keepset.snapshot.writing.compression import choose_codec
from keepset.snapshot.writing.sizes import SEGMENT_BYTES
from keepset.snapshot.writing.staging import Form
from keepset.storage import ObjectWriter, Store


class Segments:
    """Writes chunks into files named after ``run``, a new one where the last has grown large.

    If elements do not fit the layout so far, the next file has a wider one. ``cut`` makes all of it
    durable.
    """

    def __init__(
        self,
        store: Store,
        run: str,
        compression: str,
        layout: Layout | None = None,
        segment_bytes: int = SEGMENT_BYTES,
        on_written: Callable[[int], None] | None = None,
    ) -> None:
        self._store, self._run, self._compression = store, run, compression
        self._layout, self._segment_bytes = layout, segment_bytes
        self._on_written, self._counted = on_written, 0
        self._codec: Codec | None = None
        self._fitting: Form | None = None  # of elements that fit the layout so far
        self._segment: SegmentWriter | None = None
        self._file: ObjectWriter | None = None
        self._number = 0
        self._segments: list[Segment] = []
        self._chunks: list[KeptChunk] = []
        self._shards: deque[int] = deque()  # of chunks that are not written yet

    def write(self, shard: int, chunk: Chunk) -> None:
        """Add one chunk of a shard."""
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
        form = Form.of(chunk.structure, chunk.columns)
        if self._layout is not None and form is not None and form == self._fitting:
            return self._layout  # most chunks are like the one before
        layout = self._wide_enough(chunk)
        self._fitting = form
        return layout

    def _wide_enough(self, chunk: Chunk) -> Layout:
        before = self._layout
        spec = chunk_spec(chunk) if before is None else widened(before.spec, chunk)
        if self._layout is not None:
            if spec is self._layout.spec:
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
        entries = self._segment.write(chunk)
        self._shards.append(shard)
        self._note(entries)
        self._count(self._segment.size_bytes)
        if self._segment.size_bytes >= self._segment_bytes:
            self._finish_segment()

    def _count(self, size_bytes: int) -> None:
        """Say how much of the file that is open has been written by now."""
        if self._on_written is not None:
            self._on_written(size_bytes - self._counted)
        self._counted = size_bytes

    def _note(self, entries: Sequence[ChunkEntry]) -> None:
        for entry in entries:
            self._chunks.append(KeptChunk(len(self._segments), self._shards.popleft(), entry))

    def _finish_segment(self) -> None:
        if self._segment is None:
            return
        assert self._file is not None
        assert self._layout is not None
        assert self._codec is not None
        entries, entry = self._segment.close()
        self._file.close()
        self._note(entries)
        layout = self._layout
        self._segments.append(Segment(entry, layout.spec, layout.wide, self._codec.name))
        self._count(entry.size_bytes)
        self._counted = 0
        self._segment = self._file = None

    def cut(self, elements: int, order: Order | None = None) -> Manifest:
        """Make everything so far durable; what was written since the last cut."""
        self._finish_segment()
        segments, self._segments = self._segments, []
        chunks, self._chunks = self._chunks, []
        spec = None if self._layout is None else self._layout.spec
        return Manifest(spec, elements, tuple(segments), tuple(chunks), order)

    def unified(self, manifest: Manifest) -> Manifest:
        """The same elements in files of one layout, so that they are one table to other programs.

        Those of an earlier, narrower layout are written again. To be called after a cut.
        """
        wide = any(segment.wide for segment in manifest.segments)
        odd = [
            segment.spec != manifest.spec or segment.wide != wide for segment in manifest.segments
        ]
        numbers = [n for n, chunk in enumerate(manifest.chunks) if odd[chunk.segment]]
        if not numbers:
            return manifest
        self._layout = Layout(manifest.spec, wide)
        readers = readers_of(manifest, self._store.url)
        rows = 0
        for number in numbers:
            chunk = manifest.chunks[number]
            name, entry = manifest.segments[chunk.segment].entry.name, chunk.entry
            data = self._store.read_range(name, entry.offset, entry.stored_bytes)
            reader = readers[chunk.segment]
            reader.check(memoryview(data), entry)
            self.write(chunk.shard, reader.read(data, entry))
            rows += entry.rows
        return manifest.replaced(numbers, self.cut(rows))

    def abort(self) -> None:
        """Forget the file that is open."""
        if self._file is not None:
            self._file.abort()
            self._segment = self._file = None
            self._shards.clear()
