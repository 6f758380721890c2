"""The commit log of a snapshot: what its commits, folded from the first to the last, say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from keepset.errors import CorruptSnapshotError
from keepset.format.commit import FOLDER, Commit, commit_name, commit_number, parse_commit
from keepset.format.manifest import Manifest, join, manifest_from_json
from keepset.storage import Store


@dataclass(frozen=True)
class Append:
    """Elements ``start`` to ``stop`` of one part of the input, and how to compute what follows."""

    commit: Commit
    part: int
    start: int
    stop: int
    manifest: Manifest
    resume: dict[str, Any]


@dataclass(frozen=True)
class Version:
    """A whole data set: the commit that completed or replaced it."""

    commit: Commit
    manifest: Manifest


@dataclass
class LogState:
    """What the log says.

    ``version`` is what readers get. ``appends`` are what an unfinished first pass has kept so far,
    ``generation`` counts how often one had to start over.
    """

    next_number: int = 0
    generation: int = 0
    version: Version | None = None
    appends: list[Append] = field(default_factory=list)

    @property
    def kept(self) -> Manifest | None:
        """The elements that a first pass has kept, in order; None if there are none."""
        return join([append.manifest for append in self.appends]) if self.appends else None

    def add(self, commit: Commit, where: str) -> None:
        """Take in the next commit."""
        body = commit.body
        try:
            if commit.kind == "append":
                self._append(commit)
            elif commit.kind == "reset":
                self.generation, self.appends = self.generation + 1, []
                self.version = None
            else:
                self.version = Version(commit, manifest_from_json(body["manifest"]))
                self.appends = []
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptSnapshotError(
                f"{where} says something that cannot be: {error}; was it written by another "
                "program? remove the snapshot's folder to start over",
                path=where,
            ) from error
        self.next_number = commit.number + 1

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


class Log:
    """Reads the commits of one snapshot and adds to them."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def numbers(self) -> list[int]:
        """The numbers of all commits there are; an error if one is missing in between."""
        found = (commit_number(info.name) for info in self.store.list(FOLDER))
        numbers = sorted(number for number in found if number is not None)
        if numbers != list(range(len(numbers))):
            missing = next(i for i, number in enumerate([*numbers, -1]) if i != number)
            raise CorruptSnapshotError(
                f"{self.store.url} lacks {commit_name(missing)}, although later commits are there; "
                "restore the file from a copy, or remove the snapshot's folder to start over",
                path=self.store.url,
            )
        return numbers

    def read(self, number: int) -> Commit:
        name = commit_name(number)
        return parse_commit(self.store.read(name), number, f"{self.store.url}/{name}")

    def state(self) -> LogState:
        """What the log says now. One commit is read if the newest is a whole version."""
        numbers = self.numbers()
        recent: list[Commit] = []
        for number in reversed(numbers):
            recent.append(self.read(number))
            if recent[-1].kind in ("complete", "replace"):
                break
        state = LogState()
        for commit in reversed(recent):
            state.add(commit, f"{self.store.url}/{commit_name(commit.number)}")
        return state

    def follow(self, state: LogState) -> bool:
        """Take in commits that were added since; whether there were any."""
        before = state.next_number
        while self.store.exists(commit_name(state.next_number)):
            commit = self.read(state.next_number)
            state.add(commit, f"{self.store.url}/{commit_name(commit.number)}")
        return state.next_number > before

    def add(self, state: LogState, commit: Commit) -> bool:
        """Create the next commit; False if somebody else has, who is then to be read first."""
        assert commit.number == state.next_number
        name = commit_name(commit.number)
        if not self.store.create(name, commit.to_bytes()):
            return False
        state.add(commit, f"{self.store.url}/{name}")
        return True

    def history(self) -> Iterator[Commit]:
        """All commits from the first."""
        return map(self.read, self.numbers())
