"""Collecting garbage: what no version needs, and what dead writers left behind, is removed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field

from keepset.core.size_text import size_text
from keepset.errors import CorruptSnapshotError, KeepsetError, PendingSnapshotError, StorageError
from keepset.format.commit import FOLDER, Commit, commit_number
from keepset.format.log import Log, LogState
from keepset.format.place import check_place
from keepset.snapshot.reading.opening import snapshots_below
from keepset.snapshot.reading.recipes import FOLDER as RECIPES
from keepset.snapshot.upkeep.removing import FOLDERS, remove_snapshot, run_of
from keepset.snapshot.writing.lease import (
    EXPIRY_S,
    Holder,
    holders,
    live_holder,
    live_holders,
)
from keepset.snapshot.writing.run_id import new_run_id
from keepset.storage import Store
from keepset.storage.failures import is_full

GRACE_S = 3600.0
# A file without its name that nobody has written to for so long belongs to no writer that lives;
# one that has just begun may not have a lease yet.
_UNFINISHED_S = 60.0


@dataclass(frozen=True)
class Removal:
    """An object or a whole snapshot (its name ends with ``/``), and why it goes or stays."""

    name: str
    size_bytes: int
    why: str


@dataclass(frozen=True)
class Plan:
    """What would be removed, and what is not needed but spared.

    Attributes:
        older_snapshots: How many snapshots have a newer one at the same path, whether they are
            removed or not.
        problems: Why snapshots cannot be read, by their folders; they stay as they are.
    """

    url: str
    removals: tuple[Removal, ...]
    spared: tuple[Removal, ...]
    grace_s: float
    older_snapshots: int = 0
    problems: Mapping[str, KeepsetError] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        return sum(removal.size_bytes for removal in self.removals)


@dataclass(frozen=True)
class _Found:
    """One snapshot below a path."""

    folder: str
    size_bytes: int
    newest_s: float
    holder: Holder | None
    is_of_a_pipeline: bool

    def precedes(self, other: _Found) -> bool:
        """Whether the other one is of the same pipeline, and newer."""
        places = [each.folder.rpartition("/")[0] for each in (self, other)]
        return (
            other.is_of_a_pipeline
            and places[0] == places[1]
            and (self.newest_s, self.folder) < (other.newest_s, other.folder)
        )


def plan_collection(
    root: Store,
    *,
    grace_s: float = GRACE_S,
    keep_latest: int | None = None,
    max_bytes: int | None = None,
) -> Plan:
    """Find what can go at a path and below it. Nothing is changed.

    Args:
        root: Where to look.
        grace_s: What became superfluous later than so many seconds ago stays: somebody may still
            read it.
        keep_latest: How many snapshots of each pipeline stay, those that were written to last.
        max_bytes: How much everything may take together. The oldest snapshots go first; of each
            pipeline the newest stays, and so does what was saved.
    """
    removals: list[Removal] = []
    spared: list[Removal] = []
    problems: dict[str, KeepsetError] = {}
    found: list[_Found] = []
    for folder in snapshots_below(root, with_removed=True):
        try:
            found.append(_look(root, folder))
        except KeepsetError as error:
            problems[folder] = error
    old = _older(found)
    whole = _old_snapshots(found, old, keep_latest, max_bytes)
    for snapshot in found:
        if snapshot.folder in whole:
            name, why = snapshot.folder + "/", whole[snapshot.folder]
            if snapshot.holder is None:
                removals.append(Removal(name, snapshot.size_bytes, why))
                continue
            why += f", but {snapshot.holder} writes to it"
            spared.append(Removal(name, snapshot.size_bytes, why))
        try:
            store = _store_of(root, snapshot.folder)
            garbage = list(_garbage(store, grace_s, time.time()))
            garbage += _unfinished(store, grace_s)
        except KeepsetError as error:
            # One that cannot be read is no reason to leave the garbage of the others.
            problems[snapshot.folder] = error
            continue
        prefix = f"{snapshot.folder}/" if snapshot.folder else ""
        for removal, goes in garbage:
            named = Removal(prefix + removal.name, removal.size_bytes, removal.why)
            (removals if goes else spared).append(named)
    return Plan(root.url, tuple(removals), tuple(spared), grace_s, len(old), problems)


def collect(
    root: Store, plan: Plan, problems: MutableMapping[str, KeepsetError] | None = None
) -> int:
    """Remove what is in a plan and still superfluous.

    A snapshot of which something cannot be removed is no reason to leave the garbage of the others.

    Args:
        root: Where the plan was made.
        plan: What is to go.
        problems: Takes the errors by their folders; the first one is raised at the end otherwise.

    Returns:
        How many bytes were removed, but for those of snapshots with errors.
    """
    removed = 0
    failed: MutableMapping[str, KeepsetError] = {} if problems is None else problems
    planned = {removal.name for removal in plan.removals}
    for folder in snapshots_below(root, with_removed=True):
        if folder in plan.problems:
            continue
        try:
            removed += _collect_planned(root, folder, plan, planned)
        except KeepsetError as error:
            failed[folder] = error
    if problems is None:
        for problem in failed.values():
            raise problem
    return removed


def _collect_planned(root: Store, folder: str, plan: Plan, planned: set[str]) -> int:
    store = _store_of(root, folder)
    if f"{folder}/" in planned:
        try:
            return remove_snapshot(store)
        except PendingSnapshotError:
            return 0  # another process has begun to write to it since
    return _collect_from(store, f"{folder}/" if folder else "", planned, plan.grace_s)


def _collect_from(store: Store, prefix: str, planned: set[str], grace_s: float) -> int:
    removed = 0
    while True:
        # Looked at anew: since the plan was made, somebody may have come to need something.
        state = Log(store).state()
        goes = [
            removal
            for removal, goes in _garbage(store, grace_s, time.time(), state)
            if goes and prefix + removal.name in planned
        ]
        runs = sorted({run_of(r.name) for r in goes if r.name.startswith("segments/")})
        try:
            if not runs or _fence(store, state, runs):
                break
        except StorageError as error:
            unfenced = _without_fence(store, goes) if is_full(error) else []
            if not unfenced:
                raise
            removed += _remove(store, unfenced)
    removed += _remove(store, goes)
    found = [removal for removal, goes in _unfinished(store, grace_s) if goes]
    left = [removal for removal in found if prefix + removal.name in planned]
    store.discard(removal.name for removal in left)
    return removed + sum(removal.size_bytes for removal in left)


def _remove(store: Store, removals: list[Removal]) -> int:
    if removals:
        # What they are superfluous for must not be taken back by a power cut.
        store.sync(FOLDER)
    for removal in removals:
        store.delete([removal.name])
    return sum(removal.size_bytes for removal in removals)


def _without_fence(store: Store, removals: list[Removal]) -> list[Removal]:
    """What may go although nothing more can be written, as on a disk that is full.

    That is what dead writers said of themselves, and the files of runs that have committed a whole
    version: such a run commits nothing more.
    """
    log = Log(store)
    finished = set()
    for number in log.numbers():
        with suppress(CorruptSnapshotError):  # an old one, or else the state could not be read
            commit = log.read(number)
            if commit.kind in ("complete", "replace"):
                finished.add(commit.run)
    return [
        removal
        for removal in removals
        if not removal.name.startswith("segments/") or run_of(removal.name) in finished
    ]


def _fence(store: Store, state: LogState, runs: list[str]) -> bool:
    """Make sure that none of these writers, should one live, commits what is about to go."""
    body = {"runs": runs}
    return Log(store).add(
        state, Commit(state.next_number, "fence", new_run_id(), time.time(), body)
    )


def _store_of(root: Store, folder: str) -> Store:
    return root.sub(f"{folder}/") if folder else root


def _look(root: Store, folder: str) -> _Found:
    store = _store_of(root, folder)
    for part in FOLDERS:
        check_place(store, part)
    objects = [info for part in FOLDERS for info in store.list(part)]
    commits = [info.modified_s for info in objects if info.name.startswith(FOLDER)]
    size = sum(info.size_bytes for info in objects)
    newest = max(commits, default=0.0)
    return _Found(folder, size, newest, live_holder(store, EXPIRY_S), _is_of_a_pipeline(store))


def _is_of_a_pipeline(store: Store) -> bool:
    """Whether it could be computed again; not so if that cannot be told, or if it was removed."""
    try:
        if Log(store).state().removal is not None:
            return False
        for commit in Log(store).backwards():
            if commit.kind in ("append", "complete", "repair"):
                return "fingerprint" in commit.body
    except KeepsetError:
        return False
    return False


def _older(found: list[_Found]) -> list[_Found]:
    """The snapshots that have a newer one of the same pipeline, the oldest first.

    Those that lie in one folder are of one pipeline, as it was at different times. The newest of
    them is not listed, and neither is a saved dataset: there is no pipeline to compute it again.
    """
    oldest_first = sorted(found, key=lambda each: each.newest_s)
    return [
        each
        for each in oldest_first
        if each.is_of_a_pipeline and any(each.precedes(other) for other in found)
    ]


def _old_snapshots(
    found: list[_Found], old: list[_Found], keep_latest: int | None, max_bytes: int | None
) -> dict[str, str]:
    """The folders that go as a whole, and why."""
    gone: dict[str, str] = {}
    for each in old:
        newer = sum(each.precedes(other) for other in found)
        if keep_latest is not None and newer >= keep_latest:
            gone[each.folder] = f"it is not among the latest {keep_latest}"
    total = sum(each.size_bytes for each in found if each.folder not in gone)
    for each in old:
        if max_bytes is not None and total > max_bytes and each.folder not in gone:
            gone[each.folder] = f"all together take more than {size_text(max_bytes)}"
            total -= each.size_bytes
    return gone


def _garbage(
    store: Store, grace_s: float, now: float, state: LogState | None = None
) -> Iterator[tuple[Removal, bool]]:
    """What one snapshot does not need, and whether it goes; the oldest commits before others."""
    # What is written is listed before the leases: whoever writes has a lease before that.
    segments, recipes = list(store.list("segments/")), list(store.list(RECIPES))
    leases = list(holders(store))
    live = {holder.run for holder in live_holders(store, EXPIRY_S)}
    state = state or Log(store).state()
    needed = _segments_of(state) | _recipes_of(state)
    for info in segments + recipes:
        if info.name in needed:
            continue
        # Whose a recipe is cannot be told by its name.
        if run_of(info.name) in live or (live and info.name.startswith(RECIPES)):
            yield Removal(info.name, info.size_bytes, "its writer is at work"), False
            continue
        # It was superseded when the newest version was made, or never belonged to one.
        age = max(now - max(info.modified_s, state.changed_s), 0.0)
        if age < grace_s:
            why = f"superfluous for {age:.0f} s only; after {grace_s:.0f} s it goes"
            yield Removal(info.name, info.size_bytes, why), False
        else:
            yield Removal(info.name, info.size_bytes, "no version and no writer needs it"), True
    for holder in leases:
        if holder.run not in live:
            name = f"leases/{holder.run}.json"
            yield Removal(name, 0, f"its writer, {holder}, is dead"), True
    if state.removal is not None:
        for info in store.list(FOLDER):
            number = commit_number(info.name)
            if number is not None and number < state.removal.number:
                yield Removal(info.name, info.size_bytes, "the snapshot was removed"), True


def _unfinished(store: Store, grace_s: float) -> Iterator[tuple[Removal, bool]]:
    """Files without a name that no writer has, and whether they go."""
    files, least = list(store.unfinished(FOLDERS)), max(grace_s, _UNFINISHED_S)
    if not files or live_holder(store, EXPIRY_S) is not None:
        return
    # By the clock that has stamped the files: this machine's may be wrong.
    now = store.now_s()
    if now is None:
        return  # the folder is read-only
    for info in files:
        age = max(now - info.modified_s, 0.0)
        if age < least:
            why = f"left unfinished {age:.0f} s ago; after {least:.0f} s it goes"
        else:
            why = "a process that ended has left it unfinished"
        yield Removal(info.name, info.size_bytes, why), age >= least


def _segments_of(state: LogState) -> set[str]:
    manifests = [append.manifest for append in state.appends]
    manifests += [kept.manifest for kept in (state.version, state.damaged) if kept is not None]
    return {name for manifest in manifests for name in manifest.segment_names}


def _recipes_of(state: LogState) -> set[str]:
    commits = [each.commit for each in (*state.appends, state.version, state.damaged) if each]
    return {f"{RECIPES}{commit.body.get('recipe')}.json" for commit in commits}
