"""Explaining: whether a pipeline would be replayed, and if not, what has changed."""

from __future__ import annotations

import html
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
from keepset.snapshot.files.file_changes import with_files
from keepset.snapshot.files.sources import read_table
from keepset.snapshot.identity.pass_identity import PassIdentity
from keepset.snapshot.looking import Snapshot
from keepset.snapshot.nearest import nearest
from keepset.snapshot.reading.opening import (
    check_folder,
    fingerprints_at,
    matching,
    snapshots_below,
)
from keepset.snapshot.stage import SnapshotStage
from keepset.storage import Store, open_store

_MOST_BELOW = 8
_READ_RAISES = (
    "mode='read' computes nothing, so that a pass raises SnapshotMissingError; run the pipeline "
    "with mode='auto' first"
)


@dataclass(frozen=True)
class Explanation:
    """Why a pipeline is computed again, or that it is not. Print it to read it.

    Attributes:
        hit: Whether all elements are stored, and are replayed.
        resumes: Whether some are stored, and a pass computes only the others; this is no hit.
        fingerprint: That of the pipeline.
        kept_elements: How many of its elements are stored; all of them if ``is_complete``.
        nearest: On a miss, the kept fingerprint that differs least.
        changes: What differs from it, old and new.
        by_content: On a hit, whether the files were moved, copied or touched since, and their
            content had to tell that they are the same.
        versions: The libraries that have another version than when it was kept; they do not count.
        ignored: The variables that ``snapshot(ignore=...)`` leaves out.
        reason: On a miss, why what is stored is not used, or that a pass raises an error.
        below: Where nothing is kept at the path itself, the places below it that keep something.
        elements: How many elements the pipeline has, where that is known.
        is_missing: On a miss, whether the path does not exist, as before a first pass.
        is_saved: On a miss, whether the path holds what ``save`` wrote, which has no fingerprint.
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
    ignored: list[str] = field(default_factory=list)
    reason: str = ""
    below: list[str] = field(default_factory=list)
    resumes: bool = False
    elements: int | None = None
    is_missing: bool = False
    is_saved: bool = False

    def __str__(self) -> str:
        ignored = [f"left out of the fingerprint by ignore: {name}" for name in self.ignored]
        return "\n".join([*self._answer(), *ignored, *_other_versions(self.versions)])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        colour = "#1a7f37" if self.hit else "#9a6700"
        text = html.escape(str(self))
        return (
            f'<div style="border-left:4px solid {colour};padding-left:8px">'
            f'<pre style="white-space:pre-wrap;margin:0">{text}</pre></div>'
        )

    def _answer(self) -> list[str]:
        if self.hit or self.resumes:
            lines = [self._what_is_used()]
            if self.by_content:
                lines.append(
                    "its files were moved, copied or touched since; their content is the same"
                )
            return lines
        reason = f"; {self.reason}" if self.reason else ""
        if self.is_missing:
            reason = reason or "; the first pass of snapshot() makes it"
            return [f"miss: nothing is kept in {self.url}, which does not exist yet{reason}"]
        if self.is_complete or self.kept_elements:
            return [f"miss: {self.kept_elements:,} elements are kept in {self.url}{reason}"]
        if self.nearest is None and self.below:
            shown = ", ".join(self.below[:_MOST_BELOW])
            more = len(self.below) - _MOST_BELOW
            return [
                f"miss: {self.url} keeps no snapshot of this pipeline{reason}; below it are "
                f"{shown}{f' and {more} more' if more > 0 else ''}: name the one that was given "
                "to snapshot()"
            ]
        if self.nearest is None and self.is_saved:
            return [
                f"miss: {self.url} holds a saved dataset and no snapshot of this pipeline{reason}; "
                "`keepset ls` shows it and ks.load() reads it, and snapshot() needs another path"
            ]
        if self.nearest is None:
            return [f"miss: nothing is kept in {self.url} yet{reason}"]
        lines = [f"miss: {self.url} keeps no snapshot of this pipeline{reason}"]
        lines.append(f"the nearest, {self.nearest}, differs in")
        for change in self.changes:
            lines.append(f"  {change}")
            lines += [f"    {line}" for line in change.source_diff().splitlines()]
        return lines

    def _what_is_used(self) -> str:
        count, where = f"{self.kept_elements:,}", f"kept in {self.url}"
        if self.hit:
            return f"hit: {count} elements are {where}; the pipeline is replayed"
        of = "" if self.elements is None else f" of {self.elements:,}"
        return f"resume: {count}{of} elements are {where}; a pass computes only the others"


def _other_versions(versions: list[Difference]) -> list[str]:
    return [f"also another version, which does not count: {each}" for each in versions]


def explain_node(
    node: Node, path: str | os.PathLike[str], options: dict[str, Any] | None = None
) -> Explanation:
    """Compare a pipeline with what is stored at a path, as a pass that begins now does it."""
    given = options or {}
    store = open_store(path, **given)
    check_folder(store, may_be_missing=True)
    # The pipeline may go on behind what it stores there.
    stage = next(_stages_at(node, store), None)
    is_added = stage is None
    if stage is None:
        stage = SnapshotStage(parent=node, path=os.fspath(path), store_options=given)
    begun = stage.begin_pass()
    place, identity = begun.place(), begun.identity
    if is_added and identity is not None and place.state.is_empty:
        # Without a snapshot stage in it, it is not said whether versions count.
        strict = stage.replaced(strict=True).begin_pass().place()
        if not strict.state.is_empty:
            place, identity = strict, identity.strict()
    facts = None if identity is None else identity.facts
    if not place.state.is_empty:
        found = Snapshot.of(place.store)
        reason = _why_not_used(stage, begun, found)
        total = stage.cardinality()
        count = found.num_elements - sum(stop - start for start, stop in found.waiting)
        return Explanation(
            store.url,
            not reason and found.is_complete,
            place.name,
            found.is_complete,
            count,
            resumes=not reason and not found.is_complete and count > 0,
            elements=total if total >= 0 else None,
            reason=reason,
            by_content=identity is not None and _differs_in_files(place.name, begun.fingerprint),
            versions=_versions(found.facts, facts),
            ignored=list(stage.ignore),
        )
    reason = _READ_RAISES if stage.mode == "read" else ""
    places = _places_below(store)
    missed = Explanation(
        store.url,
        False,
        place.name,
        reason=reason,
        below=[each for each in places if each],
        is_missing=not (store.is_remote or os.path.isdir(store.url)),
        is_saved="" in places,
    )
    if identity is None:
        return missed
    near = nearest(store, fingerprints_at(store), identity)
    if near is None:
        return replace(missed, ignored=list(stage.ignore))
    return Explanation(
        store.url,
        False,
        place.name,
        nearest=near.name,
        changes=near.changes,
        versions=_versions(near.facts, facts),
        ignored=list(stage.ignore),
        reason=reason,
    )


def _places_below(store: Store) -> list[str]:
    """The folders at and below a place that were given to ``snapshot()`` or ``save()``."""
    folders = {name.rpartition("/")[0] or name for name in snapshots_below(store)}
    return sorted(folders)


def _why_not_used(stage: SnapshotStage, begun: PassIdentity, found: Snapshot) -> str:
    """Why a pass that begins now does not use what is stored; empty if it does."""
    if stage.mode in ("write", "passthrough"):
        return f"mode={stage.mode!r} computes all of them again"
    if not found.is_complete and stage.mode == "read":
        return _READ_RAISES
    if not found.is_complete and begun.has_own_state:
        return (
            "the functions hold state of their own, such as a cache, so that an interrupted pass "
            "starts over"
        )
    if not found.is_complete and not stage.resume:
        return "resume=False starts over"
    return ""


def _differs_in_files(name: str, fingerprint: str) -> bool:
    """Whether two fingerprints are of the same stages, and their files stand otherwise."""
    same = name.partition("-")[0] == fingerprint.partition("-")[0]
    return same and name != fingerprint


def _versions(old: Facts | None, new: Facts | None) -> list[Difference]:
    """The libraries that have another version, unless that is a change anyway."""
    if old is None or new is None or counts_versions(new):
        return []
    return changed_versions(old, new)


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
            lines.append(
                "it was saved, or named by hand, and has nothing to be compared by; keepset diff "
                "compares its elements with others, and a pipeline with snapshot(path) is explained"
            )
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
