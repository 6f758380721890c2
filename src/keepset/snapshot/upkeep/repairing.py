"""Repairing: what is damaged is dropped, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from keepset.core.ranges import Ranges, ranges_of, ranges_text
from keepset.errors import PendingSnapshotError
from keepset.format.commit import FOLDER, Commit, commit_name
from keepset.format.log import Log, LogState
from keepset.format.manifest import Manifest
from keepset.format.readers import readers_of
from keepset.snapshot.reading.recipes import FOLDER as RECIPES
from keepset.snapshot.upkeep.checking import Report
from keepset.snapshot.writing.lease import EXPIRY_S, live_holder
from keepset.snapshot.writing.run_id import new_run_id
from keepset.snapshot.writing.segments import Segments
from keepset.storage import Store


@dataclass(frozen=True)
class Repair:
    """What was done.

    ``computed_again`` says whether the next run of the pipeline brings the dropped elements back;
    those of a saved data set are gone. ``rewritten`` are segments whose elements were all sound,
    ``forgotten`` are old commits that were sound, but behind which one was missing.
    """

    url: str
    dropped_commits: tuple[str, ...]
    dropped: Ranges
    rewritten: tuple[str, ...]
    computed_again: bool
    forgotten: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = []
        if self.dropped_commits:
            names = ", ".join(self.dropped_commits)
            lines.append(f"dropped from the log: {names}; what came before them counts again")
        if self.forgotten:
            names = ", ".join(self.forgotten)
            lines.append(f"removed from the log: {names}; nothing depended on them")
        if self.rewritten:
            lines.append(f"written anew, with all their elements: {', '.join(self.rewritten)}")
        if self.dropped:
            lines.append(f"dropped {ranges_text(self.dropped)}")
            lines.append(
                "the next run of the pipeline computes them again, and only them"
                if self.computed_again
                else "load gives the others; to have all of them, save the data set again"
            )
        return "\n".join(lines) or "nothing was damaged"


def repair_snapshot(store: Store, report: Report) -> Repair:
    """Drop what a report calls damaged.

    Elements of a pipeline's snapshot are computed again by its next run. Those of a saved data set
    cannot be: the rest of them becomes its new version.
    """
    holder = live_holder(store, EXPIRY_S)
    if holder is not None:
        raise PendingSnapshotError(
            f"{store.url} is being written by {holder}; wait until that has ended, then repair"
        )
    # Newest first, so that there is never a gap.
    unusable = [commit_name(n) for n in sorted(report.commits, reverse=True) if n >= report.usable]
    for name in unusable:
        store.delete([name])
    # Nothing depends on what is older than a gap that is left.
    below = [n for n in report.commits if n < report.usable]
    gap = max((after for before, after in pairwise(below) if after > before + 1), default=0)
    forgotten = tuple(commit_name(n) for n in below if n < gap)
    for name in forgotten:
        store.delete([name])
    recipes = [damage.name for damage in report.damages if damage.name.startswith(RECIPES)]
    store.delete(recipes)
    # Before anything is added, so that no dropped commit comes back behind the new one, and before
    # this returns, so that what is called repaired stays so after a power cut.
    for folder, deleted in ((FOLDER, (*unusable, *forgotten)), (RECIPES, recipes)):
        if deleted:
            store.sync(folder)
    manifest, state = report.manifest, report.state
    bad = {damage.chunk for damage in report.damages if damage.chunk is not None}
    bad |= set() if state.damaged is None else set(state.damaged.chunks)
    numbers = sorted(bad)
    names = {d.name for d in report.damages if d.chunk is None} & manifest.segment_names
    run = new_run_id()
    sound = [
        n
        for n, chunk in enumerate(manifest.chunks)
        if manifest.segments[chunk.segment].entry.name in names and n not in bad
    ]
    dropped = ranges_of(manifest.positions(numbers).values())
    is_computed = _is_of_a_pipeline(state)
    if sound or any(damage.chunk is not None for damage in report.damages):
        whole = _rewritten(store, manifest, sound, run)
        _commit(Log(store), state, run, whole, numbers, dropped, is_computed)
    rewritten = {manifest.segments[manifest.chunks[n].segment].entry.name for n in sound}
    return Repair(
        store.url,
        tuple(reversed(unusable)),
        dropped,
        tuple(sorted(rewritten)),
        is_computed,
        forgotten,
    )


def _is_of_a_pipeline(state: LogState) -> bool:
    return state.version is None or "fingerprint" in state.version.commit.body


def _rewritten(store: Store, manifest: Manifest, numbers: Sequence[int], run: str) -> Manifest:
    """The same elements, with these chunks in new files."""
    if not numbers:
        return manifest
    readers = readers_of(manifest, store.url)
    codec = manifest.segments[manifest.chunks[numbers[0]].segment].codec
    segments = Segments(store, run, codec)
    try:
        for number in numbers:
            chunk = manifest.chunks[number]
            name, entry = manifest.segments[chunk.segment].entry.name, chunk.entry
            data = store.read_range(name, entry.offset, entry.stored_bytes)
            segments.write(chunk.shard, readers[chunk.segment].read(data, entry))
        rows = sum(manifest.chunks[number].entry.rows for number in numbers)
        return manifest.replaced(numbers, segments.cut(rows))
    finally:
        segments.abort()


def _commit(
    log: Log,
    state: LogState,
    run: str,
    manifest: Manifest,
    numbers: Sequence[int],
    dropped: Ranges,
    is_computed: bool,
) -> None:
    base = _base(state)
    body: dict[str, Any] = {
        key: base.body[key]
        for key in ("draws", "fingerprint", "facts", "aliases", "lineage", "recipe", "no_recipe")
        if key in base.body
    }
    kind = "repair"
    if not is_computed:
        kind = "replace"
        manifest = manifest.without(numbers)
        body["dropped"] = dropped
        if not manifest.elements:
            # Nothing is left, which is not the same as an empty data set.
            kind, reason = "reset", "all its elements were damaged"
            body = {"generation": state.generation + 1, "reason": reason}
    elif state.version is not None and not numbers:
        kind = "complete"
    else:
        body |= {"damaged": list(numbers), "resume": _resume(state)}
    if kind != "reset":
        body["manifest"] = manifest.to_json()
    commit = Commit(state.next_number, kind, run, time.time(), body)
    if not log.still_has(state, set()) or not log.add(state, commit):
        raise PendingSnapshotError(
            f"{log.store.url} was changed by somebody else while it was repaired; verify it again"
        )


def _base(state: LogState) -> Commit:
    """The commit that says which pipeline it is."""
    if state.version is not None:
        return state.version.commit
    if state.damaged is not None:
        return state.damaged.commit
    return state.appends[-1].commit


def _resume(state: LogState) -> dict[str, Any] | None:
    if state.appends:
        return state.appends[-1].resume
    return None if state.damaged is None else state.damaged.resume
