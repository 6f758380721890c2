"""Listing: every snapshot at and below a path, with the state that it is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from keepset.errors import (
    CorruptSnapshotError,
    KeepsetError,
    NewerFormatError,
    ObjectMissingError,
    StorageError,
)
from keepset.format.commit import FOLDER
from keepset.snapshot.looking import Snapshot
from keepset.snapshot.reading.opening import is_obstructed, snapshot_of
from keepset.snapshot.writing.lease import EXPIRY_S, Holder, live_holder
from keepset.storage import Store
from keepset.workers.threads import map_at_once

# A bucket answers many requests in the time of one.
_AT_ONCE = 16


@dataclass(frozen=True)
class Listed:
    """One snapshot, as far as it can be told without reading its elements.

    Attributes:
        name: Its folder, relative to the path; empty for the path itself.
        state: ``complete``, ``unfinished``, ``being written``, ``repaired`` (elements that were
            damaged wait to be computed again), ``damaged``, ``newer format`` or ``unreadable``.
        disk_bytes: What all its files take, those of older versions included.
        snapshot: What is kept; None if not even that can be told.
        versions: How many whole data sets were kept one after another; None if unknown.
        holder: A writer that is at work.
        problem: What is wrong, in words; empty if nothing is.
    """

    name: str
    url: str
    state: str
    disk_bytes: int
    snapshot: Snapshot | None = None
    versions: int | None = None
    holder: Holder | None = None
    problem: str = ""


def list_snapshots(root: Store) -> list[Listed]:
    """Look at everything that is kept at and below a path, by name.

    The sizes of the segments are compared with those in the log, their content is not.

    Example:
        >>> from keepset.storage import open_store
        >>> Dataset.range(10).save("memory://shelf/numbers")
        >>> [(each.name, each.state) for each in list_snapshots(open_store("memory://shelf"))]
        [('numbers', 'complete')]
    """
    sizes: dict[str, dict[str, int]] = {}
    for info in root.list(""):
        folder = snapshot_of(info.name)
        if folder is not None:
            name = info.name[len(folder) + 1 :] if folder else info.name
            sizes.setdefault(folder, {})[name] = info.size_bytes
    if is_obstructed(root):
        sizes.setdefault("", {})
    found = map_at_once(
        lambda folder: _listed(root, folder, sizes[folder]), sorted(sizes), _AT_ONCE
    )
    return [each for each in found if not _is_removed(each, sizes[each.name])]


def _is_removed(listed: Listed, sizes: Mapping[str, int]) -> bool:
    """Whether nothing is left but the log, which says that the snapshot was removed."""
    is_bare = all(name.startswith(FOLDER) for name in sizes)
    return is_bare and listed.snapshot is not None and listed.snapshot.is_removed


def _listed(root: Store, folder: str, sizes: Mapping[str, int]) -> Listed:
    store = root.sub(f"{folder}/") if folder else root
    disk_bytes = sum(sizes.values())
    holder = None
    try:
        if any(name.startswith("leases/") for name in sizes):
            holder = live_holder(store, EXPIRY_S)
        snapshot = Snapshot.of(store)
        problem = _segment_problem(store, snapshot, sizes)
    except CorruptSnapshotError as error:
        return Listed(folder, store.url, "damaged", disk_bytes, holder=holder, problem=str(error))
    except NewerFormatError as error:
        return Listed(folder, store.url, "newer format", disk_bytes, problem=str(error))
    except KeepsetError as error:
        return Listed(folder, store.url, "unreadable", disk_bytes, problem=str(error))
    state = "damaged" if problem else _state(snapshot, holder)
    versions = _number_of_versions(snapshot)
    return Listed(folder, store.url, state, disk_bytes, snapshot, versions, holder, problem)


def _state(snapshot: Snapshot, holder: Holder | None) -> str:
    if snapshot.is_complete:
        return "complete"
    if holder is not None:
        return "being written"
    return "repaired" if snapshot.waiting else "unfinished"


def _number_of_versions(snapshot: Snapshot) -> int | None:
    try:
        return len(snapshot.versions)
    except KeepsetError:
        return None  # an old commit is damaged, on which nothing depends that is read now


def _segment_problem(store: Store, snapshot: Snapshot, sizes: Mapping[str, int]) -> str:
    for segment in snapshot.needed_segments:
        name, expected = segment.entry.name, segment.entry.size_bytes
        if sizes.get(name) == expected:
            continue
        try:
            found = store.size(name)  # it may have been written since the listing
        except (ObjectMissingError, StorageError) as error:
            for place in ("segments/", name):
                if (what := store.obstacle(place)) is not None:
                    return f"{place} cannot be read: {what} is in its place"
            if isinstance(error, StorageError):
                raise
            return f"{name} is missing"
        if found != expected:
            return f"{name} has {found:,} bytes, and {expected:,} were kept"
    return ""
