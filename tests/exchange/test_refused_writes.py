"""Writers that meet a full disk, a misspelt argument or an element that no file can hold."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks

# A limit on the size of files stands for a disk that is full, without mounting one.
FULL = """
import resource, signal, sys
import numpy as np
import keepset as ks

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
random = np.random.default_rng(0)
rows = ks.Dataset.range(3000).map(lambda i: {"v": random.random(), "w": random.random(100)})
numbers = ks.Dataset.range(200_000).map(lambda i: {"v": random.random()})
lines = ks.Dataset.range(200_000).map(lambda i: str(random.random()))
kind, path = sys.argv[1:]
records = rows.map(lambda row: row["w"].tobytes())
pictures = ks.Dataset.range(3).map(lambda i: random.integers(0, 256, (900, 900, 3), np.uint8))
kinds = {"csv": numbers, "text": lines, "images": pictures, "raw": records}
kinds |= {"npy": rows.map(lambda row: row["w"])}
ds = kinds.get(kind, rows)
writers = {
    "cache": lambda: list(ds.cache(path)),
    "tensorflow": lambda: ds.save(path, format="tensorflow"),
    "npz compressed": lambda: ds.write_npz(path, compressed=True),
    "tfrecord GZIP": lambda: ds.write_tfrecord(path, "GZIP"),
    "raw": lambda: ds.write_tfrecord(path),
}
try:
    writers.get(kind, lambda: getattr(ds, f"write_{kind}")(path))()
except ks.StorageError as error:
    print(error)
"""


FULL_KINDS = [
    *("arrow", "cache", "csv", "hdf5", "images", "json_lines", "npy", "npz", "npz compressed"),
    *("parquet", "raw", "tensorflow", "text", "tfrecord", "tfrecord GZIP"),
    "webdataset",
]


@pytest.mark.parametrize("kind", FULL_KINDS)
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path: Path, kind: str) -> None:
    path = str(tmp_path / f"some.{kind}")
    ended = subprocess.run(
        [sys.executable, "-W", "always::ResourceWarning", "-c", FULL, kind, path],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    assert f"cannot write {path}" in ended.stdout
    assert "use another one" in ended.stdout
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_hides_no_error_behind_what_is_left_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        tempfile,
        "TemporaryFile",
        lambda **_: open("/dev/full", "r+b"),  # noqa: SIM115
    )
    ds = ks.Dataset.range(3000).map(lambda i: {"v": i, "w": np.zeros(100)})
    with pytest.raises(ks.StorageError, match=f"cannot write {tmp_path}/some.npz: No space.*free"):
        ds.write_npz(tmp_path / "some.npz")
    assert list(tmp_path.iterdir()) == []


WRITERS: dict[str, Callable[..., Any]] = {
    name: getattr(ks.Dataset, f"write_{name}")
    for name in ("arrow", "csv", "hdf5", "json_lines", "npz", "parquet", "tfrecord", "webdataset")
}


@pytest.mark.parametrize("name", WRITERS)
def test_an_argument_that_does_not_exist_is_refused(tmp_path: Path, name: str) -> None:
    ds = ks.Dataset.range(3).map(lambda i: {"a": i})
    with pytest.raises(ks.InvalidArgumentError, match="progres"):
        WRITERS[name](ds, tmp_path / "some", progres=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", WRITERS)
def test_none_in_the_place_of_a_value_is_named(tmp_path: Path, name: str) -> None:
    ds = ks.Dataset.range(12).map(lambda i: {"t": None if i == 9 else np.int64(4)})
    with pytest.raises(ks.ElementError, match="element 9"):
        WRITERS[name](ds, tmp_path / "some")


def test_two_entries_of_one_name_are_refused(tmp_path: Path) -> None:
    ds = ks.Dataset.range(2).map(lambda i: {"a/b": i, "a": {"b": i + 100}})
    with pytest.raises(ks.ElementError, match="would be called 'a/b'"):
        ds.write_tfrecord(tmp_path / "some.tfrecord")


def test_text_that_is_in_no_known_form_is_an_error_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_bytes(b"a,b\n1,\xc3\xa9\n2,x\\\n")
    with pytest.raises(ks.CorruptRecordError, match=r"line 1: .* is no text in utf-16"):
        list(ks.read_text(path, encoding="utf-16"))
    with pytest.raises(ks.InvalidArgumentError, match="is unknown"):
        ks.read_text(path, encoding="undefined")


def _write(kind: str, path: str) -> None:
    rows = ks.Dataset.range(3).map(lambda i: {"v": float(i)})
    records = ks.Dataset.from_tensor_slices(["a", "b"])
    writers: dict[str, Callable[[], Any]] = {
        "cache": lambda: list(rows.cache(path)),
        "recipe": lambda: ks.Dataset.range(3).to_recipe().save(path),
        "npz compressed": lambda: rows.write_npz(path, compressed=True),
        "npy": lambda: rows.map(lambda row: row["v"]).write_npy(path),
        "text": lambda: records.write_text(path),
        "raw": lambda: records.write_tfrecord(path),
    }
    writers.get(kind, lambda: getattr(rows, f"write_{kind}")(path))()


ONE_FILE = [
    *("arrow", "cache", "csv", "hdf5", "json_lines", "npy", "npz", "npz compressed", "parquet"),
    *("raw", "recipe", "text", "tfrecord"),
]


@pytest.mark.parametrize("there", ["a device", "a named pipe", "a folder"])
@pytest.mark.parametrize("kind", ONE_FILE)
def test_what_is_no_file_is_not_replaced(tmp_path: Path, kind: str, there: str) -> None:
    """Renaming a file over ``/dev/null`` succeeds for an administrator, and breaks the machine."""
    path = tmp_path / "output"
    if there == "a device":
        try:
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only an administrator can make a device")
    elif there == "a named pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    before = path.lstat()
    with pytest.raises(ks.KeepsetError, match=re.escape(str(path))):
        _write(kind, str(path))
    assert os.path.samestat(before, path.lstat())
    assert os.listdir(tmp_path) == ["output"]


@pytest.mark.parametrize("kind", ONE_FILE)
def test_a_link_leads_to_the_file_that_is_written(tmp_path: Path, kind: str) -> None:
    """Outputs are often linked to a larger disk: what is there is written, and the link stays."""
    (tmp_path / "large disk").mkdir()
    target = tmp_path / "large disk" / "output"
    link = tmp_path / "output"
    link.symlink_to(target)
    for _ in range(2):
        _write(kind, str(link))
        assert link.is_symlink()
        assert target.stat().st_size
        assert not target.is_symlink()
