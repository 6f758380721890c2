"""The model of a disk: what it lets a cut take, and what it does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.faults.disk_states import DiskStates, Tree
from tests.faults.recorded_files import Call, Mark, recorded


def states(tree: Tree, *calls: Call) -> list[Tree]:
    """What may be found behind all the calls, each once."""
    disk = DiskStates(tree)
    for call in calls:
        disk.apply(call)
    found: list[Tree] = []
    for state in disk.after_a_cut():
        if state not in found:
            found.append(state)
    assert disk.now() in found
    return found


def new(path: str, data: bytes = b"", file: int = 0) -> tuple[Call, ...]:
    return Call("create", path, file=file), Call("write", path, file=file, data=data)


def synced(path: str, data: bytes, file: int = 0) -> tuple[Call, ...]:
    return *new(path, data, file), Call("sync file", path, file=file), Call("sync folder")


def test_a_file_that_was_not_synced_is_missing_empty_torn_zeros_or_whole() -> None:
    found = states({}, *new("a", b"data"))
    assert {} in found
    assert {tree["a"] for tree in found if tree} == {b"", b"da", b"\0\0\0\0", b"data"}


def test_a_file_whose_folder_was_not_synced_is_whole_or_missing() -> None:
    found = states({}, *new("a", b"data"), Call("sync file", file=0))
    assert sorted(found, key=len) == [{}, {"a": b"data"}]


def test_a_name_that_was_synced_says_nothing_of_the_bytes() -> None:
    found = states({}, *new("a", b"data"), Call("sync folder"))
    assert {tree["a"] for tree in found} == {b"", b"da", b"\0\0\0\0", b"data"}


def test_what_was_synced_is_there() -> None:
    assert states({}, *synced("a", b"data")) == [{"a": b"data"}]


def test_a_rename_is_one_change() -> None:
    found = states({"old": b"1", "name": b"0"}, Call("replace", "old", "name"))
    assert found == [{"name": b"1"}, {"old": b"1", "name": b"0"}]


def test_changes_of_one_folder_reach_the_disk_in_any_order() -> None:
    found = states({"a": b"1", "b": b"2"}, Call("unlink", "a"), Call("unlink", "b"))
    assert sorted(map(sorted, found)) == [[], ["a"], ["a", "b"], ["b"]]


def test_both_names_of_a_link_have_the_same_bytes() -> None:
    calls = (*new("a", b"data"), Call("sync folder"), Call("link", "a", "b"))
    assert all(tree["a"] == tree.get("b", tree["a"]) for tree in states({}, *calls))


def test_what_is_below_a_lost_folder_is_lost() -> None:
    made = (Call("mkdir", "f"), *new("f/a", b"1"), Call("sync file", "f/a", file=0))
    found = states({}, *made, Call("sync folder", "f"))
    assert found == [{"f": None, "f/a": b"1"}, {}]


def test_a_folder_that_was_removed_may_be_there_with_some_of_its_files() -> None:
    tree: Tree = {"f": None, "f/a": b"1", "f/b": b"2"}
    calls = Call("unlink", "f/a"), Call("unlink", "f/b"), Call("rmdir", "f")
    assert {"f": None, "f/b": b"2"} in states(tree, *calls)
    assert {} in states(tree, *calls)


def test_many_changes_are_sampled_the_same_way_each_time() -> None:
    calls = [Call("unlink", str(number)) for number in range(12)]
    tree: Tree = {str(number): b"" for number in range(12)}
    found = states(tree, *calls)
    assert 32 < len(found) <= 64
    assert {} in found
    assert tree in found
    assert found == states(tree, *calls)


def test_the_recorder_notes_calls_with_their_bytes_and_where_syncs_come_from(
    tmp_path: Path,
) -> None:
    (tmp_path / "place").mkdir()
    with recorded(tmp_path / "place") as recording:
        os.mkdir(tmp_path / "elsewhere")
        _write(tmp_path / "place" / "a", b"12", b"34")
        recording.ack(Mark("returned"))
    kinds = [call.kind for call in recording.calls]
    assert kinds == ["create", "write", "sync file", "ack"]
    assert recording.calls[1].data == b"1234"
    assert recording.calls[2].site.endswith("> _write")


def _write(path: Path, *pieces: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.writev(descriptor, pieces)
    os.fsync(descriptor)
    os.close(descriptor)


@pytest.mark.parametrize("name", ["remove", "truncate", "chmod"])
def test_the_recorder_refuses_what_it_does_not_know(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"")
    with recorded(tmp_path), pytest.raises(NotImplementedError, match=name):
        getattr(os, name)(path, *([] if name == "remove" else [0]))
