"""Filling: damaged elements are computed again and put back in their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from keepset.core.chunk import EMPTY, Chunk, concat
from keepset.core.chunk_spec import chunk_spec
from keepset.core.cursor import Marked
from keepset.core.dtypes import Array
from keepset.core.fingerprint import Difference
from keepset.core.node import Node
from keepset.core.run import draws_by_place, start
from keepset.core.spec import common_supertype
from keepset.errors import CorruptSnapshotError, ElementError, StateError
from keepset.format.commit import ABOUT_PIPELINE
from keepset.format.layout import Layout
from keepset.format.log import Damaged, Log, LogState
from keepset.format.manifest import Manifest
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.writing.resume_state import state_for
from keepset.snapshot.writing.segments import Segments
from keepset.snapshot.writing.staging import copied

_MOST_ROWS = 1024


def fill_damaged(
    parent: Node,
    log: Log,
    state: LogState,
    run: str,
    is_unmoved: Callable[[Sequence[Difference]], bool],
) -> bool | None:
    """Compute what a repair has dropped, and commit the whole.

    Only the damaged elements are computed, and what it takes to get there from the nearest place
    that the log remembers. False if the pipeline yields other elements than it did; None if it is
    not what it was when the pass began, or not what worker processes have, so that nothing is
    committed: ``is_unmoved`` says so, given what the workers have otherwise.
    """
    damaged = state.damaged
    assert damaged is not None
    upstream = _Upstream(parent, _known_places(log, damaged))
    try:
        filled = _filled(upstream, log, damaged, run)
    finally:
        upstream.close()
    if filled is None:
        return False
    if not is_unmoved(upstream.unlike):
        return None
    body: dict[str, Any] = {
        key: damaged.commit.body[key] for key in ABOUT_PIPELINE if key in damaged.commit.body
    }
    body["manifest"] = filled.to_json()
    kind = "complete"
    if damaged.resume is not None:
        kind = "append"
        body |= {"part": 0, "start": 0, "stop": filled.elements, "resume": damaged.resume}
    if not log.extend(state, kind, run, body):
        # What another writer was ahead with counts. If a commit was damaged meanwhile, this is an
        # error now: the caller would try for ever.
        log.state()
    return True


def are_same(one: Chunk, other: Chunk) -> bool:
    """Whether two elements are the same to the last bit."""
    try:
        layout = Layout(common_supertype([chunk_spec(one), chunk_spec(other)]))
    except ElementError:
        return False
    return bool(layout.encode(one).serialize().equals(layout.encode(other).serialize()))


def _known_places(log: Log, damaged: Damaged) -> list[tuple[int, dict[str, Any]]]:
    """Positions from which the pipeline can be run, in order, with what that takes."""
    draws = damaged.commit.body.get("draws")
    found = []
    for number in reversed(log.numbers()):
        try:
            commit = log.read(number)
        except CorruptSnapshotError:
            break  # what is older may belong to another generation
        if commit.kind == "reset" or "void" in commit.body:
            break
        if commit.kind == "append":
            try:
                stop, resume = int(commit.body["stop"]), commit.body["resume"]
                draws = draws or resume["draws"]
            except (KeyError, TypeError, ValueError):
                break  # nonsense, which is as good as damage
            found.append((stop - 1, resume))
    return [(0, {"state": None, "draws": draws}), *reversed(found)]


class _Upstream:
    """The pipeline, which can be moved forward to a position."""

    def __init__(self, node: Node, places: Sequence[tuple[int, dict[str, Any]]]) -> None:
        self._node, self._places = node, places
        self._run: Any = None
        self._cursor: Marked | None = None
        self._at = 0
        self.unlike: Sequence[Difference] = ()  # what worker processes have otherwise

    def move_to(self, position: int) -> bool:
        """Stand before the element at ``position``; False if there are not so many."""
        at, resume = max(
            (place for place in self._places if place[0] <= position), key=lambda place: place[0]
        )
        if self._cursor is None or not at <= self._at <= position:
            self._begin(at, resume)
        assert self._cursor is not None
        while self._at < position:
            skipped = self._cursor.skip(position - self._at)
            if not skipped:
                return False
            self._at += skipped
        return True

    def read(self, rows: int) -> Chunk:
        assert self._cursor is not None
        chunk = self._cursor.read(min(rows, _MOST_ROWS))
        self._at += len(chunk)
        return chunk

    def _begin(self, at: int, resume: dict[str, Any]) -> None:
        self.close()
        draws = draws_by_place(self._node, resume["draws"] or {})
        self._run = start(self._node, draws).in_order()._replace(computes_anew=True)
        self._cursor = Marked(self._node.cursor(self._run))
        self._at = at
        if resume["state"] is not None:
            self._cursor.restore(state_for(self._node, resume["state"]))

    def close(self) -> None:
        if self._cursor is not None:
            self._cursor.close()
            self._run.session.close()
            self._cursor = None
            self.unlike = self.unlike or self._run.session.unlike


def _filled(upstream: _Upstream, log: Log, damaged: Damaged, run: str) -> Manifest | None:
    whole = damaged.manifest
    by_chunk = whole.positions(damaged.chunks)
    if not by_chunk:
        return whole
    codec = whole.segments[whole.chunks[damaged.chunks[0]].segment].codec
    layout = Layout(whole.spec)
    segments = Segments(log.store, run, codec, layout)
    positions = np.concatenate(list(by_chunk.values()))
    owners = np.repeat(list(by_chunk), [len(p) for p in by_chunk.values()])
    in_order = np.argsort(positions)
    positions, owners = positions[in_order], owners[in_order]
    kept = _Neighbours(Kept(log.store, whole), positions)
    try:
        collected: dict[int, list[Chunk]] = {number: [] for number in by_chunk}
        written: list[int] = []
        gaps = np.flatnonzero(np.diff(positions) != 1) + 1
        stretches = list(zip(np.split(positions, gaps), np.split(owners, gaps), strict=True))
        for i, (stretch, owned) in enumerate(stretches):
            # Elements beside the damaged ones, which are still kept, tell whether the pipeline
            # gives the same as it did.
            compares = i in (0, len(stretches) - 1)
            if compares and not kept.agree_before(int(stretch[0]), upstream):
                return None
            if not _collect(upstream, stretch, owned, collected):
                return None
            if compares and not kept.agree_behind(int(stretch[-1]), upstream):
                return None
            for number in np.unique(owned).tolist():
                if sum(map(len, collected[number])) == len(by_chunk[number]):
                    segments.write(whole.chunks[number].shard, concat(collected.pop(number)))
                    written.append(number)
        return whole.replaced(written, segments.cut(len(positions)))
    except (StateError, ElementError):
        return None
    finally:
        segments.abort()


def _collect(
    upstream: _Upstream, stretch: Array, owned: Array, collected: dict[int, list[Chunk]]
) -> bool:
    """Compute neighbouring elements; False if the pipeline ends before."""
    if not upstream.move_to(int(stretch[0])):
        return False
    done = 0
    while done < len(stretch):
        chunk = upstream.read(len(stretch) - done)
        if not len(chunk):
            return False
        own = copied(chunk)
        owners = owned[done : done + len(chunk)]
        for number in np.unique(owners).tolist():
            collected[number].append(own.take(np.flatnonzero(owners == number)))
        done += len(chunk)
    return True


class _Neighbours:
    """Compares elements that are kept with what the pipeline gives for them."""

    def __init__(self, kept: Kept, missing: Array) -> None:
        self._kept, self._missing = kept, set(missing.tolist())

    def agree_before(self, position: int, upstream: _Upstream) -> bool:
        return self._agree(position - 1, upstream)

    def agree_behind(self, position: int, upstream: _Upstream) -> bool:
        return self._agree(position + 1, upstream)

    def _agree(self, position: int, upstream: _Upstream) -> bool:
        if not 0 <= position < len(self._kept) or position in self._missing:
            return True
        chunk = upstream.read(1) if upstream.move_to(position) else EMPTY
        place = self._kept.rows_at(np.array([position]))
        return len(chunk) == 1 and are_same(chunk, self._kept.gather(place))
