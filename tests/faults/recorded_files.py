"""Recorded files: every call that changes what is below a folder, with its bytes.

What a power cut may leave follows from the calls alone, so a scenario runs once, on an ordinary
folder, and ``disk_states`` works out from the recording what could be found afterwards. A call
that the recorder does not understand raises: what it missed, no test would see.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Literal, TypeAlias
from unittest import mock

Kind: TypeAlias = Literal[
    "create", "write", "sync file", "sync folder", "link", "unlink", "replace", "mkdir", "rmdir",
    "ack",
]  # fmt: skip


@dataclass(frozen=True)
class Mark:
    """What a caller was told is done: ``what`` returned, with ``stop`` elements stored by then."""

    what: str
    stop: int = 0


@dataclass(frozen=True)
class Call:
    """One call that succeeded. Paths are relative to the folder, which is ``""`` itself.

    ``file`` numbers the files that were created, because a descriptor outlives a name. ``site``
    says which functions a sync came from.
    """

    kind: Kind
    path: str = ""
    target: str = ""
    file: int = -1
    data: bytes = field(default=b"", repr=False)
    site: str = ""
    mark: Mark | None = None

    @property
    def sync(self) -> str:
        """The site of a sync, and the folder that it is about; empty for other calls."""
        folder = self.path if self.kind == "sync folder" else os.path.dirname(self.path)
        return f"{self.site} in {os.path.basename(folder)}" if self.site else ""

    def __str__(self) -> str:
        parts = [self.kind, self.path, self.target, self.site, str(self.mark or "")]
        return " ".join(part for part in parts if part)


class Recording:
    """The calls below a folder, in their order, of all threads."""

    def __init__(self, folder: str, *, syncs: bool = False) -> None:
        """Record below ``folder``; without ``syncs`` no disk waits for what the model decides."""
        self.calls: list[Call] = []
        self._folder, self._syncs = folder, syncs
        # One call at a time, so that the order of the recording is that of the file system.
        self._lock = threading.RLock()
        self._files = 0
        self._opened: dict[int, tuple[str, int]] = {}  # descriptors: path, and number of the file
        names = ("open", "close", "write", "writev", "fsync", "link", "unlink", "replace", "mkdir")
        self._os: dict[str, Callable[..., Any]] = {
            name: getattr(os, name) for name in (*names, "rmdir", *_UNKNOWN)
        }

    def ack(self, mark: Mark) -> None:
        """Note that a caller was told that something is done."""
        with self._lock:
            self.calls.append(Call("ack", mark=mark))

    def patches(self) -> dict[str, Callable[..., Any]]:
        """The functions to put in the place of those of ``os``."""
        named = {name: getattr(self, f"_{name}") for name in self._os if name not in _UNKNOWN}
        return named | {name: self._refusing(name) for name in _UNKNOWN}

    def _within(self, path: Any) -> str | None:
        """The path below the folder; None if it is elsewhere."""
        if isinstance(path, int):
            return None
        text = os.path.abspath(os.fsdecode(path))
        if text == self._folder:
            return ""
        below = self._folder + os.sep
        return text.removeprefix(below) if text.startswith(below) else None

    def _open(self, path: Any, flags: int, *more: Any, **named: Any) -> int:
        within = self._within(path)
        if within is None:
            return int(self._os["open"](path, flags, *more, **named))
        with self._lock:
            writes = bool(flags & (os.O_WRONLY | os.O_RDWR))
            if writes and not flags & os.O_EXCL:
                raise NotImplementedError(f"{within} is opened to be changed in place")
            descriptor = int(self._os["open"](path, flags, *more, **named))
            number = -1
            if writes:
                number, self._files = self._files, self._files + 1
                self.calls.append(Call("create", within, file=number))
            self._opened[descriptor] = (within, number)
            return descriptor

    def _close(self, descriptor: int) -> None:
        with self._lock:
            self._opened.pop(descriptor, None)
            self._os["close"](descriptor)

    def _write(self, descriptor: int, data: Any) -> int:
        return self._written("write", descriptor, data, [data])

    def _writev(self, descriptor: int, pieces: Any) -> int:
        return self._written("writev", descriptor, pieces, pieces)

    def _written(self, name: str, descriptor: int, data: Any, pieces: Any) -> int:
        with self._lock:
            count = int(self._os[name](descriptor, data))
            if descriptor in self._opened:
                path, file = self._opened[descriptor]
                copied = b"".join(bytes(piece) for piece in pieces)[:count]
                self.calls.append(Call("write", path, file=file, data=copied))
            return count

    def _fsync(self, descriptor: int) -> None:
        with self._lock:
            opened = self._opened.get(descriptor)
            if opened is None or self._syncs:
                self._os["fsync"](descriptor)
            if opened is not None:
                path, file = opened
                kind: Kind = "sync folder" if file < 0 else "sync file"
                self.calls.append(Call(kind, path, file=file, site=_site()))

    def _link(self, source: Any, target: Any, **named: Any) -> None:
        self._renamed("link", "link", source, target, named)

    def _replace(self, source: Any, target: Any, **named: Any) -> None:
        self._renamed("replace", "replace", source, target, named)

    def _renamed(self, name: str, kind: Kind, source: Any, target: Any, named: Any) -> None:
        paths = self._within(source), self._within(target)
        with self._lock:
            self._os[name](source, target, **named)
            if paths != (None, None):
                if named or None in paths:
                    raise NotImplementedError(f"{name} across the border of the folder: {paths}")
                self.calls.append(Call(kind, str(paths[0]), str(paths[1])))

    def _unlink(self, path: Any, **named: Any) -> None:
        self._changed("unlink", "unlink", path, named=named)

    def _rmdir(self, path: Any, **named: Any) -> None:
        self._changed("rmdir", "rmdir", path, named=named)

    def _mkdir(self, path: Any, *mode: Any, **named: Any) -> None:
        self._changed("mkdir", "mkdir", path, *mode, named=named)

    def _changed(self, name: str, kind: Kind, path: Any, *more: Any, named: Any) -> None:
        within = self._within(path)
        with self._lock:
            self._os[name](path, *more, **named)
            if within is not None:
                self.calls.append(Call(kind, within))

    def _refusing(self, name: str) -> Callable[..., Any]:
        def refuse(what: Any, *more: Any, **named: Any) -> Any:
            if self._within(what) is not None or what in self._opened:
                raise NotImplementedError(f"os.{name} below the folder is not recorded")
            return self._os[name](what, *more, **named)

        return refuse


# Ways to change a file that the library does not use, and that the model does not know.
_UNKNOWN = (
    "chmod", "ftruncate", "mkfifo", "mknod", "posix_fallocate", "pwrite", "pwritev", "remove",
    "rename", "symlink", "truncate",
)  # fmt: skip


# What only passes the wish for a sync on: whoever calls it is the one that wants it.
_PASSES_ON = "LocalStore.sync"


def _site() -> str:
    """Which function asked for a sync, and through which ones."""
    frame: FrameType | None = sys._getframe(2)
    names: list[str] = []
    while frame is not None and (len(names) < 2 or names[-1] == _PASSES_ON):
        names.append(frame.f_code.co_qualname)
        frame = frame.f_back
    return " > ".join(reversed(names))


@contextmanager
def recorded(folder: str | os.PathLike[str], *, syncs: bool = False) -> Iterator[Recording]:
    """Record what is done below a folder."""
    recording = Recording(os.path.abspath(os.fspath(folder)), syncs=syncs)
    with ExitStack() as stack:
        for name, function in recording.patches().items():
            stack.enter_context(mock.patch.object(os, name, function))
        yield recording
