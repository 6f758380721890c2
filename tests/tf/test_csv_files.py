"""CSV as TensorFlow reads it: whole numbers are not rounded unless the user says so."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset.tf as ktf
from keepset.errors import CorruptRecordError, ElementError, InvalidArgumentError
from keepset.tf.data.csv_records import CsvFormat


def read(path: Path, lines: list[str], **given: Any) -> list[Any]:
    path.write_text("x\n" + "\n".join(lines) + "\n")
    ds = ktf.data.experimental.make_csv_dataset(str(path), 1, num_epochs=1, shuffle=False, **given)
    return [np.asarray(batch["x"])[0] for batch in ds]


@pytest.mark.parametrize(
    ("lines", "dtype"),
    [
        (["1", "2"], "int32"),
        (["1", str(2**40)], "int64"),
        (["1", str(2**64 - 1)], "uint64"),
        (["1", "0.5"], "float32"),
        (["16777217", "0.5"], "float64"),
        (["1e300", "0.5"], "float64"),
    ],
)
def test_types_are_found_that_hold_every_number(
    lines: list[str], dtype: str, tmp_path: Path
) -> None:
    values = read(tmp_path / "a.csv", lines)
    assert [value.dtype.name for value in values] == [dtype] * 2
    wanted = [float(each) if "float" in dtype else int(each) for each in lines]
    assert [value.item() for value in values] == wanted


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ([str(2**64)], 2),
        (["-1", str(2**63 + 1)], 3),
        (["-1", str(2**63)], 3),
        ([str(2**53 + 1), "0.5"], 3),
    ],
)
def test_a_number_that_no_type_holds_is_an_error(
    lines: list[str], line: int, tmp_path: Path
) -> None:
    with pytest.raises(ElementError, match=rf"a\.csv: line {line}: 'x' has .*column_defaults"):
        read(tmp_path / "a.csv", lines)
    values = read(tmp_path / "a.csv", lines, column_defaults=[np.float64(0)])
    assert values == [float(each) for each in lines]
    assert read(tmp_path / "a.csv", lines, column_defaults=[b""]) == [
        each.encode() for each in lines
    ]


def test_a_number_that_comes_late_is_an_error_too(tmp_path: Path) -> None:
    lines = ["0.5"] * 5 + [str(2**53 + 1)]
    with pytest.raises(ElementError, match="would round"):
        read(tmp_path / "a.csv", lines, num_rows_for_inference=5)


def rows(path: Path, text: bytes, defaults: list[Any], **given: Any) -> list[Any]:
    path.write_bytes(text)
    ds = ktf.data.experimental.CsvDataset(str(path), defaults, **given)
    return list(ds.as_numpy_iterator())


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b"1,a\r2,b\r", [(1, b"a"), (2, b"b")]),
        (b"1,a\r\n2,b", [(1, b"a"), (2, b"b")]),
        (b'1,"two\nlines"\n2,"say ""hi"""\n', [(1, b"two\nlines"), (2, b'say "hi"')]),
        (b"1,caf\xe9\n", [(1, b"caf\xe9")]),
        (b"", []),
    ],
)
def test_records_are_those_of_tensorflow(text: bytes, wanted: list[Any], tmp_path: Path) -> None:
    assert rows(tmp_path / "a.csv", text, [ktf.int32, ktf.string]) == wanted


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_records_may_be_cut_anywhere(size: int) -> None:
    text = b'1,"a\r\n""b"""\r\n2,x\r3,y\n\n"",""'
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    written = CsvFormat()
    found = [written.fields(each) for each in written.records(pieces)]
    assert found == [[b"1", b'a\r\n"b"'], [b"2", b"x"], [b"3", b"y"], [b""], [b"", b""]]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b'1,x"y\n', "a field without quotes has a quote inside"),
        (b'1,"xy\n', "a quoted field does not end"),
        (b'1,"x"y\n', "must be doubled"),
        (b"1_000,x\n", "is no int32"),
        (b"1\n", "has 1 fields, and 2 were expected"),
        (b",x\n", "a field is required and missing"),
    ],
)
def test_what_is_malformed_is_an_error(text: bytes, what: str, tmp_path: Path) -> None:
    with pytest.raises(ElementError, match=what) as caught:
        rows(tmp_path / "a.csv", text, [ktf.int32, ktf.string])
    assert isinstance(caught.value, ktf.errors.InvalidArgumentError)


def test_columns_are_not_lost(tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("a,a\n1,2\n")
    second.write_text("a,b\n1,\n")
    make = ktf.data.experimental.make_csv_dataset
    with pytest.raises(InvalidArgumentError, match="the column a is there twice"):
        make(str(first), 1)
    with pytest.raises(InvalidArgumentError, match="has the columns a, b, and"):
        make([str(first), str(second)], 1)
    with pytest.raises(InvalidArgumentError, match="column_defaults has 1 defaults"):
        make(str(second), 1, column_defaults=[0])
    with pytest.raises(InvalidArgumentError, match="in ascending order"):
        rows(second, b"1,2\n", [ktf.int32], select_cols=[-1])
    [batch] = make(str(second), 1, num_epochs=1, header=False, column_names=["a", "b"])
    assert batch["a"].numpy().tolist() == [1]


def test_lines_keep_their_shape() -> None:
    columns = ktf.io.decode_csv([["1,2"], ["3,4"]], [[0], [0.0]])
    assert [column.shape.as_list() for column in columns] == [[2, 1], [2, 1]]
    assert columns[1].numpy().tolist() == [[2.0], [4.0]]


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_large_file_is_not_held_in_memory(is_packed: bool, tmp_path: Path) -> None:
    row = b'1,"two\nlines",' + b"x" * 50_000 + b"\n"
    opened = gzip.open if is_packed else open
    path = str(tmp_path / "large.csv")
    with opened(path, "wb") as file:
        for _ in range(2000):  # 100 MB
            file.write(row)
    written = CsvFormat("GZIP" if is_packed else "")
    tracemalloc.start()
    try:
        assert sum(1 for _ in written.records_of(path, False)) == 2000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 << 20


def test_a_quote_that_never_ends_does_not_take_all_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keepset.tf.data.csv_records.MOST_RECORD_BYTES", 3 << 20)
    (tmp_path / "open.csv").write_bytes(b'1,"' + b"x,\n" * (2 << 20))
    with pytest.raises(CorruptRecordError, match=r"open\.csv.*a quote that does not end.*mend"):
        list(CsvFormat().records_of(str(tmp_path / "open.csv"), False))
