"""A cache whose name is that of a directory has its file beside it, as TensorFlow's are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import keepset.tf as tf


@pytest.mark.parametrize("convert", [str, Path, lambda path: tf.constant(str(path))])
def test_a_cache_named_like_a_directory_stands_beside_it(tmp_path: Path, convert: Any) -> None:
    folder = tmp_path / "train"
    folder.mkdir()
    calls = []

    def counted(x: tf.Tensor) -> tf.Tensor:
        calls.append(1)
        return x

    def pipeline() -> Any:
        return tf.data.Dataset.range(3).map(counted).cache(convert(folder))

    assert [int(x) for x in pipeline()] == [0, 1, 2]
    assert (tmp_path / "train.keepset").is_file()
    assert not any(folder.iterdir())
    # A later run of the program reads it.
    assert [int(x) for x in pipeline()] == [0, 1, 2]
    assert len(calls) == 3


def test_other_names_are_those_of_files(tmp_path: Path) -> None:
    list(tf.data.Dataset.range(3).cache(str(tmp_path / "file")))
    assert (tmp_path / "file").is_file()
