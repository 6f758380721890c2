"""Explaining: whether a pipeline would be replayed, and if not, what has changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from keepset.core.fingerprint import (
    Difference,
    Facts,
    changed_versions,
    counts_versions,
    differences,
)
from keepset.core.node import Node
from keepset.errors import SnapshotMissingError
from keepset.snapshot.files.file_changes import table_of_now, with_files
from keepset.snapshot.files.same_files import find_same
from keepset.snapshot.files.sources import read_table
from keepset.snapshot.identity import Identity, identify
from keepset.snapshot.looking import Snapshot
from keepset.snapshot.reading.opening import fingerprints_at, matching, snapshots_below
from keepset.snapshot.stage import SnapshotStage
from keepset.storage import Store, open_store
from keepset.storage.file_hashes import FileHashes


@dataclass(frozen=True)
class Explanation:
    """Why a pipeline is computed again, or that it is not. Print it to read it.

    Attributes:
        hit: Whether what is kept would be used.
        fingerprint: That of the pipeline.
        kept_elements: How many of its elements are kept; all of them if ``is_complete``.
        nearest: On a miss, the kept fingerprint that differs least.
        changes: What differs from it, old and new.
        by_content: On a hit, whether the files were moved, copied or touched since, and their
            content had to tell that they are the same.
        versions: The libraries that have another version than when it was kept; they do not count.
    """

    url: str
    hit: bool
    fingerprint: str
    is_complete: bool = False
    kept_elements: int = 0
    nearest: str | None = None
    changes: list[Difference] = field(default_factory=list)
    by_content: bool = False
    versions: list[Difference] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join([*self._answer(), *_other_versions(self.versions)])

    def _answer(self) -> list[str]:
        if self.hit:
            how = (
                "is replayed" if self.is_complete else "goes on with the elements that are missing"
            )
            lines = [
                f"hit: {self.kept_elements:,} elements are kept in {self.url}; the pipeline {how}"
            ]
            if self.by_content:
                lines.append(
                    "its files were moved, copied or touched since; their content is the same"
                )
            return lines
        if self.nearest is None:
            return [f"miss: nothing is kept in {self.url} yet"]
        lines = [f"miss: {self.url} keeps no snapshot of this pipeline"]
        lines.append(f"the nearest, {self.nearest}, differs in")
        for change in self.changes:
            lines.append(f"  {change}")
            lines += [f"    {line}" for line in change.source_diff().splitlines()]
        return lines


def _other_versions(versions: list[Difference]) -> list[str]:
    return [f"also another version, which does not count: {each}" for each in versions]


def explain_node(
    node: Node, path: str | os.PathLike[str], options: dict[str, Any] | None = None
) -> Explanation:
    """Compare a pipeline with what is kept at a path."""
    given = options or {}
    store = open_store(path, **given)
    # The pipeline may go on behind what it keeps there.
    kept = fingerprints_at(store)
    name, identity = _identity(next(_stages_at(node, store), node), kept)
    same = hashes = None
    if name not in kept and identity is not None and identity.sources is not None:
        hashes = identity.sources.hashes()
        same = find_same(store, identity.sources, hashes)
    if same is not None or name in kept:
        found = Snapshot(path, fingerprint=same or name, **given)
        return Explanation(
            store.url,
            True,
            same or name,
            found.is_complete,
            found.num_elements,
            by_content=same is not None,
            versions=_versions(found.facts, None if identity is None else identity.facts),
        )
    if identity is None:
        return Explanation(store.url, False, name)
    return _nearest(store, kept, identity, hashes)


def _nearest(
    store: Store, kept: list[str], identity: Identity, hashes: FileHashes | None
) -> Explanation:
    """What differs least from a pipeline of which nothing is kept."""
    found = {other: Snapshot.of(_sub(store, other)) for other in kept}
    compared = {
        other: differences(snapshot.facts, identity.facts, name=identity.facts.kind)
        for other, snapshot in found.items()
        if snapshot.facts is not None
    }
    name = identity.fingerprint
    if not compared:
        return Explanation(store.url, False, name)
    fewest = min(map(len, compared.values()))
    compared = {other: changes for other, changes in compared.items() if len(changes) == fewest}
    if identity.sources is not None and hashes is not None:
        for other, changes in compared.items():
            old = read_table(_sub(store, other))
            new = table_of_now(old, identity.sources, hashes)
            compared[other] = with_files(changes, identity.facts, old, new)
    nearest = min(compared, key=lambda other: (len(compared[other]), _age(found[other])))
    return Explanation(
        store.url,
        False,
        name,
        nearest=nearest,
        changes=compared[nearest],
        versions=_versions(found[nearest].facts, identity.facts),
    )


def _versions(old: Facts | None, new: Facts | None) -> list[Difference]:
    """The libraries that have another version, unless that is a change anyway."""
    if old is None or new is None or counts_versions(new):
        return []
    return changed_versions(old, new)


def _age(snapshot: Snapshot) -> float:
    return 0.0 if snapshot.created is None else -snapshot.created.timestamp()


def _identity(node: Node, kept: list[str]) -> tuple[str, Identity | None]:
    """The fingerprint of a pipeline, or the one of the snapshot that it ends with."""
    if not isinstance(node, SnapshotStage):
        identity = identify(node)
        # Without a snapshot in it, nobody has said whether versions count.
        if identity.fingerprint not in kept and identity.strict().fingerprint in kept:
            identity = identity.strict()
    elif node.facts is None:
        return node.fingerprint, None
    else:
        identity = identify(node.parent, node.shard_func)
        if node.strict:
            identity = identity.strict()
    return identity.fingerprint, identity


def stage_kept_at(
    node: Node, path: str | os.PathLike[str], options: dict[str, Any] | None = None
) -> Node:
    """The stage of a pipeline that keeps at a path, for it may go on behind that.

    Where none does, the one snapshot that it has, or else the whole pipeline.
    """
    for stage in _stages_at(node, open_store(path, **(options or {}))):
        return stage
    stages = [each for each in node.walk() if isinstance(each, SnapshotStage)]
    return stages[0] if len(stages) == 1 else node


def _stages_at(node: Node, store: Store) -> Iterator[SnapshotStage]:
    for stage in node.walk():
        if isinstance(stage, SnapshotStage) and _place(stage.root()) == _place(store):
            yield stage


def _sub(root: Store, folder: str) -> Store:
    return root.sub(f"{folder}/") if folder else root


def _place(store: Store) -> str:
    return store.url if store.is_remote else os.path.realpath(store.url)


# Without what nobody needs of it: making those methods takes a millisecond of every import.
@dataclass(eq=False, repr=False, match_args=False)
class Origin:
    """Why the newest snapshot at a path was computed. Print it to read it.

    Attributes:
        fingerprint: Its folder below the path.
        is_newest: Whether it is; not so if another one was asked for.
        created: When what it keeps now was committed.
        facts: What its fingerprint was found from; None if it was saved, or named by the user.
        older: The older snapshot beside it that differs least.
        changes: What differs from that, old and new.
        versions: The libraries that have another version since; they do not count.
        restarts: Why it was itself started over, if it was.
    """

    url: str
    fingerprint: str
    is_newest: bool
    created: datetime | None
    facts: Facts | None
    older: str | None = None
    changes: list[Difference] = field(default_factory=list)
    versions: list[Difference] = field(default_factory=list)
    restarts: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        which = "the newest" if self.is_newest else "what was asked for"
        lines = [f"{which} in {self.url} is {self.fingerprint or 'right there'}"]
        if self.facts is None:
            lines.append("it was saved, or named by hand, and has nothing to be compared by")
        elif self.older is None:
            lines.append("there is nothing older beside it that it could be compared with")
        else:
            lines.append(f"it was computed because the nearest older one, {self.older}, differs in")
        for change in self.changes:
            lines.append(f"  {change}")
            lines += [f"    {line}" for line in change.source_diff().splitlines()]
        lines += _other_versions(self.versions)
        lines += [f"it was started over: {reason}" for reason in self.restarts]
        return "\n".join(lines)


def explain_newest(
    path: str | os.PathLike[str],
    options: dict[str, Any] | None = None,
    *,
    fingerprint: str | None = None,
) -> Origin:
    """Say why the newest snapshot at and below a path, or a given one, had to be computed."""
    root = open_store(path, **(options or {}))
    found = {folder: Snapshot.of(_sub(root, folder)) for folder in snapshots_below(root)}
    dated = {folder: kept.created for folder, kept in found.items() if kept.created is not None}
    meant = matching(list(dated), fingerprint or "")
    if not meant:
        raise SnapshotMissingError(
            f"{root.url} keeps nothing of the fingerprint {fingerprint!r}"
            if fingerprint
            else f"nothing is kept at {root.url}"
        )
    name = max(meant, key=dated.__getitem__)
    new = found[name]
    restarts = [str(each.body.get("reason")) for each in new.history if each.kind == "reset"]
    is_newest = name == max(dated, key=dated.__getitem__)
    origin = Origin(root.url, name, is_newest, new.created, new.facts, restarts=restarts)
    # Beside it: what is kept in other folders is of other pipelines.
    compared = [
        (differences(kept.facts, new.facts, name=new.facts.kind), other)
        for other, kept in found.items()
        if kept.facts is not None and new.facts is not None
        if other.rpartition("/")[0] == name.rpartition("/")[0]
        if other in dated and dated[other] < dated[name]
    ]
    if not compared:
        return origin
    changes, older = min(compared, key=lambda pair: (len(pair[0]), -dated[pair[1]].timestamp()))
    now = new.facts
    versions = _versions(found[older].facts, now)
    if now is not None:
        tables = [read_table(_sub(root, folder)) for folder in (older, name)]
        changes = with_files(changes, now, *tables)
    return replace(origin, older=older, changes=changes, versions=versions)
