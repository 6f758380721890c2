"""Files that are named by an array and not listed count by how they stand, for every reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import PIL.Image
import pytest

import keepset as ks
from keepset.exchange.files.file_names import store_of

Names = ks.Dataset.from_tensor_slices


def text(path: Path, number: int) -> None:
    path.write_bytes(b"line %d\n" % number)


def records(path: Path, number: int) -> None:
    path.unlink(missing_ok=True)
    Names([str(number)]).write_tfrecord(path)


def picture(path: Path, number: int) -> None:
    PIL.Image.new("RGB", (2, 2), (number, 0, 0)).save(path, "png")


READERS: dict[str, tuple[Callable[[Path, int], None], Callable[[str], ks.Dataset]]] = {
    "text": (text, lambda name: ks.read_text(Names([name]))),
    "shuffled": (text, lambda name: ks.read_text(Names([name]).shuffle(4, 1).take(1))),
    "tfrecord": (records, lambda name: ks.TFRecordDataset(Names([name]))),
    "pictures": (picture, lambda name: ks.read_images(Names([name]), labels=None)),
}


def first(ds: ks.Dataset) -> Any:
    [element] = ds
    return element["image"].tolist() if isinstance(element, dict) else element


@pytest.mark.parametrize("kind", READERS)
def test_another_content_is_another_fingerprint(kind: str, tmp_path: Path) -> None:
    write, read = READERS[kind]
    path, where = tmp_path / "file", tmp_path / "snapshot"
    write(path, 1)
    old = first(read(str(path)).snapshot(where))
    assert first(read(str(path)).snapshot(where, mode="read")) == old
    write(path, 2)
    assert first(read(str(path)).snapshot(where)) == first(read(str(path))) != old


def test_names_of_nothing_are_left_to_the_reader(tmp_path: Path) -> None:
    ds = ks.read_text(Names([str(tmp_path / "none")]))
    with pytest.raises(ks.KeepsetError, match="does not exist"):
        list(ds.snapshot(tmp_path / "snapshot"))


def test_files_in_an_object_store_count(tmp_path: Path) -> None:
    url = f"memory://{tmp_path.name}-unlisted/a.npy"
    where = tmp_path / "snapshot"

    def elements() -> list[int]:
        return [int(x) for x in ks.read_npy(Names([url])).snapshot(where)]

    for first in (0, 5):
        ks.Dataset.range(first, first + 3).write_npy(tmp_path / f"{first}.npy")
        store, file = store_of(url, None)
        store.put(file, (tmp_path / f"{first}.npy").read_bytes())
        assert elements() == [first, first + 1, first + 2]
