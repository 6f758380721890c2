"""Removing a snapshot as a whole.

A removal is a commit like any other: a reset that says so, added behind all others, and then the
files go. It names the runs whose files go, so that a writer that only seemed dead cannot publish
them, and it stays: as long as it is there, no number is used twice, and a commit that a paused
writer or collector adds at an old number is not part of the log. So the place can be opened at any
moment, whichever process is killed when, and whichever of the deletions survive a power cut.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from keepset.errors import CorruptSnapshotError, PendingSnapshotError, StorageError
from keepset.format.commit import FOLDER, Commit, commit_number
from keepset.format.log import Log, LogState
from keepset.snapshot.writing.lease import EXPIRY_S, live_holder
from keepset.snapshot.writing.run_id import new_run_id
from keepset.storage import LocalStore, ObjectInfo, Store
from keepset.storage.failures import is_full

# What a snapshot consists of. Other objects at its place are not ours, and stay.
FOLDERS = ("segments/", "sources/", "recipes/", "leases/", FOLDER)


def remove_snapshot(store: Store) -> int:
    """Remove everything that is kept at one place; how many bytes that were.

    It is refused while somebody writes. Whoever reads it at the same time gets an error, never
    wrong elements. If this is cut short, doing it again removes the rest. One small commit stays,
    which says that the snapshot was removed.
    """
    # What is written is listed before the leases: a writer has a lease before that. What is
    # written later is not touched.
    found = {folder: list(store.list(folder)) for folder in FOLDERS if folder != FOLDER}
    numbers = Log(store).listed()
    found[FOLDER] = []
    holder = live_holder(store, EXPIRY_S)
    if holder is not None:
        raise PendingSnapshotError(
            f"{store.url} is being written by {holder}; stop that first, then remove it"
        )
    removed = 0
    if found["segments/"] or numbers:
        number, removed = _declare_removed(store, found, numbers)
        found[FOLDER] = [info for info in store.list(FOLDER) if _is_before(info, number)]
    for folder in FOLDERS:
        # One by one: of the commits the oldest go first, on which others may rest.
        for info in found[folder]:
            store.delete([info.name])
            removed += info.size_bytes
    if isinstance(store, LocalStore):
        store.discard(info.name for info in store.unfinished(FOLDERS))
        # What a power cut brought back would be void, but it would be there.
        for folder in FOLDERS:
            store.sync(folder)
        store.prune(FOLDERS)
    return removed


def run_of(name: str) -> str:
    """The run in the name of a segment."""
    return name.removeprefix("segments/").partition("-")[0]


def _is_before(info: ObjectInfo, number: int) -> bool:
    found = commit_number(info.name)
    return found is not None and found < number


def _declare_removed(
    store: Store, found: dict[str, list[ObjectInfo]], numbers: Sequence[int]
) -> tuple[int, int]:
    """Say that nothing is kept; the number of the commit that says so.

    On a disk that is full, something has to go before. Then it says how many bytes that were. What
    no reader needs goes first.
    """
    runs = sorted({run_of(info.name) for info in found["segments/"]})
    spare = [info for folder in ("recipes/", "sources/", "segments/") for info in found[folder]]
    log, freed = Log(store), 0
    if not runs and (known := _removal_of(log)) is not None:
        return known, freed
    commit = _removal(numbers, runs)
    while True:
        try:
            # Even if the log cannot be read. The very same commit each time: one that is there
            # although its sync has failed is ours.
            if log.add(LogState(commit.number), commit):
                return commit.number, freed
        except StorageError as error:
            if not is_full(error) or not spare:
                raise
            store.delete([spare[0].name])
            freed += spare.pop(0).size_bytes
            continue
        raise PendingSnapshotError(
            f"somebody else has just written to {store.url}; look at it again before you remove it"
        )


def _removal(numbers: Sequence[int], runs: list[str]) -> Commit:
    """The commit behind all others that says that nothing is kept."""
    number = max(numbers, default=-1) + 1
    body = {"generation": number + 1, "reason": "it was removed", "removed": True, "runs": runs}
    return Commit(number, "reset", new_run_id(), time.time(), body)


def _removal_of(log: Log) -> int | None:
    """The number of the commit that says that all was removed, if that is so now."""
    try:
        state = log.state()
    except CorruptSnapshotError:
        return None
    return None if state.removal is None else state.removal.number
