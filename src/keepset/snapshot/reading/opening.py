"""Opening what is kept at a path: finding the version that is meant, once per process."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Sequence
from typing import Any

from keepset.errors import PendingSnapshotError, SnapshotMismatchError, SnapshotMissingError
from keepset.format.commit import FOLDER
from keepset.format.log import Log, LogState, Version
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.reading.neighbours import MOST, read_neighbours
from keepset.snapshot.reading.recipes import read_recipe
from keepset.storage import Store, open_store
from keepset.storage.regular_file import kind_of

_POLL_S = 0.2
# What a writer leaves, the first thing of it being a lease; other files may lie beside.
_OURS = r"(?s)(?:(.*)/)?(?:commits/\d{8}\.json|(?:segments|leases)/[0-9a-f]{16}\b[^/]*)"


class Location:
    """A version of a snapshot, by its place: pickles as that, and opens when it is first used."""

    __keepset_recipe__ = ("url", "commit", "verify")

    @classmethod
    def from_recipe(cls, url: str, commit: int, verify: bool) -> Location:
        return cls(url, commit, {}, verify)

    def __init__(
        self, url: str, commit: int, options: dict[str, Any], verify: bool, kept: Kept | None = None
    ) -> None:
        self.url, self.commit, self._options, self._verify = url, commit, options, verify
        self._kept = kept
        self._lock = threading.Lock()

    @property
    def kept(self) -> Kept:
        with self._lock:
            if self._kept is None:
                self._kept = _open_commit(open_store(self.url, **self._options), self)
            return self._kept

    @property
    def verify(self) -> bool:
        return self._verify

    def recipe(self) -> str | None:
        """The recipe of what is kept, as text, if there is one."""
        store = open_store(self.url, **self._options)
        return read_recipe(store, Log(store).read(self.commit).body)

    def __keepset_fingerprint__(self) -> Any:
        # By content, so that a copy of a saved dataset elsewhere counts as the same.
        manifest = self.kept.manifest
        order = manifest.order and (manifest.order.pattern, manifest.order.elements)
        chunks = [
            (chunk.shard, chunk.entry.rows, chunk.entry.checksums) for chunk in manifest.chunks
        ]
        # Where nothing is checked, damage becomes elements: they are not those of a checked pass.
        return repr(manifest.spec), chunks, order, self.verify

    def __reduce__(self) -> tuple[Any, ...]:
        return Location, (self.url, self.commit, self._options, self._verify)

    def __repr__(self) -> str:
        return f"Location({self.url!r}, commit {self.commit})"


def _open_commit(store: Store, location: Location) -> Kept:
    log = Log(store)
    state = log.state()
    if state.version is None or state.version.commit.number != location.commit:
        commit = log.read(location.commit)
        state.add(commit, f"{store.url}/{commit.number}")
    assert state.version is not None
    return Kept(store, state.version.manifest, location.verify)


def locate(
    path: str | os.PathLike[str],
    *,
    fingerprint: str | None = None,
    verify: bool = True,
    wait: bool = False,
    options: dict[str, Any] | None = None,
) -> Location:
    """Find the newest whole version at a path, or ``wait`` for one.

    An error says what is there instead.
    """
    given = options or {}
    root = open_store(path, **given)
    while True:
        try:
            store, state = newest_at(root, fingerprint)
            version = _version(store, state)
            break
        except (SnapshotMissingError, PendingSnapshotError):
            if not wait:
                raise
            time.sleep(_POLL_S)
    kept = Kept(store, version.manifest, verify)
    return Location(store.url, version.commit.number, given, verify, kept)


def check_folder(store: Store, *, may_be_missing: bool = False) -> None:
    """Raise unless there is a folder at the place of a local store."""
    if store.is_remote or os.path.isdir(store.url):
        return
    is_there = os.path.exists(store.url)
    if may_be_missing and not is_there:
        return
    what = f"is {kind_of(os.stat(store.url))}" if is_there else "does not exist"
    raise SnapshotMissingError(
        f"{store.url} {what}; name the folder that was given to save() or snapshot()"
    )


def fingerprints_at(store: Store) -> list[str]:
    """The fingerprints that are kept below a path."""
    names = {name.split("/", 1)[0] for name in _kept_below(store) if f"/{FOLDER}" in name}
    return sorted(names)


def snapshots_below(store: Store, *, with_removed: bool = False) -> list[str]:
    """The folders at and below a path that hold a snapshot, or what was begun of one.

    The path itself is ``""``. Of those that were removed only what is left of one counts, unless
    they are asked for.
    """
    names = (info.name for info in store.list("")) if with_removed else _kept_below(store)
    found = {folder for folder in map(snapshot_of, names) if folder is not None}
    return sorted(found | {""} if is_obstructed(store) else found)


def is_obstructed(store: Store) -> bool:
    """Whether something else is in the place of a commit, which a listing of files may not have."""
    return any(snapshot_of(name) == "" for name in store.obstacles(FOLDER))


def _kept_below(store: Store) -> list[str]:
    """The names of all objects below a path, but for the logs of snapshots that were removed."""
    names = [info.name for info in store.list("")]
    logs: dict[str, bool] = {}  # by the folder: whether there is nothing but a log
    for name in names:
        folder = snapshot_of(name)
        if folder is not None:
            is_commit = name.removeprefix(f"{folder}/").startswith(FOLDER)
            logs[folder] = logs.get(folder, True) and is_commit
    bare = [folder for folder, is_bare in logs.items() if is_bare]
    removed = set()
    for start in range(0, len(bare), MOST):
        found = read_neighbours(store, bare[start : start + MOST], _is_removed)
        removed |= {folder for folder, is_so in found.items() if is_so}
    return [name for name in names if snapshot_of(name) not in removed]


def _is_removed(store: Store) -> bool:
    """Whether a log says that the snapshot was removed as a whole, and nothing since."""
    return Log(store).state().removal is not None


def snapshot_of(name: str) -> str | None:
    """The folder of the snapshot that an object is part of; None if it is part of none."""
    match = re.fullmatch(_OURS, name)
    return None if match is None else match[1] or ""


def matching(folders: Sequence[str], given: str) -> list[str]:
    """The folders of the fingerprint that is meant by its name or the beginning of it.

    Of a fingerprint that has a part for files, the beginnings of both parts are enough.

    Example:
        >>> matching(["images/v1", "images/v10"], "v1"), matching(["images/v1", "x"], "v")
        (['images/v1'], ['images/v1'])
    """
    names = {folder: folder.rpartition("/")[2] for folder in folders}
    exact = [folder for folder, name in names.items() if name == given]
    return exact or [folder for folder, name in names.items() if _is_meant(name, given)]


def _is_meant(name: str, given: str) -> bool:
    both = zip(name.split("-"), given.split("-"), strict=False)
    parts = name.count("-") == given.count("-") and all(a.startswith(b) for a, b in both)
    return name.startswith(given) or parts


def newest_at(root: Store, fingerprint: str | None) -> tuple[Store, LogState]:
    """The store of the snapshot that is meant, and what its log says."""
    folder = _folder_of(root, fingerprint, may_be_direct=True)
    state = Log(root.sub(f"{folder}/") if folder else root).state()
    if not folder and state.removal is not None:
        # What was right at the path was removed; there may be something below.
        folder = _folder_of(root, fingerprint, may_be_direct=False)
        state = Log(root.sub(f"{folder}/")).state()
    return (root.sub(f"{folder}/") if folder else root), state


def _folder_of(store: Store, fingerprint: str | None, *, may_be_direct: bool) -> str:
    """The folder of the snapshot that is meant; empty for one right at the path."""
    if may_be_direct and fingerprint is None and store.names(FOLDER):
        return ""
    kept = fingerprints_at(store)
    if fingerprint is not None:
        meant = matching(kept, fingerprint)
        if len(meant) != 1:
            listed = ", ".join(kept) or "nothing"
            raise SnapshotMissingError(
                f"{store.url} has no snapshot of the fingerprint {fingerprint!r}; kept there is "
                f"{listed}"
            )
        return meant[0]
    if len(kept) > 1:
        raise SnapshotMismatchError(
            f"{store.url} holds {len(kept)} snapshots: {', '.join(kept)}; say which with "
            "load(path, fingerprint=...)"
        )
    if not kept:
        raise SnapshotMissingError(
            f"nothing is kept at {store.url}; write it with ks.save(dataset, path) or "
            "dataset.snapshot(path)"
        )
    return kept[0]


def _version(store: Store, state: LogState) -> Version:
    if state.version is not None:
        return state.version
    if state.damaged is not None and not state.damaged.chunks and state.damaged.resume is not None:
        raise _unfinished(store, state.damaged.manifest.elements)
    if state.damaged is not None:
        count = sum(map(len, state.damaged.manifest.positions(state.damaged.chunks).values()))
        raise PendingSnapshotError(
            f"{store.url} lacks {count} elements that were damaged and dropped by a repair; run "
            "the pipeline that writes it, which computes only these"
        )
    if state.appends:
        raise _unfinished(store, state.appends[-1].stop)
    if state.removal is not None:
        raise SnapshotMissingError(f"nothing is kept at {store.url}; it was removed")
    raise SnapshotMissingError(f"{store.url} was begun and holds no element yet")


def _unfinished(store: Store, elements: int) -> PendingSnapshotError:
    return PendingSnapshotError(
        f"{store.url} is not finished: {elements} elements are kept so far; run the pipeline that "
        "writes it to the end, or load(path, wait=True)"
    )
