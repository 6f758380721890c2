"""JSON lines: objects of others and of ours, bad lines, and keys that come and go."""

from __future__ import annotations

import ast
import gzip
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import keepset as ks
from keepset.exchange.tables import json_lines, text_blocks
from keepset.testing import assert_elements_equal

IN_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def written(folder: Path, *rows: Any, name: str = "some.jsonl") -> Path:
    """A file of objects, or of texts as they are."""
    path = folder / name
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(line + "\n" for line in lines))
    return path


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few bytes, so that small files have many."""
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 64)


def test_objects_become_elements(tmp_path: Path) -> None:
    row = {
        "n": 1,
        "r": 1.5,
        "ok": True,
        "w": 'é "q"\n',
        "at": "2024-02-29 10:11:12",
        "in": {"x": 2, "deep": {"y": "z"}},
        "list": [1, 2],
        "texts": ["a", ""],
        "rows": [[1], [2, 3]],
        "points": [{"x": 1, "y": 2.5}, {"x": 3, "y": 4.5}],
    }
    ds = ks.read_json_lines(written(tmp_path, row))
    assert_elements_equal(
        list(ds),
        [
            row
            | {
                "rows": ks.Ragged.from_rows([[1], [2, 3]]),
                "points": {"x": [1, 3], "y": [2.5, 4.5]},
            }
        ],
    )
    assert ds.element_spec["list"] == ks.TensorSpec([None], "int64")


def test_files_of_others(tmp_path: Path) -> None:
    rows = [{"x": 1, "r": 0.1, "w": 'a "b"\nd'}, {"x": 2, "r": 1e-300, "w": ""}]
    pd.DataFrame(rows).to_json(
        tmp_path / "pandas.jsonl", orient="records", lines=True, double_precision=15
    )
    pl.DataFrame(rows).write_ndjson(tmp_path / "polars.jsonl")
    (tmp_path / "python.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "packed.jsonl.gz").write_bytes(
        gzip.compress("\n\n".join(map(json.dumps, rows)).encode())
    )
    for path in sorted(tmp_path.iterdir()):
        got = list(ks.read_json_lines(path))
        assert [(row["x"], row["w"]) for row in got] == [(1, b'a "b"\nd'), (2, b"")], path
        if path.name != "pandas.jsonl":  # which keeps so many digits
            assert_elements_equal(got, rows)


VALUES = st.fixed_dictionaries(
    {
        "a b": st.integers(-(2**63), 2**63 - 1),
        "f": st.floats(allow_nan=False, allow_infinity=False),
        "t": st.text(st.characters(codec="utf-8"), max_size=5).map(lambda text: text + "~"),
        "l": st.lists(st.integers(0, 9), max_size=3),
        "in": st.fixed_dictionaries({"b": st.booleans(), "s": st.lists(st.just("x"), max_size=2)}),
    }
)


@IN_FOLDER
@given(rows=st.lists(VALUES, min_size=1, max_size=6), block=st.sampled_from([1, 50, 1 << 20]))
def test_what_json_writes_is_read_and_written_again(
    rows: list[dict[str, Any]], block: int, tmp_path: Path
) -> None:
    path = written(tmp_path, *rows)
    types = {"a b": "int64", "f": "float64", "l": "int64", "in.s": "string"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "BLOCK_BYTES", block)
        ds = ks.read_json_lines(path, types=types)
        for got, row in zip(list(ds), rows, strict=True):
            assert (got["a b"], got["f"], got["in"]["b"]) == (row["a b"], row["f"], row["in"]["b"])
            assert got["t"].decode() == row["t"]
            assert got["l"].tolist() == row["l"]
            assert got["in"]["s"].tolist() == [text.encode() for text in row["in"]["s"]]
        again = tmp_path / "again.jsonl"
        assert ds.write_json_lines(again) == len(rows)
    # Split by newlines alone: text may hold what Python takes for the end of a line.
    assert [json.loads(line) for line in again.read_bytes().split(b"\n")[:-1]] == rows


def test_keys_that_are_missing_are_missing_values(tmp_path: Path, small_blocks: None) -> None:
    rows: list[Any] = [{"r": 1.5, "n": 1, "w": "a", "l": [1], "in": {"z": 1}}] * 9
    path = written(tmp_path, *rows, {}, {"r": None, "n": 2, "w": "b", "l": [None], "in": None})
    missing = {"n": -1, "w": "?", "l": [], "l[]": 7, "in.z": 0}
    got = list(ks.read_json_lines(path, missing=missing))
    assert np.isnan(got[9]["r"])
    assert np.isnan(got[10]["r"])
    assert (got[9]["n"], got[9]["w"], got[9]["l"].tolist(), got[9]["in"]) == (
        -1,
        b"?",
        [],
        {"z": 0},
    )
    assert (got[10]["n"], got[10]["l"].tolist(), got[10]["in"]) == (2, [7], {"z": 0})
    # Each message says what to do about it, until all is said.
    said: dict[str, Any] = {}
    while len(said) < 5:
        with pytest.raises(ks.ElementError, match=r"some\.jsonl: line 1[01]: ") as caught:
            list(ks.read_json_lines(path, missing=said))
        found = re.search(r"missing=(\{.*?\})", str(caught.value))
        assert found is not None
        said |= ast.literal_eval(found[1])
    assert said.keys() == missing.keys()
    assert len(list(ks.read_json_lines(path, missing=said))) == 11
    with pytest.warns(ks.CorruptRecordWarning, match="2 bad rows were left out"):
        assert len(list(ks.read_json_lines(path, on_bad_row="skip"))) == 9


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ('{"n": 1.5, "w": "a"}', "'n' has 1.5, which is no int64"),
        ('{"n": "x", "w": "a"}', "'n' has 'x', which is no int64"),
        ('{"n": true, "w": "a"}', "'n' has True, which is no int64"),
        ('{"n": 1, "w": 2}', "'w' has 2, which is no string"),
        ('{"n": 1, "w": "a", "l": [1, "x"]}', "'l' has 'x', which is no int64"),
        ('{"n": 1, "w": "a", "in": {"z": []}}', r"'in.z' has \[\], which is no int64"),
        ('{"n": 1, "w": "a", "in": 3}', "'in' has 3, which is no struct"),
        ('{"n": 1e400, "w": "a"}', "'n' has 1e400, which is too large for float64"),
        ('{"n": 1, "w": "a", "l": [-1e999]}', "'l' has -1e999, which is too large for float64"),
        ('{"n": 1, "w": "\\ud800"}', r"'w' has '\\ud800', which has half of a surrogate pair"),
        ('{"n": 1, "w": "a", "\\udc00": 1}', r"the key '\\udc00', which has half of a surrogate"),
        ('{"n": 1, "w": "a", "new": 3}', "there is a key 'new'"),
        ('{"n": 1, "w": "a", "in": {"z": 1, "new": 3}}', r"there is a key 'in\.new'"),
        ('{"n": 1, "n": 2, "w": "a"}', "twice"),
        ('{"n": 1, "w": "a"', "it is no JSON"),
        ('{"n": 1, "w": "\x01"}', "it is no JSON"),
        ("[1, 2]", "it holds no object, but list"),
        ("3", "it holds no object, but int"),
        ('{"n": 1, "w": "a"} {"n": 2, "w": "b"}', "there is more than one object"),
    ],
)
@pytest.mark.parametrize("is_first_block", [False, True])
def test_bad_lines_are_named_or_left_out(
    bad: str, what: str, is_first_block: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_first_block:
        monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 64)
    elif "new" in bad or "1.5" in bad:
        pytest.skip("in the first block, this tells the type")
    good = {"n": 1, "w": "a", "l": [1], "in": {"z": 1}}
    path = written(tmp_path, good, "", *[good] * 20, bad, good)
    with pytest.raises(ks.CorruptRecordError, match=rf"some\.jsonl: line 23: .*{what}") as caught:
        list(ks.read_json_lines(path))
    assert caught.value.record == 23
    with pytest.warns(ks.CorruptRecordWarning, match="1 bad row was left out; the first: line 23"):
        got = list(ks.read_json_lines(path, on_bad_row="skip"))
    assert len(got) == 22
    found = re.search(r"types=(\{.*?\})", str(caught.value))
    if found is not None:
        # What the message says to do is of help.
        types, missing = ast.literal_eval(found[1]), {"l": [], "in.z": 0}
        assert len(list(ks.read_json_lines(path, types=types, missing=missing))) == 23


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"a": 1e400}', "'a' has 1e400, which is too large for float64"),
        ('{"a": 1%s}' % ("0" * 5000), "'a' has 10000.*, which is too large for float64"),
        ('{"a": {"b": ["\\ud800"]}}', r"'a.b' has '\\ud800', which has half of a surrogate pair"),
        ('{"a": %s' % ("[" * 5000), "more than 100 levels deep"),
        ('{"a": {"\\ud800": []}}', r"the key 'a.\\ud800', which has half of a surrogate pair"),
        ("1e400", "it holds no object"),
    ],
)
def test_a_file_of_one_bad_line_says_what_is_wrong_with_it(
    line: str, what: str, tmp_path: Path
) -> None:
    with pytest.raises(ks.CorruptRecordError, match=f"line 1: .*{what}") as caught:
        list(ks.read_json_lines(written(tmp_path, line)))
    assert "none of the first rows" not in str(caught.value)


TEXT = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=5),
    st.datetimes().map(str),
    st.datetimes().map(lambda time: time.replace(microsecond=0).isoformat()),
    st.dates().map(str),
    st.times().map(str),
    st.sampled_from(["0x10", "+5", "5", "\ufeff", "null", "2024-01-01T00:00:00Z"]),
)


@IN_FOLDER
@given(
    rows=st.lists(
        st.fixed_dictionaries({"t": TEXT, "in": st.fixed_dictionaries({"l": st.lists(TEXT)})}),
        min_size=1,
        max_size=6,
    ),
    block=st.sampled_from([1, 50, 1 << 20]),
    is_ascii=st.booleans(),
    is_marked=st.booleans(),
    has_last_end=st.booleans(),
    has_bad_row=st.booleans(),
)
def test_texts_are_those_of_the_json_module(
    rows: list[dict[str, Any]],
    block: int,
    is_ascii: bool,
    is_marked: bool,
    has_last_end: bool,
    has_bad_row: bool,
    tmp_path: Path,
) -> None:
    lines = [json.dumps(row, ensure_ascii=is_ascii) for row in rows]
    lines[1:1] = ["oops"] * has_bad_row  # so that lines are parsed in halves
    path = tmp_path / "some.jsonl"
    text = "\ufeff" * is_marked + "\n".join(lines) + "\n" * has_last_end
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(text_blocks, "BLOCK_BYTES", block)
        warnings.simplefilter("ignore", ks.CorruptRecordWarning)
        types = {"in.l": "string"}  # which may be empty in the first rows
        got = list(ks.read_json_lines(path, types=types, on_bad_row="skip"))
    assert [row["t"].decode() for row in got] == [row["t"] for row in rows]
    found = [[text.decode() for text in row["in"]["l"]] for row in got]
    assert found == [row["in"]["l"] for row in rows]


def test_a_last_row_without_an_end_counts_for_types(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text('{"x": 1}\n{"x": 2.5}')
    assert list(ks.read_json_lines(path)) == [{"x": 1.0}, {"x": 2.5}]


def test_texts_that_look_like_times_stay_texts_unless_types_ask(tmp_path: Path) -> None:
    rows = [{"t": "2024-01-01T10:00:00", "l": ["2024-01-01"], "in": {"t": "2024-01-01 10:00"}}]
    path = written(tmp_path, *rows)
    assert_elements_equal(list(ks.read_json_lines(path)), rows)
    [row] = ks.read_json_lines(path, types={"t": "datetime64[s]", "l": "datetime64[ms]"})
    assert row["t"] == np.datetime64("2024-01-01T10:00:00")
    assert row["l"].tolist() == [np.datetime64("2024-01-01", "ms").item()]
    assert row["in"]["t"] == b"2024-01-01 10:00"


def test_rows_before_a_bad_one_come_first(tmp_path: Path) -> None:
    path = written(tmp_path, *[{"x": i} for i in range(9)], "oops", {"x": 9})
    iterator = iter(ks.read_json_lines(path))
    assert [int(next(iterator)["x"]) for _ in range(9)] == list(range(9))
    with pytest.raises(ks.CorruptRecordError, match="line 10: it is no JSON"):
        next(iterator)


def test_text_that_is_not_utf8_is_bad(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_bytes(b'{"w": "a"}\n{"w": "\xe9"}\n{"\xe9": 1}\n')
    with pytest.raises(ks.CorruptRecordError, match=r"line 2: it is no JSON .*utf-8"):
        list(ks.read_json_lines(path))
    with pytest.warns(ks.CorruptRecordWarning, match="2 bad rows"):
        assert list(ks.read_json_lines(path, on_bad_row="skip")) == [{"w": b"a"}]
    path.write_bytes(b'{"w": "\xe9"}\n')
    assert list(ks.read_json_lines(path, encoding="latin-1")) == [{"w": "é"}]


def test_nothing_but_bad_lines_is_told_too(tmp_path: Path) -> None:
    path = written(tmp_path, "nothing", "of that kind")
    with pytest.raises(ks.CorruptRecordError, match="line 1: it is no JSON"):
        list(ks.read_json_lines(path))
    with pytest.warns(ks.CorruptRecordWarning, match="2 bad rows"):
        assert list(ks.read_json_lines(path, on_bad_row="skip")) == []
    assert list(ks.read_json_lines(written(tmp_path))) == []


def test_an_object_over_several_lines_is_named(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text(json.dumps({"x": 1, "y": 2}, indent=1))
    with pytest.raises(ks.CorruptRecordError, match="line 1: it is no JSON"):
        list(ks.read_json_lines(path))


def test_types_are_given_and_found(tmp_path: Path) -> None:
    path = written(tmp_path, {"n": 1, "w": "5", "at": "2024-01-01", "none": None, "in": {"z": [1]}})
    with pytest.raises(ks.InvalidArgumentError, match=r"'none' has no values at all.*types="):
        list(ks.read_json_lines(path))
    types = {
        "n": "float32",
        "w": "int16",
        "at": "string",
        "none": "float64",
        "in.z": "uint8",
        "later": "string",
    }
    ds = ks.read_json_lines(path, types=types, missing={"later": ""})
    [row] = ds
    assert_elements_equal(
        row,
        {
            "n": np.float32(1),
            "w": np.int16(5),
            "at": b"2024-01-01",
            "none": np.nan,
            "in": {"z": np.array([1], np.uint8)},
            "later": b"",
        },
    )
    with pytest.raises(ks.InvalidArgumentError, match=r"'at\.q', which"):
        list(ks.read_json_lines(path, types={"at.q": "int8", "none": "int8"}))


def test_columns_are_chosen_and_others_need_not_fit(tmp_path: Path, small_blocks: None) -> None:
    rows: list[Any] = [{"x": 1, "y": 2}] * 30
    path = written(tmp_path, *rows, {"x": 3, "y": "oops", "new": 1})
    assert list(ks.read_json_lines(path, columns=["x"]))[-1] == {"x": 3}
    assert list(ks.read_json_lines(path).select("x"))[-1] == {"x": 3}
    with pytest.raises(ks.CorruptRecordError, match="line 31: 'y' has 'oops'"):
        list(ks.read_json_lines(path))


def test_all_files_have_the_types_of_the_first(tmp_path: Path) -> None:
    written(tmp_path, name="0.jsonl")
    written(tmp_path, {"x": 1}, name="1.jsonl")
    written(tmp_path, {"x": 2}, name="2.jsonl")
    assert list(ks.read_json_lines(tmp_path / "*.jsonl")) == [{"x": 1}, {"x": 2}]
    written(tmp_path, {"x": 3.5}, name="3.jsonl")
    with pytest.raises(ks.CorruptRecordError, match=r"3\.jsonl: line 1: 'x' has 3\.5.*float64"):
        list(ks.read_json_lines(tmp_path / "*.jsonl"))
    assert len(list(ks.read_json_lines(tmp_path / "*.jsonl", types={"x": "float64"}))) == 3


def test_written_forms(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    row = {
        "z": np.float32(0.5),
        "nan": np.nan,
        "half": np.float16(2),
        "at": np.datetime64("2024-02-29T10:11:12"),
        "nat": np.datetime64("NaT", "s"),
        "words": np.array([b"a", "é".encode()], object),
        "image": np.zeros((1, 2), np.uint8),
        "holes": np.array([1.0, np.nan]),
        "rows": ks.Ragged.from_rows([[1], []]),
        "pair": (1, {"b": 2, "a": 3}),
        "none": None,
    }
    assert ks.Dataset.from_tensors(row).write_json_lines(path) == 1
    assert path.read_text() == (
        '{"z":0.5,"nan":null,"half":2.0,"at":"2024-02-29T10:11:12","nat":null,"words":["a","é"],'
        '"image":[[0,0]],"holes":[1.0,null],"rows":[[1],[]],"pair":{"0":1,"1":{"b":2,"a":3}},'
        '"none":null}\n'
    )
    ks.Dataset.range(2).write_json_lines(path)
    assert path.read_text() == '{"value":0}\n{"value":1}\n'
    ks.Dataset.range(2).map(lambda x: ()).write_json_lines(path)
    assert path.read_text() == "{}\n{}\n"
    ks.Dataset.from_generator(lambda: iter([{"x": [1]}, {"x": [1, 2]}])).write_json_lines(path)
    assert path.read_text() == '{"x":[1]}\n{"x":[1,2]}\n'
    ks.Dataset.range(1).write_json_lines(tmp_path / "some.jsonl.gz")
    assert gzip.decompress((tmp_path / "some.jsonl.gz").read_bytes()) == b'{"value":0}\n'


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"x": np.inf}, "no infinite numbers"),
        ({"x": np.complex64(1)}, "'x' cannot be written: JSON has no complex64"),
        ({"x": np.timedelta64(1, "s")}, "JSON has no timedelta64"),
        ({"a": {"x": b"\xff"}}, r"leaf 'a\.x': .* no text in UTF-8: b'\\xff'; make text of it"),
        ({"x": ks.Sparse([[0]], [1], (3,))}, "'x' cannot be written: JSON has no Sparse"),
    ],
)
def test_what_json_cannot_hold_says_so(row: Any, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(ks.ElementError, match=complaint):
        ks.Dataset.from_tensors(row).write_json_lines(tmp_path / "some.jsonl")
    assert not list(tmp_path.iterdir())


def test_rows_behind_a_megabyte_of_blank_lines_are_found(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_bytes(b" \n\t\n" * 300_000 + b'{"x": 1}\n{"x": 2}\n')
    assert [int(row["x"]) for row in ks.read_json_lines(tmp_path / "f.jsonl")] == [1, 2]


def test_a_line_that_is_longer_than_what_a_thread_parses(tmp_path: Path) -> None:
    texts = ["a" * size for size in (10, 700_000, 300_000, 5)] * 3
    lines = [json.dumps({"x": number, "text": text}) for number, text in enumerate(texts)]
    (tmp_path / "f.jsonl").write_text("\n".join(lines))
    found = list(ks.read_json_lines(tmp_path / "f.jsonl"))
    assert [int(row["x"]) for row in found] == list(range(12))
    assert [row["text"].decode() for row in found] == texts


@pytest.mark.parametrize(
    ("text", "line", "rows"),
    [
        ('null\n{"a":1}\n', 1, [1]),
        ('nullx\n{"a":1}\n', 1, [1]),
        (' \t null\r\n{"a":1}\r\n', 1, [1]),
        ('\n\nnull\n{"a":1}\n', 3, [1]),
        ('\ufeffnull\n{"a":1}\n', 1, [1]),
        ('{"a":1}\nnull\n{"a":2}\n', 2, [1, 2]),
        ('{"a":1}\n\ufeff{"a":2}\n\ufeffnull', 3, [1, 2]),
        ('{"a":1}\n[]\n{"a":2}', 2, [1, 2]),
        ("null\n" * 100 + '{"a":1}\n', 1, [1]),
    ],
)
def test_lines_without_an_object_are_bad_rows(
    tmp_path: Path, text: str, line: int, rows: list[int]
) -> None:
    """Arrow ends the process at some of them, so that each is read in one of its own."""
    path = tmp_path / "some.jsonl"
    path.write_bytes(text.encode())
    program = (
        "import keepset as ks, sys, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "try:\n    list(ks.read_json_lines(sys.argv[1]))\n"
        "except ks.errors.CorruptRecordError as error:\n    print(error)\n"
        "skipped = ks.read_json_lines(sys.argv[1], on_bad_row='skip')\n"
        "print([int(row['a']) for row in skipped])\n"
    )
    command = [sys.executable, "-c", program, str(path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    error, found = result.stdout.splitlines()
    assert f"some.jsonl: line {line}" in error
    assert found == str(rows)


def test_a_null_line_may_begin_a_later_block_or_file(tmp_path: Path, small_blocks: None) -> None:
    good = [{"a": i} for i in range(50)]
    written(tmp_path, *good, *["null"] * 50, *good, name="a.jsonl")
    written(tmp_path, "null", *good, name="b.jsonl")
    ds = ks.read_json_lines(tmp_path / "*.jsonl", on_bad_row="skip")
    with pytest.warns(ks.errors.CorruptRecordWarning):
        assert [int(row["a"]) for row in ds] == [*range(50)] * 3


def test_a_null_line_behind_a_return_is_a_bad_row(tmp_path: Path) -> None:
    (tmp_path / "some.jsonl").write_bytes(b'{"a":1}\rnull\r{"a":2}\r')
    with pytest.raises(ks.errors.CorruptRecordError):
        list(ks.read_json_lines(tmp_path / "some.jsonl"))


def test_a_bad_value_among_many_columns_is_found_without_a_look_at_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, parse = list[Any](), json_lines._table

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return parse(*arguments)

    monkeypatch.setattr(json_lines, "_table", counted)
    sound = {f"column {number}": number for number in range(500)}
    for odd in (0, 1, 250, 498, 499):
        rows = [sound, sound, {**sound, f"column {odd}": "x", "column 499": "y"}]
        file = tmp_path / f"{odd}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        calls.clear()
        with pytest.raises(ks.CorruptRecordError, match=f"line 3: 'column {odd}' has '[xy]'"):
            list(ks.read_json_lines(file))
        assert len(calls) < 40


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"a":[1,"x"]}', "a list in 'a' has both numbers and texts"),
        ('{"a":[1,[2]]}', "a list in 'a' has both numbers and lists"),
        ('{"a":{"b":[{"c":1},{"c":true}]}}', "'a.b' has both numbers and true or false"),
        ('{"a":1},', "',' stands behind the object"),
        ('{"a":1}]', "']' stands behind the object"),
        ('{"a":1},{"a":2}', "there is more than one object"),
    ],
)
def test_a_line_that_cannot_be_read_says_why(tmp_path: Path, line: str, what: str) -> None:
    (tmp_path / "some.jsonl").write_text(f"{line}\n")
    with pytest.raises(ks.CorruptRecordError, match=re.escape(what)):
        list(ks.read_json_lines(tmp_path / "some.jsonl"))


@pytest.mark.parametrize(
    ("value", "given", "advice"),
    [
        ("-1", "uint8", "types={'a': 'int64'}"),
        ("18446744073709551615", "int64", "types={'a': 'uint64'}, if no row has a negative one"),
        ("-1", "uint64", "write it as a text"),
    ],
)
def test_a_number_that_does_not_fit_says_which_type_does(
    tmp_path: Path, value: str, given: str, advice: str
) -> None:
    (tmp_path / "some.jsonl").write_text(f'{{"a":5}}\n{{"a":{value}}}\n')
    with pytest.raises(ks.CorruptRecordError, match=re.escape(advice)):
        list(ks.read_json_lines(tmp_path / "some.jsonl", types={"a": given}))


def test_an_infinite_number_is_named_by_its_element_and_leaf(tmp_path: Path) -> None:
    ds = ks.Dataset.from_tensor_slices({"x": {"y": [1.0, np.inf]}, "z": [1, 2]})
    with pytest.raises(ks.ElementError, match=r"element 1, leaf 'x\.y': .* no infinite numbers"):
        ds.write_json_lines(tmp_path / "some.jsonl")
