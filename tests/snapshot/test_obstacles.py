"""What is no file in the place of a commit, and elsewhere in a tree of places."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import answer, answer_json, keepset
from tests.faults.bad_input.special_files import THINGS

import keepset as ks
from keepset.errors import KeepsetError
from keepset.format.commit import commit_name
from keepset.format.log import Log, LogState
from keepset.snapshot.reading.opening import is_obstructed
from keepset.snapshot.writing.lease import Lease
from keepset.snapshot.writing.run_id import new_run_id
from keepset.storage import open_store

NO_FILES = {
    "pipe": "a named pipe",
    "socket": "a socket",
    "device": "a device",
    "folder": "a folder",
    "dangling link": "a link to nothing",
    "circular link": "a link that leads in a circle",
}
FOLDERS_OF = ("commits", "segments", "leases", "recipes")
things = pytest.mark.parametrize("thing", NO_FILES)
pytestmark = pytest.mark.timeout(60)


def save(place: Path, count: int = 5) -> None:
    ks.Dataset.range(count).save(place)


def load(place: Path) -> list[int]:
    return [int(x) for x in ks.load(place)]


def obstruct(place: Path, number: int, thing: str) -> Path:
    path = place / commit_name(number)
    path.unlink(missing_ok=True)
    THINGS[thing](path)
    return path


@things
@pytest.mark.parametrize("number", [0, 1, 3])
def test_what_is_in_the_place_of_a_commit_is_named(tmp_path: Path, thing: str, number: int) -> None:
    save(tmp_path / "a")
    save(tmp_path / "b")
    obstruct(tmp_path / "a", number, thing)
    text = answer("verify", tmp_path, code=1)
    assert f"{commit_name(number)}: it is damaged ({NO_FILES[thing]} is in its place)" in text
    assert "add --repair" in text
    a, b = answer_json("verify", tmp_path, code=1)["snapshots"]
    assert (a["is_sound"], b["is_sound"]) == (False, True)


@things
@pytest.mark.parametrize("number", [0, 1])
def test_opening_and_writing_say_what_is_there_and_a_repair_lets_them_go_on(
    tmp_path: Path, thing: str, number: int
) -> None:
    place = tmp_path / "a"
    save(place)
    path = obstruct(place, number, thing)
    says = rf"{path}.*{NO_FILES[thing]} is in its place.*verify --repair"
    for act in (load, save):
        with pytest.raises(ks.CorruptSnapshotError, match=says):
            act(place)
    answer("verify", place, "--repair")
    assert os.path.lexists(path)  # its number stays taken
    assert "sound" in answer("verify", place)
    if number:
        assert load(place) == list(range(5))
    save(place, 7)
    assert load(place) == list(range(7))


@things
def test_a_pipeline_goes_on_behind_a_repair(tmp_path: Path, thing: str) -> None:
    ds = ks.Dataset.range(8).snapshot(tmp_path, fingerprint="f", chunk_bytes=16)
    list(ds.take(4))
    obstruct(tmp_path / "f", 1, thing)
    with pytest.raises(ks.CorruptSnapshotError, match="verify --repair"):
        list(ds)
    answer("verify", tmp_path, "--repair")
    assert [int(x) for x in ds] == list(range(8))
    assert load(tmp_path) == list(range(8))


@things
def test_a_writer_that_has_begun_stops_with_the_same_error(
    tmp_path: Path, thing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path)
    read = Log.state

    def then_obstructed(self: Log) -> LogState:
        found = read(self)
        obstruct(tmp_path, 1, thing)
        return found

    monkeypatch.setattr(Log, "state", then_obstructed)
    with pytest.raises(ks.CorruptSnapshotError, match=rf"{NO_FILES[thing]} is in its place"):
        save(tmp_path)


@things
def test_a_place_with_nothing_else_can_be_repaired(tmp_path: Path, thing: str) -> None:
    (tmp_path / "commits").mkdir()
    obstruct(tmp_path, 0, thing)
    with pytest.raises(ks.CorruptSnapshotError, match="verify --repair"):
        save(tmp_path)
    answer("verify", tmp_path, "--repair")
    save(tmp_path)
    assert load(tmp_path) == list(range(5))


@things
def test_it_can_be_removed_and_saved_again(tmp_path: Path, thing: str) -> None:
    place = tmp_path / "a"
    save(place)
    obstruct(place, 1, thing)
    answer("rm", place, "--yes")
    with pytest.raises(ks.SnapshotMissingError):
        load(place)
    save(place, 3)
    assert load(place) == [0, 1, 2]


@things
def test_the_other_places_are_listed_checked_collected_and_removed(
    tmp_path: Path, thing: str
) -> None:
    save(tmp_path / "a")
    save(tmp_path / "b")
    save(tmp_path / "b")  # so that there is something to collect
    obstruct(tmp_path / "a", 1, thing)
    found = answer_json("ls", tmp_path)["snapshots"]
    assert [each["state"] for each in found] == ["damaged", "complete"]
    result = keepset("gc", tmp_path, "--grace", "0s", "--yes")
    assert result.exit_code == 3
    assert "a/commits/00000001.json" in result.stderr
    assert len(list((tmp_path / "b" / "segments").iterdir())) == 1
    answer("inspect", tmp_path / "b")
    answer("rm", tmp_path, "--all", "--yes")
    assert not list((tmp_path / "b" / "segments").parent.glob("segments/*"))


@pytest.mark.parametrize("thing", ["pipe", "dangling link", "circular link"])
@pytest.mark.parametrize("folder", ["segments", "leases", "recipes"])
def test_what_is_in_the_place_of_a_folder_is_named_and_the_snapshot_can_be_removed(
    tmp_path: Path, thing: str, folder: str
) -> None:
    place = tmp_path / "a"
    save(place)
    if (place / folder).exists():
        (place / folder).rename(tmp_path / "moved")
    THINGS[thing](place / folder)
    says = f"{place}/{folder}/ cannot be read: {NO_FILES[thing]} is in its place; move it away"
    for command in ("verify", "gc"):
        result = keepset(command, place)
        assert result.exit_code == 3
        assert says in result.stderr
    if folder == "segments":
        with pytest.raises(ks.CorruptSnapshotError, match=re.escape(says)):
            load(place)
        [listed] = answer_json("ls", place)["snapshots"]
        problem = f"segments/ cannot be read: {NO_FILES[thing]} is in its place"
        assert (listed["state"], listed["problem"]) == ("damaged", problem)
    else:
        assert load(place) == list(range(5))
    answer("rm", place, "--yes")
    with pytest.raises(ks.SnapshotMissingError):
        load(place)
    assert os.path.lexists(place / folder)  # not ours


@things
def test_what_is_in_the_place_of_a_segment_is_named(tmp_path: Path, thing: str) -> None:
    save(tmp_path)
    [segment] = (tmp_path / "segments").iterdir()
    segment.unlink()
    THINGS[thing](segment)
    says = rf"{segment} cannot be read: {NO_FILES[thing]} is in its place; .*verify --repair"
    with pytest.raises(ks.CorruptSnapshotError, match=says):
        load(tmp_path)


@things
def test_what_is_in_the_place_of_a_recipe_is_damage(tmp_path: Path, thing: str) -> None:
    save(tmp_path)
    [recipe] = (tmp_path / "recipes").iterdir()
    recipe.unlink()
    THINGS[thing](recipe)
    assert f"{recipe.name}: {NO_FILES[thing]} is in its place" in answer("verify", tmp_path, code=1)
    result = keepset("verify", tmp_path, "--repair")
    if thing == "folder":
        assert result.exit_code == 3
        assert "move it away" in result.stderr
        recipe.rmdir()
    answer("verify", tmp_path)
    assert load(tmp_path) == list(range(5))


def test_a_folder_in_the_place_of_a_recipe_does_not_stop_the_repair_of_elements(
    tmp_path: Path,
) -> None:
    ds = ks.Dataset.range(8).snapshot(tmp_path, fingerprint="f")
    list(ds)
    [segment] = (tmp_path / "f" / "segments").iterdir()
    segment.unlink()
    (tmp_path / "f" / "recipes" / "0.json").mkdir(parents=True)
    assert keepset("verify", tmp_path, "--repair").exit_code == 3
    assert [int(x) for x in ds] == list(range(8))
    assert load(tmp_path) == list(range(8))


def test_verify_speaks_of_the_snapshots_that_are_meant_alone(tmp_path: Path) -> None:
    for name in ("f1", "f2"):
        list(ks.Dataset.range(8).snapshot(tmp_path, fingerprint=name))
    [segment] = (tmp_path / "f2" / "segments").iterdir()
    segment.unlink()
    os.mkfifo(segment)
    assert "f2" not in answer("verify", tmp_path, "--fingerprint", "f1")
    assert segment.name in answer("verify", tmp_path, "--fingerprint", "f2", code=1)


def test_gc_names_every_place_that_it_cannot_read(tmp_path: Path) -> None:
    for name in "abc":
        save(tmp_path / name)
    for name in "ac":
        obstruct(tmp_path / name, 1, "pipe")
    result = keepset("gc", tmp_path)
    assert result.exit_code == 3
    for name in "ac":
        assert f"{tmp_path}/{name}/commits/00000001.json cannot be read" in result.stdout
    assert "there is nothing to remove" in result.stdout
    document = answer_json("gc", tmp_path, code=3)
    assert sorted(document["problems"]) == ["a", "c"]
    assert document["removals"] == []


def test_gc_collects_below_a_place_that_it_cannot_read(tmp_path: Path) -> None:
    save(tmp_path)
    save(tmp_path / "b")
    save(tmp_path / "b")
    obstruct(tmp_path, 1, "pipe")
    document = answer_json("gc", tmp_path, "--grace", "0", "--yes", code=3)
    assert list(document["problems"]) == [""]
    assert document["is_done"]
    assert len(list((tmp_path / "b" / "segments").iterdir())) == 1


def test_rm_names_every_snapshot_that_it_cannot_remove(tmp_path: Path) -> None:
    for name in "abc":
        save(tmp_path / name)
    leases = [Lease(open_store(tmp_path / name), new_run_id()) for name in "ac"]
    document = answer_json("rm", tmp_path, "--all", "--yes", code=3)
    assert list(document["problems"]) == ["a", "c"]
    result = keepset("rm", tmp_path, "--all", "--yes")
    assert result.exit_code == 3
    for name in "ac":
        assert f"{tmp_path}/{name} is being written" in result.stdout
    for lease in leases:
        lease.release()
    with pytest.raises(ks.SnapshotMissingError):
        load(tmp_path / "b")


@pytest.mark.parametrize("thing", ["pipe", "socket", "circular link", "dangling link"])
@pytest.mark.parametrize(
    "where",
    [
        *("stray", "a/stray", "a/commits", "a/segments", "a/leases", "a/recipes"),
        *("a/leases/0123456789abcdef.json", "a/recipes/x.json", "a/segments/0123456789abcdef-0"),
    ],
)
def test_nothing_in_a_tree_stops_a_command(tmp_path: Path, thing: str, where: str) -> None:
    for name in "ab":
        save(tmp_path / name)
    path = tmp_path / where
    if path.is_dir():
        path.rename(path.with_name("moved"))
    path.parent.mkdir(exist_ok=True)
    THINGS[thing](path)
    result = keepset("verify", tmp_path)
    assert "b     sound" in result.stdout, result.output
    # Named if something of the snapshot belongs there, and passed over if not.
    is_named = where in (*(f"a/{folder}" for folder in FOLDERS_OF), "a/recipes/x.json")
    assert (NO_FILES[thing] in result.stdout) == is_named, result.output
    assert result.stdout.count(path.name) == is_named
    assert "b     complete" in keepset("ls", tmp_path).stdout
    assert keepset("gc", tmp_path, "--yes").exit_code in (0, 3)
    answer("inspect", tmp_path / "b")
    assert keepset("rm", tmp_path, "--all", "--yes").exit_code in (0, 3)
    with pytest.raises(KeepsetError):
        load(tmp_path / "b")


def test_looking_for_them_costs_no_request_and_no_stat_of_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise AssertionError("asked")

    bucket = open_store("memory://obstacles/a")
    ks.Dataset.range(5).save(bucket.url)
    save(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(type(bucket), "list", refused)
        patch.setattr(os, "stat", refused)
        found = [is_obstructed(bucket), is_obstructed(open_store(tmp_path))]
    assert found == [False, False]
    obstruct(tmp_path, 7, "pipe")
    assert is_obstructed(open_store(tmp_path))


def test_a_folder_in_the_place_of_the_largest_number_is_moved_by_hand(tmp_path: Path) -> None:
    save(tmp_path)
    path = obstruct(tmp_path, 99_999_999, "folder")
    result = keepset("verify", tmp_path, "--repair")
    assert result.exit_code == 3
    assert "move it away" in result.stderr
    path.rmdir()
    save(tmp_path)
