"""ls: everything below a path, with the state that it is in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.cli.commands import answer, answer_json, complaint, damage, keep_a_part, keepset, numbers

import keepset as ks
from keepset.core.checksum import crc32c
from keepset.snapshot.writing.lease import Lease
from keepset.storage import open_store


def rows(path: Path) -> list[list[str]]:
    """The cells of the table, which are two blanks apart or more."""
    table = answer("ls", path).partition("\n\n")[0]
    return [[cell for cell in line.split("  ") if cell.strip()] for line in table.splitlines()]


def states(path: Path) -> dict[str, str]:
    return {each["name"]: each["state"] for each in answer_json("ls", path)["snapshots"]}


def test_a_folder_of_everything(tmp_path: Path) -> None:
    numbers(1000).save(tmp_path / "saved", "LZ4")
    list(numbers(50).snapshot(tmp_path / "kept", fingerprint="mine"))
    kept = keep_a_part(tmp_path / "begun")
    header, *found = rows(tmp_path)
    assert [cell.strip() for cell in header] == [
        "name",
        "state",
        "elements",
        "size",
        "codec",
        "created",
    ]
    [begun] = [name for name in states(tmp_path) if name.startswith("begun/")]
    assert [row[0] for row in found] == [begun, "kept/mine", "saved"]
    assert [row[1].strip() for row in found] == ["unfinished", "complete", "complete"]
    assert [row[2].strip() for row in found] == [f"{kept:,}", "50", "1,000"]
    assert found[2][4].strip() == "LZ4"
    assert "3 snapshots, " in answer("ls", tmp_path)


def test_what_is_right_at_the_path_is_a_point(tmp_path: Path) -> None:
    numbers(3).save(tmp_path)
    assert [cell.strip() for cell in rows(tmp_path)[1][:2]] == [".", "complete"]
    assert states(tmp_path) == {"": "complete"}


def test_shards_and_versions_are_shown_where_there_are_several(tmp_path: Path) -> None:
    numbers(10).save(tmp_path / "a", shard_func=lambda e: e["x"] % 3)
    numbers(10).save(tmp_path / "b")
    numbers(10).save(tmp_path / "b")
    header, a, b = rows(tmp_path)
    assert [cell.strip() for cell in header][-3:] == ["shards", "versions", "created"]
    assert [cell.strip() for cell in a[-3:-1]] == ["3", "1"]
    assert [cell.strip() for cell in b[-3:-1]] == ["1", "2"]


def test_nothing_is_kept(tmp_path: Path) -> None:
    result = keepset("ls", tmp_path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"nothing is kept at {tmp_path}\n"
    assert answer_json("ls", tmp_path, code=1)["snapshots"] == []


def test_a_writer_at_work_is_named(tmp_path: Path) -> None:
    keep_a_part(tmp_path)
    [folder] = tmp_path.iterdir()
    lease = Lease(open_store(folder), "0123456789abcdef")
    try:
        assert states(tmp_path) == {folder.name: "being written"}
        assert f"{folder.name[:12]}: process " in answer("ls", tmp_path)
        assert answer_json("ls", tmp_path)["snapshots"][0]["writer"].startswith("process ")
    finally:
        lease.release()
    assert states(tmp_path) == {folder.name: "unfinished"}


def test_a_writer_that_has_committed_nothing_yet_is_shown(tmp_path: Path) -> None:
    lease = Lease(open_store(tmp_path / "new"), "0123456789abcdef")
    try:
        assert states(tmp_path) == {"new": "being written"}
    finally:
        lease.release()


def test_a_damaged_log_is_shown_beside_what_is_sound(tmp_path: Path) -> None:
    numbers(3).save(tmp_path / "a")
    numbers(3).save(tmp_path / "b")
    (tmp_path / "a" / "commits" / "00000000.json").write_text("{}")
    assert states(tmp_path) == {"a": "damaged", "b": "complete"}
    text = answer("ls", tmp_path)
    assert "a: " in text
    assert f"check it all: keepset verify {tmp_path}" in text


@pytest.mark.parametrize("how", ["missing", "cut"])
def test_a_file_that_is_gone_or_cut_is_damage(tmp_path: Path, how: str) -> None:
    numbers(100).save(tmp_path / "a")
    [segment] = tmp_path.rglob("segments/*")
    if how == "missing":
        segment.unlink()
    else:
        segment.write_bytes(segment.read_bytes()[:-1])
    assert states(tmp_path) == {"a": "damaged"}
    words = "is missing" if how == "missing" else "were kept"
    assert words in answer("ls", tmp_path)


def test_a_flipped_byte_is_not_looked_for(tmp_path: Path) -> None:
    numbers(100).save(tmp_path)
    damage(tmp_path)
    assert states(tmp_path) == {"": "complete"}


def test_a_newer_format_is_not_called_damaged(tmp_path: Path) -> None:
    numbers(3).save(tmp_path / "a")
    newer = b'{"format":99}'
    sealed = newer[:-1] + f',"checksum":"{crc32c(newer):08x}"}}'.encode()
    commit = tmp_path / "a" / "commits" / "00000000.json"
    commit.write_bytes(sealed)
    assert states(tmp_path) == {"a": "newer format"}
    assert "install a newer keepset" in answer("ls", tmp_path)
    assert "install a newer keepset" in complaint("verify", tmp_path, "--repair")
    assert commit.read_bytes() == sealed


def test_a_damaged_old_version_does_not_hide_the_new_one(tmp_path: Path) -> None:
    for _ in range(2):
        numbers(3).save(tmp_path)
    (tmp_path / "commits" / "00000000.json").write_text("{}")
    [found] = answer_json("ls", tmp_path)["snapshots"]
    assert (found["state"], found["elements"], found["versions"]) == ("complete", 3, None)


def test_fingerprints_are_cut_short_on_a_narrow_terminal(tmp_path: Path) -> None:
    list(numbers(1000).snapshot(tmp_path / "images-for-training"))
    [folder] = (tmp_path / "images-for-training").iterdir()
    wide = keepset("ls", tmp_path, columns=120).stdout
    narrow = keepset("ls", tmp_path, columns=80).stdout
    assert folder.name in wide
    assert folder.name[:12] in narrow
    assert folder.name[:13] not in narrow
    assert max(map(len, narrow.splitlines())) <= 80


def test_the_json_has_what_the_table_has(tmp_path: Path) -> None:
    ds = numbers(10)
    list(ds.snapshot(tmp_path, "LZ4"))
    found = answer_json("ls", tmp_path)
    [only] = found["snapshots"]
    assert found["url"] == str(tmp_path)
    assert only.pop("created").endswith("+00:00")
    assert only.pop("size_bytes") < only.pop("disk_bytes")
    assert only == {
        "name": only["fingerprint"],
        "url": f"{tmp_path}/{only['fingerprint']}",
        "state": "complete",
        "elements": 10,
        "codecs": ["LZ4"],
        "shards": 1,
        "fingerprint": ks.explain(ds, tmp_path).fingerprint,
        "versions": 1,
        "writer": None,
        "problem": None,
    }


def test_an_object_store_is_listed_too() -> None:
    ks.Dataset.from_tensor_slices(np.arange(5)).save("memory://ls/deep/down")
    assert "deep/down" in answer("ls", "memory://ls")
    assert "complete" in answer("ls", "memory://ls/deep")
