"""gc: a plan first, then only what was planned, and nothing without a word of consent."""

from __future__ import annotations

import errno
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import answer, answer_json, keep_a_part, keepset, numbers, process
from tests.cli.terminal import at_a_terminal

import keepset as ks
from keepset.cli.quantities import Duration, Size
from keepset.snapshot.upkeep.removing import remove_snapshot
from keepset.snapshot.writing.lease import Lease
from keepset.storage import open_store


def resave(path: Path) -> Path:
    """Save twice; the file of the first version, which nobody needs."""
    numbers(10).save(path)
    [old] = path.glob("segments/*")
    numbers(20).save(path)
    return old


def test_a_plan_is_all_there_is_without_yes(tmp_path: Path) -> None:
    old = resave(tmp_path)
    result = process("gc", tmp_path, "--grace", "0")
    assert result.returncode == 1
    title, header, row, recipe, _, total = result.stdout.splitlines()
    assert (title, header.split()) == ("goes", ["name", "size", "why"])
    assert row.startswith(f"segments/{old.name}  ")
    assert row.endswith("  no version and no writer needs it")
    assert recipe.startswith("recipes/")
    assert total.startswith("2 things (")
    assert result.stderr == "nothing was removed; add --yes\n"
    assert old.exists()


def test_with_yes_it_is_done(tmp_path: Path) -> None:
    old = resave(tmp_path)
    assert answer("gc", tmp_path, "--grace", "0s", "-y").endswith(" removed\n")
    assert not old.exists()
    assert len(ks.load(tmp_path)) == 20
    assert answer("gc", tmp_path, "--grace", "0") == "there is nothing to remove\n"
    assert answer_json("gc", tmp_path, "--grace", "0")["is_done"] is False


def test_what_somebody_may_still_read_is_spared(tmp_path: Path) -> None:
    old = resave(tmp_path)
    text = answer("gc", tmp_path, "--yes")
    assert text.startswith("stays for now\n")
    assert "superfluous for 0 s only" in text
    assert text.endswith("there is nothing to remove\n")
    assert old.exists()


@pytest.mark.parametrize("more", [[], ["--yes"]])
def test_a_dry_run_shows_the_plan_and_ends_with_0(tmp_path: Path, more: list[str]) -> None:
    old = resave(tmp_path)
    result = process("gc", tmp_path, "--grace", "0", "--dry-run", *more)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("goes\n")
    assert "\n2 things (" in result.stdout
    document = answer_json("gc", tmp_path, "--grace", "0", "--dry-run")
    assert (len(document["removals"]), document["is_done"]) == (2, False)
    code, text = at_a_terminal("", "gc", tmp_path, "--grace", "0", "--dry-run")
    assert (code, "remove 2 things" in text) == (0, False)
    assert old.exists()


def leave_unfinished(path: Path, age_s: float) -> Path:
    """What a killed process leaves of a file that it was writing."""
    left = path / "segments" / ".tmp-0123"
    left.write_bytes(b"half a segment")
    when = time.time() - age_s
    os.utime(left, (when, when))
    return left


def test_unfinished_files_that_are_young_are_spared_and_shown(tmp_path: Path) -> None:
    old = resave(tmp_path)
    left = leave_unfinished(tmp_path, 10)
    text = answer("gc", tmp_path, "--grace", "0", "--yes")
    assert text.startswith("stays for now\n")
    assert re.search(
        r"segments/\.tmp-0123  +14 B  left unfinished 1\d s ago; after 60 s it goes\n", text
    )
    assert not old.exists()
    assert left.exists()


def test_unfinished_files_that_are_old_go_also_if_there_is_nothing_else(tmp_path: Path) -> None:
    numbers(10).save(tmp_path)
    left = leave_unfinished(tmp_path, 100)
    [removal] = answer_json("gc", tmp_path, "--grace", "0", code=1)["removals"]
    assert removal == {
        "name": "segments/.tmp-0123",
        "size_bytes": 14,
        "why": "a process that ended has left it unfinished",
    }
    assert left.exists()
    assert answer("gc", tmp_path, "--grace", "0", "--yes").endswith("\n14 B removed\n")
    assert not left.exists()


def test_unfinished_files_of_a_live_writer_are_its_own(tmp_path: Path) -> None:
    numbers(10).save(tmp_path)
    (tmp_path / "below" / "segments").mkdir(parents=True)
    left = leave_unfinished(tmp_path, 100)
    lefts = left, leave_unfinished(tmp_path / "below", 100)
    places = {"0123456789abcdef": tmp_path, "123456789abcdef0": tmp_path / "below"}
    leases = [Lease(open_store(path), run) for run, path in places.items()]
    try:
        assert answer("gc", tmp_path, "--grace", "0", "--yes") == "there is nothing to remove\n"
        leases.pop(0).release()
        assert answer("gc", tmp_path, "--grace", "0", "--yes").endswith("\n14 B removed\n")
        remove_snapshot(open_store(tmp_path))
        assert [each.exists() for each in lefts] == [False, True]
    finally:
        for lease in leases:
            lease.release()


def test_the_plan_and_what_was_done_in_json(tmp_path: Path) -> None:
    old = resave(tmp_path)
    result = keepset("gc", tmp_path, "--grace", "0", "--json")
    assert (result.exit_code, result.stderr) == (1, "nothing was removed; add --yes\n")
    plan = json.loads(result.stdout)
    segment, recipe = plan["removals"]
    assert segment == {
        "name": f"segments/{old.name}",
        "size_bytes": old.stat().st_size,
        "why": "no version and no writer needs it",
    }
    assert recipe["name"].startswith("recipes/")
    size = segment["size_bytes"] + recipe["size_bytes"]
    assert (plan["is_done"], plan["removed_bytes"]) == (False, 0)
    done = answer_json("gc", tmp_path, "--grace", "0", "--yes")
    assert (done["is_done"], done["removed_bytes"], done["size_bytes"]) == (True, size, size)


def keep_in_turn(path: Path, *names: str) -> None:
    for when, name in enumerate(names):
        list(numbers(100).snapshot(path, None, fingerprint=name))
        for commit in (path / name / "commits").iterdir():
            os.utime(commit, (when, when))


def test_the_latest_snapshots_are_kept(tmp_path: Path) -> None:
    keep_in_turn(tmp_path, "c", "b", "a")
    text = answer("gc", tmp_path, "--keep-latest", 2, "--yes")
    assert "c/  " in text
    assert "it is not among the latest 2" in text
    assert [each["name"] for each in answer_json("ls", tmp_path)["snapshots"]] == ["a", "b"]
    assert "Invalid value" in keepset("gc", tmp_path, "--keep-latest", 0).stderr


def test_older_snapshots_that_stay_are_named_with_the_option_that_removes_them(
    tmp_path: Path,
) -> None:
    keep_in_turn(tmp_path / "train", "c", "b", "a")
    keep_in_turn(tmp_path / "test", "d")
    result = keepset("gc", tmp_path)
    assert (result.exit_code, result.stdout) == (0, "there is nothing to remove\n")
    assert result.stderr == (
        "2 snapshots have a newer one at the same path; --keep-latest 1 removes them\n"
    )
    assert answer_json("gc", tmp_path)["older_snapshots"] == 2
    assert keepset("gc", tmp_path, "--keep-latest", 3).stderr == ""
    assert keepset("gc", tmp_path / "test").stderr == ""


def test_as_many_are_kept_as_there_is_room_for(tmp_path: Path) -> None:
    keep_in_turn(tmp_path, "c", "b", "a")
    each = sum(file.stat().st_size for file in (tmp_path / "a").rglob("*/*"))
    answer("gc", tmp_path, "--max-bytes", f"{2.5 * each / 1000}kB", "--yes")
    assert [each["name"] for each in answer_json("ls", tmp_path)["snapshots"]] == ["a", "b"]


def test_the_latest_of_one_pipeline_do_not_drive_out_another(tmp_path: Path) -> None:
    keep_in_turn(tmp_path / "train", "b", "a")
    keep_in_turn(tmp_path / "test", "c")
    answer("gc", tmp_path, "--keep-latest", 1, "--yes")
    assert [each["name"] for each in answer_json("ls", tmp_path)["snapshots"]] == [
        "test/c",
        "train/a",
    ]


def test_saved_data_sets_are_not_old_snapshots(tmp_path: Path) -> None:
    numbers(10).save(tmp_path / "a")
    numbers(10).save(tmp_path / "b")
    assert "nothing to remove" in answer("gc", tmp_path, "--max-bytes", 1, "--yes")
    assert len(answer_json("ls", tmp_path)["snapshots"]) == 2


def test_a_live_writer_is_safe(tmp_path: Path) -> None:
    keep_in_turn(tmp_path, "old", "new")
    lease = Lease(open_store(tmp_path / "old"), "0123456789abcdef")
    try:
        text = answer("gc", tmp_path, "--keep-latest", 1, "--yes")
        assert "stays for now" in text
        assert "writes to it" in text
    finally:
        lease.release()
    assert len(ks.load(tmp_path, fingerprint="old")) == 100


def test_what_a_dead_writer_left_before_its_first_commit_is_found(tmp_path: Path) -> None:
    left = tmp_path / "f" / "segments" / "0123456789abcdef-0.arrow"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"x" * 100)
    answer("gc", tmp_path, "--grace", "0", "--yes")
    assert not left.exists()


def test_an_unfinished_first_pass_is_not_garbage(tmp_path: Path) -> None:
    kept = keep_a_part(tmp_path)
    assert answer("gc", tmp_path, "--grace", "0", "--yes") == "there is nothing to remove\n"
    assert answer_json("inspect", tmp_path)["elements"] == kept


def test_an_empty_folder_is_clean(tmp_path: Path) -> None:
    assert answer("gc", tmp_path, "--yes") == "there is nothing to remove\n"


@pytest.mark.parametrize("reply", ["y", "n"])
def test_somebody_at_a_terminal_is_asked(tmp_path: Path, reply: str) -> None:
    old = resave(tmp_path)
    code, text = at_a_terminal(f"{reply}\n", "gc", tmp_path, "--grace", "0")
    assert code == (0 if reply == "y" else 1), text
    assert ("nothing was removed" in text) == (reply == "n")
    assert "remove 2 things (" in text
    assert old.exists() == (reply == "n")


@pytest.mark.parametrize(
    ("text", "size"),
    [("7", 7), ("10kB", 10_000), ("1.5GB", 1.5e9), ("2 GiB", 2 << 30), ("1mb", 1e6), ("3B", 3)],
)
def test_sizes(text: str, size: float) -> None:
    assert Size().convert(text, None, None) == size


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0), ("30s", 30), ("1.5h", 5400), ("7d", 604_800), ("2 m", 120)]
)
def test_durations(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


def test_what_cannot_be_removed_is_named_and_the_rest_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, old = resave(tmp_path / "a"), resave(tmp_path / "b")
    real_unlink = os.unlink

    def unlink(path: str, **keywords: Any) -> None:
        if str(path) == str(stuck):
            raise PermissionError(errno.EPERM, "Operation not permitted", str(path))
        real_unlink(path, **keywords)

    monkeypatch.setattr(os, "unlink", unlink)
    result = keepset("gc", tmp_path, "--grace", "0", "--yes")
    assert result.exit_code == 3
    assert stuck.exists()
    assert not old.exists()
    assert re.search(r"\na\n +.*Operation not permitted", result.stdout)
    assert re.search(r"[1-9][\d.]* .?B removed\n$", result.stdout)
    assert result.stderr.startswith("error: ")
    numbers(20).save(tmp_path / "b")
    found = json.loads(keepset("gc", tmp_path, "--grace", "0", "--yes", "--json").stdout)
    assert list(found["problems"]) == ["a"]
