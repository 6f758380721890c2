"""Segments: what is written is read, other tools open the files, and damage is noticed."""

from __future__ import annotations

import gzip
import io
import random
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import cramjam
import numpy as np
import pyarrow as pa
import pytest
from tests.format.bits import bits

from keepset.codecs import CODECS, Codec
from keepset.core.chunk import Chunk
from keepset.core.ragged import Ragged
from keepset.core.spec import common_supertype, spec_of
from keepset.errors import CorruptSnapshotError
from keepset.format.layout import Layout
from keepset.format.segment import ChunkEntry, ChunkReader, SegmentEntry, SegmentWriter
from keepset.workers.background import cores

ROWS: list[Any] = [
    {"image": np.full((4, 4), i, np.uint8), "text": b"x" * i, "pieces": Ragged([i, i], [0, 1, 2])}
    for i in range(20)
]
LAYOUT = Layout(common_supertype([spec_of(row) for row in ROWS]))

codecs = pytest.mark.parametrize("codec", CODECS.values(), ids=lambda codec: codec.name)


def whole(codec: Codec) -> tuple[bytes, list[ChunkEntry], SegmentEntry]:
    target = io.BytesIO()
    writer = SegmentWriter("segments/a", LAYOUT, codec, target)
    chunks = [e for part in (ROWS[:7], ROWS[7:]) for e in writer.write(Chunk.from_rows(part))]
    rest, entry = writer.close()
    return target.getvalue(), chunks + rest, entry


def stored(data: bytes, entry: ChunkEntry) -> memoryview:
    return memoryview(data)[entry.offset : entry.offset + entry.stored_bytes]


LARGE = Layout(spec_of(np.zeros(1000)))


def large_chunks(count: int) -> list[Chunk]:
    return [Chunk.from_rows([np.full(1000, i + 0.5)] * 20 * (1 + i % 3)) for i in range(count)]


def test_frames_that_threads_compress_are_written_in_their_order() -> None:
    threads = set()
    chunks = large_chunks(12)

    def uneven(data: bytes | memoryview) -> bytes:
        threads.add(threading.get_ident())
        time.sleep(0.02 * random.random())
        return gzip.compress(data, 1)

    codec = replace(CODECS["GZIP"], compress=uneven)
    target = io.BytesIO()
    writer = SegmentWriter("segments/a", LARGE, codec, target)
    entries = [entry for chunk in chunks for entry in writer.write(chunk)]
    rest, segment = writer.close()
    entries += rest
    assert len(threads) > 1 or cores() == 1
    assert [entry.rows for entry in entries] == [len(chunk) for chunk in chunks]
    ends = [entry.offset + entry.stored_bytes for entry in entries]
    assert [entry.offset for entry in entries] == [segment.head_bytes, *ends[:-1]]
    reader = ChunkReader(LARGE, codec, "a")
    for entry, chunk in zip(entries, chunks, strict=True):
        data = stored(target.getvalue(), entry)
        reader.check(data, entry)
        assert bits(tuple(reader.read(data, entry).rows)) == bits(tuple(chunk.rows))
    whole = gzip.decompress(target.getvalue())
    assert pa.ipc.open_stream(whole).read_all().num_rows == sum(map(len, chunks))


def test_what_fails_in_a_thread_comes_out() -> None:
    def fails(data: bytes | memoryview) -> bytes:
        if len(data) > 100_000:
            raise MemoryError("too large")
        return bytes(data)

    codec = replace(CODECS["GZIP"], compress=fails)
    writer = SegmentWriter("segments/a", LARGE, codec, io.BytesIO())
    with pytest.raises(MemoryError, match="too large"):
        list(map(writer.write, large_chunks(12)))


@codecs
@pytest.mark.parametrize("was_read", [False, True])
def test_chunks_are_read_from_their_places(codec: Codec, was_read: bool) -> None:
    data, chunks, segment = whole(codec)
    reader = ChunkReader(LAYOUT, codec, "a")
    rows: list[Any] = []
    for entry in chunks:
        reader.check(stored(data, entry), entry)
        rows += reader.read(stored(data, entry), entry, was_read=was_read).rows
        texts = reader.read(stored(data, entry), entry, ("text",), was_read).rows
        assert [row["text"] for row in texts] == [row["text"] for row in rows[-entry.rows :]]
    assert bits(tuple(rows)) == bits(tuple(ROWS))
    assert segment.size_bytes == len(data)
    assert chunks[0].offset == segment.head_bytes
    assert chunks[1].offset + chunks[1].stored_bytes + segment.foot_bytes == len(data)


@codecs
def test_other_tools_open_the_file(codec: Codec) -> None:
    data, _, _ = whole(codec)
    if codec.name == "GZIP":
        table = pa.ipc.open_stream(gzip.decompress(data)).read_all()
    elif codec.name == "SNAPPY":
        table = pa.ipc.open_stream(bytes(cramjam.snappy.decompress(data))).read_all()
    else:
        table = pa.ipc.open_file(data).read_all()
    assert table.column("text").to_pylist() == [row["text"] for row in ROWS]
    assert table.schema.metadata[b"keepset"]


@codecs
def test_every_flipped_bit_of_a_chunk_is_noticed_and_placed(codec: Codec) -> None:
    data, chunks, _ = whole(codec)
    reader, entry = ChunkReader(LAYOUT, codec, "a"), chunks[0]
    good = stored(data, entry)
    for bit in range(len(good) * 8):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CorruptSnapshotError, match="damaged at byte") as caught:
            reader.check(memoryview(bad), entry)
        piece = next(end for end in entry.ends if bit // 8 < end)
        start = max((end for end in (0, *entry.ends) if end < piece), default=0)
        assert caught.value.byte == entry.offset + start


@codecs
@pytest.mark.parametrize("was_read", [False, True])
def test_damage_that_no_checksum_saw_is_an_error_or_harmless(codec: Codec, was_read: bool) -> None:
    data, chunks, _ = whole(codec)
    reader, entry = ChunkReader(LAYOUT, codec, "a"), chunks[0]
    good = stored(data, entry)
    for place in range(len(good)):
        for value in (0, 0xFF, good[place] ^ 1):
            bad = bytearray(good)
            bad[place] = value
            try:
                chunk = reader.read(memoryview(bytes(bad)), entry, was_read=was_read)
            except CorruptSnapshotError:
                continue
            assert len(chunk.rows) == entry.rows


def test_one_column_can_be_checked_by_itself() -> None:
    data, chunks, _ = whole(CODECS["NONE"])
    reader, entry = ChunkReader(LAYOUT, CODECS["NONE"], "a"), chunks[0]
    names = LAYOUT.names
    start = entry.ends[names.index("text")]
    bad = bytearray(stored(data, entry))
    bad[start] ^= 1
    reader.check(memoryview(bad), entry, [names.index("image")])
    with pytest.raises(CorruptSnapshotError, match="column 'text'"):
        reader.check(memoryview(bad), entry, [names.index("text")])
    assert len(entry.ends) == 1 + len(names)


def test_a_folder_of_segments_is_one_arrow_data_set(tmp_path: Path) -> None:
    import pyarrow.dataset

    for name in ("NONE", "LZ4", "ZSTD"):
        (tmp_path / f"{name}.arrow").write_bytes(whole(CODECS[name])[0])
    table = pyarrow.dataset.dataset(str(tmp_path), format="ipc").to_table()
    assert table.num_rows == 3 * len(ROWS)
