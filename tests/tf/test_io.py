from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import keepset.tf as tf
from keepset.errors import InvalidArgumentError


def test_columns_have_the_shape_of_the_records() -> None:
    first, second = tf.io.decode_csv([["1,2"], ["3,"]], [[0], [0.5]])
    assert first.numpy().tolist() == [[1], [3]]
    assert second.numpy().tolist() == [[2.0], [0.5]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('"ab"x', "escaped by another quote"),
        ('a"b', "put quotes around the field"),
        ('"ab', "has to end with quote"),
        ("a,b", "Expect 1 fields but have 2 in record 0"),
    ],
)
def test_lines_that_are_no_csv(line: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        tf.io.decode_csv([line], [[""]])


def test_raw_bytes_of_other_lengths() -> None:
    with pytest.raises(InvalidArgumentError, match="pass fixed_length"):
        tf.io.decode_raw(["abcd", "ef"], tf.uint8)
    found = tf.io.decode_raw(["abcd", "ef"], tf.uint8, fixed_length=3)
    assert found.numpy().tolist() == [[97, 98, 99], [101, 102, 0]]


def test_paths_may_be_tensors(tmp_path: Path) -> None:
    file = tf.constant(str(tmp_path / "some.tfrecord"))
    with tf.io.TFRecordWriter(file) as writer:
        writer.write(tf.constant("one"))
    assert [x.numpy() for x in tf.data.TFRecordDataset(file)] == [b"one"]


def test_files_are_opened_to_go_on(tmp_path: Path) -> None:
    file = str(tmp_path / "words.txt")
    for mode, text in (("w", "a"), ("a", "b")):
        with tf.io.gfile.GFile(file, mode) as stream:
            stream.write(text)
    assert tf.io.gfile.GFile(file).read() == "ab"
    with pytest.raises(InvalidArgumentError, match="is not one of"):
        tf.io.gfile.GFile(file, "x")


def test_folders_are_walked(tmp_path: Path) -> None:
    tf.io.gfile.makedirs(tmp_path / "in")
    (tmp_path / "in" / "a.txt").write_text("")
    top, inside = tf.io.gfile.walk(str(tmp_path))
    assert top[1:] == (["in"], [])
    assert inside[1:] == ([], ["a.txt"])


@pytest.mark.parametrize(
    ("access", "name", "own"),
    [
        (lambda path: tf.io.read_file(path / "no"), "NotFoundError", FileNotFoundError),
        (lambda path: tf.io.read_file(path), "FailedPreconditionError", IsADirectoryError),
        (lambda path: tf.io.write_file(path, b""), "FailedPreconditionError", IsADirectoryError),
        (lambda path: tf.io.TFRecordWriter(path), "FailedPreconditionError", IsADirectoryError),
        (lambda path: tf.io.gfile.GFile(path / "no").read(), "NotFoundError", FileNotFoundError),
        (lambda path: tf.io.gfile.GFile(path / "no").size(), "NotFoundError", FileNotFoundError),
        (
            lambda path: tf.io.gfile.GFile(path / "no", "w").read(),
            "PermissionDeniedError",
            PermissionError,
        ),
        (lambda path: tf.io.gfile.listdir(path / "no"), "NotFoundError", FileNotFoundError),
        (lambda path: tf.io.gfile.stat(path / "no"), "NotFoundError", FileNotFoundError),
        (lambda path: tf.io.gfile.remove(path / "no"), "NotFoundError", FileNotFoundError),
        (lambda path: tf.io.gfile.rmtree(path / "no"), "NotFoundError", FileNotFoundError),
        (lambda path: tf.io.gfile.mkdir(path / "no/a"), "NotFoundError", FileNotFoundError),
        (lambda path: tf.io.gfile.copy(path / "no", path / "a"), "NotFoundError", OSError),
        (
            lambda path: tf.io.gfile.copy(path / "no", path),
            "AlreadyExistsError",
            FileExistsError,
        ),
        (lambda path: tf.io.gfile.rename(path / "no", path), "AlreadyExistsError", OSError),
    ],
)
def test_errors_of_files_have_the_names_of_tensorflow(
    access: Callable[[Path], Any], name: str, own: type[Exception], tmp_path: Path
) -> None:
    with pytest.raises(getattr(tf.errors, name)) as caught:
        access(tmp_path)
    assert isinstance(caught.value, own)


def test_what_was_there_can_be_read_before_it_is_replaced(tmp_path: Path) -> None:
    file = str(tmp_path / "a.txt")
    tf.io.write_file(file, "old")
    with tf.io.gfile.GFile(file, "w+") as stream:
        assert stream.read() == "old"
    assert tf.io.read_file(file).numpy() == b"old"
    with tf.io.gfile.GFile(file, "w+") as stream:
        stream.read()
        stream.write("new")
    assert tf.io.read_file(file).numpy() == b"new"
