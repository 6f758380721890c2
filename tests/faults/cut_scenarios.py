"""Cut scenarios: what is there before, what is done while the power may fail, and what follows.

A commit is due every three elements.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.faults.cut_looks import (
    SOUND,
    WAITING,
    Held,
    look_at_damaged_pipeline,
    look_at_damaged_saved,
    look_at_files,
    look_at_old_pipeline,
    look_at_pipeline,
    look_at_saved,
    look_at_soundness,
)
from tests.faults.cut_pipelines import RIGHT, make_files, pipeline, touch_files, xs
from tests.faults.cut_work import (
    PASS,
    Work,
    begin_anew,
    gc,
    holds_in_a_new_pass,
    holds_in_a_pass,
    holds_in_filling,
    holds_in_removal,
    holds_over_files,
    holds_unchanged,
    holds_with_a_save_and_a_half,
    holds_with_half_a_save,
    iterate,
    iterate_in_two,
    iterate_over_files,
    remove,
    remove_old,
    repair_and_iterate,
    repairing,
    repairing_and_saving,
    save_halfway_and_gc,
    save_halfway_and_save,
    saving,
)

from keepset.snapshot.upkeep.checking import check_snapshot
from keepset.storage import open_store


def _nothing(place: Path) -> None:
    pass


@dataclass(frozen=True)
class Scenario:
    """Work that is cut off, how to look at what it left, and the work that follows.

    ``between`` is done once the work is recorded and before anything is looked at.
    """

    name: str
    prepare: Callable[[Path], None]
    work: Work
    look: Callable[[Path], Held]
    then: Work
    between: Callable[[Path], None] = _nothing


# What is there before:


def saved(*counts: int) -> Callable[[Path], None]:
    def prepare(place: Path) -> None:
        for count in counts:
            saving(count).do(place)

    return prepare


def saved_with_garbage(place: Path) -> None:
    """Old versions, and what a writer that died elsewhere has left."""
    saved(3, 4, 5)(place)
    with open_store(place).writer("segments/0123456789abcdef-0.arrow") as orphan:
        orphan.write(b"left behind")
    (place / "leases" / "0123456789abcdef.json").write_text(
        '{"run":"0123456789abcdef","host":"x","boot":"","pid":1,"started":"","since":0,"beat":0}'
    )
    left = place / "segments" / ".tmp-0123456789abcdef"
    left.write_bytes(b"unfinished")
    os.utime(left, (0, 0))


def two_fingerprints(place: Path) -> None:
    """The newest snapshot of a pipeline, and one of the pipeline as it once was."""
    for fingerprint in ("f", "g"):
        assert xs(pipeline(place, fingerprint)) == RIGHT
    for path in (place / "f" / "commits").iterdir():
        os.utime(path, (0, 0))


def _damage_chunk(folder: Path) -> None:
    manifest = check_snapshot(open_store(folder)).manifest
    chunk = manifest.chunks[1]
    segment = folder / manifest.segments[chunk.segment].entry.name
    _flip(segment, chunk.entry.offset + 20)


def _flip(path: Path, byte: int) -> None:
    data = bytearray(path.read_bytes())
    data[byte] ^= 1
    path.write_bytes(data)


def finished_and_damaged(place: Path) -> None:
    iterate(place)
    _damage_chunk(place / "f")


def saved_and_damaged(place: Path) -> None:
    saved(6)(place)
    _damage_chunk(place)


def stopped_and_damaged(place: Path) -> None:
    """A pass that was stopped behind three commits, with damage in the second and in a chunk."""
    for stop in (3, 6, 9):
        assert xs(pipeline(place).take(stop)) == RIGHT[:stop]
    commits = sorted((place / "f" / "commits").iterdir())
    assert len(commits) > 2
    _damage_chunk(place / "f")
    _flip(commits[1], 30)


def saved_with_damaged_recipe(place: Path) -> None:
    saved(5)(place)
    _flip(next((place / "recipes").iterdir()), 30)


def saved_with_damaged_log(place: Path) -> None:
    """Two versions, of which the commit of the newer one is damaged."""
    saved(5, 6)(place)
    _flip(max((place / "commits").iterdir()), 30)


def saved_with_damaged_first(place: Path) -> None:
    """A version whose commit is damaged, and nothing before it."""
    saved(5)(place)
    _flip(max((place / "commits").iterdir()), 30)


SCENARIOS = [
    Scenario("first save", _nothing, saving(6), look_at_saved, saving(7)),
    Scenario("second save", saved(5), saving(6), look_at_saved, saving(7)),
    Scenario("first pass", _nothing, PASS, look_at_pipeline, PASS),
    Scenario(
        "resumed pass",
        _nothing,
        Work(iterate_in_two, holds_in_a_pass),
        look_at_pipeline,
        PASS,
    ),
    Scenario(
        "new pass",
        iterate,
        Work(begin_anew, holds_in_a_new_pass),
        look_at_pipeline,
        PASS,
    ),
    Scenario(
        "pass over files",
        make_files,
        Work(iterate_over_files, holds_over_files),
        look_at_files,
        Work(iterate_over_files, holds_over_files),
        touch_files,
    ),
    Scenario("gc", saved_with_garbage, Work(gc, holds_unchanged), look_at_saved, saving(7)),
    Scenario(
        "gc behind half a save",
        saved(5),
        Work(save_halfway_and_gc, holds_with_half_a_save),
        look_at_saved,
        saving(7),
    ),
    Scenario(
        "save behind half a save",
        saved(5),
        Work(save_halfway_and_save, holds_with_a_save_and_a_half),
        look_at_saved,
        saving(8),
    ),
    Scenario(
        "repair of a pass",
        finished_and_damaged,
        repairing(WAITING),
        look_at_damaged_pipeline,
        Work(repair_and_iterate, holds_in_filling),
    ),
    Scenario(
        "repair of elements",
        saved_and_damaged,
        repairing((0, 1, 4, 5)),
        look_at_damaged_saved,
        repairing_and_saving((0, 1, 4, 5), commits=1),
    ),
    Scenario(
        "repair of a log",
        saved_with_damaged_log,
        repairing(tuple(range(5))),
        look_at_damaged_saved,
        repairing_and_saving(tuple(range(5)), commits=1),
    ),
    Scenario(
        "repair of the only commit",
        saved_with_damaged_first,
        repairing(None),
        look_at_damaged_saved,
        repairing_and_saving(None, commits=1),
    ),
    Scenario(
        "repair of a stopped pass",
        stopped_and_damaged,
        repairing(WAITING),
        look_at_damaged_pipeline,
        Work(repair_and_iterate, holds_in_filling),
    ),
    Scenario(
        "repair of a recipe",
        saved_with_damaged_recipe,
        repairing(SOUND),
        look_at_soundness,
        repairing(SOUND),
    ),
    Scenario(
        "rm of versions", saved(5, 6), Work(remove, holds_in_removal), look_at_saved, saving(7)
    ),
    Scenario(
        "gc of a recipe behind half a save",
        saved(0),
        Work(save_halfway_and_gc, holds_with_half_a_save),
        look_at_saved,
        saving(7),
    ),
    Scenario("rm of a pass", iterate, Work(remove, holds_in_removal), look_at_pipeline, PASS),
    Scenario(
        "gc of a snapshot",
        two_fingerprints,
        Work(remove_old, holds_in_removal),
        look_at_old_pipeline,
        PASS,
    ),
]
