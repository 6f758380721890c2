"""Segments: files of chunks, each an Arrow file or a stream of compressed Arrow messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from itertools import groupby, pairwise
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from keepset.codecs import Codec
from keepset.core.cached import cached_property
from keepset.core.checksum import crc32c
from keepset.core.chunk import Chunk
from keepset.core.chunk_spec import typed
from keepset.core.spec import LeafSpec, is_untyped
from keepset.errors import CorruptSnapshotError
from keepset.format.encodings.encoding import Place
from keepset.format.layout import Layout
from keepset.format.message import Decompressor, column_ends, read_batch, read_columns
from keepset.storage.shortage import raise_shortage
from keepset.workers.background import background_threads, cores
from keepset.workers.threads import Task

_MAGIC = b"ARROW1\0\0"
_LARGE_BYTES = 1 << 16
# Less is compressed in about the time that it takes to hand it to a thread and back.
_WORTH_A_THREAD_BYTES = 1 << 17
# What gzip makes of zeros, and a little more; snappy reaches a fraction of it.
_MOST_EXPANSION = 1100
# What zstd makes of zeros, and more than that; lz4 reaches a fraction of it.
_MOST_EXPANSION_OF_BUFFERS = 1 << 17


class ChunkEntry(NamedTuple):
    """Where a chunk lies in its segment.

    ``ends`` are counted from ``offset``: of what describes the message, then of each column.
    ``checksums`` are the CRC-32C of the bytes between them. A framed chunk is one piece, and
    ``raw_bytes`` is the size of what is in it.
    """

    offset: int
    rows: int
    ends: tuple[int, ...]
    checksums: tuple[int, ...]
    raw_bytes: int

    @property
    def stored_bytes(self) -> int:
        return self.ends[-1]


class SegmentEntry(NamedTuple):
    """A segment as the log knows it: its size, and the checksums of what is around the chunks."""

    name: str
    size_bytes: int
    head_bytes: int
    head_checksum: int
    foot_bytes: int
    foot_checksum: int


class Target(Protocol):
    """Where bytes go: a file or an upload."""

    def write(self, data: Any) -> Any: ...


class _Collected:
    """A file for Arrow's writer that keeps what was written until it is taken."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[memoryview | bytes] = []

    def write(self, data: Any) -> int:
        # A buffer owns its memory, or holds whoever does. Everything else may be freed.
        in_place = isinstance(data, pa.Buffer) and data.size >= _LARGE_BYTES
        part = memoryview(data) if in_place else bytes(data)
        self._parts.append(part)
        return len(part)

    def flush(self) -> None:
        """Nothing is held back."""

    def take(self) -> list[memoryview]:
        """What was written: large buffers where they lie, and what is between them joined."""
        parts, self._parts = self._parts, []
        groups = groupby(parts, key=lambda part: isinstance(part, bytes))
        return [
            memoryview(part)
            for are_copies, group in groups
            for part in ([b"".join(group)] if are_copies else group)
        ]


class _Frame(NamedTuple):
    """A message that is being compressed."""

    task: Task
    rows: int
    size_bytes: int


class SegmentWriter:
    """Writes chunks of one layout into one file.

    Frames are compressed by other threads, and written in their order when they are.
    """

    def __init__(self, name: str, layout: Layout, codec: Codec, target: Target) -> None:
        self.name, self._layout, self._codec, self._target = name, layout, codec, target
        self._collected = _Collected()
        options = pa.ipc.IpcWriteOptions(compression=codec.arrow_name)
        make = pa.ipc.new_stream if codec.is_framed else pa.ipc.new_file
        self._writer = make(pa.PythonFile(self._collected, "w"), layout.schema, options=options)
        self._position = 0
        self._head: tuple[int, int] | None = None
        self._frames: deque[_Frame] = deque()

    @property
    def size_bytes(self) -> int:
        """How much is written, without the frames that are not."""
        return self._position

    def write(self, chunk: Chunk) -> list[ChunkEntry]:
        """Add a chunk; where those are that were written by that, in the order of their coming."""
        self._writer.write_batch(self._layout.encode(chunk))
        parts = self._collected.take()
        if self._head is None:
            # Arrow writes what comes before the chunks together with the first of them. Neither
            # that nor the description of a message is a buffer, so that they are one part.
            end = self._end_of_head(parts[0])
            self._head = self._put(self._compressed(bytes(parts[0][:end])))
            parts[0] = parts[0][end:]
        if self._codec.is_framed:
            return self._compress(b"".join(parts), len(chunk))
        offset, size = self._position, sum(part.nbytes for part in parts)
        ends = tuple(column_ends(parts[0], self._layout.schema, size))
        # Before they are written: a disk that begins at once reads the same memory.
        checksums = _checksums(parts, ends)
        for part in parts:
            self._target.write(part)
        self._position += size
        return [ChunkEntry(offset, len(chunk), ends, checksums, size)]

    def _compress(self, message: bytes, rows: int) -> list[ChunkEntry]:
        task, threads = Task(partial(self._compressed, message)), cores()
        self._frames.append(_Frame(task, rows, len(message)))
        if threads > 1 and len(message) >= _WORTH_A_THREAD_BYTES:
            background_threads(threads).submit(task)
        else:
            task.run()
        return self._written_frames(threads)

    def _written_frames(self, most: int) -> list[ChunkEntry]:
        """Write those that are compressed; at most so many are left."""
        entries = []
        while self._frames and (len(self._frames) > most or self._frames[0].task.is_done):
            task, rows, size_bytes = self._frames.popleft()
            offset = self._position
            stored, checksum = self._put(task.result())
            entries.append(ChunkEntry(offset, rows, (stored,), (checksum,), size_bytes))
        return entries

    def close(self) -> tuple[list[ChunkEntry], SegmentEntry]:
        """Write what is left and what comes after it; where that is, and what the segment is."""
        assert self._head is not None, "a segment has at least one chunk"
        entries = self._written_frames(0)
        self._writer.close()
        foot = self._put(self._compressed(b"".join(self._collected.take())))
        return entries, SegmentEntry(self.name, self._position, *self._head, *foot)

    def _end_of_head(self, data: memoryview) -> int:
        schema = 0 if self._codec.is_framed else len(_MAGIC)
        return schema + 8 + int.from_bytes(data[schema + 4 : schema + 8], "little")

    def _compressed(self, data: bytes) -> bytes | bytearray:
        return data if self._codec.compress is None else self._codec.compress(data)

    def _put(self, stored: bytes | bytearray) -> tuple[int, int]:
        """Write one frame or piece; its size and checksum."""
        self._target.write(stored)
        self._position += len(stored)
        return len(stored), crc32c(stored)


def _checksums(parts: list[memoryview], ends: Sequence[int]) -> tuple[int, ...]:
    """The CRC-32C of the bytes up to each end, from the one before."""
    found, rest, left = [], iter(parts), memoryview(b"")
    for start, stop in pairwise((0, *ends)):
        checksum, missing = 0, stop - start
        while missing > 0:
            left = left or next(rest)
            checksum = crc32c(left[:missing], checksum)
            missing, left = missing - len(left[:missing]), left[missing:]
        found.append(checksum)
    return tuple(found)


class ChunkReader:
    """Turns the bytes of a chunk into elements, and checks them the first time."""

    def __init__(
        self,
        layout: Layout,
        codec: Codec,
        where: str,
        leaves: Sequence[LeafSpec] | None = None,
    ) -> None:
        self._layout, self._codec, self._where = layout, codec, where
        # What the elements of all segments are, where those of this one may lack a dtype.
        self._leaves: Sequence[LeafSpec] | None = None
        if leaves is not None and any(map(is_untyped, layout.leaves)):
            self._leaves = leaves

    def check(self, data: memoryview, entry: ChunkEntry, columns: list[int] | None = None) -> None:
        """Compare the bytes with their checksums, of all columns or of some."""
        pieces = list(enumerate(pairwise((0, *entry.ends))))
        if columns is not None and len(pieces) > 1:
            wanted = {0, *(column + 1 for column in columns)}
            pieces = [piece for piece in pieces if piece[0] in wanted]
        for number, (start, stop) in pieces:
            if crc32c(data[start:stop]) != entry.checksums[number]:
                column = self._layout.names[number - 1] if number else None
                raise self._damaged(entry, start, f"column {column!r}" if column else "its head")

    @property
    def layout(self) -> Layout:
        return self._layout

    def read(
        self,
        data: bytes | memoryview,
        entry: ChunkEntry,
        keys: tuple[Any, ...] | None = None,
        was_read: bool = False,
    ) -> Chunk:
        """A chunk, or some entries of its elements, as views where nothing is compressed.

        Of other entries the bytes may be anything. What ``was_read`` before is read faster.
        """
        try:
            columns = None if keys is None else self._layout.structure.select(keys)[1]
            batch = self._batch(memoryview(data), entry, columns, was_read)
            batch.validate()
            if keys is None:
                chunk = self._layout.decode(batch, entry.rows)
            else:
                chunk = self._layout.decode_some(batch, entry.rows, keys)
            if self._leaves is None:
                return chunk
            leaves = self._leaves if columns is None else [self._leaves[i] for i in columns]
            return typed(chunk, leaves)
        except (ValueError, pa.ArrowException, OSError, EOFError, MemoryError) as error:
            most_bytes = _MOST_EXPANSION_OF_BUFFERS * len(data)
            raise_shortage(error, self._where, entry.raw_bytes, most_bytes)
            raise self._damaged(entry, 0, f"its contents ({error})") from error

    def _batch(
        self, data: memoryview, entry: ChunkEntry, columns: list[int] | None, was_read: bool
    ) -> pa.RecordBatch:
        schema, codec = self._layout.schema, self._codec.arrow_name
        if codec is None:
            batch = read_batch(self._message(data, entry), schema)
            return batch if columns is None else batch.select(columns)
        if was_read and self._layout.encodings:
            return self._decompressor.read(data, columns)
        if columns is None:
            return read_batch(pa.py_buffer(data), schema)
        return read_columns(pa.py_buffer(data), schema, columns)

    @cached_property
    def _decompressor(self) -> Decompressor:
        assert self._codec.arrow_name is not None
        return Decompressor(self._layout.schema, self._codec.arrow_name)

    def places(
        self, data: Any, entry: ChunkEntry, keys: tuple[Any, ...] | None
    ) -> list[Place | None]:
        """Where the rows of each column lie, for a chunk that ``read`` has read."""
        columns = range(len(self._layout.encodings))
        chosen = columns if keys is None else self._layout.structure.select(keys)[1]
        if self._leaves is not None:
            return [None for _ in chosen]  # the rows that lie there are of another dtype
        batch = read_batch(self._message(data, entry), self._layout.schema)
        return [self._layout.encodings[i].place(batch.column(i)) for i in chosen]

    def _message(self, data: Any, entry: ChunkEntry) -> pa.Buffer:
        if self._codec.decompress is None:
            return pa.py_buffer(data)
        if entry.raw_bytes > _MOST_EXPANSION * len(data):
            raise ValueError(f"{entry.raw_bytes} bytes cannot come out of {len(data)}")
        message = self._codec.decompress(data, entry.raw_bytes)
        if len(message) != entry.raw_bytes:
            raise ValueError(
                f"{len(message)} bytes were found where {entry.raw_bytes} were expected"
            )
        return pa.py_buffer(message)

    def _damaged(self, entry: ChunkEntry, start: int, what: str) -> CorruptSnapshotError:
        at = entry.offset + start
        return CorruptSnapshotError(
            f"{self._where} is damaged at byte {at}: the chunk of {entry.rows} elements that "
            f"begins at byte {entry.offset} fails in {what}; restore the file from a copy, or drop "
            "what is damaged with `keepset verify --repair`",
            path=self._where,
            byte=at,
        )
