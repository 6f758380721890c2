"""Parquet files of pandas, Polars and pyarrow, and what they read of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keepset as ks
from keepset.core.chunk import EMPTY
from keepset.core.run import start
from keepset.exchange.files import grouped_rows
from keepset.testing import assert_elements_equal


def numbered(path: Path, rows: int, group_rows: int) -> ks.Dataset:
    table = pa.table({"x": np.arange(rows), "name": [f"no. {i}" for i in range(rows)]})
    pq.write_table(table, path, row_group_size=group_rows)
    return ks.read_parquet(path)


def test_a_file_of_pandas(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "x": [1.5, None],
            "when": pd.to_datetime(["2024-01-01", None]),
            "word": ["a", "é"],
            "kind": pd.Categorical(["p", "q"]),
            "maybe": pd.array([1, None], dtype="Int64"),
        }
    )
    frame.to_parquet(tmp_path / "some.parquet")
    got = list(ks.read_parquet(tmp_path / "some.parquet", missing={"maybe": -1}))
    assert got[0]["word"] == b"a"
    assert got[1]["kind"] == b"q"
    assert np.isnan(got[1]["x"])
    assert np.isnat(got[1]["when"])
    assert [int(row["maybe"]) for row in got] == [1, -1]
    with pytest.raises(ks.ElementError, match=r"some\.parquet: row 1: 'maybe' has no value;"):
        list(ks.read_parquet(tmp_path / "some.parquet"))


def test_a_file_of_polars(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "tags": [["a"], []],
            "place": [{"x": 1, "y": "p"}, {"x": 2, "y": "q"}],
            "vector": pl.Series([[1.0, 2.0], [3.0, 4.0]], dtype=pl.Array(pl.Float32, 2)),
            "rows": [[[1], [2, 3]], []],
        }
    )
    frame.write_parquet(tmp_path / "some.parquet")
    ds = ks.read_parquet(tmp_path / "some.parquet")
    assert ds.element_spec == {
        "tags": ks.TensorSpec([None], ks.string),
        "place": {"x": ks.TensorSpec([], "int64"), "y": ks.TensorSpec([], ks.string)},
        "vector": ks.TensorSpec([2], "float32"),
        "rows": ks.RaggedTensorSpec([None, None], "int64"),
    }
    assert_elements_equal(
        ds[0],
        {
            "tags": ["a"],
            "place": {"x": 1, "y": "p"},
            "vector": np.array([1, 2], np.float32),
            "rows": ks.Ragged.from_rows([[1], [2, 3]]),
        },
    )
    assert len(ds[1]["tags"]) == len(ds[1]["rows"]) == 0


def test_a_file_of_duckdb(tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    duckdb.execute(
        "copy (select 1 as x, 'é' as w, [1, 2] as l, {'a': 1.5::double} as s, "
        "2.50::decimal(5, 2) as d, timestamptz '2024-01-01 10:00:00+02' as at) "
        f"to '{path}' (format parquet)"
    )
    with pytest.raises(ks.InvalidArgumentError, match=r"'d' has the type decimal.*types="):
        list(ks.read_parquet(path))
    [row] = ks.read_parquet(path, types={"d": "float64"})
    assert (row["x"], row["w"], row["l"].tolist()) == (1, "é".encode(), [1, 2])
    assert (row["s"], row["d"]) == ({"a": 1.5}, 2.5)
    assert row["at"] == np.datetime64("2024-01-01T08:00:00")


def test_rows_are_the_same_from_wherever_they_are_read(tmp_path: Path) -> None:
    ds = numbered(tmp_path / "some.parquet", 5000, 1700)
    assert len(ds) == 5000
    for first in (0, 1, 31, 32, 33, 1699, 1700, 4999, 5000):
        assert [int(row["x"]) for row in ds.skip(first)] == list(range(first, 5000))
    rng = np.random.default_rng(0)
    indices = rng.integers(0, 5000, 300)
    assert [int(row["x"]) for row in ds.gather(indices)] == indices.tolist()
    assert ds[4999]["name"] == b"no. 4999"


def test_groups_that_were_decoded_are_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    decode = pq.ParquetFile.read_row_group

    def counted(self: Any, i: int, *args: Any, **options: Any) -> Any:
        read.append(i)
        return decode(self, i, *args, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counted)
    ds = numbered(tmp_path / "some.parquet", 100, 10)
    for i in (5, 6, 7, 15, 5, 16):
        assert ds[i]["x"] == i
    assert read == [0, 1]
    monkeypatch.setattr(grouped_rows, "_CACHE_BYTES", 0)
    ds = numbered(tmp_path / "some.parquet", 100, 10)
    for i in (5, 6, 15, 5):
        assert ds[i]["x"] == i
    assert read == [0, 1, 0, 1, 0]


def test_columns_that_are_not_wanted_are_not_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    rng = np.random.default_rng(0)
    ds = ks.Dataset.range(3000).map(lambda x: {"small": x, "large": rng.bytes(2000)})
    ds.write_parquet(path, compression=None)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1  # within the large ones
    path.write_bytes(data)
    read = ks.read_parquet(path)
    for some in (read.select("small"), ks.read_parquet(path, columns=["small"])):
        assert [int(row["small"]) for row in some] == list(range(3000))
        assert some[2999] == {"small": 2999}
    with pytest.raises(ks.CorruptRecordError, match=r"some\.parquet"):
        list(read)
    with pytest.raises(ks.CorruptRecordError, match=r"some\.parquet"):
        read[0]


def test_names_with_dots_are_names(tmp_path: Path) -> None:
    table = pa.table({"a.b": [1], "a": [{"b": 2, "c": 3}]})
    pq.write_table(table, tmp_path / "some.parquet")
    assert ks.read_parquet(tmp_path / "some.parquet")[0] == {"a.b": 1, "a": {"b": 2, "c": 3}}
    assert list(ks.read_parquet(tmp_path / "some.parquet", columns=["a.b"])) == [{"a.b": 1}]
    assert list(ks.read_parquet(tmp_path / "some.parquet").select("a")) == [{"a": {"b": 2, "c": 3}}]


def test_large_values_that_repeat_come_a_few_at_a_time(tmp_path: Path) -> None:
    words = pa.array(["x" * 500_000, "y" * 500_000]).take(pa.array([0, 1] * 100))
    pq.write_table(pa.table({"word": words}), tmp_path / "some.parquet")
    node = ks.read_parquet(tmp_path / "some.parquet").__keepset_node__()
    cursor = node.cursor(start(node))
    sizes = [len(chunk) for chunk in iter(lambda: cursor.read(10_000), EMPTY)]
    cursor.close()
    # They take next to nothing in the file, and all together would take 100 MB.
    assert sum(sizes) == 200
    assert max(sizes) <= 32
    assert max(sizes[1:]) <= 2


def test_casts_and_files_unlike_each_other(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [1.5]}), tmp_path / "b.parquet")
    with pytest.raises(ks.ElementError, match=r"b\.parquet.*a\.parquet"):
        list(ks.read_parquet(tmp_path / "*.parquet"))
    both = ks.read_parquet(tmp_path / "*.parquet", types={"x": "float32"})
    assert_elements_equal(list(both), [{"x": np.float32(x)} for x in (1, 2, 1.5)])
    with pytest.raises(ks.InvalidArgumentError, match="'float33'"):
        ks.read_parquet(tmp_path / "a.parquet", types={"x": "float33"})


def test_no_columns_are_rows_without_entries(tmp_path: Path) -> None:
    numbered(tmp_path / "some.parquet", 3, 2)
    ds = ks.read_parquet(tmp_path / "some.parquet", columns=[])
    assert list(ds) == [{}, {}, {}]
    assert ds[2] == {}


def test_what_is_no_parquet_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    path.write_bytes(b"PAR1 and more that is none PAR1")
    with pytest.raises(ks.CorruptRecordError, match=r"some\.parquet cannot be read"):
        list(ks.read_parquet(path))


ROW: dict[str, Any] = {
    "flag": np.bool_(True),
    "day": np.datetime64("2024-02-29"),
    "word": "é".encode(),
    "vector": np.arange(3, dtype=np.float32),
    "image": np.zeros((2, 2), np.uint8),
}


def test_others_read_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    assert ks.Dataset.from_tensors(ROW).repeat(3).write_parquet(path, text="word") == 3
    frame = pd.read_parquet(path)
    assert frame["flag"].tolist() == [True] * 3
    assert str(frame["day"][0]) == "2024-02-29"
    assert frame["word"][0] == "é"
    assert frame["vector"][0].tolist() == [0, 1, 2]
    polars = pl.read_parquet(path)
    assert polars["flag"].dtype == pl.Boolean
    assert polars["vector"].dtype == pl.Array(pl.Float32, 3)
    assert polars["day"].dtype == pl.Date
    found = duckdb.sql(f"select flag, word, vector from '{path}' limit 1")
    assert found is not None
    [row] = found.fetchall()
    assert row == (True, "é", [0.0, 1.0, 2.0])
    assert_elements_equal(list(ks.read_parquet(path)), [ROW] * 3)


def test_lists_of_different_lengths_come_back(tmp_path: Path) -> None:
    rows = [
        {"x": np.arange(i % 4), "rows": ks.Ragged.from_rows([np.arange(i % 3), [1]])}
        for i in range(50)
    ]
    spec = {"x": ks.TensorSpec([None], "int64"), "rows": ks.RaggedTensorSpec([2, None], "int64")}
    ds = ks.Dataset.from_generator(lambda: iter(rows), output_signature=spec)
    path = tmp_path / "some.parquet"
    assert ds.write_parquet(path) == 50
    assert ks.read_parquet(path).element_spec == spec
    assert_elements_equal(list(ks.read_parquet(path)), rows)
    assert pq.read_table(path)["rows"][1].as_py() == [[0], [1]]


def test_groups_are_as_large_as_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    ds = ks.Dataset.range(20_000).map(lambda x: {"x": x})
    ds.write_parquet(path, row_group_bytes=40_000)
    facts = pq.ParquetFile(path).metadata
    sizes = [facts.row_group(i).num_rows for i in range(facts.num_row_groups)]
    assert len(sizes) > 2
    assert min(sizes[:-1]) >= 5000
    assert [int(row["x"]) for row in ks.read_parquet(path)] == list(range(20_000))


@pytest.mark.parametrize("compression", [None, "none", "SNAPPY", "gzip", "zstd", "lz4", "brotli"])
def test_every_compression_comes_back(compression: str | None, tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    ks.Dataset.range(5).write_parquet(path, compression=compression)
    assert list(ks.read_parquet(path)) == [0, 1, 2, 3, 4]
    name = pq.ParquetFile(path).metadata.row_group(0).column(0).compression
    assert name == (compression or "none").upper().replace("NONE", "UNCOMPRESSED")


def test_what_cannot_be_written_says_why(tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    ds = ks.Dataset.range(3)
    with pytest.raises(ks.InvalidArgumentError, match="'lzma' is unknown; choose one of"):
        ds.write_parquet(path, compression="lzma")
    with pytest.raises(ks.InvalidArgumentError, match="row_group_bytes=0"):
        ds.write_parquet(path, row_group_bytes=0)
    with pytest.raises(ks.ElementError, match="columns"):
        ds.map(lambda x: ()).write_parquet(path)
    with pytest.raises(ks.ElementError, match="overflow"):
        ds.map(lambda x: np.datetime64(1 << 60, "s")).write_parquet(path)
    with pytest.raises(ks.ElementError, match="UTF-8"):
        ds.map(lambda x: {"x": b"\xff"}).write_parquet(path, text=True)
    assert not list(tmp_path.iterdir())
