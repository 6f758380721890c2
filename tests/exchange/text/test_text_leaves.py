"""What formats and other libraries get of elements with ``str``, and what comes back."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keepset as ks
from keepset.testing import assert_elements_equal

WORDS = ["ada", "", "zoë", "日本語"]
SPEC = {
    "name": ks.TensorSpec((), ks.text),
    "n": ks.TensorSpec((), "int64"),
    "tags": ks.TensorSpec((None,), ks.text),
}


def people(*keys: str) -> ks.Dataset:
    def rows() -> Any:
        for n, word in enumerate(WORDS):
            row = {"name": word, "n": n, "tags": [word] * n}
            yield {key: row[key] for key in keys or row}

    spec = {key: SPEC[key] for key in keys or SPEC}
    return ks.Dataset.from_generator(rows, output_signature=spec)


def words() -> ks.Dataset:
    return ks.Dataset.from_generator(lambda: iter(WORDS), output_signature=SPEC["name"])


def in_bytes(rows: list[Any]) -> list[Any]:
    """What the same rows are where there is no ``str``."""
    return [{key: encoded(value) for key, value in row.items()} for row in rows]


def encoded(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, np.ndarray):
        made = np.empty(len(value), object)
        made[:] = [item.encode() for item in value]
        return made
    return value


def test_parquet_and_arrow_bring_it_back_and_others_see_text(tmp_path: Path) -> None:
    for name, write, read in (
        ("a.parquet", ks.Dataset.write_parquet, ks.read_parquet),
        ("a.arrow", ks.Dataset.write_arrow, ks.read_arrow),
    ):
        path = str(tmp_path / name)
        write(people(), path)
        assert read(path).element_spec == SPEC
        assert_elements_equal(list(people()), list(read(path)))
        assert read(path)[2]["name"] == "zoë"
    assert pq.read_table(tmp_path / "a.parquet").schema.field("name").type == pa.string()
    assert pd.read_feather(tmp_path / "a.arrow")["name"].tolist() == WORDS


def test_ragged_text_comes_back_from_parquet(tmp_path: Path) -> None:
    ds = people("tags").map(lambda row: row["tags"], output_signature=SPEC["tags"])
    ds.ragged_batch(2).write_parquet(str(tmp_path / "a.parquet"))
    assert_elements_equal(
        list(ds.ragged_batch(2)), list(ks.read_parquet(str(tmp_path / "a.parquet")))
    )


def test_csv_and_json_lines(tmp_path: Path) -> None:
    table, lines = str(tmp_path / "a.csv"), str(tmp_path / "a.jsonl")
    people("name", "n").write_csv(table)
    assert_elements_equal(list(people("name", "n")), list(ks.read_csv(table, encoding="utf-8")))
    people().write_json_lines(lines)
    assert_elements_equal(list(people()), list(ks.read_json_lines(lines, encoding="utf-8")))
    words().write_json_lines(lines)
    read = ks.read_json_lines(lines, encoding="utf-8")
    assert [row["value"] for row in read] == WORDS


def test_lines_of_text(tmp_path: Path) -> None:
    path = str(tmp_path / "a.txt")
    words().write_text(path)
    assert list(ks.read_text(path, encoding="utf-8")) == WORDS
    broken = words().map(lambda word: f"{word}\n", output_signature=SPEC["name"])
    with pytest.raises(ks.ElementError, match="end of a line"):
        broken.write_text(path)


def test_tfrecord_holds_utf8(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    features = people().write_tfrecord(path)
    parsed = ks.TFRecordDataset(path).parse_example(features)
    assert_elements_equal(list(parsed), in_bytes(list(people())))
    words().write_tfrecord(path)
    assert list(ks.TFRecordDataset(path)) == [word.encode() for word in WORDS]


def test_saved_for_tensorflow_it_is_bytes(tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    people().save(path, format="tensorflow")
    assert_elements_equal(list(ks.load(path)), in_bytes(list(people())))


def test_hdf5_holds_utf8(tmp_path: Path) -> None:
    path = str(tmp_path / "a.h5")
    people("name", "n").write_hdf5(path)
    assert_elements_equal(list(ks.read_hdf5(path)), in_bytes(list(people("name", "n"))))


def test_webdataset_holds_texts(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tar")
    people("name", "n").write_webdataset(path)
    read = list(ks.read_webdataset(path))
    assert [row["name.txt"] for row in read] == [word.encode() for word in WORDS]


def test_arrays_of_numpy_have_no_text(tmp_path: Path) -> None:
    with pytest.raises(ks.ElementError, match="strings"):
        words().write_npy(str(tmp_path / "a.npy"))


@pytest.mark.parametrize("text", [True, False])
def test_tables_in_memory(text: bool) -> None:
    frame = people().to_pandas(text=text)
    assert frame["name"].dtype == "str"
    assert frame["name"].tolist() == WORDS
    assert frame["tags"][2].tolist() == ["zoë", "zoë"]
    assert people().to_arrow(text=text)["name"].to_pylist() == WORDS
    polars = people().to_polars(text=text)
    assert polars["name"].to_list() == WORDS
    assert polars["tags"].to_list()[2] == ["zoë", "zoë"]


def test_names_of_files_may_be_str(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    names = ks.Dataset.from_generator(
        lambda: iter([str(tmp_path / "a.txt")]), output_signature=SPEC["name"]
    )
    assert list(ks.read_text(names)) == [b"one", b"two"]
