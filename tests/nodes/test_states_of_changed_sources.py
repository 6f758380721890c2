"""A state whose source has changed since: what can be noticed is refused, with both sides."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import keepset as ks
from keepset.core.cursor import State

Build = Callable[[Path], ks.Dataset]

LISTS: dict[str, Build] = {
    "shuffled": lambda path: ks.Dataset.list_files(str(path / "*"), shuffle=True, seed=5),
    "in order": lambda path: ks.Dataset.list_files(str(path / "*"), shuffle=False),
    "opened": lambda path: LISTS["shuffled"](path).flat_map(ks.Dataset.from_tensors),
    "repeated": lambda path: LISTS["shuffled"](path).repeat(),
    "interleaved": lambda path: LISTS["in order"](path).interleave(ks.Dataset.from_tensors),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "files"
    path.mkdir()
    for number in range(6):
        (path / f"{number}.txt").write_text(str(number))
    return path


def state_after(ds: ks.Dataset, count: int) -> State:
    iterator = iter(ds)
    for _ in range(count):
        next(iterator)
    state = iterator.state()
    iterator.close()
    return state


def names(ds: ks.Dataset, state: State, count: int) -> list[str]:
    iterator = ds.iterate(state)
    return [os.path.basename(next(iterator)).decode() for _ in range(count)]


@pytest.mark.parametrize("build", LISTS.values(), ids=LISTS)
def test_files_that_were_added_are_noticed(folder: Path, build: Build) -> None:
    state = state_after(build(folder), 3)
    for name in ("7.txt", "8.txt"):
        (folder / name).write_text(name)
    with pytest.raises(ks.StateError, match="of a list of 6 files, and list_files now finds 8:"):
        build(folder).iterate(state)


@pytest.mark.parametrize("build", LISTS.values(), ids=LISTS)
def test_files_of_another_name_are_noticed(folder: Path, build: Build) -> None:
    state = state_after(build(folder), 3)
    (folder / "0.txt").rename(folder / "9.txt")
    with pytest.raises(ks.StateError, match="now finds 6 with other names"):
        build(folder).iterate(state)


@pytest.mark.parametrize("build", LISTS.values(), ids=LISTS)
def test_files_that_have_moved_as_a_whole_are_the_same(folder: Path, build: Build) -> None:
    expected = [os.path.basename(name).decode() for name in list(build(folder).take(6))]
    state = state_after(build(folder), 3)
    moved = folder.parent / "elsewhere" / "moved"
    shutil.move(folder, moved)
    assert names(build(moved), state, 3) == expected[3:]


def test_a_state_that_says_nothing_of_files_is_taken(folder: Path) -> None:
    state = state_after(LISTS["opened"](folder), 3)
    del state["pipeline"]["files"]  # as earlier versions gave it
    assert len(names(LISTS["opened"](folder), state, 3)) == 3


STAGES: dict[str, Callable[[ks.Dataset], ks.Dataset]] = {
    "nothing": lambda ds: ds,
    "shuffle": lambda ds: ds.shuffle(4, seed=1),
    "map": lambda ds: ds.map(lambda x: x),
    "parallel map": lambda ds: ds.map(lambda x: x, num_parallel_calls=2),
    "batch": lambda ds: ds.batch(2).unbatch(),
    "prefetch": lambda ds: ds.prefetch(2),
    "filter": lambda ds: ds.filter(lambda x: x >= 0),
}


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_a_generator_that_ends_before_the_place_is_noticed(
    stage: Callable[[ks.Dataset], ks.Dataset],
) -> None:
    length = 30
    ds = stage(ks.Dataset.from_generator(lambda: iter(range(length))))
    state = state_after(ds, 12)
    assert len(list(ds.iterate(state))) == 18
    length = 10
    with pytest.raises(ks.StateError, match="the source ends before the place of this state"):
        list(ds.iterate(state))


def test_a_generator_that_ends_at_the_place_has_no_more_elements() -> None:
    length = 30
    ds = ks.Dataset.from_generator(lambda: iter(range(length)))
    state = state_after(ds, 12)
    length = 12
    assert list(ds.iterate(state)) == []


@pytest.mark.parametrize("said", [[[[], "x"]], [[None]], ["x"], {"x": 1}, 3, None, [[2**70, 0]]])
def test_damaged_lists_of_files_are_refused(folder: Path, said: Any) -> None:
    state: Any = state_after(LISTS["opened"](folder), 3)
    state["pipeline"]["files"] = said
    with pytest.raises(ks.StateError, match="files, and list_files now finds 6"):
        names(LISTS["opened"](folder), state, 3)
