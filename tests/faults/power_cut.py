"""Power cut: records a scenario, cuts the power behind each of its calls, and holds the law.

The law: elements are right or there is a clear error, and an error only where nothing was
promised; what a caller was told is done is not lost; every place can be opened and written on.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TypeAlias
from unittest import mock

from tests.faults.cut_looks import Held
from tests.faults.cut_scenarios import Scenario
from tests.faults.cut_work import Work
from tests.faults.disk_states import DiskStates, Tree
from tests.faults.recorded_files import Call, Mark, Recording, recorded

from keepset.format.commit import Commit
from keepset.format.log import Log, LogState
from keepset.snapshot.writing.first_pass import FirstPass

_PLACE = "place"
_TOLD = (Mark("returned"),)
_Key: TypeAlias = frozenset[tuple[str, bytes | None]]


@dataclass(frozen=True)
class Violation:
    """A state against the law: behind which call, what is wrong, and which files are there."""

    scenario: str
    number: int
    call: str
    what: str
    files: tuple[str, ...] = field(repr=False)

    def __str__(self) -> str:
        return (
            f"{self.scenario}, cut behind call {self.number} ({self.call}): {self.what}\n    "
            + "\n    ".join(self.files)
        )


@dataclass(frozen=True)
class State:
    """What a cut may leave: behind which call, what was promised by then, and what is there."""

    number: int
    call: str
    marks: tuple[Mark, ...]
    tree: Tree

    @property
    def key(self) -> _Key:
        return frozenset(self.tree.items())


@dataclass(frozen=True)
class Recorded:
    """What was there before, the calls that were made, and what a reader saw before them."""

    tree: Tree
    calls: tuple[Call, ...]
    before: Held

    def without(self, is_left_out: Callable[[Call], bool]) -> Recorded:
        """As if some of the calls had not been made."""
        calls = tuple(call for call in self.calls if not is_left_out(call))
        return Recorded(self.tree, calls, self.before)

    def states(self) -> Iterator[State]:
        """What may be found after a cut before the first call and behind each, with repetitions."""
        disk = DiskStates(self.tree)
        marks: tuple[Mark, ...] = ()
        for number, call in enumerate((None, *self.calls)):
            if call is not None:
                disk.apply(call)
                marks += (call.mark,) if call.mark else ()
            for tree in disk.after_a_cut():
                yield State(number, str(call or "nothing yet"), marks, tree)


class PowerCut:
    """One scenario in a folder of its own, which holds a folder for each state."""

    def __init__(self, scenario: Scenario, base: Path) -> None:
        self.scenario, self._base = scenario, base
        self._numbers = count()
        self._found: dict[_Key, Held | Exception] = {}

    def record(self) -> Recorded:
        """Do the work once, undisturbed, and check that the recording has all of it."""
        with _quick():
            root = self._folder()
            self.scenario.prepare(root / _PLACE)
            result = self._record(root, self.scenario.work)
            self.scenario.between(root / _PLACE)
        return result

    def _folder(self) -> Path:
        root = self._base / str(next(self._numbers))
        root.mkdir(parents=True)
        return root

    def _record(self, root: Path, work: Work) -> Recorded:
        held = self.scenario.look(root / _PLACE)
        before = read_tree(root)  # which looking may have added a note to
        with recorded(root) as recording, _marked_commits(recording):
            work.do(root / _PLACE)
            recording.ack(Mark("returned"))
        disk = DiskStates(before)
        for call in recording.calls:
            disk.apply(call)
        assert disk.now() == read_tree(root), "the recorder has missed a call"
        return Recorded(before, tuple(recording.calls), held)

    def violations(self, states: Iterable[State], before: Held, work: Work) -> Iterator[Violation]:
        """The states that a reader must not find, of the work that was cut off."""
        for state in states:
            found = self._look(state)
            if isinstance(found, Exception):
                yield self._violation(state, f"it cannot be opened: {_text(found)}")
            elif not work.holds(before, state.marks, found):
                promised = ", ".join(f"{mark.what} {mark.stop}" for mark in state.marks)
                what = f"{found} is found, {before} was before; promised: {promised or 'nothing'}"
                yield self._violation(state, what)

    def _look(self, state: State) -> Held | Exception:
        key = state.key
        if key not in self._found:
            with self._materialised(state.tree) as place:
                self._found[key] = self._seen(place)
        return self._found[key]

    def _seen(self, place: Path) -> Held | Exception:
        try:
            return self.scenario.look(place)
        except Exception as error:  # whatever it is, a reader met it
            return error

    def opens(self, state: State) -> bool:
        return not isinstance(self._look(state), Exception)

    def stuck(self, state: State) -> Violation | None:
        """The violation if a user cannot go on from a state as if nothing had been."""
        then = self.scenario.then
        before = self._look(state)
        if isinstance(before, Exception):
            return None  # reported by those who look
        with self._materialised(state.tree) as place:
            try:
                then.do(place)
                now = self.scenario.look(place)
            except Exception as error:
                return self._violation(state, f"one cannot go on: {_text(error)}")
        if not then.holds(before, _TOLD, now):
            return self._violation(state, f"after going on there is {now}")
        return None

    def second_cuts(self, state: State, most: int, seed: int) -> tuple[int, list[Violation]]:
        """Cut the power once more, while a user goes on; how often, and what came of it."""
        before = self._look(state)
        if isinstance(before, Exception):
            return 0, []
        with _quick(), self._materialised(state.tree) as place:
            again = self._record(place.parent, self.scenario.then)
        chosen = sample(distinct(again.states()), most, seed)
        found = list(self.violations(chosen, before, self.scenario.then))
        found += [violation for each in chosen if (violation := self.stuck(each))]
        return len(chosen), found

    @contextmanager
    def _materialised(self, tree: Tree) -> Iterator[Path]:
        root = self._folder()
        write_tree(root, tree)
        try:
            with _quick():
                yield root / _PLACE
        finally:
            shutil.rmtree(root)

    def _violation(self, state: State, what: str) -> Violation:
        files = tuple(
            path if data is None else f"{path}: {len(data)} bytes"
            for path, data in sorted(state.tree.items())
        )
        return Violation(self.scenario.name, state.number, state.call, what, files)


def distinct(states: Iterable[State]) -> list[State]:
    """Each tree with each set of promises once."""
    found: dict[tuple[_Key, tuple[Mark, ...]], State] = {}
    for state in states:
        found.setdefault((state.key, state.marks), state)
    return list(found.values())


def sample(states: Sequence[State], most: int, seed: int) -> list[State]:
    """Some of the states, in their order."""
    if len(states) <= most:
        return list(states)
    chosen = sorted(random.Random(seed).sample(range(len(states)), most))
    return [states[number] for number in chosen]


def read_tree(root: Path) -> Tree:
    tree: Tree = {}
    for path in root.rglob("*"):
        tree[path.relative_to(root).as_posix()] = None if path.is_dir() else path.read_bytes()
    return tree


def write_tree(root: Path, tree: Tree) -> None:
    for name in sorted(tree):
        data = tree[name]
        if data is None:
            (root / name).mkdir()
        else:
            (root / name).write_bytes(data)


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


@contextmanager
def _marked_commits(recording: Recording) -> Iterator[None]:
    """Note each commit when the call that creates it has returned."""
    add = Log.add

    def marked(log: Log, state: LogState, commit: Commit) -> bool:
        is_ours = add(log, state, commit)
        if is_ours:
            recording.ack(Mark(commit.kind, int(commit.body.get("stop", 0))))
        return is_ours

    with mock.patch.object(Log, "add", marked):
        yield


def _no_sync(descriptor: int) -> None:
    pass


@contextmanager
def _quick() -> Iterator[None]:
    """Commit every three elements, and let no disk wait: the model says what a sync does."""
    with ExitStack() as stack:
        due = property(lambda self: self._added >= 3)
        stack.enter_context(mock.patch.object(FirstPass, "is_due", due))
        stack.enter_context(mock.patch.object(os, "fsync", _no_sync))
        yield
