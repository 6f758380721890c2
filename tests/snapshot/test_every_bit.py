"""Every file of small snapshots is cut at every byte, and every bit of it is flipped.

The law: what is read is right or an error of ours, and verify notices every single change. By
default one bit of each byte is flipped, and some of the snapshots are gone through in larger steps;
KEEPSET_KILLS of more than 100 flips every bit of all of them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from tests.faults.tally import note_counts

import keepset as ks
from keepset.errors import KeepsetError
from keepset.format.log import Log
from keepset.snapshot.looking import Snapshot
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.upkeep.checking import check_snapshot
from keepset.snapshot.upkeep.repairing import repair_snapshot
from keepset.snapshot.writing import first_pass
from keepset.storage import Store, open_store

ALL = int(os.environ.get("KEEPSET_KILLS", "0")) > 100
COUNT = 3
# So many changes apart, one is repaired, and the pipeline run again.
REPAIRED = 20 if ALL else 97


def dataset() -> ks.Dataset:
    return ks.Dataset.range(COUNT)


def pipeline(path: Path) -> ks.Dataset:
    return dataset().snapshot(path, None, fingerprint="f", chunk_bytes=16)


def saved(path: Path) -> None:
    dataset().save(path / "f", chunk_bytes=16)


def framed(path: Path) -> None:
    dataset().save(path / "f", "GZIP", chunk_bytes=16)


def finished(path: Path) -> None:
    """An older commit that nothing depends on any more, and segments of two runs."""
    list(pipeline(path).take(1))
    list(pipeline(path))


def unfinished(path: Path) -> None:
    list(pipeline(path).take(1))
    list(pipeline(path).take(2))


def repaired(path: Path) -> None:
    """An element waits to be computed again."""
    finished(path)
    store = open_store(path / "f")
    report = check_snapshot(store)
    # All that is in one of the files, so that nothing of that file counts any more.
    segment = path / "f" / report.manifest.segments[1].entry.name
    data = segment.read_bytes()
    segment.unlink()
    repair_snapshot(store, check_snapshot(store))
    segment.write_bytes(data)


def rows_of(path: Path) -> list[int]:
    """What can be read: the whole, or what an unfinished pass has kept so far."""
    store = open_store(path / "f")
    state = Log(store).state()
    if state.kept is None:
        return list(map(int, ks.load(path / "f")))
    kept = Kept(store, state.kept)
    return list(map(int, kept.gather(np.arange(len(kept))).rows))


RIGHT = list(range(COUNT))


def changes(data: bytes, step: int) -> Iterator[tuple[str, bytes]]:
    for length in range(0, len(data), step):
        yield f"cut at {length}", data[:length]
    for byte in range(0, len(data), step):
        for bit in range(8) if ALL else [byte % 8]:
            flipped = bytearray(data)
            flipped[byte] ^= 1 << bit
            yield f"bit {bit} of byte {byte}", bytes(flipped)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("make", "step"), [(saved, 1), (unfinished, 7), (framed, 5), (finished, 7), (repaired, 7)]
)
def test_no_change_goes_unnoticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None], step: int
) -> None:
    monkeypatch.setattr(first_pass.FirstPass, "is_due", property(lambda self: False))
    sound = tmp_path / "sound"
    make(sound)
    store = open_store(sound / "f")
    known = {f"commits/{number:08d}.json" for number in Log(store).numbers()}
    known |= needed_segments(store) | {info.name for info in store.list("recipes/")}
    right = RIGHT[:2] if make is unfinished else RIGHT
    files = sorted(file for file in sound.rglob("*") if file.is_file())
    assert {file.parent.name for file in files} == {"commits", "recipes", "segments"}
    number = flips = repairs = 0
    for file in files:
        data, name = file.read_bytes(), f"{file.parent.name}/{file.name}"
        for what, changed in changes(data, 1 if ALL else step):
            file.write_bytes(changed)
            where = f"{file.name}, {what}"
            with suppress(KeepsetError):
                assert rows_of(sound) == right, where
            names = {damage.name for damage in check_snapshot(store).damages}
            assert name in names or name not in known, where
            number += 1
            flips += what.startswith("bit")
            if number % REPAIRED == 0:
                repairs += 1
                check_repair(sound, tmp_path / "repaired", where, make)
        file.write_bytes(data)
    cuts = number - flips
    note_counts(
        "changed bytes", {"files": len(files), "cuts": cuts, "flips": flips, "repairs": repairs}
    )
    assert number > 200


def needed_segments(store: Store) -> set[str]:
    """The files of which something is read."""
    return {segment.entry.name for segment in Snapshot.of(store).needed_segments}


def check_repair(damaged: Path, place: Path, where: str, make: Callable[[Path], None]) -> None:
    """Drop what is damaged, and run the pipeline if there is one."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(damaged, place)
    store = open_store(place / "f")
    repair_snapshot(store, check_snapshot(store))
    assert all(not damage.is_needed for damage in check_snapshot(store).damages), where
    if make in (saved, framed):
        # The only commit there was may have gone, or all elements.
        with suppress(ks.SnapshotMissingError):
            assert set(rows_of(place)) <= set(RIGHT), where
        return
    assert list(map(int, pipeline(place))) == RIGHT, where
    assert rows_of(place) == RIGHT, where
    assert all(not damage.is_needed for damage in check_snapshot(store).damages), where
