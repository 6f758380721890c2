"""The table of files that a snapshot keeps."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset.snapshot.files.sources import TABLE, FileTable, Sources, parse_table, read_table
from keepset.storage import LocalStore
from keepset.storage.files import Listing

names = st.binary(max_size=9).filter(lambda name: b"\0" not in name).map(os.fsdecode)
facts = st.tuples(*[st.integers(-(1 << 63), (1 << 63) - 1)] * 3)


@st.composite
def listings(draw: st.DrawFn) -> Listing:
    rows = draw(st.lists(st.tuples(names, facts), max_size=5))
    folder = "/" + draw(names)
    found = np.array([row for _, row in rows], np.int64).reshape(-1, 3)
    return Listing(os.path.join(folder, ""), folder, tuple(name for name, _ in rows), found)


@st.composite
def tables(draw: st.DrawFn) -> FileTable:
    parts = tuple(draw(st.lists(listings(), min_size=1, max_size=3)))
    count = sum(map(len, parts))
    known = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), bool)
    hashes = np.frombuffer(draw(st.binary(min_size=16 * count, max_size=16 * count)), np.uint8)
    return FileTable(parts, known, hashes.reshape(-1, 16))


def assert_same(a: FileTable, b: FileTable) -> None:
    assert [each.stamp for each in a.listings] == [each.stamp for each in b.listings]
    assert a.known.tolist() == b.known.tolist()
    assert a.hashes[a.known].tolist() == b.hashes[b.known].tolist()


@given(tables())
def test_a_table_comes_back_as_it_was(table: FileTable) -> None:
    again = parse_table(table.to_bytes())
    assert_same(again, table)
    for part, listing in zip(again.parts(), table.listings, strict=True):
        assert part.listings[0].stamp == listing.stamp
        assert len(part.known) == len(part.hashes) == len(listing)


@given(tables(), st.data())
def test_a_damaged_table_is_noticed(table: FileTable, data: st.DataObject) -> None:
    whole = table.to_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    damaged = bytearray(whole)
    damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    for broken in (bytes(damaged), whole[:place]):
        try:
            again = parse_table(broken)
        except ValueError:
            continue
        assert_same(again, table)  # a bit of the head that says nothing


def test_what_is_no_table_is_none(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    assert read_table(store) is None
    for content in (b"", b"x" * 100, pa.BufferOutputStream().getvalue().to_pybytes()):
        store.put(TABLE, content)
        assert read_table(store) is None


def test_a_small_file_cannot_ask_for_much_memory() -> None:
    row = Listing("/a/", "/a", ("x" * 10_000_000,), np.zeros((1, 3), np.int64))
    forged = FileTable((row,), np.zeros(1, bool), np.zeros((1, 16), np.uint8)).to_bytes()
    assert len(forged) < 100_000
    with pytest.raises(ValueError, match="larger than it can be"):
        parse_table(forged)


def test_any_arrow_tool_reads_a_table() -> None:
    listing = Listing("/a/", "/a", ("x", "y"), np.arange(6).reshape(2, 3))
    hashes = np.arange(32, dtype=np.uint8).reshape(2, 16)
    data = FileTable((listing,), np.array([True, False]), hashes).to_bytes()
    with pa.CompressedInputStream(pa.BufferReader(data), "gzip") as stream:
        rows = pa.ipc.open_stream(stream).read_all().to_pylist()
    assert rows == [
        {"name": b"x", "size": 0, "modified": 1, "changed": 2, "content": bytes(range(16))},
        {"name": b"y", "size": 3, "modified": 4, "changed": 5, "content": None},
    ]


def test_the_fingerprint_joins_what_a_pipeline_is_and_how_its_files_stand() -> None:
    listing = Listing("/a/", "/a", ("x",), np.zeros((1, 3), np.int64))
    later = Listing("/a/", "/a", ("x",), np.ones((1, 3), np.int64))
    one, other = Sources("ab" * 16, (listing,)), Sources("ab" * 16, (later,))
    assert one.fingerprint == "ab" * 16 + "-" + one.stamp
    assert len(one.stamp) == 16
    assert one.stamp != other.stamp


@pytest.mark.parametrize("files", ["1e999", "-1", "null", "1.5", "true", '"1"', "[" * 20_000])
def test_a_table_that_describes_itself_oddly_counts_as_unknown(tmp_path: Path, files: str) -> None:
    listing = Listing("/x/", "/x", ("a",), np.zeros((1, 3), np.int64))
    table = FileTable((listing,), np.zeros(1, bool), np.zeros((1, 16), np.uint8))
    with pa.ipc.open_stream(gzip.decompress(table.to_bytes())) as reader:
        described, rows = reader.schema.metadata[b"keepset"], reader.read_all()
    odd = described.decode().replace('"files": 1', f'"files": {files}')
    rows = rows.replace_schema_metadata({"keepset": odd})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    store = LocalStore(tmp_path)
    store.put(TABLE, gzip.compress(sink.getvalue()))
    assert read_table(store) is None
