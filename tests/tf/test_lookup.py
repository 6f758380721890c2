from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import keepset.tf as tf
from keepset.core.fingerprint import fingerprint_of_value
from keepset.errors import DtypeError, InvalidArgumentError


def table(*words: str) -> tf.lookup.StaticHashTable:
    numbers = tf.lookup.KeyValueTensorInitializer(list(words), list(range(len(words))))
    return tf.lookup.StaticHashTable(numbers, -1)


def test_what_is_not_there_has_the_default() -> None:
    assert table("a", "b").lookup(tf.constant(["b", "z"])).numpy().tolist() == [1, -1]


def test_ragged_keys_give_ragged_values() -> None:
    words = tf.strings.split(["a b", "z"])
    assert table("a", "b").lookup(words).to_list() == [[0, 1], [-1]]


def test_keys_of_another_dtype_are_refused() -> None:
    with pytest.raises(DtypeError, match=r"must be string, received: int32; use tf\.cast"):
        table("a").lookup(tf.constant([1]))


def test_a_key_has_one_value() -> None:
    with pytest.raises(tf.errors.FailedPreconditionError, match="different value for same key"):
        tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "a"], [1, 2]), 0)


def test_other_words_have_the_buckets_of_tensorflow() -> None:
    numbers = tf.lookup.KeyValueTensorInitializer(["a"], [0], value_dtype=tf.int64)
    words = tf.lookup.StaticVocabularyTable(numbers, 1000)
    # As TensorFlow 2.21 numbers them.
    assert words.lookup(tf.constant(["a", "quux", "corge"])).numpy().tolist() == [0, 929, 721]


def test_the_content_of_a_table_counts_in_a_fingerprint() -> None:
    def numbered(words: tf.lookup.StaticHashTable) -> object:
        return fingerprint_of_value(lambda word: words.lookup(word))

    assert numbered(table("a", "b")) == numbered(table("a", "b"))
    assert numbered(table("a", "b")) != numbered(table("a", "c"))


def test_tables_go_to_other_processes() -> None:
    found = pickle.loads(pickle.dumps(table("a", "b")))
    assert found.lookup(tf.constant(["b"])).numpy().tolist() == [1]


def test_a_vocabulary_file(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("x\ny\n")
    index = tf.lookup.TextFileIndex
    lines = tf.lookup.TextFileInitializer(
        str(file), tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
    )
    words = tf.lookup.StaticHashTable(lines, -1)
    assert words.lookup(tf.constant(["y", "z"])).numpy().tolist() == [1, -1]


def test_a_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("x 1\n")
    lines = tf.lookup.TextFileInitializer(str(file), tf.string, 0, tf.int64, 1)
    with pytest.raises(InvalidArgumentError, match="check the delimiter"):
        tf.lookup.StaticHashTable(lines, -1)


def test_a_table_that_changes() -> None:
    words = tf.lookup.experimental.DenseHashTable(
        tf.int64, tf.string, "?", empty_key=-1, deleted_key=-2
    )
    words.insert(tf.constant([1, 2], tf.int64), ["a", "b"])
    words.erase(tf.constant([1], tf.int64))
    assert words.lookup(tf.constant([1, 2], tf.int64)).numpy().tolist() == [b"?", b"b"]
    assert int(words.size()) == 1
    with pytest.raises(InvalidArgumentError, match="empty_key or deleted_key"):
        words.insert(tf.constant([-1], tf.int64), ["x"])
