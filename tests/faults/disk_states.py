"""Disk states: what may be found below a folder after a power cut.

The model is as hard as POSIX allows. Of a file, all that was not synced may be there, missing, cut
in the middle or zeros. Of the changes to the entries of folders that were not synced, any may be
there without the others, whichever came first; a rename is one change. A sync of a file says
nothing of its name, and a sync of a folder nothing of that folder's own name. What is below a
folder whose entry is lost is lost too.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count, islice, product
from typing import TypeAlias

from tests.faults.recorded_files import Call

# All that is below a folder: the bytes of a file, or None for a folder.
Tree: TypeAlias = dict[str, bytes | None]

_MOST_CHANGES = 8  # of which all subsets are tried; of more, as many as are given here:
_SUBSETS = 64
_MOST_DATA = 16  # ways in which the data of all files together may be lost
_ROOT = 0


@dataclass
class _File:
    """Bytes that a sync has made durable, and those that were written since."""

    durable: bytes = b""
    pending: bytes = b""
    _variants: list[bytes] = field(default_factory=list)

    def write(self, data: bytes) -> None:
        self.pending += data
        self._variants = []

    def sync(self) -> None:
        self.durable, self.pending, self._variants = self.durable + self.pending, b"", []

    @property
    def whole(self) -> bytes:
        return self.variants[0]

    @property
    def variants(self) -> list[bytes]:
        """Kept, lost, torn and zeros; the same objects each time, as they are often compared."""
        if not self._variants:
            before, now = self.durable, self.pending
            found = [before + now, before, before + now[: len(now) // 2], before + bytes(len(now))]
            self._variants = list(dict.fromkeys(found))
        return self._variants


@dataclass(frozen=True)
class _Change:
    """Entries of a folder that are set, or removed, in one step."""

    folder: int
    entries: dict[str, int | None]


class DiskStates:
    """A folder, the calls that have changed it, and what a cut behind them may leave."""

    def __init__(self, tree: Tree, seed: int = 0) -> None:
        """Begin with what is durable."""
        self._seed, self._calls = seed, 0
        self._numbers = count(_ROOT + 1)
        self._files: dict[int, _File] = {}
        self._durable: dict[int, dict[str, int]] = {_ROOT: {}}
        self._view: dict[int, dict[str, int]] = {_ROOT: {}}
        self._pending: list[_Change] = []
        self._created: dict[int, int] = {}  # by the number of the recorder
        for path in sorted(tree):
            folder, name = self._place(path)
            data = tree[path]
            node = self._new_folder() if data is None else self._new_file(data)
            self._durable[folder][name] = self._view[folder][name] = node

    def _new_folder(self) -> int:
        node = next(self._numbers)
        self._durable[node], self._view[node] = {}, {}
        return node

    def _new_file(self, data: bytes = b"") -> int:
        node = next(self._numbers)
        self._files[node] = _File(data)
        return node

    def _folder(self, path: str) -> int:
        node = _ROOT
        for name in filter(None, path.split("/")):
            node = self._view[node][name]
        return node

    def _place(self, path: str) -> tuple[int, str]:
        above, _, name = path.rpartition("/")
        return self._folder(above), name

    def apply(self, call: Call) -> None:
        """Take in the next call."""
        self._calls += 1
        if call.kind == "write":
            self._files[self._created[call.file]].write(call.data)
        elif call.kind == "sync file":
            self._files[self._created[call.file]].sync()
        elif call.kind == "sync folder":
            self._sync_folder(self._folder(call.path))
        elif call.kind == "create":
            node = self._created[call.file] = self._new_file()
            self._change(call.path, node)
        elif call.kind == "mkdir":
            self._change(call.path, self._new_folder())
        elif call.kind in ("unlink", "rmdir"):
            self._change(call.path, None)
        elif call.kind in ("link", "replace"):
            self._rename(call)

    def _change(self, path: str, node: int | None) -> None:
        folder, name = self._place(path)
        self._add(_Change(folder, {name: node}))

    def _rename(self, call: Call) -> None:
        (folder, name), (other, target) = self._place(call.path), self._place(call.target)
        if folder != other:
            raise NotImplementedError(f"a rename between folders: {call}")
        node = self._view[folder][name]
        gone = {name: None} if call.kind == "replace" else {}
        self._add(_Change(folder, {**gone, target: node}))

    def _add(self, change: _Change) -> None:
        _set(self._view[change.folder], change)
        self._pending.append(change)

    def _sync_folder(self, folder: int) -> None:
        for change in self._pending:
            if change.folder == folder:
                _set(self._durable[folder], change)
        self._pending = [change for change in self._pending if change.folder != folder]

    def now(self) -> Tree:
        """What a reader sees while the power is on."""
        return next(self._trees(self._pending))

    def after_a_cut(self) -> Iterator[Tree]:
        """What may be found if the power is cut now; the same tree may come more than once."""
        for changes in self._subsets():
            yield from self._trees(changes)

    def _subsets(self) -> Iterator[list[_Change]]:
        changes = self._pending
        if len(changes) <= _MOST_CHANGES:
            choices: Iterable[Iterable[bool]] = product((True, False), repeat=len(changes))
        else:
            choices = islice(self._chosen(len(changes)), _SUBSETS)
        for choice in choices:
            yield [change for change, is_there in zip(changes, choice, strict=True) if is_there]

    def _chosen(self, size: int) -> Iterator[list[bool]]:
        """All, none, all but one, and then at random."""
        yield [True] * size
        yield [False] * size
        rng = random.Random(self._seed * 1_000_003 + self._calls)
        for lost in rng.sample(range(size), min(size, _SUBSETS // 2)):
            yield [number != lost for number in range(size)]
        while True:
            yield [rng.random() < 0.5 for _ in range(size)]

    def _trees(self, changes: list[_Change]) -> Iterator[Tree]:
        folders = dict(self._durable)
        for folder in {change.folder for change in changes}:
            folders[folder] = dict(folders[folder])
        for change in changes:
            _set(folders[change.folder], change)
        nodes = dict(_reached(folders, _ROOT, ""))
        unsure = [
            node
            for node in dict.fromkeys(nodes.values())
            if node in self._files and len(self._files[node].variants) > 1
        ]
        certain: Tree = {
            path: self._files[node].whole if node in self._files else None
            for path, node in nodes.items()
        }
        for choice in self._data(unsure):
            tree = dict(certain)
            for path, node in nodes.items():
                if node in choice:
                    tree[path] = choice[node]
            yield tree

    def _data(self, unsure: list[int]) -> Iterator[dict[int, bytes]]:
        variants = [self._files[node].variants for node in unsure]
        total = 1
        for each in variants:
            total *= len(each)
        if total <= _MOST_DATA:
            for chosen in product(*variants):
                yield dict(zip(unsure, chosen, strict=True))
            return
        rng = random.Random(self._seed * 1_000_003 + self._calls)
        for number in range(_MOST_DATA):
            some = [each[number] if number < len(each) else rng.choice(each) for each in variants]
            yield dict(zip(unsure, some, strict=True))


def _set(entries: dict[str, int], change: _Change) -> None:
    for name, node in change.entries.items():
        if node is None:
            entries.pop(name, None)
        else:
            entries[name] = node


def _reached(
    folders: dict[int, dict[str, int]], folder: int, prefix: str
) -> Iterator[tuple[str, int]]:
    for name, node in folders[folder].items():
        yield prefix + name, node
        if node in folders:
            yield from _reached(folders, node, f"{prefix}{name}/")
