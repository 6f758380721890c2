"""CSV: files of pandas, Polars, pyarrow and Python's csv module, bad rows, and lines."""

from __future__ import annotations

import ast
import csv
import gzip
import io
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import keepset as ks
from keepset.exchange.tables import text_blocks
from keepset.exchange.tables.csv_records import CsvRecords
from keepset.testing import assert_elements_equal

IN_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def written(folder: Path, text: str | bytes, name: str = "some.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few bytes, so that small files have many."""
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 64)


def test_types_are_found(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "whole,real,flag,day,at,clock,word,nothing\n"
        "1,1.5,true,2024-02-29,2024-02-29 10:11:12,10:11:12,a,\n"
        "-2,1e3,False,2024-03-01,2024-02-29T10:11:13,00:00:00,,\n",
    )
    ds = ks.read_csv(path)
    assert {name: spec.dtype for name, spec in ds.element_spec.items()} == {
        "whole": np.dtype("int64"),
        "real": np.dtype("float64"),
        "flag": np.dtype("bool"),
        "day": np.dtype("M8[D]"),
        "at": np.dtype("M8[s]"),
        "clock": np.dtype("m8[s]"),
        "word": ks.string,
        "nothing": ks.string,
    }
    [first, second] = ds
    assert first["at"] == np.datetime64("2024-02-29T10:11:12")
    assert first["clock"] == np.timedelta64(36672, "s")
    assert second == {
        "whole": -2,
        "real": 1000.0,
        "flag": False,
        "day": np.datetime64("2024-03-01"),
        "at": np.datetime64("2024-02-29T10:11:13"),
        "clock": np.timedelta64(0, "s"),
        "word": b"",
        "nothing": b"",
    }


def test_types_can_be_given(tmp_path: Path) -> None:
    path = written(tmp_path, "zip,x,n,k,at\n00501,1,2,3,2024-01-01\n")
    types = {
        "zip": "string",
        "x": "float32",
        "n": np.uint8,
        "k": "bfloat16",
        "at": "datetime64[ms]",
    }
    [row] = ks.read_csv(path, types=types)
    assert row["zip"] == b"00501"
    assert (row["x"].dtype, row["n"].dtype, row["k"].dtype.name) == ("float32", "uint8", "bfloat16")
    assert row["at"].dtype == np.dtype("M8[ms]")
    with pytest.raises(ks.InvalidArgumentError, match="'y', which"):
        list(ks.read_csv(path, types={"y": "int8"}))


@pytest.mark.parametrize(
    ("header", "keys"),
    [(True, ["1", "a"]), (False, ["0", "1"]), (["x", "y"], ["x", "y"])],
)
def test_headers_are_lines_or_given_or_none(header: Any, keys: list[str], tmp_path: Path) -> None:
    rows = list(ks.read_csv(written(tmp_path, "1,a\n2,b\n3,c\n"), header=header))
    assert [list(row) for row in rows] == [keys] * (2 if header is True else 3)


def test_files_of_others(tmp_path: Path) -> None:
    rows = [{"x": 1, "r": 0.1, "w": 'a "b", c\nd'}, {"x": 2, "r": 1e-300, "w": ""}]
    pd.DataFrame(rows).to_csv(tmp_path / "pandas.csv", index=False)
    pl.DataFrame(rows).write_csv(tmp_path / "polars.csv")
    pa_csv.write_csv(pa.Table.from_pylist(rows), tmp_path / "arrow.csv")
    with (tmp_path / "python.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["x", "r", "w"])
        writer.writeheader()
        writer.writerows(rows)
    for path in sorted(tmp_path.iterdir()):
        assert_elements_equal(list(ks.read_csv(path)), rows)
    assert len(list(ks.read_csv(tmp_path / "*.csv"))) == 8


FIELD = st.text(st.sampled_from('a,";\t\n\r é😀 \ufeff'), max_size=6)


@IN_FOLDER
@given(
    rows=st.lists(st.tuples(FIELD, FIELD), min_size=1, max_size=8),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    delimiter=st.sampled_from(",;\t"),
    ending=st.sampled_from(["\n", "\r\n"]),
    block=st.sampled_from([1, 7, 1 << 20]),
    is_marked=st.booleans(),
    has_last_end=st.booleans(),
    has_bad_row=st.booleans(),
)
def test_what_the_csv_module_writes_is_read(
    rows: list[tuple[str, str]],
    quoting: Any,
    delimiter: str,
    ending: str,
    block: int,
    is_marked: bool,
    has_last_end: bool,
    has_bad_row: bool,
    tmp_path: Path,
) -> None:
    # With newlines alone, Python leaves a return as it is, without quotes.
    assume(
        quoting == csv.QUOTE_ALL or "\r" in ending or "\r" not in "".join(a + b for a, b in rows)
    )
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=ending)
    writer.writerows([("a", "b"), *rows[:1]])
    if has_bad_row:  # so that records are parsed in halves
        writer.writerow("xyz")
    writer.writerows(rows[1:])
    end = len(text.getvalue()) - (0 if has_last_end else len(ending))
    path = written(tmp_path, "\ufeff" * is_marked + text.getvalue()[:end])
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(text_blocks, "BLOCK_BYTES", block)
        warnings.simplefilter("ignore", ks.CorruptRecordWarning)
        ds = ks.read_csv(path, delimiter=delimiter, types={"a": str, "b": str}, on_bad_row="skip")
        got = [(row["a"].decode(), row["b"].decode()) for row in ds]
    assert got == rows


CELL = st.one_of(
    st.integers(-20, 20).map(str),
    st.integers(0, 99).map("+{}".format),
    st.integers(2**53, 2**64).map(str),
    st.integers(0, 300).map("0x{:02x}".format),
    st.floats(allow_nan=False).map(repr),
    st.sampled_from(
        ["", " 7", "+ 7", "+", "++1", "+-1", "1e+5", "+1.5", "0X1F", "00501", "\ufeff1"]
    ),
    st.text(st.sampled_from("ab\ufeff"), max_size=3),
)


@IN_FOLDER
@given(
    cells=st.lists(CELL, min_size=1, max_size=6),
    late=st.lists(CELL, max_size=3),
    quote=st.sampled_from(["", '"']),
    block=st.sampled_from([1, 7, 1 << 20]),
    has_last_end=st.booleans(),
)
def test_numbers_are_those_of_python_and_texts_stay_as_they_are(
    cells: list[str], late: list[str], quote: str, block: int, has_last_end: bool, tmp_path: Path
) -> None:
    # Types are found from the first block, so that some of the late ones are bad rows.
    cells = cells + late
    text = "n,x\n" + "\n".join(f"{n},{quote}{cell}{quote}" for n, cell in enumerate(cells))
    path = written(tmp_path, text + "\n" * has_last_end)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(text_blocks, "BLOCK_BYTES", block)
        warnings.simplefilter("ignore", ks.CorruptRecordWarning)
        got = list(ks.read_csv(path, on_bad_row="skip"))
        texts = list(ks.read_csv(path, types={"x": "string"}))
    assert [row["x"].decode() for row in texts] == cells
    for row in got:
        cell, value = cells[row["n"]], row["x"]
        if isinstance(value, bytes):
            assert value.decode() == cell
        elif value.dtype.kind == "f":
            assert value == float(cell) if cell else np.isnan(value)
        else:
            assert value.dtype.kind in "iu"
            assert int(value) == int(cell)


def test_a_mark_is_dropped_from_the_beginning_of_the_file_alone(tmp_path: Path) -> None:
    assert list(ks.read_csv(written(tmp_path, "a,b\nx,1\n\ufeffz,2"))) == [
        {"a": b"x", "b": 1},
        {"a": "\ufeffz".encode(), "b": 2},
    ]
    assert list(ks.read_csv(written(tmp_path, "a\n\ufeff"))) == [{"a": "\ufeff".encode()}]
    assert list(ks.read_csv(written(tmp_path, "\ufeff\ufeffa\nb\n"))) == [{"\ufeffa": b"b"}]
    assert list(ks.read_csv(written(tmp_path, "\n\ufeffa,b"), header=False)) == [
        {"0": "\ufeffa".encode(), "1": b"b"}
    ]
    with pytest.raises(ks.CorruptRecordError, match="line 3: there are 1 columns"):
        list(ks.read_csv(written(tmp_path, "a,b\nx,1\n\ufeff\n")))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("block", [1, 1 << 20])
def test_a_mark_of_any_encoding_is_dropped_once(
    encoding: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", block)
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    path = written(tmp_path, (mark + "\ufeffa\n\ufeffb\n").encode(encoding))
    found = list(ks.read_csv(path, encoding=encoding))
    assert found == [{"\ufeffa": "\ufeffb"}]


@pytest.mark.parametrize("header", ["x\n", "\n\nx\n"])
def test_a_last_row_without_an_end_counts_for_types(header: str, tmp_path: Path) -> None:
    assert list(ks.read_csv(written(tmp_path, header + "1\n2.5"))) == [{"x": 1.0}, {"x": 2.5}]
    assert list(ks.read_csv(written(tmp_path, "\n1,2"), header=False)) == [{"0": 1, "1": 2}]
    assert list(ks.read_csv(written(tmp_path, "\nx,y"))) == []
    with pytest.raises(ks.CorruptRecordError, match="never closed"):
        list(ks.read_csv(written(tmp_path, header + '1\n"2\n')))
    with pytest.warns(ks.CorruptRecordWarning):
        assert list(ks.read_csv(tmp_path / "some.csv", on_bad_row="skip")) == [{"x": 1}]


def test_marks_in_blocks_that_threads_parse_stay(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b\n" + "\ufeffword,1\n" * 300_000)  # several blocks
    assert {row["a"] for row in ks.read_csv(path)} == {"\ufeffword".encode()}


@IN_FOLDER
@given(
    rows=st.lists(st.tuples(FIELD, FIELD), min_size=1, max_size=8),
    name=st.sampled_from(["csv", "tsv"]),
)
def test_the_csv_module_reads_what_is_written(
    rows: list[tuple[str, str]], name: str, tmp_path: Path
) -> None:
    path = tmp_path / f"some.{name}"
    ds = ks.Dataset.from_generator(lambda: ({"a": a, "b": b} for a, b in rows))
    assert ds.write_csv(path) == len(rows)
    with path.open(newline="") as file:
        found = list(csv.reader(file, delimiter="\t" if name == "tsv" else ","))
    assert found == [["a", "b"], *map(list, rows)]
    read = ks.read_csv(path, types={"a": "string", "b": "string"})
    assert [(row["a"].decode(), row["b"].decode()) for row in read] == rows


@IN_FOLDER
@given(
    rows=st.lists(
        st.tuples(
            st.floats(), st.floats(width=32), st.integers(-(2**63), 2**63 - 1), st.booleans()
        ),
        min_size=1,
        max_size=8,
    )
)
def test_numbers_come_back_to_the_last_bit(rows: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    types = {"a": "float64", "b": "float32", "c": "int64", "d": "bool"}
    spec = {name: ks.TensorSpec([], dtype) for name, dtype in types.items()}
    made = [dict(zip("abcd", row, strict=True)) for row in rows]
    ds = ks.Dataset.from_generator(lambda: iter(made), output_signature=spec)
    ds.write_csv(path)
    assert_elements_equal(list(ks.read_csv(path, types=types)), list(ds))
    frame = pd.read_csv(path, na_values=["nan"], keep_default_na=False, dtype={"a": "float64"})
    assert_elements_equal(frame["a"].to_numpy(), np.array([row[0] for row in rows]))


def test_lines_are_those_of_an_editor(tmp_path: Path, small_blocks: None) -> None:
    good = '\n1,"two\nlines"\n\n2,"a ""quote"", and\r\n\nmore"\r\n'
    text = "x,w\n" + good * 20 + "oops,z\n3,y\n"
    path = written(tmp_path, text)
    line = 1 + text[: text.index("oops")].count("\n")
    with pytest.raises(
        ks.CorruptRecordError, match=rf"some\.csv: line {line}: 'x' has 'oops'"
    ) as e:
        list(ks.read_csv(path))
    assert (e.value.path, e.value.record) == (str(path), line)


def test_rows_before_a_bad_one_come_first(tmp_path: Path, small_blocks: None) -> None:
    path = written(tmp_path, "x\n" + "".join(f"{i}\n" for i in range(100)) + "oops\n5\n")
    iterator = iter(ks.read_csv(path))
    assert [int(next(iterator)["x"]) for _ in range(100)] == list(range(100))
    with pytest.raises(ks.CorruptRecordError, match="line 102:"):
        next(iterator)


@pytest.mark.parametrize(
    ("bad", "what", "dtype"),
    [
        ("1.5,a,2024-01-01", "'x' has '1.5', which is no int64", "float64"),
        ("99999999999999999999,a,2024-01-01", "which is no int64", "string"),
        ("0x1F,a,2024-01-01", "'x' has '0x1F', which is no int64", "string"),
        ("+1.5,a,2024-01-01", "'x' has '+1.5', which is no int64", "float64"),
        ("9223372036854775808,a,2024-01-01", "which is no int64", "uint64"),
        ("abc,a,2024-01-01", "'x' has 'abc'", "string"),
        ("1,a,2024-01-01 10:00:00", "which is no date", "datetime64[s]"),
        ("1,a,2024-01-01 10:00:00.5", "which is no date", "datetime64[ns]"),
        ("1,a,tomorrow", "'day' has 'tomorrow'", "string"),
    ],
)
def test_a_value_that_does_not_fit_says_which_type_does(
    bad: str, what: str, dtype: str, tmp_path: Path, small_blocks: None
) -> None:
    path = written(tmp_path, "x,w,day\n" + "1,a,2024-01-01\n" * 20 + bad + "\n")
    with pytest.raises(ks.CorruptRecordError, match="line 22:") as caught:
        list(ks.read_csv(path))
    message = str(caught.value)
    assert what in message
    found = re.search(r"types=(\{.*?\})", message)
    assert found is not None
    types = ast.literal_eval(found[1])
    assert list(types.values()) == [dtype]
    # What the message says to do is of help.
    assert len(list(ks.read_csv(path, types=types))) == 21


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ("1", "there are 1 columns in place of 2"),
        ("1,2,3", "there are 3 columns in place of 2"),
        ("\xff,2,3", "there are 3 columns in place of 2"),
    ],
)
def test_rows_of_another_width_are_bad(bad: str, what: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"x,y\n1,2\n{bad}\n3,4\n".encode("latin-1"))
    with pytest.raises(ks.CorruptRecordError, match=f"line 3: {what}"):
        list(ks.read_csv(path))
    with pytest.warns(ks.CorruptRecordWarning, match="1 bad row was left out; the first: line 3"):
        assert [int(row["x"]) for row in ks.read_csv(path, on_bad_row="skip")] == [1, 3]


def test_a_quote_that_is_never_closed_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, 'x,w\n1,a\n2,"b\n3,c\n4,d\n')
    with pytest.raises(ks.CorruptRecordError, match="line 3: a quote is opened and never closed"):
        list(ks.read_csv(path))
    with pytest.warns(ks.CorruptRecordWarning, match="line 3"):
        assert list(ks.read_csv(path, on_bad_row="skip")) == [{"x": 1, "w": b"a"}]
    assert len(list(ks.read_csv(path, quote=None))) == 4


def test_a_record_without_an_end_is_not_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_blocks: None
) -> None:
    monkeypatch.setattr(text_blocks, "MOST_RECORD_BYTES", 1000)
    path = written(tmp_path, 'x,w\n1,a\n2,"b\n' + "3,c\n" * 1000)
    with pytest.raises(ks.CorruptRecordError, match="line 3 begins a record that does not end"):
        list(ks.read_csv(path))


def test_many_bad_rows_are_counted(tmp_path: Path, small_blocks: None) -> None:
    lines = [f"{i}" if i % 3 else f"bad {i}" for i in range(1, 200)]
    path = written(tmp_path, "x\n" + "\n".join(lines))
    ds = ks.read_csv(path, types={"x": "int64"}, on_bad_row="skip")
    for _ in range(2):
        with pytest.warns(ks.CorruptRecordWarning) as told:
            assert [int(row["x"]) for row in ds] == [i for i in range(1, 200) if i % 3]
        assert len(told) == 1
        assert "66 bad rows were left out; the first: line 4: 'x' has 'bad 3'" in str(
            told[0].message
        )
    with pytest.warns(ks.CorruptRecordWarning) as told:
        list(ks.read_csv(path, types={"x": "int64"}, on_bad_row="warn"))
    assert len(told) == 67
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        assert [int(row["x"]) for row in ds.skip(100)] == [i for i in range(151, 200) if i % 3]


def test_nothing_but_bad_rows_is_told_too(tmp_path: Path) -> None:
    path = written(tmp_path, "x,y\n1\n2\n")
    with pytest.raises(ks.CorruptRecordError, match="line 2"):
        list(ks.read_csv(path))
    with pytest.warns(ks.CorruptRecordWarning, match="2 bad rows"):
        assert list(ks.read_csv(path, on_bad_row="skip")) == []


def test_missing_values(tmp_path: Path, small_blocks: None) -> None:
    path = written(
        tmp_path, "r,n,w,at\n" + "1.5,1,a,2024-01-01\n" * 9 + ",,,\n2.5,2,NA,2024-01-01\n"
    )
    with pytest.raises(ks.ElementError, match=r"line 11: 'n' has no value; .*missing=\{'n': 0\}"):
        list(ks.read_csv(path))
    rows = list(ks.read_csv(path, missing={"n": -1}))
    assert np.isnan(rows[9]["r"])
    assert np.isnat(rows[9]["at"])
    assert (rows[9]["n"], rows[9]["w"], rows[10]["w"]) == (-1, b"", b"NA")
    with pytest.warns(ks.CorruptRecordWarning, match="1 bad row .*line 11: 'n' has no value"):
        assert len(list(ks.read_csv(path, on_bad_row="skip"))) == 10
    nulls = ["", "NA"]
    rows = list(ks.read_csv(path, missing={"n": 0, "w": "?", "r": 7}, null_values=nulls))
    assert (rows[9]["r"], rows[9]["w"], rows[10]["w"], rows[0]["w"]) == (7.0, b"?", b"?", b"a")


def test_missing_values_may_be_written_in_many_ways(tmp_path: Path) -> None:
    path = written(tmp_path, "x\nNA\n1\n-\n")
    assert ks.read_csv(path).element_spec["x"].dtype == ks.string
    ds = ks.read_csv(path, null_values=["NA", "-"], missing={"x": 0})
    assert [int(row["x"]) for row in ds] == [0, 1, 0]


def test_all_files_have_the_types_of_the_first(tmp_path: Path) -> None:
    written(tmp_path, "x,w\n", "0.csv")
    written(tmp_path, "x,w\n1,a\n", "1.csv")
    written(tmp_path, "w,x\n2,2\n", "2.csv")
    got = list(ks.read_csv(tmp_path / "*.csv"))
    assert got == [{"x": 1, "w": b"a"}, {"x": 2, "w": b"2"}]
    written(tmp_path, "x,w\n3.5,b\n", "3.csv")
    with pytest.raises(ks.CorruptRecordError, match=r"3\.csv: line 2: 'x' has '3\.5'.*float64"):
        list(ks.read_csv(tmp_path / "*.csv"))
    assert len(list(ks.read_csv(tmp_path / "*.csv", types={"x": "float64"}))) == 3
    written(tmp_path, "x,z\n3,b\n", "3.csv")
    with pytest.raises(ks.ElementError, match=r"3\.csv has the columns 'x', 'z', but .*1\.csv has"):
        list(ks.read_csv(tmp_path / "*.csv"))


def test_names_of_files_may_come_from_a_pipeline(tmp_path: Path) -> None:
    for i in range(3):
        written(tmp_path, f"x\n{i}\n", f"{i}.csv")
    names = ks.Dataset.range(3).map(lambda i: f"{tmp_path}/{i}.csv")
    assert [int(row["x"]) for row in ks.read_csv(names)] == [0, 1, 2]


def test_columns_are_chosen_and_others_need_not_fit(tmp_path: Path, small_blocks: None) -> None:
    path = written(tmp_path, "x,y\n" + "1,2\n" * 30 + "3,oops\n")
    assert list(ks.read_csv(path, columns=["x"]))[-1] == {"x": 3}
    assert list(ks.read_csv(path).select("x"))[-1] == {"x": 3}
    with pytest.raises(ks.CorruptRecordError, match="line 32"):
        list(ks.read_csv(path))


def test_encodings_marks_and_gzip(tmp_path: Path) -> None:
    cases: list[tuple[str, bytes, dict[str, Any]]] = [
        ("mark.csv", b"\xef\xbb\xbfw,x\n\xc3\xa9,1\n", {}),
        ("latin.csv", b"w,x\n\xe9,1\n", {"encoding": "latin-1"}),
        ("wide.csv", "w,x\né,1\n".encode("utf-16"), {"encoding": "utf-16"}),
        ("packed.csv.gz", gzip.compress("w,x\né,1\n".encode()), {}),
        ("tabs.tsv", "w\tx\né\t1\n".encode(), {}),
        ("tabs.TSV.gz", gzip.compress("w\tx\né\t1\n".encode()), {}),
        ("mac.csv", "w,x\ré,1\r".encode(), {}),
        ("open.csv", "w,x\né,1".encode(), {}),
        ("single.csv", "w;x\n'é';1".encode(), {"delimiter": ";", "quote": "'"}),
    ]
    for name, data, options in cases:
        path = written(tmp_path, data, name)
        word = "é" if "encoding" in options else "é".encode()
        assert list(ks.read_csv(path, **options)) == [{"w": word, "x": 1}], name
        in_bytes = ks.read_csv(path, **options, types={"w": "string"})
        assert list(in_bytes) == [{"w": "é".encode(), "x": 1}], name
    with pytest.raises(ks.InvalidArgumentError, match=r"wide\.csv is in UTF-16.*encoding='utf-16'"):
        list(ks.read_csv(tmp_path / "wide.csv"))
    with pytest.raises(ks.CorruptRecordError, match=r"latin\.csv: line 2: 0xe9 .*ascii.*encoding="):
        list(ks.read_csv(tmp_path / "latin.csv", encoding="ascii"))


def test_many_lines_of_returns_only(tmp_path: Path, small_blocks: None) -> None:
    path = written(tmp_path, "x,w\r" + '1,"a\r\r"\r' * 50 + "oops,b\r")
    with pytest.raises(ks.CorruptRecordError, match="line 152: 'x' has 'oops'"):
        list(ks.read_csv(path))


def test_a_file_without_rows_or_header(tmp_path: Path) -> None:
    assert list(ks.read_csv(written(tmp_path, "x,y\n"))) == []
    assert list(ks.read_csv(written(tmp_path, ""), header=False)) == []
    assert list(ks.read_csv(written(tmp_path, "\n\n"), header=["a"])) == []
    types = {"x": "int8", "y": "string"}
    assert ks.read_csv(written(tmp_path, "x,y\n"), types=types).element_spec["x"].dtype == "int8"
    with pytest.raises(ks.CorruptRecordError, match=r"some\.csv.*header"):
        list(ks.read_csv(written(tmp_path, "")))
    with pytest.raises(ks.InvalidArgumentError, match="several columns named 'x'"):
        list(ks.read_csv(written(tmp_path, "x,x\n1,2\n")))


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": ",,"},
        {"delimiter": "é"},
        {"delimiter": "\n"},
        {"delimiter": '"'},
        {"quote": "''"},
        {"on_bad_row": "ignore"},
        {"encoding": "utf9"},
    ],
)
def test_what_cannot_be_is_refused_at_once(options: Any, tmp_path: Path) -> None:
    with pytest.raises(ks.InvalidArgumentError):
        ks.read_csv(written(tmp_path, "x\n1\n"), **options)


def test_states_are_restored_within_a_file(tmp_path: Path, small_blocks: None) -> None:
    path = written(tmp_path, "x\n" + "".join(f"{i}\n" for i in range(100)))
    iterator = iter(ks.read_csv(path))
    for _ in range(57):
        next(iterator)
    again = ks.read_csv(path).iterate(iterator.state())
    assert [int(row["x"]) for row in again] == list(range(57, 100))


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"x": np.zeros(3)}, "'x' cannot be written: a field of CSV is a single value.*Parquet"),
        ({"a": {"x": ks.Ragged([1], [0, 1])}}, "'a.x' cannot be written"),
        ({"x": np.timedelta64(1, "s")}, "CSV has no timedelta64"),
        ({"x": np.complex64(1)}, "CSV has no complex64"),
        (
            {"x": b"\xff"},
            r"element 0, leaf 'x': this is no text in UTF-8: b'\\xff'; make text of it",
        ),
        ((), "a table needs columns"),
    ],
)
def test_what_csv_cannot_hold_says_so(row: Any, complaint: str, tmp_path: Path) -> None:
    ds = ks.Dataset.from_tensors(row)
    with pytest.raises(ks.ElementError, match=complaint):
        ds.write_csv(tmp_path / "some.csv")
    assert not list(tmp_path.iterdir())


def test_written_forms(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    row = {
        "b": {"half": np.float16(0.5), "day": np.datetime64("2024-02-29")},
        "a": np.datetime64("NaT", "s"),
    }
    ks.Dataset.from_tensors(row).write_csv(path)
    assert path.read_text() == '"b.half","b.day","a"\n0.5,2024-02-29,\n'
    ks.Dataset.from_tensors((1, b"x")).write_csv(path, header=False, delimiter=";")
    assert path.read_text() == '1;"x"\n'
    for name in ("one.csv.gz", "two.csv.gz"):
        ks.Dataset.range(3).write_csv(tmp_path / name)
    assert (tmp_path / "one.csv.gz").read_bytes() == (tmp_path / "two.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "one.csv.gz").read_bytes()) == b'"value"\n0\n1\n2\n'
    with pytest.raises(ks.InvalidArgumentError, match="delimiter"):
        ks.Dataset.range(3).write_csv(path, delimiter='"')


@settings(max_examples=300)
@given(st.text(st.sampled_from('ab,,"""\n\n\r'), max_size=14))
def test_records_are_those_of_arrow(text: str) -> None:
    data = text.encode()
    records = CsvRecords(",", '"')
    found = records.records(data)
    parts = [data[record.start : record.stop] for record in found]
    options = pa_csv.ReadOptions(autogenerate_column_names=True)
    for part, record in zip(parts, found, strict=True):
        if record.is_closed:
            sole = pa.BufferReader(part + b"\n")
            table = pa_csv.read_csv(sole, options, pa_csv.ParseOptions(newlines_in_values=True))
            assert table.num_rows == 1
    end = records.end_of_last(data)
    before = records.records(data[:end])
    assert parts[: len(before)] == [data[start:stop] for start, stop, _ in before]
    assert all(record.is_closed for record in before)
    assert records.is_open(data) == (bool(found) and not found[-1].is_closed)


def test_rows_behind_a_megabyte_of_blank_lines_are_found(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_bytes(b"x\n" + b"\n" * 1_300_000 + b"1\n2\n")
    assert [int(row["x"]) for row in ks.read_csv(tmp_path / "f.csv")] == [1, 2]


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_line_that_is_longer_than_what_a_thread_parses(tmp_path: Path, quote: str) -> None:
    texts = ["a" * size for size in (10, 700_000, 300_000, 5)] * 3
    rows = [f"{number},{quote}{text}{quote}" for number, text in enumerate(texts)]
    (tmp_path / "f.csv").write_text("\n".join(["x,text", *rows]))
    found = list(ks.read_csv(tmp_path / "f.csv"))
    assert [int(row["x"]) for row in found] == list(range(12))
    assert [row["text"].decode() for row in found] == texts


@pytest.mark.parametrize("on_bad_row", ["error", "skip"])
def test_no_columns_give_elements_without_any(
    tmp_path: Path, small_blocks: None, on_bad_row: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "1,x\n" * 500)
    ds = ks.read_csv(path, columns=[], on_bad_row=on_bad_row)
    assert ds.element_spec == {}
    assert list(ds) == [{}] * 500
    assert list(ds.skip(499)) == [{}]
    path.write_text("a,b\n1,x\n2\n")
    bad = ks.read_csv(path, columns=[], on_bad_row=on_bad_row)
    if on_bad_row == "skip":
        with pytest.warns(UserWarning, match="1 bad row"):
            assert list(bad) == [{}]
    else:
        with pytest.raises(ks.CorruptRecordError, match="1 columns in place of 2"):
            list(bad)


def test_a_missing_value_in_the_only_column_is_a_row(tmp_path: Path) -> None:
    times = np.array(["2024-01-01", "NaT", "NaT", "2024-01-04", "NaT"], "datetime64[s]")
    ds = ks.Dataset.from_tensor_slices({"at": times})
    ds.write_csv(tmp_path / "some.csv")
    assert pd.read_csv(tmp_path / "some.csv")["at"].isna().tolist() == np.isnat(times).tolist()
    assert_elements_equal(list(ks.read_csv(tmp_path / "some.csv")), list(ds))


def parsed_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the texts that Arrow is given to parse from now on."""
    sizes: list[int] = []
    read_csv = pa_csv.read_csv

    def counted(source: pa.BufferReader, *arguments: Any) -> pa.Table:
        sizes.append(source.size())
        return read_csv(source, *arguments)

    monkeypatch.setattr(pa_csv, "read_csv", counted)
    return sizes


@pytest.mark.parametrize("value", ["7", "1e300", "+7.5", "0x7", "word"])
def test_a_text_is_parsed_a_few_times_however_many_columns_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    counts = []
    for width in (4, 400):
        names = [f"c{i}" for i in range(width)]
        path = written(tmp_path, f"{','.join(names)}\n{','.join([value] * width)}\n")
        sizes = parsed_bytes(monkeypatch)
        [element] = ks.read_csv(path)
        assert list(element) == names
        counts.append(len(sizes))
    few, many = counts
    assert many == few


def test_a_bad_value_is_found_with_few_parses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"c{i}" for i in range(400)]
    for bad in (0, 123, 399):
        row = ["1"] * 400
        row[bad] = "word"
        path = written(tmp_path, f"{','.join(names)}\n{','.join(['1'] * 400)}\n{','.join(row)}\n")
        sizes = parsed_bytes(monkeypatch)
        ds = ks.read_csv(path, types=dict.fromkeys(names, "int64"))
        with pytest.raises(ks.CorruptRecordError, match=rf"'c{bad}' has 'word'"):
            list(ds)
        assert len(sizes) < 40


def test_columns_are_listed_a_few_times_however_many_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = []

    class Table:
        """A table that counts how often all of its names are listed."""

        def __init__(self, table: pa.Table) -> None:
            self._table = table

        def __getattr__(self, name: str) -> Any:
            listed.append(name)
            return getattr(self._table, name)

    read_csv = pa_csv.read_csv
    monkeypatch.setattr(pa_csv, "read_csv", lambda *arguments: Table(read_csv(*arguments)))
    names = [f"c{i}" for i in range(400)]
    path = written(tmp_path, f"{','.join(names)}\n{','.join(['7'] * 400)}\n")
    assert list(ks.read_csv(path).element_spec) == names
    assert listed.count("column_names") < 10


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "json_lines"])
def test_a_column_without_a_name_is_written_without_one(tmp_path: Path, kind: str) -> None:
    """As the index is in a table of pandas; a column called value is another one."""
    (tmp_path / "in.csv").write_text(",value,x\n0,5,6\n1,7,8\n")
    ds, path = ks.read_csv(tmp_path / "in.csv"), tmp_path / f"out.{kind}"
    getattr(ds, f"write_{kind}")(path)
    found = getattr(ks, f"read_{kind}")(path)
    assert list(found) == list(ds) == [{"": 0, "value": 5, "x": 6}, {"": 1, "value": 7, "x": 8}]
    assert list(getattr(ks, f"read_{kind}")(path, columns=[""])) == [{"": 0}, {"": 1}]
    if kind == "csv":
        assert path.read_text() == '"","value","x"\n0,5,6\n1,7,8\n'
    if kind == "parquet":
        assert pq.read_schema(path).names == ["", "value", "x"]  # as others see it


def test_two_columns_of_one_name_are_not_written(tmp_path: Path) -> None:
    ds = ks.Dataset.from_tensors({"a.b": 1, "a": {"b": 2}})
    with pytest.raises(ks.ElementError, match=r"'a\.b' cannot be written: 2 columns .* map"):
        ds.write_csv(tmp_path / "out.csv")
    with pytest.raises(ks.ElementError, match=r"'1' cannot be written: 2 entries .* map"):
        ks.Dataset.from_tensors({1: 2, "1": 3}).write_json_lines(tmp_path / "out.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_header_in_another_encoding_says_what_to_pass(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_bytes("née,b\n1,2\n".encode("latin-1"))
    with pytest.raises(ks.CorruptRecordError, match=r'line 1: .*0xe9.*encoding="latin-1"'):
        list(ks.read_csv(path))
    assert list(ks.read_csv(path, encoding="latin-1")) == [{"née": 1, "b": 2}]


@pytest.mark.parametrize(
    ("rows", "given", "advised"),
    [
        (["18446744073709551615", "-1"], None, "string"),
        (["18446744073709551615", "-1"], "uint64", "string"),
        (["5", "-1"], "uint64", "int64"),
        (["5", "18446744073709551615"], "int64", "uint64"),
        (["-1", "5"], "uint8", "int64"),
        (["5", "300"], "int8", "int64"),
    ],
)
def test_the_type_that_is_advised_holds_all_rows(
    tmp_path: Path, rows: list[str], given: str | None, advised: str
) -> None:
    path = written(tmp_path, "\n".join(["a", *rows]))
    with pytest.raises(ks.CorruptRecordError, match="the type of the column") as caught:
        list(ks.read_csv(path, types=None if given is None else {"a": given}))
    assert f"types={{'a': '{advised}'}}" in str(caught.value)
    assert len(list(ks.read_csv(path, types={"a": advised}))) == 2


@pytest.mark.parametrize("kind", ["csv", "json_lines", "parquet"])
def test_a_number_that_a_given_type_cannot_hold_is_named_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "some"
    numbers = [1.0, 70000.0, -80000.0]
    getattr(ks.Dataset.from_tensor_slices({"a": numbers}), f"write_{kind}")(path)
    ds = getattr(ks, f"read_{kind}")(path, types={"a": "float16"})
    with pytest.warns(UserWarning, match=rf"{path}: 'a' has 70000\.0.* -65504 to 65504") as caught:
        assert [float(x["a"]) for x in ds] == [1.0, np.inf, -np.inf]
    assert len(caught) == 1


def test_a_number_that_is_infinite_is_so_as_any_type(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_text("a\n1.5\ninf\n")
    assert [float(x["a"]) for x in ks.read_csv(path, types={"a": "float16"})] == [1.5, np.inf]


def test_whole_floats_are_written_with_a_point(tmp_path: Path) -> None:
    values = [0.0, -0.0, 1.0, 1e20, 1e15, 0.5, -3.0, np.nan, np.inf, -np.inf]
    for dtype in ("float16", "float32", "float64"):
        with np.errstate(over="ignore"):
            array = np.array(values).astype(dtype)
        path = tmp_path / f"{dtype}.csv"
        names = [f'a "{n}",\n' for n in range(len(values))]
        days = np.arange(len(values)).astype("M8[D]")
        flags = np.arange(len(values)) % 2 == 0
        ds = ks.Dataset.from_tensor_slices(
            {"x": array, "name": names, "day": days, "flag": flags, "n": np.arange(len(values))}
        )
        ds.write_csv(path)
        read = list(ks.read_csv(path))
        assert [row["name"].decode() for row in read] == names
        assert [row["day"] for row in read] == list(days)
        assert [bool(row["flag"]) for row in read] == list(flags)
        assert [int(row["n"]) for row in read] == list(range(len(values)))
        again = np.array([row["x"] for row in read])
        assert again.dtype == np.float64
        np.testing.assert_array_equal(again.astype(dtype), array)
        assert np.signbit(again[1])
    ks.Dataset.from_tensor_slices({"x": np.array(values)}).write_csv(tmp_path / "x.csv")
    cells = ["0.0", "-0.0", "1.0", "1e+20", "1e+15", "0.5", "-3.0", "nan", "inf", "-inf"]
    assert (tmp_path / "x.csv").read_text().splitlines()[1:] == cells


def test_floats_come_back_as_floats(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    ds = ks.Dataset.from_tensor_slices({"x": np.r_[np.arange(400_000.0), 0.5]})
    ds.take(3).write_csv(path)
    assert path.read_text() == '"x"\n0.0\n1.0\n2.0\n'
    assert ks.read_csv(path).element_spec == ds.element_spec
    other = tmp_path / "long.csv"
    ds.write_csv(other)
    assert ks.read_csv(other).element_spec == ds.element_spec
    assert sum(float(row["x"]) for row in ks.read_csv(other)) == sum(range(400_000)) + 0.5
    ds.take(3).write_json_lines(tmp_path / "x.jsonl")
    assert ks.read_json_lines(tmp_path / "x.jsonl").element_spec == ds.element_spec
