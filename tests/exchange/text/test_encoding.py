"""Readers with ``encoding=``: text as ``str``, in any encoding, and errors that say where."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepset as ks
from keepset.exchange.text import lines
from keepset.snapshot.identity.pipeline_identity import identify
from keepset.storage import open_store
from keepset.testing import assert_elements_equal, check_dataset


def written(folder: Path, data: bytes, name: str = "a.txt") -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "utf-16", "utf-32-be", "utf-8-sig"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("piece", [1, 3, 1 << 20])
def test_lines_are_str_in_any_encoding(
    encoding: str, ending: str, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines.text_pieces, "__defaults__", (piece,))
    wanted = ["ä", "", "日本語 \x00", "🎉"]
    data = ending.join([*wanted, ""]).encode(encoding)
    ds = ks.read_text(written(tmp_path, data), encoding=encoding)
    assert list(ds) == wanted
    assert ds.element_spec == ks.TensorSpec((), ks.text)


def test_lines_are_those_that_are_read_as_bytes(tmp_path: Path) -> None:
    for data in (b"", b"\n", b"a", b"a\n\nb\r\n\r\nc\r", b"\r\n", b"a\rb\n"):
        path = written(tmp_path, data)
        in_bytes = [line.decode() for line in ks.read_text(path)]
        assert list(ks.read_text(path, encoding="utf-8")) == in_bytes
        packed = written(tmp_path, gzip.compress(data), "a.txt.gz")
        assert list(ks.read_text(packed, encoding="utf-8")) == in_bytes


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"))))
def test_any_text_that_was_written_is_read(words: list[str]) -> None:
    ds = ks.Dataset.from_generator(lambda: iter(words), output_signature=ks.TensorSpec((), ks.text))
    place = f"memory://{uuid4().hex}/a.txt"
    ds.write_text(place)
    assert list(ks.read_text(place, encoding="utf-8")) == words


def test_a_byte_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, b"fine\nab\xffc\nmore\n")
    it = iter(ks.read_text(path, encoding="utf-8"))
    assert next(it) == "fine"  # what is before it comes first
    with pytest.raises(ks.CorruptRecordError) as caught:
        next(it)
    assert str(caught.value) == (
        f"{path}: line 2: 0xff at byte 7 is no text in utf-8 (invalid start byte); pass the "
        "encoding= that the file has, such as 'latin-1', or leave it out for bytes"
    )
    assert (caught.value.path, caught.value.record, caught.value.byte) == (path, 2, 7)
    assert list(ks.read_text(path, encoding="latin-1")) == ["fine", "abÿc", "more"]


@pytest.mark.parametrize("piece", [1, 2, 1 << 20])
def test_the_place_is_right_whatever_is_read_at_once(
    piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines.text_pieces, "__defaults__", (piece,))
    path = written(tmp_path, "ä\n€\n".encode() + b"b\xe2\x82")
    with pytest.raises(ks.CorruptRecordError, match=r"line 3: 0xe2 at byte 8 ") as caught:
        list(ks.read_text(path, encoding="utf-8"))
    assert caught.value.byte == 8


def test_an_unknown_encoding_is_refused_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, b"a\n")
    for read in (ks.read_text, ks.read_csv, ks.read_json_lines, ks.read_parquet, ks.read_arrow):
        for name in ("utf-9", "base64"):
            with pytest.raises(ks.InvalidArgumentError, match="is unknown; choose one"):
                read(path, encoding=name)
    for read in (ks.read_parquet, ks.read_arrow):
        with pytest.raises(ks.InvalidArgumentError, match=r"'latin-1' cannot be .*UTF-8"):
            read(path, encoding="latin-1")


def test_csv_with_an_encoding_is_str(tmp_path: Path) -> None:
    path = written(tmp_path, 'name,n\nzoë,1\n"a\nb",2\n'.encode(), "a.csv")
    ds = ks.read_csv(path, encoding="utf-8")
    assert list(ds) == [{"name": "zoë", "n": 1}, {"name": "a\nb", "n": 2}]
    assert ds.element_spec["name"] == ks.TensorSpec((), ks.text)
    assert [row["name"] for row in ks.read_csv(path)] == ["zoë".encode(), b"a\nb"]
    # A column may be chosen to be the other.
    assert next(iter(ks.read_csv(path, types={"name": "text"})))["name"] == "zoë"
    in_bytes = ks.read_csv(path, encoding="utf-8", types={"name": "string"})
    assert next(iter(in_bytes))["name"] == "zoë".encode()


def test_csv_names_the_line_of_what_is_no_text(tmp_path: Path) -> None:
    path = written(tmp_path, b"name,n\nada,1\nzo\xeb,2\nbob,3\n", "a.csv")
    expected = r"a\.csv: line 3: 'name' has the byte 0xeb at 2, which is no UTF-8"
    with pytest.raises(ks.ElementError, match=expected):
        list(ks.read_csv(path, encoding="utf-8"))
    with pytest.warns(ks.CorruptRecordWarning, match=r"1 bad row .*line 3"):
        kept = list(ks.read_csv(path, encoding="utf-8", on_bad_row="skip"))
    assert [row["name"] for row in kept] == ["ada", "bob"]
    with pytest.raises(ks.CorruptRecordError, match=r"a\.csv: line 3: 0xeb at byte 15 .*ascii"):
        list(ks.read_csv(path, encoding="ascii"))


def test_missing_texts_are_str(tmp_path: Path) -> None:
    path = written(tmp_path, b'{"w": "a", "t": ["x", null]}\n{"t": null}\n', "a.jsonl")
    missing: dict[str, Any] = {"w": "-", "t": ["?"], "t[]": "+"}
    ds = ks.read_json_lines(path, encoding="utf-8", missing=missing)
    assert [(row["w"], row["t"].tolist()) for row in ds] == [("a", ["x", "+"]), ("-", ["?"])]
    with pytest.raises(ks.InvalidArgumentError, match="cannot stand among values of text"):
        ks.read_json_lines(path, encoding="utf-8", missing={**missing, "w": 3}).element_spec  # noqa: B018
    with pytest.raises(ks.InvalidArgumentError, match="cannot stand among values of text"):
        ks.read_json_lines(path, encoding="utf-8", missing={**missing, "w": b"\xff"}).element_spec  # noqa: B018


def table() -> pa.Table:
    columns: dict[str, Any] = {
        "text": ["ä", "b", ""],
        "large": pa.array(["ä", "b", ""], pa.large_string()),
        "view": pa.array(["ä", "b", ""], pa.string_view()),
        "words": pa.array(["x", "y", "x"]).dictionary_encode(),
        "list": [["a"], [], ["b", "ü"]],
        "deep": [[["a"], []], [], [["b", "ü"]]],
        "struct": [{"in": "a"}, {"in": "b"}, {"in": "ü"}],
        "bytes": pa.array([b"\xff", b"", b"a"]),
    }
    return pa.table(columns)


def in_parquet(path: Path, table: pa.Table) -> Any:
    pq.write_table(table, path)
    return ks.read_parquet


def in_arrow(path: Path, table: pa.Table) -> Any:
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    return ks.read_arrow


@pytest.mark.parametrize("write", [in_parquet, in_arrow])
def test_columns_of_text_are_str_and_those_of_bytes_are_not(
    write: Callable[[Path, pa.Table], Any], tmp_path: Path
) -> None:
    read = write(tmp_path / "a", table())
    ds = read(str(tmp_path / "a"), encoding="utf-8")
    rows = list(ds)
    assert [row["text"] for row in rows] == [row["large"] for row in rows] == ["ä", "b", ""]
    assert [row["view"] for row in rows] == ["ä", "b", ""]
    assert [row["words"] for row in rows] == ["x", "y", "x"]
    assert [row["list"].tolist() for row in rows] == [["a"], [], ["b", "ü"]]
    assert rows[2]["deep"].to_list() == [["b", "ü"]]
    assert rows[2]["struct"] == {"in": "ü"}
    assert [row["bytes"] for row in rows] == [b"\xff", b"", b"a"]
    assert ds.element_spec["deep"].dtype is ks.text
    assert ds.element_spec["bytes"].dtype is ks.string
    assert_elements_equal([ds[2], ds[0]], [rows[2], rows[0]])


def test_parquet_that_is_no_utf8_is_an_error_and_never_text(tmp_path: Path) -> None:
    damaged = pa.Array.from_buffers(pa.string(), 2, pa.array([b"ok", b"\xff\xfe"]).buffers())
    read = in_parquet(tmp_path / "a", pa.table({"s": damaged}))
    with pytest.raises(ks.ElementError, match=r"row 1: 's' has the byte 0xff at 0.*no UTF-8"):
        list(read(str(tmp_path / "a"), encoding="utf-8"))
    assert list(read(str(tmp_path / "a"))) == [{"s": b"ok"}, {"s": b"\xff\xfe"}]


def test_bytes_written_as_text_can_be_read_as_str(tmp_path: Path) -> None:
    path = str(tmp_path / "a.parquet")
    ds = ks.Dataset.from_tensor_slices({"word": ["ä", "b"], "raw": [b"1", b"\xff"]})
    ds.write_parquet(path, text="word")
    assert list(ks.read_parquet(path)) == list(ds)
    read = ks.read_parquet(path, encoding="utf-8")
    assert list(read) == [{"word": "ä", "raw": b"1"}, {"word": "b", "raw": b"\xff"}]


READERS: dict[str, tuple[bytes, Callable[..., ks.Dataset]]] = {
    "txt": (("ä\nb\nü\n" * 5).encode(), ks.read_text),
    "csv": (("w,x\n" + "ä,1\nü,2\n" * 5).encode(), ks.read_csv),
    "jsonl": (('{"w": "ä", "t": ["x"]}\n{"w": "", "t": []}\n' * 5).encode(), ks.read_json_lines),
}


@pytest.mark.parametrize("name", READERS)
def test_readers_keep_their_promises_with_text(name: str, tmp_path: Path) -> None:
    data, read = READERS[name]
    path = written(tmp_path, data, f"a.{name}")
    check_dataset(lambda: read(path, encoding="utf-8"))


@pytest.mark.parametrize("name", READERS)
def test_the_encoding_counts_and_its_spelling_does_not(name: str, tmp_path: Path) -> None:
    data, read = READERS[name]
    path = written(tmp_path, data, f"a.{name}")
    prints = {
        identify(read(path, encoding=each)._node).fingerprint
        for each in (None, "utf-8", "utf8", "UTF-8", "latin-1")
    }
    assert len(prints) == 3
    recipe = read(path, encoding="utf-8").to_recipe()
    again = ks.from_recipe(ks.Recipe.parse(recipe.to_yaml()))
    assert_elements_equal(list(read(path, encoding="utf-8")), list(again))


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("place", ["local", "memory"])
def test_readers_and_snapshots(name: str, place: str, tmp_path: Path) -> None:
    data, read = READERS[name]
    path = written(tmp_path, data, f"a.{name}")
    if place == "memory":
        folder = f"memory://{uuid4().hex}"
        open_store(folder).put(f"a.{name}", data)
        path = f"{folder}/a.{name}"
    target = str(tmp_path / "kept") if place == "local" else f"memory://{uuid4().hex}/kept"
    expected = list(read(path, encoding="utf-8"))
    kept = read(path, encoding="utf-8").snapshot(target)
    assert_elements_equal(expected, list(kept))
    assert_elements_equal(expected, list(kept))
    it = kept.iterate()
    begun = [next(it) for _ in range(4)]
    assert_elements_equal(expected, [*begun, *kept.iterate(it.state())])
