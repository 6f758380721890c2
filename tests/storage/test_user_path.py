"""Paths as users name them, at every place that takes one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.commands import keepset

import keepset as ks
from keepset.storage import found_name, local_path, path_text
from keepset.tf.io import gfile

SOME = ks.Dataset.range(3)
PICTURES = ks.Dataset.from_tensor_slices(np.zeros((2, 3, 3, 3), np.uint8))


def _load(path: Any) -> Any:
    return list(ks.Dataset.load(path))


def _convert(path: Any) -> Any:
    SOME.save("first")
    return keepset("convert", "first", str(path), "--to", "keepset")


# What reads or writes a folder or a file, apart from the doors.
WRITERS: dict[str, Callable[[Any], Any]] = {
    "snapshot": lambda path: list(SOME.snapshot(path)),
    "save": lambda path: SOME.save(path),
    "cache": lambda path: list(SOME.cache(path)),
    "write_tfrecord": lambda path: SOME.batch(2).write_tfrecord(path),
    "write_tfrecord, shards": lambda path: SOME.batch(2).write_tfrecord(path, num_shards=2),
    "save for TensorFlow": lambda path: SOME.save(path, format="tensorflow"),
    "write_images": lambda path: PICTURES.write_images(path),
    "write_path_list": lambda path: ks.Dataset.from_tensor_slices(["a.png"]).write_path_list(path),
    "TFRecordWriter": lambda path: ks.TFRecordWriter(path).close(),
    "Recipe.save": lambda path: SOME.to_recipe().save(path),
}
READERS: dict[str, Callable[[Any], Any]] = {
    "load": _load,
    "load with a cache": lambda path: ks.Dataset.load("memory://none", cache_dir=path),
    "explain": lambda path: ks.explain(SOME, path),
    "list_files": lambda path: ks.Dataset.list_files(path),
    "TFRecordDataset": lambda path: list(ks.TFRecordDataset(path)),
    "read_text": lambda path: list(ks.read_text(path)),
    "read_images": lambda path: list(ks.read_images(path, labels=None)),
    "read_images of names": lambda path: list(
        ks.read_images(ks.Dataset.from_tensor_slices([str(path)]), labels=None)
    ),
    "labels": lambda path: list(ks.read_images("*.png", labels=path)),
    "class_names": lambda path: ks.class_names(path),
    "read_path_list": lambda path: list(ks.read_path_list(path)),
    "read_webdataset": lambda path: list(ks.read_webdataset(path)),
    "read_hf": lambda path: ks.read_hf(path),
    "from_recipe": lambda path: ks.from_recipe(path),
    "index_dir": lambda path: ks.TFRecordDataset([], index_dir=path),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder, with the working directory beside it."""
    for name in ("home", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "home"


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_written_below_a_tilde_is_in_the_home_folder(name: str, home: Path) -> None:
    WRITERS[name]("~/kept" if name == "Recipe.save" else Path("~/deep/kept"))
    assert [path for path in home.rglob("*") if path.name.startswith("kept")]
    assert not os.listdir()


@pytest.mark.parametrize("name", [*WRITERS, *READERS])
def test_a_url_with_one_slash_is_refused(name: str, home: Path) -> None:
    (home.parent / "here" / "a.png").write_bytes(b"")
    for given in (Path("gs://bucket") / "kept", "GS:/bucket/kept"):
        with pytest.raises(ks.InvalidArgumentError, match=r"(?i)'gs://bucket/kept' has two"):
            {**WRITERS, **READERS}[name](given)
    assert os.listdir() == ["a.png"]


def test_readers_find_what_is_in_the_home_folder(home: Path) -> None:
    SOME.save("~/saved")
    assert _load("~/saved") == _load(home / "saved") == [0, 1, 2]
    assert ks.explain(SOME, "~/saved").url == str(home / "saved")
    PICTURES.write_images("~/pictures")
    for source in ("~/pictures", "~/pictures/*.png", "~/pictures/labels.txt"):
        assert len(list(ks.read_images(source, labels=None))) == 2
    listed = ks.Dataset.list_files("~/pictures/*.png", shuffle=False)
    assert next(iter(listed)).startswith(os.fsencode(home))
    assert len(list(ks.read_images(listed, labels=None))) == 2
    names = ks.Dataset.from_tensor_slices([f"~/pictures/{p.name}" for p in home.rglob("*.png")])
    assert len(list(ks.read_images(names, labels=None))) == 2
    (home / "labels.csv").write_text("~/pictures/00000000.png,1\npictures/00000001.png,2\n")
    names.write_path_list("~/list.txt")
    assert [path.split(b"/")[-2] for path in ks.read_path_list("~/list.txt")] == [b"pictures"] * 2
    SOME.map(lambda x: b"%d" % x).write_tfrecord("~/some.tfrecord")
    records = ks.TFRecordDataset("~/some.tfrecord", index_dir="~/indexes")
    assert records[2] == b"2"
    assert (home / "indexes").is_dir()
    recipe = records.to_recipe()
    recipe.save("~/recipe.yaml")
    assert list(ks.from_recipe("~/recipe.yaml")) == [b"0", b"1", b"2"]
    text = (home / "recipe.yaml").read_text().replace(str(home), "~")
    assert list(ks.from_recipe(ks.Recipe.parse(text), on_change="ignore")) == [b"0", b"1", b"2"]
    assert not os.listdir()


def test_a_folder_that_is_called_so_can_be_named(home: Path) -> None:
    SOME.save("./~/saved")
    SOME.save("./s3:/saved")
    assert _load("./~/saved") == _load("./s3:/saved") == [0, 1, 2]
    for name in ("~", "s3:"):
        Path(name, "some.txt").write_text("a line\n")
    for pattern in ("*/some.txt", "[~]/some.txt", "s[3]:/some.txt"):
        assert set(ks.read_text(pattern)) == {b"a line"}
        assert set(ks.read_text(ks.Dataset.list_files(pattern))) == {b"a line"}


def test_the_command_line_says_so_too(home: Path) -> None:
    for command in (["ls"], ["inspect"], ["verify"], ["cat"], ["gc"], ["rm", "--yes"], ["explain"]):
        done = keepset(*command, "s3:/bucket/kept")
        assert done.exit_code == 2, command
        assert "pathlib drops a slash" in done.stderr
    assert _convert("gs:/bucket/kept").exit_code == 3


@pytest.mark.parametrize(
    "path", ["s3://b/x", "C:/data", "data:/x", "s3:", "s3:x", "a/s3:/x", "./s3:/x", "", "file:///x"]
)
def test_other_names_stay_as_they_are(path: str) -> None:
    assert path_text(path) == path


def test_a_secret_in_a_url_is_not_shown() -> None:
    with pytest.raises(ks.InvalidArgumentError, match="pathlib") as caught:
        path_text(Path("https://ann:hunter2@host/a"))
    assert "hunter2" not in str(caught.value)


def test_a_url_is_no_local_file() -> None:
    with pytest.raises(ks.InvalidArgumentError, match="'s3://bucket/x' is a URL"):
        local_path("s3://bucket/x", "the file of a cache")
    with pytest.raises(ks.InvalidArgumentError, match="the file of a cache is local"):
        SOME.cache("memory://bucket/x")


def test_names_that_were_found_stand_for_themselves() -> None:
    assert [found_name(name) for name in ("a~", "~", "~root", "gs:/x")] == [
        *("a~", "./~", "./~root", "./gs:/x")
    ]


def test_gfile_refuses_such_a_url_and_leaves_tildes_as_tensorflow_does(home: Path) -> None:
    for look in (gfile.exists, gfile.isdir, gfile.listdir, gfile.glob, gfile.makedirs):
        with pytest.raises(ks.InvalidArgumentError, match="pathlib drops a slash"):
            look("s3:/bucket/kept")
    with pytest.raises(ks.InvalidArgumentError, match="pathlib drops a slash"):
        gfile.GFile("s3:/bucket/kept", "w").write("text")
    (home / "some.txt").write_text("text")
    assert not gfile.exists("~/some.txt")
    with gfile.GFile("~/other.txt", "w") as file:
        file.write("text")
    assert gfile.exists("~/other.txt")
    assert Path("./~/other.txt").exists()
