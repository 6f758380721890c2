"""What is kept can be read without this library: by a small reader, Arrow, Polars and DuckDB."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import cramjam
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from crc32c import crc32c
from tests.format import small_reader

import keepset as ks

READER = Path(small_reader.__file__)


@pytest.fixture
def ds() -> ks.Dataset:
    return ks.Dataset.range(500).map(
        lambda x: {"x": x, "text": b"n%d" % x, "image": np.full((2, 3), x % 256, np.uint8)}
    )


def test_the_small_reader_is_small_and_knows_nothing_of_us() -> None:
    lines = READER.read_text().splitlines()
    assert len(lines) <= 60
    assert not [line for line in lines if "keepset" in line]


@pytest.mark.parametrize("compression", [None, "LZ4", "ZSTD", "GZIP"])
@pytest.mark.parametrize("shards", [None, lambda e: e["x"] % 3, lambda e: e["x"] ** 2 % 7])
def test_a_small_reader_reads_it(
    tmp_path: Path, ds: ks.Dataset, compression: str | None, shards: Any
) -> None:
    ds.save(tmp_path, compression, shards)
    rows = small_reader.read(tmp_path)
    assert [row["x"] for row in rows] == list(range(500))
    assert [row["text"] for row in rows] == [b"n%d" % x for x in range(500)]
    assert rows[77]["image"] == [77] * 6


@pytest.mark.parametrize("compression", [None, "LZ4", "ZSTD"])
def test_a_whole_snapshot_is_one_table_for_others(
    tmp_path: Path, ds: ks.Dataset, compression: str | None
) -> None:
    ds.snapshot(tmp_path, compression, fingerprint="f").take(100).reduce(0, lambda n, _: n)
    assert len(list(ds.snapshot(tmp_path, compression, fingerprint="f"))) == 500
    folder = tmp_path / "f" / "segments"
    assert len(list(folder.iterdir())) > 1
    kept = pyarrow.dataset.dataset(str(folder), format="ipc")
    assert sorted(kept.to_table().column("x").to_pylist()) == list(range(500))
    frame = pl.scan_ipc(folder / "*.arrow").select("x", "text").collect()
    assert sorted(frame["x"].to_list()) == list(range(500))
    answer = duckdb.sql("select sum(x), count(distinct text) from kept")
    assert answer is not None
    assert answer.fetchall() == [(sum(range(500)), 500)]


@pytest.mark.parametrize("by", ["save", "snapshot"])
def test_elements_that_turn_out_wider_are_one_table_in_the_end(tmp_path: Path, by: str) -> None:
    def generate() -> Any:
        for x in range(100):
            yield {"x": x, "v": np.full(3 if x < 60 else x, x, np.float32)}

    ds = ks.Dataset.from_generator(generate)
    if by == "save":
        ds.save(tmp_path, chunk_bytes=100)
    else:
        kept = ds.snapshot(tmp_path, None, fingerprint="f", chunk_bytes=100)
        assert len(list(kept.take(50))) == 50
        assert len(list(kept)) == 100
    files = ks.Snapshot(tmp_path).files
    table = pyarrow.dataset.dataset(files, format="ipc").to_table()
    assert sorted(table.column("x").to_pylist()) == list(range(100))
    assert len(pl.scan_ipc(files).collect()) == 100
    assert [len(e["v"]) for e in ks.load(tmp_path)] == [3] * 60 + list(range(60, 100))
    if by == "save":
        assert {str(p) for p in (tmp_path / "segments").iterdir()} == set(files)


def test_framed_files_decompress_to_an_arrow_stream(tmp_path: Path, ds: ks.Dataset) -> None:
    for compression, suffix, unpack in (
        ("GZIP", ".arrows.gz", gzip.decompress),
        ("SNAPPY", ".arrows.sz", lambda data: bytes(cramjam.snappy.decompress(data))),
    ):
        path = tmp_path / compression
        ds.save(path, compression)
        (segment,) = (path / "segments").iterdir()
        assert segment.name.endswith(suffix)
        stream = pa.ipc.open_stream(unpack(segment.read_bytes()))
        assert stream.read_all().column("x").to_pylist() == list(range(500))


def test_checksums_are_as_the_page_says(tmp_path: Path, ds: ks.Dataset) -> None:
    ds.save(tmp_path)
    (commit,) = (tmp_path / "commits").iterdir()
    data = commit.read_bytes()
    body, _, checksum = data.rpartition(b',"checksum":"')
    assert f"{crc32c(body + b'}'):08x}" == checksum.decode().removesuffix('"}')
    manifest = json.loads(data)["manifest"]
    (segment,) = manifest["segments"]
    stored = (tmp_path / segment["name"]).read_bytes()
    assert len(stored) == segment["bytes"]
    head, foot = segment["head"], segment["foot"]
    assert crc32c(stored[: head[0]]) == head[1]
    assert crc32c(stored[-foot[0] :]) == foot[1]
    for _, _, offset, _, raw_bytes, ends, checksums in manifest["chunks"]:
        assert raw_bytes == ends[-1]
        starts = [0, *ends[:-1]]
        pieces = [stored[offset + a : offset + b] for a, b in zip(starts, ends, strict=True)]
        assert [crc32c(piece) for piece in pieces] == checksums
