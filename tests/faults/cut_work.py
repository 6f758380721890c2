"""Cut work: what is done through the public API while the power may fail, and its law.

The law of a work says what a reader may find at any moment of it: ``holds`` gets what was there
before, what the caller has been told so far, and what is there now.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from unittest import mock

from tests.faults.cut_looks import DAMAGED, WAITING, Held
from tests.faults.cut_pipelines import COUNT, RIGHT, SMALL, numbers, of_files, pipeline, xs
from tests.faults.recorded_files import Mark

import keepset as ks
from keepset.snapshot.reading.opening import snapshots_below
from keepset.snapshot.upkeep.checking import check_snapshot
from keepset.snapshot.upkeep.collecting import collect, plan_collection
from keepset.snapshot.upkeep.removing import remove_snapshot
from keepset.snapshot.upkeep.repairing import repair_snapshot
from keepset.storage import open_store, steps

Marks: TypeAlias = Sequence[Mark]


@dataclass(frozen=True)
class Work:
    """Something that is done, and what may be found while it is and afterwards."""

    do: Callable[[Path], None]
    holds: Callable[[Held, Marks, Held], bool]


def saving(count: int) -> Work:
    """Save so many elements: the version before, or the new one, and no other."""

    def save(place: Path) -> None:
        ks.save(numbers(count), place, **SMALL)

    def holds(before: Held, marks: Marks, now: Held) -> bool:
        return now == tuple(range(count)) or (not marks and now == before)

    return Work(save, holds)


def iterate(place: Path) -> None:
    assert xs(pipeline(place)) == RIGHT


def iterate_in_two(place: Path) -> None:
    """Stop in the middle, and go on as another process would."""
    assert xs(pipeline(place).take(4)) == RIGHT[:4]
    iterate(place)


def begin_anew(place: Path) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*starts over: mode='write'")
        assert xs(pipeline(place, mode="write")) == RIGHT


def holds_in_a_pass(before: Held, marks: Marks, now: Held) -> bool:
    """Right elements from the first on, and no fewer than a commit has promised."""
    least = len(before) if isinstance(before, tuple) else 0
    for mark in marks:
        least = {"append": mark.stop, "reset": 0, "repair": 0}.get(mark.what, COUNT)
    return isinstance(now, tuple) and now == RIGHT[: len(now)] and len(now) >= least


def holds_in_a_new_pass(before: Held, marks: Marks, now: Held) -> bool:
    """As in a pass. Once its reset is there, though nobody was told so, all of it is dropped."""
    return holds_in_a_pass(before if marks else (), marks, now)


PASS = Work(iterate, holds_in_a_pass)


def gc(place: Path, **options: Any) -> None:
    root = open_store(place)
    collect(root, plan_collection(root, grace_s=0.0, **options))


class _StoppedError(Exception):
    """Ends a writer where it stands."""


def _save_halfway(place: Path) -> None:
    """Stop a save of six elements when its commit has its name, and no sync has followed."""

    def stop(step: str) -> None:
        if step == "create:linked" and len(list(place.glob("commits/*.json"))) > 1:
            raise _StoppedError

    with mock.patch.object(steps, "hook", stop), suppress(_StoppedError):
        saving(6).do(place)


def save_halfway_and_gc(place: Path) -> None:
    """Collect the version before, on the word of a commit that a cut may take back."""
    _save_halfway(place)
    gc(place)


def holds_with_half_a_save(before: Held, marks: Marks, now: Held) -> bool:
    return now in (before, tuple(range(6)))


def save_halfway_and_save(place: Path) -> None:
    """Add a commit behind one that a cut may take back."""
    _save_halfway(place)
    saving(7).do(place)


def holds_with_a_save_and_a_half(before: Held, marks: Marks, now: Held) -> bool:
    return now == tuple(range(7)) or (not marks and now in (before, tuple(range(6))))


def holds_unchanged(before: Held, marks: Marks, now: Held) -> bool:
    return now == before


def remove(place: Path) -> None:
    root = open_store(place)
    for folder in snapshots_below(root):
        remove_snapshot(root.sub(f"{folder}/") if folder else root)


def holds_in_removal(before: Held, marks: Marks, now: Held) -> bool:
    """All or nothing, and nothing once that was said."""
    return now in (None, ()) or (not marks and now == before)


def remove_old(place: Path) -> None:
    gc(place, keep_latest=1)


def repair(place: Path) -> None:
    root = open_store(place)
    for folder in snapshots_below(root):
        store = root.sub(f"{folder}/") if folder else root
        report = check_snapshot(store)
        if not report.is_sound:
            repair_snapshot(store, report)


def repairing(repaired: Held) -> Work:
    """What is damaged stays so until it is repaired, and is not damaged again after that."""

    def holds(before: Held, marks: Marks, now: Held) -> bool:
        return now == repaired or (not marks and now == before)

    return Work(repair, holds)


def repair_and_iterate(place: Path) -> None:
    repair(place)
    iterate(place)


def holds_in_filling(before: Held, marks: Marks, now: Held) -> bool:
    """As in a pass, once the repair is done and the pass has committed something."""
    if isinstance(now, tuple):
        return holds_in_a_pass((), marks, now)
    is_filled = any(mark.what != "repair" for mark in marks)
    return (now == WAITING and not is_filled) or (now == before and not marks)


def repairing_and_saving(repaired: Held, commits: int) -> Work:
    """Repair if need be, which adds so many commits, and save."""
    new = tuple(range(9))

    def repair_and_save(place: Path) -> None:
        repair(place)
        saving(len(new)).do(place)

    def holds(before: Held, marks: Marks, now: Held) -> bool:
        of_repair = commits if before == DAMAGED else 0
        if len(marks) > of_repair:
            return now == new
        return now in ((repaired, new) if marks else (before, repaired, new))

    return Work(repair_and_save, holds)


def iterate_over_files(place: Path) -> None:
    assert xs(of_files(place)) == RIGHT[:4]


def holds_over_files(before: Held, marks: Marks, now: Held) -> bool:
    least = 4 if any(mark.what != "append" for mark in marks) else 0
    return isinstance(now, tuple) and now == RIGHT[: len(now)] and least <= len(now) <= 4
