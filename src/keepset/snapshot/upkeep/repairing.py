"""Repairing: what is damaged is dropped, and nothing else.

A repair is a commit like any other. If commits are damaged, it comes behind them and says all that
they leave, so that no reader needs them. They stay where they are: a number that became free could
be taken by a writer that was paused since, and deleted by a repair that was.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from keepset.core.ranges import Ranges, ranges_of, ranges_text
from keepset.errors import PendingSnapshotError
from keepset.format.commit import (
    ABOUT_PIPELINE,
    FOLDER,
    LARGEST_NUMBER,
    Commit,
    commit_name,
)
from keepset.format.log import Log, LogState
from keepset.format.manifest import Manifest
from keepset.format.readers import readers_of
from keepset.snapshot.reading.recipes import FOLDER as RECIPES
from keepset.snapshot.upkeep.checking import Report
from keepset.snapshot.writing.lease import EXPIRY_S, live_holder
from keepset.snapshot.writing.run_id import new_run_id
from keepset.snapshot.writing.segments import Segments
from keepset.storage import Store
from keepset.storage.shortage import shortages_of


@dataclass(frozen=True)
class Repair:
    """What was done.

    ``computed_again`` says whether the next run of the pipeline brings the dropped elements back;
    those of a saved data set are gone. ``rewritten`` are segments whose elements were all sound.
    """

    url: str
    dropped_commits: tuple[str, ...]
    dropped: Ranges
    rewritten: tuple[str, ...]
    computed_again: bool

    def __str__(self) -> str:
        lines = []
        if self.dropped_commits:
            names = ", ".join(self.dropped_commits)
            lines.append(f"dropped from the log: {names}; what came before them counts again")
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
    with shortages_of(store.url):
        return _repaired(store, report)


def _repaired(store: Store, report: Report) -> Repair:
    holder = live_holder(store, EXPIRY_S)
    if holder is not None:
        raise PendingSnapshotError(
            f"{store.url} is being written by {holder}; wait until that has ended, then repair"
        )
    void = [number for number in report.commits if number >= report.usable]
    if void and void[-1] == LARGEST_NUMBER:
        # No writer has come so far, and no commit has a place behind it.
        store.delete([commit_name(LARGEST_NUMBER)])
        store.sync(FOLDER)
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
    left = [number for number in report.commits if number != LARGEST_NUMBER]
    is_log_damaged = any(number >= report.usable for number in left)
    if is_log_damaged or sound or any(damage.chunk is not None for damage in report.damages):
        whole = _rewritten(store, manifest, sound, run)
        kind, body = _what_is_left(state, whole, numbers, dropped)
        if is_log_damaged:
            body["void"] = report.usable
        _commit(Log(store), replace(state, next_number=left[-1] + 1), kind, run, body)
    # Last: a folder in the place of a recipe cannot be deleted, and elements do not depend on it.
    recipes = [damage.name for damage in report.damages if damage.name.startswith(RECIPES)]
    if recipes:
        store.delete(recipes)
        store.sync(RECIPES)  # what is called repaired stays so after a power cut
    rewritten = {manifest.segments[manifest.chunks[n].segment].entry.name for n in sound}
    return Repair(
        store.url,
        tuple(map(commit_name, void)),
        dropped,
        tuple(sorted(rewritten)),
        _is_of_a_pipeline(state),
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


def _what_is_left(
    state: LogState, manifest: Manifest, numbers: Sequence[int], dropped: Ranges
) -> tuple[str, dict[str, Any]]:
    """The kind and the body of a commit that says all there is to know."""
    if state.is_empty:
        return "reset", _nothing_left(state, "its log was damaged")
    base = _base(state)
    body: dict[str, Any] = {key: base.body[key] for key in ABOUT_PIPELINE if key in base.body}
    kind = "repair"
    if not _is_of_a_pipeline(state):
        kind, manifest = "replace", manifest.without(numbers)
        if dropped:
            body["dropped"] = dropped
        if dropped and not manifest.elements:
            # Nothing is left, which is not the same as an empty data set.
            return "reset", _nothing_left(state, "all its elements were damaged")
    elif state.version is not None and not numbers:
        kind = "complete"
    else:
        body |= {"damaged": list(numbers), "resume": _resume(state)}
    return kind, body | {"manifest": manifest.to_json()}


def _nothing_left(state: LogState, reason: str) -> dict[str, Any]:
    # What was removed stays so.
    return dict(state.removal.body) if state.removal is not None else {"reason": reason}


def _commit(log: Log, state: LogState, kind: str, run: str, body: dict[str, Any]) -> None:
    """Add the commit behind all that are there, damaged ones too: their numbers stay taken.

    So whatever was written, removed or repaired since the report was made is in its way.
    """
    number = state.next_number
    if kind == "reset":
        body["generation"] = number + 1
    commit = Commit(number, kind, run, time.time(), body)
    if not log.still_has(state, set()) or not log.add(state, commit):
        raise PendingSnapshotError(
            f"{log.store.url} was changed by another process while it was repaired; verify it again"
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
