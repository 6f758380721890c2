"""The commit log of a snapshot: what its commits, folded from the first to the last, say."""

from __future__ import annotations

import time
from collections.abc import Iterator, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from keepset.core.record import record
from keepset.errors import CorruptSnapshotError, ObjectMissingError, StorageError
from keepset.format.commit import (
    FOLDER,
    LARGEST_NUMBER,
    SELF_CONTAINED,
    Commit,
    commit_name,
    commit_number,
    is_removal,
    parse_commit,
)
from keepset.format.manifest import Manifest, join, manifest_from_json
from keepset.format.place import check_place
from keepset.storage import Store
from keepset.storage.shortage import shortages_of

_FEW = 20  # objects that are asked for one by one; more are listed


@record
class Append:
    """Elements ``start`` to ``stop`` of one part of the input, and how to compute what follows."""

    commit: Commit
    part: int
    start: int
    stop: int
    manifest: Manifest
    resume: dict[str, Any]


@record
class Version:
    """A whole data set: the commit that completed or replaced it."""

    commit: Commit
    manifest: Manifest


@record
class Damaged:
    """A data set of which some chunks are to be computed again, by their place in the manifest.

    ``resume`` is what an unfinished first pass needs to go on; None if all elements are kept.
    """

    commit: Commit
    manifest: Manifest
    chunks: tuple[int, ...]
    resume: dict[str, Any] | None


@dataclass
class LogState:
    """What the log says.

    ``version`` is what readers get. ``appends`` are what an unfinished first pass has kept so far,
    ``damaged`` is what a repair has left, ``generation`` counts how often a first pass had to start
    over. ``fenced`` are writers that were taken for dead: nothing of theirs may be committed. A
    ``changes`` that is the same as before says that nothing but fences was added, and ``changed_s``
    is when anything else last was. ``last`` is the newest commit, and those below the number
    ``durable`` are known to survive a power cut. ``anchor`` is the newest one that was part of the
    log when the log was listed, or when it was added here; None if there was none. ``removal`` is
    the commit that says that the snapshot was removed as a whole, if nothing but fences was added
    since.
    """

    next_number: int = 0
    generation: int = 0
    version: Version | None = None
    appends: list[Append] = field(default_factory=list)
    damaged: Damaged | None = None
    fenced: set[str] = field(default_factory=set)
    changes: int = 0
    changed_s: float = 0.0
    last: Commit | None = None
    durable: int = 0
    anchor: Commit | None = None
    removal: Commit | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is kept."""
        return self.version is None and self.damaged is None and not self.appends

    @property
    def kept(self) -> Manifest | None:
        """The elements that a first pass has kept, in order; None if there are none."""
        return join([append.manifest for append in self.appends]) if self.appends else None

    def add(self, commit: Commit, where: str) -> None:
        """Take in the next commit."""
        with shortages_of(where):
            self._add(commit, where)

    def _add(self, commit: Commit, where: str) -> None:
        try:
            if commit.kind == "fence":
                self.fenced.update(map(str, commit.body["runs"]))
            else:
                self._change(commit)
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise CorruptSnapshotError(
                f"{where} says something that cannot be: {error}; was it written by another "
                "program? `keepset verify --repair` drops it",
                path=where,
            ) from error
        self.next_number, self.last = commit.number + 1, commit

    def _change(self, commit: Commit) -> None:
        self.changes += 1
        self.changed_s = commit.created_s
        body = commit.body
        if "void" in body and self.next_number > int(body["void"]):
            self.generation = commit.number + 1  # what was taken in before does not count
        self.removal = commit if is_removal(commit) else None
        if commit.kind == "append":
            self._append(commit)
            self.damaged = None
            return
        self.version, self.damaged, self.appends = None, None, []
        if commit.kind == "reset":
            self.generation = int(body["generation"])
            self.fenced.update(map(str, body.get("runs", ())))
            return
        manifest = manifest_from_json(body["manifest"])
        if commit.kind == "repair":
            self.damaged = _damaged(commit, manifest)
        else:
            self.version = Version(commit, manifest)

    def _append(self, commit: Commit) -> None:
        body = commit.body
        manifest = manifest_from_json(body["manifest"])
        append = Append(
            commit, int(body["part"]), int(body["start"]), int(body["stop"]), manifest,
            dict(body["resume"]),
        )  # fmt: skip
        expected = self.appends[-1].stop if self.appends else 0
        if append.start != expected or append.stop - append.start != manifest.elements:
            raise ValueError(
                f"elements {append.start} to {append.stop} follow on element {expected}"
            )
        self.appends.append(append)


def _damaged(commit: Commit, manifest: Manifest) -> Damaged:
    chunks, resume = commit.body["damaged"], commit.body["resume"]
    if not all(type(n) is int and 0 <= n < len(manifest.chunks) for n in chunks):
        raise ValueError("a chunk is called damaged that is not there")
    return Damaged(commit, manifest, tuple(chunks), None if resume is None else dict(resume))


class Log:
    """Reads the commits of one snapshot and adds to them."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def numbers(self) -> list[int]:
        """The numbers of all commits there are. Some may be missing in between.

        What is no file in the place of a commit counts as one that is damaged: nothing can be
        created under its number, and what was there is unknown.
        """
        numbers = self.listed()
        passed_over: list[int] = []
        # A listing may pass over what is added while it is made, and still give what came later.
        for before, number in pairwise(numbers):
            for between in range(before + 1, number):
                if not self.store.exists(commit_name(between)):
                    break
                passed_over.append(between)
        return sorted(numbers + passed_over) if passed_over else numbers

    def listed(self) -> list[int]:
        """The numbers that a single listing has. One that is added meanwhile may be passed over."""
        try:
            names = self.store.names(FOLDER)
        except StorageError:
            check_place(self.store, FOLDER)
            raise
        if not names:
            check_place(self.store, FOLDER)
        return sorted(number for number in map(commit_number, names) if number is not None)

    def _lacks(self, number: int) -> CorruptSnapshotError:
        return CorruptSnapshotError(
            f"{self.store.url} lacks {commit_name(number)}, although later commits are there; "
            "restore the file from a copy, or drop those with `keepset verify --repair`",
            path=self.store.url,
        )

    def read(self, number: int) -> Commit:
        name = commit_name(number)
        try:
            data = self.store.read(name)
        except (ObjectMissingError, StorageError):
            check_place(self.store, name)
            raise
        where = f"{self.store.url}/{name}"
        with shortages_of(where):
            return parse_commit(data, number, where)

    def state(self) -> LogState:
        """What the log says now. One commit is read if the newest is a whole version."""
        numbers = self.numbers()
        while True:
            try:
                recent = self._recent(numbers)
                break
            except (ObjectMissingError, CorruptSnapshotError):
                # Commits go once a newer one says that nothing is kept: look for that one.
                before, numbers = numbers, self.numbers()
                if numbers == before:
                    raise
        state = LogState()
        for commit in reversed(recent):
            state.add(commit, f"{self.store.url}/{commit_name(commit.number)}")
        state.anchor = state.last
        return state

    def _recent(self, numbers: list[int]) -> list[Commit]:
        """The newest commit and those before it that it rests on, the newest first.

        What is older may be missing: it is void, and a removal or a power cut may have left any
        part of it.
        """
        recent: list[Commit] = []
        for number in reversed(numbers):
            if recent and number != recent[-1].number - 1:
                raise self._lacks(recent[-1].number - 1)
            recent.append(self.read(number))
            if recent[-1].kind in SELF_CONTAINED:
                return recent
        if numbers and numbers[0] > 0:
            raise self._lacks(numbers[0] - 1)
        return recent

    def follow(self, state: LogState) -> bool:
        """Take in commits that were added since; whether there were any.

        If the commit that the state rests on is gone, the snapshot was removed, and the state
        becomes that of the log as it is now.
        """
        before = state.next_number
        try:
            while self.store.exists(commit_name(state.next_number)):
                commit = self.read(state.next_number)
                state.add(commit, f"{self.store.url}/{commit_name(commit.number)}")
        except ObjectMissingError:
            pass  # removed while we look
        except StorageError:
            check_place(self.store, commit_name(state.next_number))
            raise
        if state.last is not None and not self.store.exists(commit_name(state.last.number)):
            self._look_again(state)
        return state.next_number > before

    def _look_again(self, state: LogState) -> None:
        """Make a state that rests on commits that are gone one of the log as it is."""
        now = self.state()
        now.changes = state.changes + 1
        now.fenced |= state.fenced
        vars(state).update(vars(now))

    def add(self, state: LogState, commit: Commit) -> bool:
        """Create the next commit; False if another writer has, whose commit is to be read first.

        False also if the number was free because the snapshot was removed since the state was
        read: then the commit is not part of the log, and the state becomes that of the log.

        An error if that cannot be told because a commit is damaged. Then the new one stays where it
        is: whether it counts is for a repair to say, which needs no number to be free.
        """
        assert commit.number == state.next_number
        name = commit_name(commit.number)
        if commit.number > LARGEST_NUMBER:
            raise CorruptSnapshotError(
                f"{self.store.url} has a commit of the largest number that there is; drop it with "
                "`keepset verify --repair`",
                path=self.store.url,
            )
        # Tried before it is written: what cannot be read would stop everybody from then on.
        after = replace(state, appends=list(state.appends), fenced=set(state.fenced))
        after.add(commit, f"{self.store.url}/{name}")
        if state.durable < state.next_number:
            # Another writer may have been stopped between naming a commit and syncing its name.
            # If a power cut took that one back and left ours, the gap would stop everybody.
            self.store.sync(FOLDER)
        try:
            is_ours = self.store.create(name, commit.to_bytes())
        except StorageError:
            check_place(self.store, name)
            raise
        if not is_ours:
            return False
        after.durable, after.anchor = after.next_number, commit
        if not self._follows(state.anchor, commit.number):
            self.store.delete([name])
            self._look_again(state)
            return False
        vars(state).update(vars(after))
        return True

    def _follows(self, anchor: Commit | None, number: int) -> bool:
        """Whether a commit that was just created is part of the log.

        It is not if its number was free because a removal has deleted the commit that had it. The
        removal deletes the oldest commits first, so one that was part of the log before is gone by
        then. The commit right before this one may not be part of the log: its writer may not have
        looked yet. Without an anchor, what says that the snapshot was removed is found by listing.
        """
        if anchor is not None:
            try:
                return self.read(anchor.number).identity == anchor.identity
            except ObjectMissingError:
                return False
        newer = [each for each in self.listed() if each > number]
        try:
            return not any(map(is_removal, map(self.read, newer)))
        except ObjectMissingError:
            return False

    def extend(self, state: LogState, kind: str, run: str, body: dict[str, Any]) -> bool:
        """Create the next commit of a run, which rests on what the log says.

        False if that has changed, or if the run was fenced. A fence against others changes nothing.
        """
        committed = {name for append in state.appends for name in append.manifest.segment_names}
        listed = (segment["name"] for segment in body["manifest"]["segments"])
        written = {name for name in listed if name.startswith(f"segments/{run}-")} - committed
        changes = state.changes
        while self.still_has(state, written):
            if self.add(state, Commit(state.next_number, kind, run, time.time(), body)):
                return True
            self.follow(state)
            if state.changes != changes or run in state.fenced:
                return False
        return False

    def still_has(self, state: LogState, segments: Set[str]) -> bool:
        """Whether the last commit of a state is still there, and so are these segments.

        If not, a writer that rests on them seemed dead to somebody, who has removed the snapshot or
        dropped what was damaged. The log that it knows is no more.
        """
        if not self._is_there(state.last):
            return False
        if len(segments) <= _FEW:
            return all(map(self.store.exists, segments))
        return segments <= {info.name for info in self.store.list("segments/")}

    def _is_there(self, commit: Commit | None) -> bool:
        if commit is None:
            return True
        try:
            return self.read(commit.number).identity == commit.identity
        except (ObjectMissingError, CorruptSnapshotError):
            return False

    def history(self) -> Iterator[Commit]:
        """All commits that there are, from the oldest."""
        return map(self.read, self.numbers())

    def backwards(self) -> Iterator[Commit]:
        """All commits that there are, from the newest. Those that no reader needs come last."""
        return map(self.read, reversed(self.numbers()))
