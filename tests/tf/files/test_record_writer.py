"""tf.io.TFRecordWriter: what was written is there."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import keepset.tf as tf


def _records(path: Path, kind: str = "") -> list[bytes]:
    return [record.numpy() for record in tf.data.TFRecordDataset(str(path), kind)]


@pytest.mark.parametrize("kind", ["", "GZIP"])
def test_flushed_and_forgotten_records_are_there(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    writer = tf.io.TFRecordWriter(str(path), kind)
    writer.write(b"one")
    writer.flush()
    assert _records(path, kind) == [b"one"]
    writer.write(b"two")
    del writer
    assert _records(path, kind) == [b"one", b"two"]
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_an_error_inside_with_keeps_what_was_written(tmp_path: Path) -> None:
    writer = tf.io.TFRecordWriter(str(tmp_path / "a"))
    with suppress(ZeroDivisionError), writer:
        writer.write(b"one")
        raise ZeroDivisionError
    assert _records(tmp_path / "a") == [b"one"]
    writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError, match="closed"):
        writer.write(b"two")


def test_records_are_written_at_the_end_of_a_program(tmp_path: Path) -> None:
    code = (
        "import keepset.tf as tf, sys\n"
        "writer = tf.io.TFRecordWriter(sys.argv[1])\n"
        "writer.write(b'one')\n"
        "writer.itself = writer\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a")], check=True)
    assert _records(tmp_path / "a") == [b"one"]


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError):
        tf.io.TFRecordWriter(str(tmp_path / "none" / "a"))
