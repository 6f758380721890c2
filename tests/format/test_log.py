"""The log: what cannot be is neither written nor believed, and damage is not taken for news."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import keepset as ks
from keepset.core.checksum import crc32c
from keepset.errors import CorruptSnapshotError, NewerFormatError
from keepset.format.commit import Commit, parse_commit
from keepset.format.log import Log, LogState
from keepset.snapshot.upkeep.checking import check_snapshot
from keepset.storage import LocalStore, open_store

EMPTY: dict[str, Any] = {
    "elements": 0,
    "spec": None,
    "specs": [],
    "segments": [],
    "chunks": [],
    "order": None,
}


def sealed(text: str) -> bytes:
    """A commit with the checksum that format 1 asks for, however the text is written."""
    body = text.encode()
    return body[:-1] + f',"checksum":"{crc32c(body):08x}"}}'.encode()


def test_a_commit_that_cannot_be_is_not_written(tmp_path: Path) -> None:
    log, state = Log(open_store(tmp_path)), LogState()
    body = {"part": 0, "start": 0, "stop": 5, "manifest": EMPTY, "resume": {}}
    with pytest.raises(CorruptSnapshotError, match="elements 0 to 5"):
        log.add(state, Commit(0, "append", "a", 0.0, body))
    assert log.numbers() == []
    assert state.next_number == 0
    assert state.is_empty
    assert log.add(state, Commit(0, "replace", "a", 0.0, {"manifest": EMPTY}))
    assert log.state().version is not None


def test_a_commit_that_lost_leaves_the_state_alone(tmp_path: Path) -> None:
    log, state = Log(open_store(tmp_path)), LogState()
    log.add(LogState(), Commit(0, "replace", "a", 0.0, {"manifest": EMPTY}))
    assert not log.add(state, Commit(0, "reset", "b", 0.0, {"generation": 1, "reason": ""}))
    assert (state.next_number, state.generation, state.changes) == (0, 0, 0)


class Unsure(LocalStore):
    """Lists a folder as it may look while others add to it: a new name is passed over."""

    def names(self, prefix: str) -> list[str]:
        return [name for name in super().names(prefix) if "00000001" not in name]


def test_a_commit_that_a_listing_passed_over_is_not_missing(tmp_path: Path) -> None:
    for count in (1, 2, 3):
        ks.Dataset.range(count).save(tmp_path)
    assert Log(Unsure(tmp_path)).numbers() == [0, 1, 2]
    (tmp_path / "commits" / "00000001.json").unlink()
    assert Log(Unsure(tmp_path)).numbers() == [0, 2]


def facts(**more: Any) -> dict[str, Any]:
    return {
        "format": 1, "number": 0, "kind": "reset", "run": "a", "created": 1.0, "by": {},
        "generation": 1, "reason": "ü", **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(facts(), separators=(",", ":"), ensure_ascii=False),
        json.dumps(facts(), separators=(",", ":"), ensure_ascii=True),
        json.dumps(facts()).replace("1.0", "1.00e0"),
    ],
    ids=["ours", "escaped", "another number"],
)
def test_the_checksum_is_of_the_bytes_whoever_wrote_them(text: str) -> None:
    commit = parse_commit(sealed(text), 0, "here")
    assert (commit.created_s, commit.body) == (1.0, {"generation": 1, "reason": "ü"})


def test_a_newer_format_is_told_from_a_damaged_one() -> None:
    newer = json.dumps(facts(format=2), separators=(",", ":"))
    with pytest.raises(NewerFormatError, match="format 2"):
        parse_commit(sealed(newer), 0, "here")
    damaged = sealed(json.dumps(facts(), separators=(",", ":"))).replace(b'at":1', b'at":9')
    with pytest.raises(CorruptSnapshotError, match="checksum"):
        parse_commit(damaged, 0, "here")


def test_a_newer_format_is_never_repaired(tmp_path: Path) -> None:
    """To drop what a newer library wrote would be to lose it."""
    ks.Dataset.range(3).save(tmp_path)
    newer = tmp_path / "commits" / "00000001.json"
    newer.write_bytes(sealed(json.dumps(facts(format=2, number=1), separators=(",", ":"))))
    for action in (ks.load, lambda path: check_snapshot(open_store(path))):
        with pytest.raises(NewerFormatError, match="install a newer keepset"):
            action(tmp_path)


@pytest.mark.parametrize(
    "odd",
    [
        {"created": 10**400},
        {"created": "Infinity"},
        {"number": float("inf")},
        {"by": 3},
        {"kind": None},
        {"generation": float("inf")},
        {"generation": None},
    ],
    ids=str,
)
def test_odd_values_are_damage(tmp_path: Path, odd: dict[str, Any]) -> None:
    (tmp_path / "commits").mkdir()
    text = json.dumps(facts(**odd), separators=(",", ":"))
    (tmp_path / "commits" / "00000000.json").write_bytes(sealed(text))
    with pytest.raises(CorruptSnapshotError):
        Log(open_store(tmp_path)).state()
