"""verify: what is damaged is named, and with --repair it alone is dropped."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.commands import (
    answer,
    answer_json,
    complaint,
    damage,
    keep_a_part,
    keepset,
    numbers,
)
from tests.cli.terminal import at_a_terminal

import keepset as ks
from keepset.cli import verify
from keepset.errors import StorageError
from keepset.snapshot.writing.lease import Lease
from keepset.storage import open_store


def test_all_is_sound(tmp_path: Path) -> None:
    numbers(1000).save(tmp_path / "a", "ZSTD")
    kept = keep_a_part(tmp_path / "b")
    header, a, b = answer("verify", tmp_path).splitlines()
    assert header.split() == ["name", "result", "elements", "chunks", "size"]
    assert a.split()[:4] == ["a", "sound", "1,000", "1"]
    assert b.split()[1:3] == ["sound", f"{kept:,}"]
    found = answer_json("verify", tmp_path)
    assert found["is_sound"] is True
    assert [each["damages"] for each in found["snapshots"]] == [[], []]


def test_a_damaged_chunk_is_named(tmp_path: Path) -> None:
    list(numbers(100).snapshot(tmp_path))
    segment = damage(tmp_path)
    name = segment.parents[1].name
    text = answer("verify", tmp_path, code=1)
    assert f"{name}  damaged" in text
    assert f"  segments/{segment.name} at byte " in text
    assert "fails its checksum; 100 elements: 0 to 99\n" in text
    assert text.endswith("\nto drop only what is damaged, add --repair\n")
    [found] = answer_json("verify", tmp_path, code=1)["snapshots"]
    [broken] = found["damages"]
    assert broken["name"] == f"segments/{segment.name}"
    assert broken["byte"] > 0
    assert broken["elements"] == [[0, 100]]
    assert found["repair"] is None


def test_a_repair_drops_only_what_the_next_run_computes(tmp_path: Path) -> None:
    calls = []

    def wide(x: np.int64) -> np.ndarray:
        calls.append(int(x))
        return np.full(100_000, x, np.float64)

    ds = ks.Dataset.range(20).map(wide).snapshot(tmp_path, None, fingerprint="wide")
    assert len(list(ds)) == 20
    damage(tmp_path, byte=1_000_000)
    text = answer("verify", tmp_path, "--repair")
    assert "wide  repaired" in text
    assert "the next run of the pipeline computes them again, and only them" in text
    calls.clear()
    for position, element in enumerate(ds):
        assert (element == position).all()
    assert 0 < len(calls) < 10
    assert answer_json("verify", tmp_path)["is_sound"] is True


def test_a_repair_is_told_in_json(tmp_path: Path) -> None:
    numbers(100).save(tmp_path)
    damage(tmp_path)
    found = answer_json("verify", tmp_path, "--repair")
    [only] = found["snapshots"]
    assert (found["is_sound"], only["name"]) == (False, "")
    assert only["repair"] == {
        "dropped_commits": [],
        "dropped": [[0, 100]],
        "rewritten": [],
        "computed_again": False,
    }
    with pytest.raises(ks.SnapshotMissingError):  # no element is left
        ks.load(tmp_path)


def test_what_waits_to_be_computed_is_no_damage(tmp_path: Path) -> None:
    list(numbers(100).snapshot(tmp_path))
    damage(tmp_path)
    answer("verify", tmp_path, "--repair")
    text = answer("verify", tmp_path)
    assert "the next run of the pipeline computes 100 elements: 0 to 99" in text
    assert answer_json("verify", tmp_path)["snapshots"][0]["waiting"] == [[0, 100]]


def test_ls_says_what_waits(tmp_path: Path) -> None:
    list(numbers(100).snapshot(tmp_path, fingerprint="f"))
    damage(tmp_path)
    answer("verify", tmp_path, "--repair")
    text = answer("ls", tmp_path)
    assert "f     repaired" in text
    assert "f: the next run of the pipeline computes 100 elements: 0 to 99" in text


def test_a_bar_is_shown_at_a_terminal(tmp_path: Path) -> None:
    numbers(100).save(tmp_path)
    code, text = at_a_terminal("", "verify", tmp_path)
    assert code == 0
    assert "checking " in text
    assert "MB" in text or "kB" in text


def test_one_of_several_can_be_chosen(tmp_path: Path) -> None:
    for name in ("good", "bad"):
        list(numbers(100).snapshot(tmp_path, fingerprint=name))
    damage(tmp_path / "bad")
    assert answer("verify", tmp_path, code=1).count("sound") == 1
    answer("verify", tmp_path, "--fingerprint", "good")
    answer("verify", tmp_path, "--fingerprint", "bad", code=1)


def test_a_missing_file_and_a_damaged_log_are_named(tmp_path: Path) -> None:
    numbers(100).save(tmp_path)
    [segment] = tmp_path.glob("segments/*")
    segment.unlink()
    assert f"segments/{segment.name}: the file is missing" in answer("verify", tmp_path, code=1)
    (tmp_path / "commits" / "00000000.json").write_bytes(b"{")
    assert "commits/00000000.json: it is damaged" in answer("verify", tmp_path, code=1)


def test_what_is_being_written_is_not_repaired(tmp_path: Path) -> None:
    numbers(100).save(tmp_path)
    damage(tmp_path)
    lease = Lease(open_store(tmp_path), "0123456789abcdef")
    try:
        assert "is being written by process" in complaint("verify", tmp_path, "--repair")
    finally:
        lease.release()
    assert "damaged" in answer("verify", tmp_path, code=1)


@pytest.mark.parametrize("count", [1, 2])
def test_a_repair_that_fails_is_told_in_json_with_the_damage(
    tmp_path: Path, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(count):
        numbers(100).save(tmp_path / str(number))
    damage(tmp_path / "0")

    def full(*_: Any) -> None:
        raise StorageError("cannot write: No space left", url="x", number=errno.ENOSPC)

    monkeypatch.setattr(verify, "repair_snapshot", full)
    ended = keepset("verify", tmp_path, "--repair", "--json")
    assert ended.exit_code == 3
    assert ended.stderr == "error: cannot write: No space left\n"
    found = json.loads(ended.stdout)
    assert not found["is_sound"]
    assert found["problems"] == {"0": "cannot write: No space left"}
    first = found["snapshots"][0]
    assert first["damages"]
    assert first["repair"] is None
    if count == 2:
        assert "unreadable" not in keepset("verify", tmp_path, "--repair").stdout


def test_an_object_store_is_checked_too() -> None:
    numbers(10).save("memory://verify/a")
    assert "a  " in answer("verify", "memory://verify")
