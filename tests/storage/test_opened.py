"""open_store: which store a path or a URL means."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import keepset as ks
from keepset.errors import InvalidArgumentError
from keepset.storage import LocalStore, open_store
from keepset.storage.objects import ObjectStore


def test_a_path_is_taken_as_it_stands(tmp_path: Path) -> None:
    for path in (tmp_path / "a%20b #1", f"{tmp_path}/a%20b #1", f"{tmp_path}/a%20b #1//"):
        store = open_store(path)
        assert isinstance(store, LocalStore)
        assert store.url == f"{tmp_path}/a%20b #1"
    open_store(tmp_path / "a%20b #1").put("x", b"1")
    assert (tmp_path / "a%20b #1" / "x").exists()


@pytest.mark.parametrize(
    "use",
    [
        ks.load,
        ks.Snapshot,
        ks.class_names,
        ks.read_path_list,
        ks.Dataset.range(3).save,
        ks.Dataset.range(3).snapshot,
        ks.Dataset.range(3).cache,
        ks.Dataset.range(3).write_npy,
        ks.Dataset.range(3).write_tfrecord,
        ks.Dataset.from_tensors({"x": 1}).write_csv,
        ks.Dataset.from_tensors({"x": 1}).write_json_lines,
        ks.Dataset.from_tensors("x").write_text,
        ks.Dataset.range(3).to_recipe().save,
        lambda path: ks.explain(ks.Dataset.range(3), path),
    ],
)
def test_a_path_of_another_kind_is_refused(use: Callable[[Any], Any]) -> None:
    with pytest.raises(InvalidArgumentError, match=r"not b'a/b'; pass os.fsdecode\(path\)"):
        use(b"a/b")
    with pytest.raises(InvalidArgumentError, match="not 3; name a file or a folder"):
        use(3)


@pytest.mark.parametrize("host", ["", "localhost"])
def test_a_file_url_is_decoded(tmp_path: Path, host: str) -> None:
    store = open_store(f"file://{host}{tmp_path}/a%20b%23%C3%BC/")
    assert store.url == f"{tmp_path}/a b#ü"


def test_only_a_leading_tilde_is_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert open_store("~/data").url == open_store(Path("~/data")).url == f"{tmp_path}/data"
    assert open_store("~").url == str(tmp_path)
    assert open_store("~root/data").url == os.path.expanduser("~root/data")
    for path in ("~nobody-is-called-so/data", "a/~/b", "~bad\ud800"):
        assert open_store(path).url == f"{tmp_path}/{path}"


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("s3://bucket", "s3://bucket"),
        ("S3://bucket/a%20b/c?d#e//", "s3://bucket/a%20b/c?d#e"),
        ("gs://bucket/folder/", "gs://bucket/folder"),
        ("az://container/folder", "az://container/folder"),
        ("memory://", "memory://"),
        ("https://example.org/a%20b/", "https://example.org/a%20b"),
    ],
)
def test_a_url_is_normalised(
    url: str, normal: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    monkeypatch.setenv("HOME", str(tmp_path))
    store = open_store(url)
    assert isinstance(store, ObjectStore)
    assert (store.url, store.is_remote) == (normal, True)
    assert open_store(store.url).url == normal
    assert open_store(store.sub("a%20b").url).url == store.sub("a%20b").url


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("ftp://host/x", "file://, s3://, gs://, az://, memory://, http://, https://"),
        ("s3:///folder", "names no bucket"),
        ("file://host/x", "does not name a local file"),
        ("s3://bucket/a//b", "cannot name an object"),
        ("s3://bucket/../b", "cannot name an object"),
        ("", "is not a path"),
    ],
)
def test_what_cannot_be_opened_is_explained(url: str, complaint: str) -> None:
    with pytest.raises(InvalidArgumentError, match=complaint):
        open_store(url)


@pytest.mark.parametrize("url", ["folder", "file:///folder", "memory://x", "s3://bucket"])
def test_an_unknown_option_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgumentError, match="colour"):
        open_store(url, colour="blue")
