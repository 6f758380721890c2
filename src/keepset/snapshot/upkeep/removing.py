"""Removing a snapshot as a whole."""

from __future__ import annotations

import time

from keepset.errors import PendingSnapshotError, StorageError
from keepset.format.commit import FOLDER, Commit, commit_number
from keepset.format.log import Log, LogState
from keepset.snapshot.writing.lease import EXPIRY_S, live_holder
from keepset.snapshot.writing.run_id import new_run_id
from keepset.storage import LocalStore, Store
from keepset.storage.failures import is_full

# What a snapshot consists of. Other objects at its place are not ours, and stay.
FOLDERS = ("segments/", "sources/", "recipes/", "leases/", FOLDER)


def remove_snapshot(store: Store) -> int:
    """Remove everything that is kept at one place; how many bytes that were.

    It is refused while somebody writes. Whoever reads it at the same time gets an error, never
    wrong elements. If this is cut short, doing it again removes the rest.
    """
    holder = live_holder(store, EXPIRY_S)
    if holder is not None:
        raise PendingSnapshotError(
            f"{store.url} is being written by {holder}; stop that first, then remove it"
        )
    folders = FOLDERS
    try:
        _declare_empty(store)
    except StorageError as error:
        if not is_full(error):
            raise
        # Then the commits are the first to go: without the newest one nothing is kept either.
        folders = (FOLDER, *FOLDERS[:-1])
    removed = 0
    for folder in folders:
        # The oldest commits go first, and the one that says that nothing is kept goes last.
        for info in store.list(folder):
            store.delete([info.name])
            removed += info.size_bytes
    if isinstance(store, LocalStore):
        store.sweep(0.0)
        store.prune(FOLDERS)
    return removed


def _declare_empty(store: Store) -> None:
    """Say that nothing is kept, whatever is still there, even if the log cannot be read."""
    listed = (commit_number(info.name) for info in store.list(FOLDER))
    newest = max((number for number in listed if number is not None), default=None)
    if newest is None:
        return
    body = {"generation": newest + 1, "reason": "it is being removed"}
    commit = Commit(newest + 1, "reset", new_run_id(), time.time(), body)
    if not Log(store).add(LogState(commit.number), commit):
        raise PendingSnapshotError(
            f"somebody else has just written to {store.url}; look at it again before you remove it"
        )
