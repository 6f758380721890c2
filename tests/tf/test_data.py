"""tf.data over the library: tensors in, tensors out."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import keepset as ks
import keepset.tf as tf
from keepset.testing.contract import check_dataset

Dataset = tf.data.Dataset


def test_elements_have_numpy() -> None:
    for element in Dataset.range(2):
        assert isinstance(element.numpy(), np.int64)
    [element] = Dataset.from_tensors({"a": [1], "b": ("x", None)})
    assert element["a"].numpy().tolist() == [1]
    assert element["b"][0].numpy() == b"x"
    assert element["b"][1] is None
    assert list(Dataset.range(3).as_numpy_iterator()) == [0, 1, 2]
    assert Dataset.range(5)[3].numpy() == 3


def test_functions_are_called_with_tensors() -> None:
    kinds: list[type] = []

    def note(*values: Any) -> Any:
        kinds.extend(map(type, values))
        return values[0]

    ds = Dataset.range(4).enumerate()
    list(ds.map(note))
    list(ds.filter(lambda i, x: note(i, x) >= 0))
    list(ds.take_while(lambda i, x: note(i, x) >= 0))
    list(ds.flat_map(lambda i, x: Dataset.from_tensors(note(i, x))))
    list(ds.interleave(lambda i, x: Dataset.from_tensors(note(i, x))))
    list(ds.scan(tf.constant(0, tf.int64), lambda s, e: (s + note(e[1]), s)))
    ds.reduce(tf.constant(0, tf.int64), lambda s, e: s + note(e[1]))
    list(ds.group_by_window(lambda i, x: note(i) % 2, lambda k, w: w.batch(2), 2))
    assert set(kinds) == {tf.Tensor}


def test_literals_are_of_32_bits_everywhere() -> None:
    assert Dataset.from_tensor_slices([1, 2]).element_spec.dtype == tf.int32
    assert Dataset.from_tensors(1.5).element_spec.dtype == tf.float32
    assert Dataset.range(3).map(lambda x: 7).element_spec.dtype == tf.int32
    assert Dataset.range(3).map(lambda x: [1.0, 2.0]).element_spec == (
        tf.TensorSpec([], tf.float32),
        tf.TensorSpec([], tf.float32),
    )
    assert Dataset.range(3).map(lambda x: {"a": [1, 2]}).element_spec["a"].dtype == tf.int32
    assert Dataset.range(3).reduce(0, lambda s, x: s + 1).dtype == tf.int32


def test_stages_keep_their_kind_and_their_promises() -> None:
    made = Dataset.range(9).shuffle(9, seed=1).batch(2).prefetch(1).cache().repeat(2).take(3)
    assert isinstance(made, Dataset)
    for window in Dataset.range(4).window(2):
        assert next(x.numpy() for x in window) in (0, 2)


def test_a_fingerprint_is_that_of_the_function(tmp_path: Path) -> None:
    def double(x: Any) -> Any:
        return x * 2

    list(Dataset.range(5).map(double).snapshot(str(tmp_path)))
    assert ks.explain(Dataset.range(5).map(double), tmp_path).hit

    def triple(x: Any) -> Any:
        return x * 3

    assert not ks.explain(Dataset.range(5).map(triple), tmp_path).hit


def test_lines_of_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\n\nfour")
    (tmp_path / "b.txt").write_bytes(b"five\n")
    files = [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    expected = [b"one", b"two", b"", b"four", b"five"]
    assert [x.numpy() for x in tf.data.TextLineDataset(files)] == expected
    zipped = tmp_path / "c.gz"
    zipped.write_bytes(gzip.compress(b"x\n" * 5000))
    assert len(list(tf.data.TextLineDataset(str(zipped), "GZIP"))) == 5000
    plain = ks.Dataset(tf.data.TextLineDataset(files).__keepset_node__())
    check_dataset(lambda: plain, expected=expected)


def test_records_of_one_length(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"HEAD" + b"aabbcc" + b"F")
    made = tf.data.FixedLengthRecordDataset(str(path), 2, header_bytes=4, footer_bytes=1)
    assert [x.numpy() for x in made] == [b"aa", b"bb", b"cc"]
    plain = ks.Dataset(made.__keepset_node__())
    check_dataset(lambda: plain, expected=[b"aa", b"bb", b"cc"])
    path.write_bytes(b"HEAD" + b"aabbc" + b"F")
    with pytest.raises(ks.CorruptRecordError, match="no whole number of records"):
        list(tf.data.FixedLengthRecordDataset(str(path), 2, header_bytes=4, footer_bytes=1))
    with pytest.raises(ks.InvalidArgumentError, match="at least 1"):
        tf.data.FixedLengthRecordDataset(str(path), 0)


def test_files_by_name(tmp_path: Path) -> None:
    gfile = tf.io.gfile
    with gfile.GFile(str(tmp_path / "a.txt"), "w") as file:
        file.write("text")
    assert gfile.exists(tmp_path / "a.txt")
    assert gfile.GFile(str(tmp_path / "a.txt")).read() == "text"
    gfile.copy(tmp_path / "a.txt", tmp_path / "b.txt")
    with pytest.raises(FileExistsError):
        gfile.copy(tmp_path / "a.txt", tmp_path / "b.txt")
    assert gfile.listdir(tmp_path) == ["a.txt", "b.txt"]
    assert gfile.glob(f"{tmp_path}/*.txt") == [f"{tmp_path}/a.txt", f"{tmp_path}/b.txt"]
    assert gfile.glob(f"{tmp_path}/*.png") == []
    gfile.rename(tmp_path / "b.txt", tmp_path / "c.txt")
    gfile.remove(tmp_path / "c.txt")
    assert not gfile.exists(tmp_path / "c.txt")
    gfile.makedirs(tmp_path / "d" / "e")
    assert gfile.isdir(tmp_path / "d")
    gfile.rmtree(tmp_path / "d")
    gfile.GFile("memory://gfile/x", "wb").close()
    assert gfile.exists("memory://gfile/x")
    assert gfile.listdir("memory://gfile") == ["x"]


def test_older_names_do_the_same(tmp_path: Path) -> None:
    old: Any = tf.data.experimental
    assert int(old.cardinality(Dataset.range(3))) == 3
    assert [int(x) for x in Dataset.range(2).batch(2).apply(old.unbatch())] == [0, 1]
    assert [int(x) for x in old.Counter(5).take(2)] == [5, 6]
    assert int(old.at(Dataset.range(9), 4)) == 4
    old.TFRecordWriter(str(tmp_path / "f")).write(Dataset.from_tensor_slices([b"a"]))
    assert [x.numpy() for x in tf.data.TFRecordDataset(str(tmp_path / "f"))] == [b"a"]
    assert tf.compat.v1.data.experimental.snapshot is old.snapshot


def test_tensors_from_generators_and_pandas() -> None:
    def made() -> Any:
        yield tf.constant(1), "a"
        yield tf.constant(2), "b"

    ds = Dataset.from_generator(made, output_types=(tf.int32, tf.string))
    assert [(int(a), b.numpy()) for a, b in ds] == [(1, b"a"), (2, b"b")]
    frame = pandas.DataFrame({"x": [1, 2], "t": ["a", "b"]})
    first = next(iter(Dataset.from_tensor_slices(dict(frame))))
    assert (int(first["x"]), first["t"].numpy()) == (1, b"a")
