"""Arrow files, streams and Feather files of others, and what they read of ours."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import keepset as ks
from keepset.core.chunk import Chunk
from keepset.core.run import start
from keepset.format.message import batch_places, row_count
from keepset.testing import assert_elements_equal, check_dataset

TABLE = pa.table({"x": np.arange(10), "word": [f"no. {i}" for i in range(10)]})
ROWS = [{"x": np.int64(i), "word": b"no. %d" % i} for i in range(10)]


def write_file(path: Path, table: pa.Table = TABLE, codec: str | None = None) -> None:
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_file(str(path), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=4)


def write_stream(path: Path, table: pa.Table = TABLE, codec: str | None = None) -> None:
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_stream(str(path), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=4)


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
def test_files_give_rows_by_position(codec: str | None, tmp_path: Path) -> None:
    path = tmp_path / "some.arrow"
    write_file(path, codec=codec)
    check_dataset(lambda: ks.read_arrow(path), expected=ROWS, quick=True)
    ds = ks.read_arrow(path)
    assert len(ds) == 10
    assert_elements_equal(list(ds.gather([9, 0, 4, 3])), [ROWS[i] for i in (9, 0, 4, 3)])
    assert ks.read_arrow(path, columns=["word"])[9] == {"word": b"no. 9"}
    assert list(ds.select("x").skip(7)) == [{"x": 7}, {"x": 8}, {"x": 9}]


def test_streams_on_a_disk_give_rows_by_position(tmp_path: Path) -> None:
    path = tmp_path / "some.arrows"
    write_stream(path)
    check_dataset(lambda: ks.read_arrow(path), expected=ROWS, quick=True)
    ds = ks.read_arrow(path)
    assert len(ds) == 10
    assert_elements_equal(list(ds.gather([9, 0, 4, 3])), [ROWS[i] for i in (9, 0, 4, 3)])
    assert ds.select("word")[9] == {"word": b"no. 9"}


def test_other_streams_are_read_from_the_beginning(tmp_path: Path) -> None:
    write_stream(tmp_path / "small.arrows", codec="zstd")
    write_stream(tmp_path / "plain.arrows")
    data = (tmp_path / "plain.arrows").read_bytes()
    # Several frames, as they come from a writer that compresses each message by itself.
    (tmp_path / "packed.arrows.gz").write_bytes(
        gzip.compress(data[:500]) + gzip.compress(data[500:])
    )
    for name in ("small.arrows", "packed.arrows.gz"):
        ds = ks.read_arrow(tmp_path / name)
        assert ds.cardinality() == ks.UNKNOWN_CARDINALITY
        assert_elements_equal(list(ds), ROWS)
        assert list(ds.select("x").skip(8)) == [{"x": 8}, {"x": 9}]
        with pytest.raises(ks.NotAddressableError, match=f"{name}, which is a compressed stream"):
            ds[0]


def test_files_of_pandas_and_polars(tmp_path: Path) -> None:
    pd.DataFrame({"x": [1, 2], "w": ["a", "b"]}).to_feather(tmp_path / "pandas.feather")
    frame = pl.DataFrame({"x": [1, 2], "w": ["a", "b"]})
    frame.write_ipc(tmp_path / "polars.arrow")
    frame.write_ipc_stream(tmp_path / "polars.arrows")
    for path in tmp_path.iterdir():
        ds = ks.read_arrow(path)
        assert list(ds) == [{"x": 1, "w": b"a"}, {"x": 2, "w": b"b"}]
        assert ds[1] == {"x": 2, "w": b"b"}


def test_dictionaries_may_change_within_a_stream(tmp_path: Path) -> None:
    one = pa.record_batch({"w": pa.array(["a", "b"]).dictionary_encode()})
    other = pa.record_batch({"w": pa.array(["c", "a"]).dictionary_encode()})
    with pa.ipc.new_stream(str(tmp_path / "some.arrows"), one.schema) as writer:
        writer.write_batch(one)
        writer.write_batch(other)
    ds = ks.read_arrow(tmp_path / "some.arrows")
    assert [row["w"] for row in ds] == [b"a", b"b", b"c", b"a"]
    assert [row["w"] for row in ds.gather([2, 0, 3])] == [b"c", b"a", b"a"]


def chunks_of(ds: ks.Dataset) -> list[Chunk]:
    node = ds.__keepset_node__()
    cursor = node.cursor(start(node))
    chunks = list(iter(lambda: cursor.read(1 << 20) or None, None))
    cursor.close()
    return [chunk for chunk in chunks if chunk is not None]


def test_numbers_are_used_where_they_lie(tmp_path: Path) -> None:
    write_file(tmp_path / "some.arrow", pa.table({"x": np.arange(1 << 18)}))
    [column] = chunks_of(ks.read_arrow(tmp_path / "some.arrow"))[0].columns
    assert isinstance(column, np.ndarray)
    assert not column.flags.writeable
    # The memory is that of the file: what is written there is seen.
    place = (tmp_path / "some.arrow").read_bytes().index(np.arange(4).tobytes())
    with (tmp_path / "some.arrow").open("r+b") as file:
        file.seek(place)
        file.write(np.int64(77).tobytes())
    assert column[0] == 77


def test_large_batches_are_cut(tmp_path: Path) -> None:
    table = pa.table({"x": np.zeros(1 << 20)})
    with pa.ipc.new_file(str(tmp_path / "some.arrow"), table.schema) as writer:
        writer.write_table(table)
    sizes = [len(chunk) for chunk in chunks_of(ks.read_arrow(tmp_path / "some.arrow"))]
    assert sum(sizes) == 1 << 20
    assert max(sizes) <= 1 << 17


@pytest.mark.parametrize("compression", [None, "LZ4", "ZSTD", "GZIP"])
def test_what_keepset_keeps_can_be_read(compression: str | None, tmp_path: Path) -> None:
    rows = [
        (np.arange(3) + i, {"day": np.datetime64(i, "D"), "ok": np.bool_(True)}) for i in range(9)
    ]
    ds = ks.Dataset.from_generator(lambda: iter(rows))
    ds.save(tmp_path / "kept", compression=compression)
    read = ks.read_arrow(tmp_path / "kept/segments/*")
    assert_elements_equal(list(read), rows)
    assert read.element_spec == ks.load(tmp_path / "kept").element_spec


@pytest.mark.parametrize(
    ("start", "complaint"),
    [
        (b"FEA1....", "version 1.*pandas"),
        (b"PAR1....", "read_parquet"),
        (b"\xff\x06\x00\x00sNaPpY", "Snappy.*load"),
    ],
)
def test_files_of_other_kinds_are_named(start: bytes, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "some.arrow").write_bytes(start + bytes(100))
    with pytest.raises(ks.InvalidArgumentError, match=rf"some\.arrow.*{complaint}"):
        list(ks.read_arrow(tmp_path / "some.arrow"))


def test_what_is_damaged_is_named(tmp_path: Path) -> None:
    path = tmp_path / "some.arrow"
    for data in (b"", b"ARROW1", b"nothing of that kind", b"ARROW1" + bytes(20) + b"ARROW1"):
        path.write_bytes(data)
        with pytest.raises(ks.CorruptRecordError, match=r"some\.arrow cannot be read"):
            list(ks.read_arrow(path))
    write_file(path, pa.table({"w": ["a" * 100] * 4}))
    spoilt = bytearray(path.read_bytes())
    at = spoilt.index(np.array([0, 100, 200, 300], np.int32).tobytes())
    spoilt[at + 4 : at + 8] = np.int32(1 << 30).tobytes()
    path.write_bytes(spoilt)
    with pytest.raises(ks.CorruptRecordError, match=r"some\.arrow cannot be read"):
        list(ks.read_arrow(path))


def test_the_footer_of_a_file_tells_its_rows(tmp_path: Path) -> None:
    for count in (0, 1, 9):
        path = tmp_path / f"{count}.arrow"
        write_file(path, TABLE.slice(0, count))
        data = path.read_bytes()
        length = int.from_bytes(data[-10:-6], "little")
        places = batch_places(data[-10 - length : -10])
        counts = [row_count(data[at : at + size]) for at, size in places]
        assert counts == [4, 4, 1][: (count + 3) // 4] if count == 9 else sum(counts) == count
        assert len(ks.read_arrow(path)) == count
    with pytest.raises(ValueError, match="damaged"):
        batch_places(b"\x10\0\0\0" + bytes(4))


def test_batches_without_rows_are_passed_over(tmp_path: Path) -> None:
    for make in (pa.ipc.new_file, pa.ipc.new_stream):
        with make(str(tmp_path / "some.arrow"), TABLE.schema) as writer:
            for part in (TABLE[:0], TABLE[:3], TABLE[:0], TABLE[3:]):
                for batch in part.to_batches() or [pa.RecordBatch.from_pylist([], TABLE.schema)]:
                    writer.write_batch(batch)
        ds = ks.read_arrow(tmp_path / "some.arrow")
        assert_elements_equal(list(ds), ROWS)
        assert_elements_equal([ds[0], ds[3], ds[9]], [ROWS[0], ROWS[3], ROWS[9]])


def test_others_read_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "some.arrow"
    row: dict[str, Any] = {"flag": np.bool_(True), "word": b"a", "vector": np.arange(2.0)}
    for compression in (None, "lz4", "ZSTD"):
        ks.Dataset.from_tensors(row).repeat(3).write_arrow(path, compression=compression, text=True)
        assert pd.read_feather(path)["word"].tolist() == ["a"] * 3
        assert pl.read_ipc(path)["flag"].to_list() == [True] * 3
        assert_elements_equal(list(ks.read_arrow(path)), [row] * 3)
    with pytest.raises(ks.InvalidArgumentError, match="'gzip' is unknown; choose one of"):
        ks.Dataset.range(3).write_arrow(path, compression="gzip")


def test_elements_without_values_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "some.arrow"
    assert ks.Dataset.range(5).map(lambda x: ()).write_arrow(path) == 5
    assert list(ks.read_arrow(path)) == [()] * 5


def test_elements_that_come_one_by_one_go_out_together(tmp_path: Path) -> None:
    path = tmp_path / "some.arrow"
    assert ks.Dataset.range(30_000).batch(10).unbatch().write_arrow(path) == 30_000
    assert pa.ipc.open_file(str(path)).num_record_batches < 5
