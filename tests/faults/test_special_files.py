"""What is no file in the place of one: pipes, devices, sockets, folders, links to nowhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.faults.bad_input.kinds import KINDS
from tests.faults.bad_input.pool import read_all
from tests.faults.bad_input.special_files import THINGS

import keepset as ks

# They hold advice that readers do without, or are one file of several that say the same.
OPTIONAL = {
    *("lease", "record index", "commit"),
    *("table of files", "note of a part", "cached block", "state"),
    *("tensorflow, distributed", "tensorflow, legacy_v1"),
}


def test_nothing_but_files_is_read_or_waited_for(tmp_path: Path) -> None:
    tally = read_all(dict.fromkeys(KINDS, THINGS), tmp_path)
    assert not tally.failures, "\n\n".join(tally.failures[:20])
    read = {
        (kind, thing)
        for (kind, thing), error in tally.outcomes.items()
        # An empty file may be one without elements, one of any bytes a text, and a cache that is
        # missing is filled.
        if error is None and thing in ("pipe", "device", "socket", "circular link")
    }
    assert {kind for kind, _ in read} <= OPTIONAL, read


@pytest.mark.parametrize("thing", ["pipe", "socket", "device"])
def test_an_error_says_what_is_there_instead(tmp_path: Path, thing: str) -> None:
    THINGS[thing](tmp_path / "some.txt")
    with pytest.raises(ks.StorageError, match=r"some\.txt.*(pipe|socket|device).*to a file"):
        list(ks.read_text(tmp_path / "some.txt"))


def test_a_pipe_in_place_of_a_segment_is_an_error(tmp_path: Path) -> None:
    ks.Dataset.range(5).save(tmp_path / "kept")
    [segment] = (tmp_path / "kept" / "segments").iterdir()
    segment.unlink()
    os.mkfifo(segment)
    with pytest.raises(ks.KeepsetError, match="pipe"):
        list(ks.load(tmp_path / "kept"))


def test_a_pipe_in_place_of_a_recipe_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "recipe.yaml")
    with pytest.raises(ks.StorageError, match=r"recipe\.yaml: it is a named pipe"):
        ks.from_recipe(tmp_path / "recipe.yaml")
