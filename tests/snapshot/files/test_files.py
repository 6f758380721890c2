"""Snapshots of pipelines that read files: used as long as the content is the same."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import keepset as ks
from keepset.core.fingerprint import facts_to_json
from keepset.errors import FingerprintError, SnapshotMissingError, StorageError
from keepset.format.log import Log
from keepset.snapshot.explaining import explain_newest
from keepset.snapshot.files import same_files, source_keeper
from keepset.snapshot.files.sources import TABLE, FileTable, read_table
from keepset.snapshot.identity.pipeline_identity import identify
from keepset.snapshot.reading.opening import fingerprints_at
from keepset.storage import LocalStore, Store, open_store
from keepset.storage.file_hashes import FileHashes
from keepset.testing.resources import nothing_left_behind


class Reader:
    """Reads a file, and knows which ones it has read since it was last asked."""

    def __init__(self) -> None:
        self._read: list[str] = []

    def __keepset_fingerprint__(self) -> str:
        return "reads a file"  # what it has read does not count

    def __call__(self, path: bytes) -> dict[str, Any]:
        name = os.path.basename(os.fsdecode(path))
        self._read.append(name)
        return {"name": os.fsencode(name), "content": Path(os.fsdecode(path)).read_bytes()}

    def read(self) -> list[str]:
        names, self._read = sorted(self._read), []
        return names


class Hashed:
    """The files that were hashed since it was last asked."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def read(self) -> list[str]:
        names, self.names = sorted(self.names), []
        return names


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> Hashed:
    hashed, hash_file = Hashed(), FileHashes._hash

    def spy(self: FileHashes, number: int, buffer: memoryview) -> None:
        hashed.names.append(os.path.basename(self._path_of(number)))
        hash_file(self, number, buffer)

    monkeypatch.setattr(FileHashes, "_hash", spy)
    return hashed


class Shelf:
    """A folder of three files, a place where things are kept, and a function that reads."""

    def __init__(self, place: Path, hashed: Hashed) -> None:
        self.data, self.kept = place / "data", place / "kept"
        self.reader, self.hashed = Reader(), hashed
        (self.data / "cats").mkdir(parents=True)
        for name, content in (("a.txt", b"one"), ("b.txt", b"two"), ("cats/c.txt", b"three")):
            (self.data / name).write_bytes(content)

    def files(self, pattern: Path | str | None = None) -> ks.Dataset:
        chosen = [self.data / "*.txt", self.data / "cats" / "*.txt"]
        return ks.Dataset.list_files(pattern or chosen, shuffle=False).map(self.reader)

    def contents(self, pattern: Path | str | None = None, **kwargs: Any) -> list[bytes]:
        kept = self.files(pattern).snapshot(self.kept, **kwargs)
        return [element["content"] for element in kept]

    def fill(self) -> None:
        """Keep everything, and forget what that took."""
        assert self.contents() == [b"one", b"two", b"three"]
        assert self.reader.read() == ["a.txt", "b.txt", "c.txt"]
        assert self.hashed.read() == ["a.txt", "b.txt", "c.txt"]

    def why(self) -> ks.Explanation:
        return ks.explain(self.files(), self.kept)

    def change(self) -> str:
        """The only change that is explained."""
        (change,) = self.why().changes
        return str(change)

    def stores(self) -> list[Store]:
        root = open_store(self.kept)
        return [root.sub(f"{name}/") for name in fingerprints_at(root)]

    def table(self) -> FileTable:
        (store,) = self.stores()
        table = read_table(store)
        assert table is not None
        return table


@pytest.fixture
def shelf(tmp_path: Path, hashed: Hashed) -> Shelf:
    return Shelf(tmp_path, hashed)


def tree(table: FileTable) -> dict[str, bool]:
    """Which files have a known content."""
    return dict(zip(table.listings[0].names, table.known.tolist(), strict=True))


# As it was:


def test_files_that_stay_as_they_are_are_not_read_again(shelf: Shelf) -> None:
    shelf.fill()
    assert shelf.contents() == [b"one", b"two", b"three"]
    assert (shelf.reader.read(), shelf.hashed.read()) == ([], [])
    why = shelf.why()
    assert why.hit
    assert not why.by_content
    assert tree(shelf.table()) == {"a.txt": True, "b.txt": True, "cats/c.txt": True}


def test_another_way_to_the_same_files_is_the_same(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    list(shelf.files(shelf.data / "*.txt").snapshot(shelf.kept))
    shelf.reader.read(), shelf.hashed.read()
    monkeypatch.chdir(shelf.data)
    assert shelf.contents("*.txt") == [b"one", b"two"]
    monkeypatch.chdir(shelf.data / "cats")
    assert shelf.contents("../*.txt") == [b"one", b"two"]
    link = shelf.data.with_name("link")
    link.symlink_to(shelf.data)
    assert shelf.contents(link / "*.txt") == [b"one", b"two"]
    assert (shelf.reader.read(), shelf.hashed.read()) == ([], [])


def test_looking_at_files_is_left_to_those_who_keep(shelf: Shelf) -> None:
    ds = shelf.files()
    (shelf.data / "b.txt").unlink()
    assert ds.take(1).cardinality() == 1
    with pytest.raises(FingerprintError, match=r"b\.txt.*No such file"):
        list(ds.snapshot(shelf.kept))
    with pytest.raises(FingerprintError, match=r"b\.txt"):
        ks.explain(ds, shelf.kept)
    ds.snapshot(shelf.kept, fingerprint="mine")


# Changed:


@pytest.mark.parametrize("content", [b"eno", b"other"], ids=["same size", "other size"])
def test_a_changed_file_is_computed_again_and_named(shelf: Shelf, content: bytes) -> None:
    shelf.fill()
    os.utime(shelf.data / "a.txt", (0, 1e9))
    shelf.kept = shelf.kept.with_name("again")
    shelf.fill()
    (shelf.data / "a.txt").write_bytes(content)
    assert not shelf.why().hit
    assert shelf.change().startswith("map > list_files > a.txt: 3 bytes of 2001-09-")
    assert f" -> {len(content)} bytes of 20" in shelf.change()
    assert shelf.contents() == [content, b"two", b"three"]
    assert shelf.reader.read() == ["a.txt", "b.txt", "c.txt"]
    assert shelf.contents() == [content, b"two", b"three"]
    assert shelf.reader.read() == []


def test_a_change_at_once_is_seen(shelf: Shelf) -> None:
    shelf.fill()
    for i in range(10):
        (shelf.data / "a.txt").write_bytes(b"%03d" % i)
        assert shelf.contents()[0] == b"%03d" % i


def test_setting_the_time_back_hides_nothing(shelf: Shelf) -> None:
    file = shelf.data / "a.txt"
    os.utime(file, (0, 1e9))
    shelf.fill()
    file.write_bytes(b"eno")
    os.utime(file, (0, 1e9))
    assert shelf.change().startswith("map > list_files > a.txt: 3 bytes of 2001-09-")
    assert shelf.change().endswith(" has changed")
    assert shelf.contents() == [b"eno", b"two", b"three"]


def test_another_name_is_another_file(shelf: Shelf) -> None:
    shelf.fill()
    (shelf.data / "b.txt").rename(shelf.data / "bb.txt")
    removed, added = map(str, shelf.why().changes)
    assert removed.startswith("map > list_files > b.txt: 3 bytes of ")
    assert removed.endswith(" -> (absent)")
    assert added.startswith("map > list_files > bb.txt: (absent) -> 3 bytes of ")
    assert shelf.contents() == [b"one", b"two", b"three"]
    assert shelf.reader.read() == ["a.txt", "bb.txt", "c.txt"]


def test_a_file_more_and_a_file_less_are_named(shelf: Shelf) -> None:
    shelf.fill()
    (shelf.data / "z.txt").write_bytes(b"new")
    assert shelf.change().startswith("map > list_files > z.txt: (absent) -> 3 bytes of ")
    assert len(shelf.contents()) == 4
    (shelf.data / "z.txt").unlink()
    assert shelf.why().hit
    (shelf.data / "a.txt").unlink()
    assert shelf.change().startswith("map > list_files > a.txt: 3 bytes of ")
    assert shelf.contents() == [b"two", b"three"]


def test_of_many_changes_the_first_are_named(shelf: Shelf) -> None:
    shelf.fill()
    for i in range(25):
        (shelf.data / f"{i:02}.txt").touch()
    *named, more = map(str, shelf.why().changes)
    assert len(named) == 10
    assert all("(absent) -> 0 bytes of" in change for change in named)
    assert more == ("map > list_files > 15 more files: 3 files of 11 bytes -> 28 files of 11 bytes")


def test_a_link_that_leads_elsewhere_is_a_change(shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"1st")
    (shelf.data / "a.txt").unlink()
    (shelf.data / "a.txt").symlink_to(tmp_path / "target")
    assert shelf.contents() == [b"1st", b"two", b"three"]
    (tmp_path / "target").write_bytes(b"2nd")
    assert shelf.contents() == [b"2nd", b"two", b"three"]


def test_data_sets_that_look_alike_are_not_mixed_up(tmp_path: Path, hashed: Hashed) -> None:
    # As they come out of an archive: the same names, sizes and times.
    shelf = Shelf(tmp_path, hashed)
    for part in ("train", "test"):
        (tmp_path / part).mkdir()
        for i in range(3):
            (tmp_path / part / f"{i}.txt").write_bytes(f"{part:5}{i}".encode())
            os.utime(tmp_path / part / f"{i}.txt", (0, 0))
    for _ in range(2):
        assert shelf.contents(tmp_path / "train" / "*") == [b"train0", b"train1", b"train2"]
        assert shelf.contents(tmp_path / "test" / "*") == [b"test 0", b"test 1", b"test 2"]
    assert len(shelf.reader.read()) == 6


# Moved, copied and touched:


def test_a_touched_file_is_compared_once(shelf: Shelf) -> None:
    shelf.fill()
    (shelf.data / "b.txt").touch()
    assert shelf.contents() == [b"one", b"two", b"three"]
    assert (shelf.reader.read(), shelf.hashed.read()) == ([], ["b.txt"])
    assert shelf.contents() == [b"one", b"two", b"three"]
    assert (shelf.reader.read(), shelf.hashed.read()) == ([], [])
    why = shelf.why()
    assert why.hit
    assert why.by_content
    assert "content is the same" in str(why)


def move(folder: Path) -> Path:
    return folder.rename(folder.with_name("elsewhere"))


def copy_with_times(folder: Path) -> Path:
    return shutil.copytree(folder, folder.with_name("copy"))


def copy_without_times(folder: Path) -> Path:
    return shutil.copytree(folder, folder.with_name("copy"), copy_function=shutil.copyfile)


@pytest.mark.parametrize("act", [move, copy_with_times, copy_without_times])
def test_data_in_another_place_is_compared_once(shelf: Shelf, act: Any) -> None:
    shelf.fill()
    shelf.data = act(shelf.data)
    for expected in (["a.txt", "b.txt", "c.txt"], []):
        assert shelf.contents() == [b"one", b"two", b"three"]
        assert (shelf.reader.read(), shelf.hashed.read()) == ([], expected)
    assert len(shelf.stores()) == 1


def test_explaining_is_enough_to_be_remembered(shelf: Shelf) -> None:
    shelf.fill()
    shelf.data = move(shelf.data)
    assert shelf.why().by_content
    shelf.hashed.read()
    assert shelf.contents(mode="read") == [b"one", b"two", b"three"]
    assert (shelf.reader.read(), shelf.hashed.read()) == ([], [])


def test_a_copy_with_one_change_is_computed_and_that_file_named(shelf: Shelf) -> None:
    shelf.fill()
    shelf.data = copy_without_times(shelf.data)
    (shelf.data / "b.txt").write_bytes(b"owt")
    assert shelf.change().startswith("map > list_files > b.txt: 3 bytes of ")
    assert shelf.contents() == [b"one", b"owt", b"three"]
    assert shelf.reader.read() == ["a.txt", "b.txt", "c.txt"]


def test_the_right_one_of_several_is_found(shelf: Shelf) -> None:
    shelf.fill()
    for content in (b"2nd", b"3rd"):
        (shelf.data / "a.txt").write_bytes(content)
        shelf.contents()
    shelf.reader.read()
    for content in (b"one", b"2nd", b"3rd"):
        (shelf.data / "a.txt").write_bytes(content)
        assert shelf.contents() == [content, b"two", b"three"]
    assert shelf.reader.read() == []


def test_an_order_that_was_drawn_once_stays(shelf: Shelf) -> None:
    def shuffled() -> list[bytes]:
        files = ks.Dataset.list_files([shelf.data / "*.txt", shelf.data / "cats/*"], seed=3)
        return [e["content"] for e in files.map(shelf.reader).snapshot(shelf.kept)]

    first = shuffled()
    assert sorted(first) == [b"one", b"three", b"two"]
    shelf.reader.read()
    shelf.data = move(shelf.data)
    assert shuffled() == first
    assert shelf.reader.read() == []


def test_a_place_that_may_only_be_read_is_read(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.fill()
    shelf.data = move(shelf.data)

    def put(self: LocalStore, name: str, data: bytes) -> None:
        raise StorageError(f"{name} cannot be written")

    monkeypatch.setattr(LocalStore, "put", put)
    assert shelf.contents() == [b"one", b"two", b"three"]
    assert shelf.contents() == [b"one", b"two", b"three"]
    assert shelf.reader.read() == []


def test_it_works_on_an_object_store(shelf: Shelf) -> None:
    def contents(mode: str) -> list[bytes]:
        kept = shelf.files().snapshot("memory://files-of-a-pipeline", mode=mode)
        return [element["content"] for element in kept]

    assert contents("auto") == [b"one", b"two", b"three"]
    shelf.data = move(shelf.data)
    assert contents("read") == [b"one", b"two", b"three"]
    (shelf.data / "a.txt").write_bytes(b"eno")
    with pytest.raises(SnapshotMissingError):
        contents("read")


def test_writing_again_does_not_touch_what_another_place_relies_on(shelf: Shelf) -> None:
    shelf.fill()
    shelf.data = move(shelf.data)
    assert shelf.contents(mode="write") == [b"one", b"two", b"three"]
    assert shelf.reader.read() == ["a.txt", "b.txt", "c.txt"]
    assert len(shelf.stores()) == 2


def test_passing_through_compares_nothing(shelf: Shelf) -> None:
    shelf.fill()
    shelf.data = move(shelf.data)
    assert shelf.contents(mode="passthrough") == [b"one", b"two", b"three"]
    assert shelf.reader.read() == ["a.txt", "b.txt", "c.txt"]
    assert shelf.hashed.read() == []


# What cannot be trusted:


def test_a_file_that_changes_during_the_first_pass_is_not_trusted(shelf: Shelf) -> None:
    def change() -> Iterator[Any]:
        for i, element in enumerate(shelf.files().snapshot(shelf.kept)):
            if i == 0:
                (shelf.data / "b.txt").write_bytes(b"owt")
            yield element

    with pytest.warns(UserWarning, match=r"b\.txt.*changed while.*not stored"):
        list(change())
    assert shelf.stores() == []
    shelf.hashed.read()
    shelf.reader.read()
    assert shelf.contents() == [b"one", b"owt", b"three"]
    assert shelf.reader.read() == ["a.txt", "b.txt", "c.txt"]
    (shelf.data / "b.txt").write_bytes(b"two")
    assert shelf.contents() == [b"one", b"two", b"three"]
    assert shelf.reader.read() == ["a.txt", "b.txt", "c.txt"]


def test_a_file_that_changes_while_it_is_compared_is_not_the_same(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.fill()
    shelf.data = move(shelf.data)
    hash_file = FileHashes._hash

    def hash_and_change(self: FileHashes, number: int, buffer: memoryview) -> None:
        hash_file(self, number, buffer)
        if self._path_of(number).endswith("b.txt"):
            (shelf.data / "b.txt").write_bytes(b"owt")

    monkeypatch.setattr(FileHashes, "_hash", hash_and_change)
    with pytest.warns(UserWarning, match=r"b\.txt changed while"):
        assert shelf.contents() == [b"one", b"owt", b"three"]
    assert len(shelf.stores()) == 1  # what was computed from both is not stored


def test_what_was_the_same_is_so_no_longer_after_a_pass_over_a_changed_file(shelf: Shelf) -> None:
    shelf.fill()
    original, shelf.data = shelf.data, copy_with_times(shelf.data)
    assert shelf.contents() == [b"one", b"two", b"three"]
    assert shelf.reader.read() == []
    copy, shelf.data = shelf.data, original
    again = iter(shelf.files().snapshot(shelf.kept, mode="write"))
    with pytest.warns(UserWarning, match="starts over"):
        assert next(again)["content"] == b"one"
    (original / "b.txt").write_bytes(b"owt")
    with pytest.warns(UserWarning, match="changed while"):
        assert [e["content"] for e in again] == [b"owt", b"three"]
    shelf.data = copy
    assert shelf.contents() == [b"one", b"two", b"three"]


def test_hashes_outlive_a_pass_that_begins_again(shelf: Shelf) -> None:
    shelf.fill()
    with pytest.warns(UserWarning, match="starts over"):
        list(shelf.files().snapshot(shelf.kept, mode="write").take(1))
    assert tree(shelf.table()) == {"a.txt": True, "b.txt": True, "cats/c.txt": True}


def test_a_file_that_vanishes_during_the_first_pass_fails_nobody(shelf: Shelf) -> None:
    ds = shelf.files().snapshot(shelf.kept)
    iterator = iter(ds)
    assert len(list(itertools.islice(iterator, 3))) == 3
    (shelf.data / "a.txt").unlink()
    with pytest.warns(UserWarning, match="changed while"):
        assert next(iterator, None) is None
    assert shelf.stores() == []
    with pytest.raises(FingerprintError, match=r"a\.txt.*No such file"):
        list(ds)


@pytest.mark.parametrize("damage", ["missing", "cut", "flipped"])
def test_without_its_table_a_snapshot_is_only_used_where_it_was_made(
    shelf: Shelf, damage: str
) -> None:
    shelf.fill()
    (store,) = shelf.stores()
    data = store.read(TABLE)
    if damage == "missing":
        store.delete([TABLE])
    else:
        store.put(TABLE, data[:-9] if damage == "cut" else data[:40] + b"?" + data[41:])
    assert shelf.contents() == [b"one", b"two", b"three"]
    assert shelf.reader.read() == []
    shelf.data = move(shelf.data)
    assert shelf.change() == "map > list_files > files: 3 files of 11 bytes has changed"
    assert shelf.contents() == [b"one", b"two", b"three"]
    assert shelf.reader.read() == ["a.txt", "b.txt", "c.txt"]


def test_a_damaged_neighbour_is_passed_over(shelf: Shelf) -> None:
    shelf.fill()
    (store,) = shelf.stores()
    store.put("commits/00000000.json", b"{}")
    shelf.data = move(shelf.data)
    assert shelf.contents() == [b"one", b"two", b"three"]
    assert shelf.reader.read() == ["a.txt", "b.txt", "c.txt"]


def endless(shelf: Shelf) -> None:
    """Make one file so large that nobody will ever hash it, which takes no room on the disk."""
    with (shelf.data / "b.txt").open("wb") as file:
        file.truncate(1 << 42)


def names_of(shelf: Shelf) -> ks.Dataset:
    files = ks.Dataset.list_files([shelf.data / "*.txt", shelf.data / "cats/*"], shuffle=False)
    return files.map(os.path.basename).snapshot(shelf.kept)


def test_the_end_does_not_wait_for_ever(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_keeper, "_LEAST_WAIT_S", 0.3)
    endless(shelf)
    with nothing_left_behind():
        assert list(names_of(shelf)) == [b"a.txt", b"b.txt", b"c.txt"]
    assert tree(shelf.table()) == {"a.txt": True, "b.txt": False, "cats/c.txt": False}
    shelf.data = move(shelf.data)
    why = str(ks.explain(names_of(shelf), shelf.kept))
    assert "list_files > folder: " in why
    assert "not all content is known" in why


def test_hashing_stops_with_the_one_who_reads(shelf: Shelf) -> None:
    endless(shelf)
    with nothing_left_behind():
        iterator = iter(names_of(shelf))
        assert next(iterator) == b"a.txt"
        iterator.close()


def test_a_pass_that_stopped_early_goes_on_and_is_explained(shelf: Shelf) -> None:
    ds = shelf.files().snapshot(shelf.kept)
    list(ds.take(2))
    assert shelf.reader.read() == ["a.txt", "b.txt"]
    assert tree(shelf.table()) == {"a.txt": False, "b.txt": False, "cats/c.txt": False}
    assert shelf.why().resumes
    # The last element that was kept is computed once more, to see that it comes out the same.
    assert shelf.contents() == [b"one", b"two", b"three"]
    assert shelf.reader.read() == ["b.txt", "c.txt"]
    assert tree(shelf.table()) == {"a.txt": True, "b.txt": True, "cats/c.txt": True}


def test_an_unfinished_pass_over_other_files_is_explained_too(shelf: Shelf) -> None:
    list(shelf.files().snapshot(shelf.kept).take(2))
    (shelf.data / "a.txt").write_bytes(b"other")
    assert shelf.change().startswith("map > list_files > a.txt: 3 bytes of ")


# Other pipelines:


def test_each_of_two_listings_is_compared(shelf: Shelf, tmp_path: Path) -> None:
    labels = tmp_path / "labels"
    labels.mkdir()
    for name in ("a", "b"):
        (labels / f"{name}.label").write_text(name)

    def both() -> ks.Dataset:
        files = ks.Dataset.list_files(shelf.data / "*.txt", shuffle=False).map(shelf.reader)
        answers = ks.Dataset.list_files(labels / "*", shuffle=False).map(shelf.reader)
        return ks.Dataset.zip((files, answers))

    def contents() -> list[tuple[bytes, bytes]]:
        return [(x["content"], y["content"]) for x, y in both().snapshot(shelf.kept)]

    assert contents() == [(b"one", b"a"), (b"two", b"b")]
    shelf.reader.read()
    labels = labels.rename(tmp_path / "answers")
    assert contents() == [(b"one", b"a"), (b"two", b"b")]
    assert shelf.reader.read() == []
    (labels / "b.label").write_text("c")
    (change,) = ks.explain(both(), shelf.kept).changes
    assert str(change).startswith("zip > input 1, map > list_files > b.label: 1 byte of ")
    assert contents() == [(b"one", b"a"), (b"two", b"c")]
    (shelf.data / "a.txt").unlink()
    (labels / "a.label").unlink()
    paths = [change.path for change in ks.explain(both(), shelf.kept).changes]
    assert paths == [
        "zip > input 0, map > list_files > a.txt",
        "zip > input 1, map > list_files > a.label",
    ]


def test_snapshots_in_a_row_are_found_one_by_one(shelf: Shelf, tmp_path: Path) -> None:
    def pipeline() -> ks.Dataset:
        first = shelf.files().snapshot(shelf.kept)
        return first.map(lambda x: x["content"] * 2).snapshot(tmp_path / "second")

    assert list(pipeline()) == [b"oneone", b"twotwo", b"threethree"]
    shelf.reader.read()
    shelf.data = move(shelf.data)
    shutil.rmtree(tmp_path / "second")
    assert list(pipeline()) == [b"oneone", b"twotwo", b"threethree"]
    assert list(pipeline()) == [b"oneone", b"twotwo", b"threethree"]
    assert shelf.reader.read() == []


def test_changes_beside_the_files_are_explained_as_ever(shelf: Shelf) -> None:
    list(shelf.files().batch(2).snapshot(shelf.kept))
    (shelf.data / "a.txt").write_bytes(b"other")
    paths = [change.path for change in ks.explain(shelf.files().batch(3), shelf.kept).changes]
    assert paths == ["batch > batch_size", "batch > map > list_files > a.txt"]


def test_a_name_of_your_own_counts_for_the_files_too(shelf: Shelf) -> None:
    assert shelf.contents(fingerprint="mine") == [b"one", b"two", b"three"]
    (shelf.data / "a.txt").write_bytes(b"eno")
    assert shelf.contents(fingerprint="mine") == [b"one", b"two", b"three"]
    assert not shelf.stores()[0].exists(TABLE)


def test_shards_count_beside_the_files(shelf: Shelf) -> None:
    def contents() -> list[bytes]:
        return shelf.contents(shard_func=lambda e: len(e["content"]) % 2)

    assert contents() == [b"one", b"two", b"three"]
    shelf.reader.read()
    shelf.data = move(shelf.data)
    assert contents() == [b"one", b"two", b"three"]
    assert shelf.reader.read() == []


def test_a_data_set_that_a_function_uses_counts_with_its_files(shelf: Shelf) -> None:
    def fingerprint() -> str:
        inner = shelf.files()
        return identify(ks.Dataset.range(2).map(lambda x: next(iter(inner)))._node).fingerprint

    before = fingerprint()
    assert fingerprint() == before
    (shelf.data / "a.txt").write_bytes(b"eno")
    changed = fingerprint()
    assert changed != before
    # Nothing compares their content, so that a copy with the same times counts as a change too.
    shelf.data = copy_with_times(shelf.data)
    assert fingerprint() != changed


def test_files_that_are_listed_inside_a_function_are_warned_of(shelf: Shelf) -> None:
    def inside() -> list[bytes]:
        folders = ks.Dataset.from_tensor_slices([os.fspath(shelf.data)])
        files = folders.flat_map(lambda f: ks.Dataset.list_files(f + b"/*.txt", shuffle=False))
        with pytest.warns(UserWarning, match=r"uses keepset\.Dataset\.list_files"):
            ds = files.map(shelf.reader).snapshot(shelf.kept)
        return [e["content"] for e in ds]

    assert inside() == [b"one", b"two"]
    (shelf.data / "a.txt").write_bytes(b"other")
    assert inside() == [b"one", b"two"]


def test_names_that_somebody_else_listed_are_texts(shelf: Shelf) -> None:
    def listed() -> list[bytes]:
        names = ks.Dataset.from_tensor_slices([os.fspath(shelf.data / "a.txt")])
        return [e["content"] for e in names.map(shelf.reader).snapshot(shelf.kept)]

    assert listed() == [b"one"]
    (shelf.data / "a.txt").write_bytes(b"other")
    assert listed() == [b"one"]


def test_folders_count_by_their_time(shelf: Shelf) -> None:
    def names() -> list[bytes]:
        return list(ks.Dataset.list_files(shelf.data / "c*", shuffle=False).snapshot(shelf.kept))

    assert names() == [os.fsencode(shelf.data / "cats")]
    assert names() == [os.fsencode(shelf.data / "cats")]
    (shelf.data / "cats" / "d.txt").touch()
    why = ks.explain(ks.Dataset.list_files(shelf.data / "c*", shuffle=False), shelf.kept)
    assert str(why.changes[0]).startswith("list_files > cats: a folder of ")
    shelf.data = move(shelf.data)
    assert names() == [os.fsencode(shelf.data / "cats")]  # no content says that it is the same


def test_names_that_are_no_text_are_compared_and_shown(shelf: Shelf) -> None:
    odd = os.fsencode(shelf.data) + b"/\xff\xe9.txt"
    Path(os.fsdecode(odd)).write_bytes(b"odd")
    assert shelf.contents() == [b"one", b"two", b"three", b"odd"]
    shelf.reader.read()
    shelf.data = move(shelf.data)
    assert shelf.contents() == [b"one", b"two", b"three", b"odd"]
    assert shelf.reader.read() == []
    Path(os.fsdecode(os.fsencode(shelf.data) + b"/\xff\xe9.txt")).write_bytes(b"other")
    assert "list_files > \\udcff\\udce9.txt: 3 bytes" in shelf.change()
    str(shelf.why()).encode("utf-8")


def test_what_commits_carry_does_not_grow_with_the_files(tmp_path: Path) -> None:
    for i in range(10_000):
        (tmp_path / f"a-file-with-a-long-name-{i:06}.txt").touch()
    files = ks.Dataset.list_files(tmp_path / "*", shuffle=False)
    assert len(json.dumps(facts_to_json(identify(files.map(len)._node).facts))) < 2000


def test_whoever_waits_at_a_terminal_is_told_why(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shelf.fill()
    shelf.data = move(shelf.data)
    monkeypatch.setattr(same_files, "_WORTH_A_WORD_BYTES", 11)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    shelf.contents()
    shelf.contents()
    assert capsys.readouterr().err == (
        "keepset: files were moved, copied or touched; comparing 11 B in 3 of them, once\n"
    )


def test_a_pipeline_travels_with_its_files(shelf: Shelf) -> None:
    ds = shelf.files().snapshot(shelf.kept)
    assert pickle.loads(pickle.dumps(ds._node)).fingerprint == ds._node.fingerprint  # type: ignore[attr-defined]


def test_why_the_newest_was_computed_is_told_by_its_files(shelf: Shelf) -> None:
    shelf.fill()
    (shelf.data / "b.txt").write_bytes(b"owt")
    shelf.contents()
    (change,) = explain_newest(shelf.kept).changes
    assert str(change).startswith("map > list_files > b.txt: 3 bytes of ")
    (shelf.data / "z.txt").write_bytes(b"zzz")
    shelf.contents()
    (change,) = explain_newest(shelf.kept).changes
    assert str(change).startswith("map > list_files > z.txt: (absent) -> 3 bytes of ")


PROGRAM = """
import sys, time
import keepset as ks

calls = 0

def read(path):
    global calls
    calls += 1
    time.sleep(PAUSE_S)
    return open(path, "rb").read()

PAUSE_S = float(sys.argv[3])
files = ks.Dataset.list_files(sys.argv[1], shuffle=False)
count = sum(1 for _ in files.map(read).snapshot(sys.argv[2], ignore=["global calls"]))
print(count, calls)
"""


def run(folder: Path, pattern: Path | str, kept: Path, pause_s: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, os.fspath(pattern), os.fspath(kept), str(pause_s)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)


def test_another_process_finds_what_was_kept(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, folder, pattern, calls in (
        ("1", shelf.data, "*.txt", 2),
        ("2", shelf.data.parent, "data/*.txt", 0),
        ("3", Path("/"), shelf.data / "*.txt", 0),
    ):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        said, _ = run(folder, pattern, shelf.kept, 0).communicate()
        assert said == f"2 {calls}\n"


def test_a_killed_process_is_gone_on_with(shelf: Shelf) -> None:
    for i in range(300):
        (shelf.data / f"{i:03}.txt").write_bytes(b"x")
    killed = run(shelf.data, "[0-9]*.txt", shelf.kept, 0.01)
    # The table is written by a thread of its own, before or after the first commit.
    while not shelf.kept.exists() or not any(
        Log(each).numbers() and each.exists(TABLE) for each in shelf.stores()
    ):
        time.sleep(0.01)
    killed.kill()
    killed.communicate()
    assert tree(shelf.table())["000.txt"] is False
    said, _ = run(shelf.data, "[0-9]*.txt", shelf.kept, 0.01).communicate()
    count, calls = map(int, said.split())
    assert count == 300
    assert calls < 300
    assert all(tree(shelf.table()).values())
