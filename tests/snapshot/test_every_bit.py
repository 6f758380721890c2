"""Every file of small snapshots is cut at every byte, and every bit of it is flipped.

The law: what is read is right or an error of ours, and verify notices every single change. By
default one bit of each byte is flipped; KEEPSET_KILLS of more than 100 flips all of them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.errors import KeepsetError
from keepset.format.log import Log
from keepset.snapshot import first_pass
from keepset.snapshot.checking import check_snapshot
from keepset.snapshot.kept import Kept
from keepset.snapshot.repairing import repair_snapshot
from keepset.storage import open_store

ALL = int(os.environ.get("KEEPSET_KILLS", "0")) > 100
COUNT = 5
# So many changes apart, one is repaired, and the pipeline run again.
REPAIRED = 20 if ALL else 97


def element(x: np.int64) -> Any:
    return {"x": x, "s": b"s" * int(x)}


def dataset() -> ks.Dataset:
    return ks.Dataset.range(COUNT).map(element)


def pipeline(path: Path, compression: str | None = None) -> ks.Dataset:
    return dataset().snapshot(path, compression, fingerprint="f", chunk_bytes=40)


def saved(path: Path) -> None:
    dataset().save(path / "f", chunk_bytes=40)


def framed(path: Path) -> None:
    dataset().save(path / "f", "GZIP", chunk_bytes=40)


def finished(path: Path) -> None:
    """An older commit that nothing depends on any more, and segments of two runs."""
    list(pipeline(path).take(2))
    list(pipeline(path))


def unfinished(path: Path) -> None:
    list(pipeline(path).take(2))
    list(pipeline(path).take(4))


def repaired(path: Path) -> None:
    """An element waits to be computed again."""
    finished(path)
    store = open_store(path / "f")
    report = check_snapshot(store)
    chunk = report.manifest.chunks[1]
    segment = path / "f" / report.manifest.segments[chunk.segment].entry.name
    data = bytearray(segment.read_bytes())
    data[chunk.entry.offset] ^= 1
    segment.write_bytes(data)
    repair_snapshot(store, check_snapshot(store))


def rows_of(path: Path) -> list[tuple[int, bytes]]:
    """What can be read: the whole, or what an unfinished pass has kept so far."""
    store = open_store(path / "f")
    state = Log(store).state()
    if state.version is not None or state.damaged is not None:
        rows = list(ks.load(path / "f"))
    else:
        assert state.kept is not None
        kept = Kept(store, state.kept)
        rows = kept.gather(np.arange(len(kept))).rows
    return [(int(row["x"]), row["s"]) for row in rows]


RIGHT = [(x, b"s" * x) for x in range(COUNT)]


def changes(data: bytes) -> Iterator[tuple[str, bytes]]:
    for length in range(len(data)):
        yield f"cut at {length}", data[:length]
    for byte in range(len(data)):
        for bit in range(8) if ALL else [byte % 8]:
            flipped = bytearray(data)
            flipped[byte] ^= 1 << bit
            yield f"bit {bit} of byte {byte}", bytes(flipped)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("make", [saved, framed, finished, unfinished, repaired])
def test_no_change_goes_unnoticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None]
) -> None:
    monkeypatch.setattr(first_pass.FirstPass, "is_due", property(lambda self: False))
    sound = tmp_path / "sound"
    make(sound)
    files = sorted(file for file in sound.rglob("*") if file.is_file())
    assert {file.parent.name for file in files} == {"commits", "segments"}
    number = 0
    for file in files:
        data = file.read_bytes()
        for what, changed in changes(data):
            file.write_bytes(changed)
            where = f"{file.name}, {what}"
            try:
                found = rows_of(sound)
            except KeepsetError:
                found = None
            assert found is None or found in (RIGHT, RIGHT[:4]), where
            report = check_snapshot(open_store(sound / "f"))
            names = {damage.name for damage in report.damages}
            assert f"{file.parent.name}/{file.name}" in names, where
            number += 1
            if number % REPAIRED == 0:
                check_repair(sound, tmp_path / "repaired", where, make)
        file.write_bytes(data)
    assert number > 1000


def check_repair(damaged: Path, place: Path, where: str, make: Callable[[Path], None]) -> None:
    """Drop what is damaged, and run the pipeline if there is one."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(damaged, place)
    store = open_store(place / "f")
    repair_snapshot(store, check_snapshot(store))
    assert all(not damage.is_needed for damage in check_snapshot(store).damages), where
    if make in (saved, framed):
        try:
            assert set(rows_of(place)) <= set(RIGHT), where
        except ks.SnapshotMissingError:
            assert not list(store.list("commits/"))  # the only commit there was
        return
    codec = None
    found = [(int(row["x"]), row["s"]) for row in pipeline(place, codec)]
    assert found == RIGHT, where
    assert rows_of(place) == RIGHT, where
    assert all(not damage.is_needed for damage in check_snapshot(store).damages), where
