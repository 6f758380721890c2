"""Cut looks: what a reader finds at a place after a power cut.

An error that a reader must not meet leaves the function, and is a violation.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from tests.faults.cut_pipelines import RIGHT, of_files, xs

import keepset as ks
from keepset.errors import CorruptSnapshotError, PendingSnapshotError, SnapshotMissingError
from keepset.format.log import Log
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.reading.opening import snapshots_below
from keepset.snapshot.reading.recipes import read_recipe
from keepset.snapshot.upkeep.checking import check_snapshot
from keepset.storage import open_store

# What a reader finds: elements, None for nothing, or one of the words below.
Held: TypeAlias = tuple[int, ...] | str | None
DAMAGED = "damaged"  # elements that fail their checksums, or commits that do
SOUND = "sound"  # where elements are not looked at
WAITING = "waiting"  # for elements that a repair has dropped
MISSED = "missed"  # a finished snapshot of unchanged files that its pipeline does not find


def look_at_saved(place: Path) -> Held:
    """The newest version. That nothing is there must be said with an error of its own."""
    try:
        return _version(place)
    except SnapshotMissingError:
        return None


def _version(folder: Path) -> tuple[int, ...]:
    """The elements of a whole version, whose recipe must be there and sound too."""
    found = xs(ks.load(folder))
    store = open_store(folder)
    version = Log(store).state().version
    assert version is not None
    assert read_recipe(store, version.commit.body) is not None, "its recipe is missing"
    return found


def look_at_damaged_saved(place: Path) -> Held:
    try:
        return look_at_saved(place)
    except CorruptSnapshotError:
        return DAMAGED


def look_at_pipeline(place: Path) -> Held:
    """The elements that are committed, of a pass that is finished or not."""
    return _committed(place / "f")


def look_at_old_pipeline(place: Path) -> Held:
    """As of a pipeline, beside which the snapshot of the newer one must stay whole."""
    assert _committed(place / "g") == RIGHT
    return look_at_pipeline(place)


def look_at_soundness(place: Path) -> Held:
    """Whether everything is as it was written, also what nothing that is read depends on."""
    return SOUND if check_snapshot(open_store(place)).is_sound else DAMAGED


def look_at_damaged_pipeline(place: Path) -> Held:
    try:
        return look_at_pipeline(place)
    except CorruptSnapshotError:
        return DAMAGED


def _committed(folder: Path) -> Held:
    store = open_store(folder)
    state = Log(store).state()
    if state.damaged is not None:
        return WAITING
    if state.version is not None:
        return _version(folder)
    with pytest.raises((PendingSnapshotError, SnapshotMissingError)):
        ks.load(folder)
    if state.kept is None:
        return ()
    kept = Kept(store, state.kept)
    return xs(kept.gather(np.arange(len(kept))).rows)


def _committed_elements(folder: Path) -> tuple[int, ...]:
    held = _committed(folder)
    assert isinstance(held, tuple)
    return held


def look_at_files(place: Path) -> Held:
    """As of a pipeline; and once it is finished, it must be found although files were touched."""
    if ks.explain(of_files(place), place).hit:
        return xs(of_files(place))
    folders = [place / folder for folder in snapshots_below(open_store(place))]
    if any(Log(open_store(folder)).state().version is not None for folder in folders):
        return MISSED
    return max((_committed_elements(folder) for folder in folders), key=len, default=())
