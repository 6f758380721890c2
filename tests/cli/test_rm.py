"""rm: one snapshot as a whole, after it was shown, and nothing beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.commands import answer, answer_json, complaint, keepset, numbers, process
from tests.cli.terminal import at_a_terminal

from keepset.snapshot.writing.lease import Lease
from keepset.storage import open_store


def test_it_is_shown_and_stays_without_yes(tmp_path: Path) -> None:
    numbers(10).save(tmp_path)
    result = keepset("rm", tmp_path)
    assert (result.exit_code, result.stderr) == (1, "nothing was removed; add --yes\n")
    assert result.stdout.splitlines()[1].split()[:3] == [".", "complete", "10"]
    assert answer_json("ls", tmp_path)["snapshots"] != []


@pytest.mark.parametrize("more", [[], ["--yes"]])
def test_a_dry_run_shows_it_and_ends_with_0(tmp_path: Path, more: list[str]) -> None:
    numbers(10).save(tmp_path)
    result = keepset("rm", tmp_path, "--dry-run", *more)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines()[1].split()[:3] == [".", "complete", "10"]
    assert answer_json("rm", tmp_path, "--dry-run")["is_done"] is False
    code, text = at_a_terminal("", "rm", tmp_path, "--dry-run")
    assert (code, "remove this" in text) == (0, False)
    assert answer_json("ls", tmp_path)["snapshots"] != []


def test_with_yes_it_is_gone_and_its_neighbours_are_not(tmp_path: Path) -> None:
    numbers(10).save(tmp_path / "a")
    numbers(10).save(tmp_path / "b")
    (tmp_path / "a" / "notes.txt").write_text("mine")
    assert answer("rm", tmp_path / "a", "--yes").endswith(" kB removed\n")
    assert [each["name"] for each in answer_json("ls", tmp_path)["snapshots"]] == ["b"]
    # One commit is left, which says that the snapshot was removed.
    names = sorted(path.name for path in (tmp_path / "a").rglob("*"))
    assert names == ["00000001.json", "commits", "notes.txt"]


def test_one_of_several_is_chosen_or_all(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        list(numbers(10).snapshot(tmp_path, fingerprint=name))
    assert "holds 3 snapshots; choose one with --fingerprint" in complaint(
        "rm", tmp_path, "--yes", code=2
    )
    assert "either --all or --fingerprint" in complaint(
        "rm", tmp_path, "--all", "-f", "one", code=2
    )
    assert "give more of its digits" in complaint("rm", tmp_path, "-f", "t", "--yes", code=2)
    answer("rm", tmp_path, "-f", "on", "--yes")
    assert [each["name"] for each in answer_json("ls", tmp_path)["snapshots"]] == ["three", "two"]
    answer("rm", tmp_path, "--all", "--yes")
    assert answer_json("ls", tmp_path, code=1)["snapshots"] == []


def test_what_is_saved_at_the_path_is_not_taken_for_all_below(tmp_path: Path) -> None:
    numbers(10).save(tmp_path)
    list(numbers(10).snapshot(tmp_path, fingerprint="below"))
    assert "holds 2 snapshots" in complaint("rm", tmp_path, "--yes", code=2)
    answer("rm", tmp_path, "-f", "below", "--yes")
    assert [each["name"] for each in answer_json("ls", tmp_path)["snapshots"]] == [""]


def test_what_is_being_written_stays(tmp_path: Path) -> None:
    numbers(10).save(tmp_path)
    lease = Lease(open_store(tmp_path), "0123456789abcdef")
    try:
        result = keepset("rm", tmp_path, "--yes")
        assert result.exit_code == 3
        assert "is being written by process" in result.stderr
    finally:
        lease.release()
    assert answer_json("inspect", tmp_path)["elements"] == 10


def test_what_cannot_be_read_can_be_removed(tmp_path: Path) -> None:
    numbers(10).save(tmp_path / "a")
    (tmp_path / "a" / "commits" / "00000000.json").write_text("{")
    answer("rm", tmp_path / "a", "--yes")
    assert answer_json("ls", tmp_path, code=1)["snapshots"] == []


def test_the_json_says_what_was_done(tmp_path: Path) -> None:
    numbers(10).save(tmp_path)
    result = process("rm", tmp_path, "--json")
    assert (result.returncode, result.stderr) == (1, "nothing was removed; add --yes\n")
    plan = json.loads(result.stdout)
    assert (plan["is_done"], [each["elements"] for each in plan["snapshots"]]) == (False, [10])
    done = answer_json("rm", tmp_path, "--yes")
    assert done["is_done"]
    assert done["removed_bytes"] >= plan["snapshots"][0]["disk_bytes"]


@pytest.mark.parametrize("reply", ["y", "n"])
def test_somebody_at_a_terminal_is_asked(tmp_path: Path, reply: str) -> None:
    numbers(10).save(tmp_path / "a")
    code, text = at_a_terminal(f"{reply}\n", "rm", tmp_path / "a")
    assert code == (0 if reply == "y" else 1), text
    assert ("nothing was removed" in text) == (reply == "n")
    assert "--yes" not in text
    assert "remove this snapshot (" in text
    assert keepset("ls", tmp_path).exit_code == (1 if reply == "y" else 0)


def test_who_gives_no_answer_interrupts(tmp_path: Path) -> None:
    numbers(10).save(tmp_path)
    code, text = at_a_terminal("\x04", "rm", tmp_path)
    assert code == 130, text
    assert "interrupted" in text
    assert answer_json("inspect", tmp_path)["elements"] == 10


def test_colours_are_for_terminals_that_want_them(tmp_path: Path) -> None:
    numbers(10).save(tmp_path)
    assert "\x1b[32mcomplete" in at_a_terminal("", "ls", tmp_path)[1]
    assert "\x1b[32m" not in at_a_terminal("", "ls", tmp_path, NO_COLOR="1")[1]
