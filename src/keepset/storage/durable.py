"""Durable files: written aside, synced, then named, in folders that survive a power cut."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from contextlib import suppress
from functools import cache
from typing import Any

from keepset.storage.failures import failed
from keepset.storage.patience import is_passing, pauses
from keepset.storage.store import TEMPORARY, BytesLike

# How file systems say that they have no hard links, or no more of them.
_NO_LINKS = {
    errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV,
}  # fmt: skip
_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_SYNC_FILE_RANGE_WRITE = 2
# The disk begins with what was written as soon as it is this much. Then it works while more is
# written, and there is little left to wait for when the file is synced.
_WRITE_BACK_BYTES = 8 << 20
# Pieces up to this size wait for a larger one, or for so many bytes of them, and go with it. Every
# call of the system lets other threads run, and waits for them before it goes on.
_SMALL_BYTES = 64 << 10
_MOST_WAITING_BYTES = 256 << 10
_MOST_PIECES = 512  # systems take no more than 1,024 in a call


class TemporaryFile:
    """A file in ``folder`` that no reader knows until it is given a name."""

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, TEMPORARY + os.urandom(8).hex())
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        # The user's umask decides who may read it, as for any other file.
        self._descriptor = os.open(self.path, flags, 0o666)
        self._process = os.getpid()
        self._written = self._begun = 0
        self._waiting: list[memoryview] = []
        self._waiting_bytes = 0

    def write(self, data: BytesLike) -> None:
        """Add bytes, which may be changed afterwards."""
        view = memoryview(data)
        is_small = len(view) <= _SMALL_BYTES
        self._waiting.append(memoryview(bytes(view)) if is_small else view)
        self._waiting_bytes += len(view)
        if not is_small or self._waiting_bytes >= _MOST_WAITING_BYTES:
            self._write_out()

    def _write_out(self) -> None:
        rest, self._waiting, self._waiting_bytes = self._waiting, [], 0
        waiting = None
        while rest:
            try:
                count = _write_together(self._descriptor, rest)
            except OSError as error:
                # What was written stays, so the rest may follow when there is room again.
                waiting = waiting or pauses(failed("write", self.path, error))
                if not is_passing(error) or next(waiting, waiting) is waiting:
                    raise
                continue
            self._written += count
            while rest and count >= len(rest[0]):
                count -= len(rest.pop(0))
            if count:
                rest[0] = rest[0][count:]
        if self._written - self._begun >= _WRITE_BACK_BYTES:
            _begin_write_back(self._descriptor, self._begun, self._written - self._begun)
            self._begun = self._written

    def sync(self) -> None:
        """Make the contents durable, and close the file."""
        self._write_out()
        os.fsync(self._descriptor)
        self._check_path()
        self.close()

    def _check_path(self) -> None:
        """Refuse to name another file than the one that was written.

        A folder that was moved away and copied back has a copy of this file, cut where the writer
        stood at that moment.
        """
        try:
            named = os.lstat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return  # which is what giving it a name says
        if not os.path.samestat(os.fstat(self._descriptor), named):
            reason = "its folder was moved or replaced while it was being written"
            raise FileNotFoundError(errno.ENOENT, reason, self.path)

    def close(self) -> None:
        """Close the file with all that was written to it."""
        try:
            self._write_out()
        finally:
            if self._descriptor >= 0:
                descriptor, self._descriptor = self._descriptor, -1
                os.close(descriptor)

    def discard(self) -> None:
        """Remove what is left of it. What cannot be removed now is swept later."""
        self._waiting = []
        with suppress(OSError):
            self.close()
        if self._process != os.getpid():
            return  # a fork of the writer: the file is not its own
        with suppress(OSError):
            os.unlink(self.path)


def name_if_free(path: str, final: str) -> None:
    """Give a file its name; ``FileExistsError`` if another file has that name.

    ``path`` may be gone afterwards or still be there as a second name.
    """
    try:
        os.link(path, final)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _rename_no_replace(path, final)


def _rename_no_replace(path: str, final: str) -> None:
    rename = _renameat2()
    number = errno.ENOSYS
    if rename is not None:
        names = os.fsencode(path), _AT_FDCWD, os.fsencode(final)
        if rename(_AT_FDCWD, *names, _RENAME_NOREPLACE) == 0:
            return
        number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        reason = "the file system has neither hard links nor renames that do not replace"
        raise OSError(errno.ENOTSUP, reason)
    raise OSError(number, os.strerror(number), final)


@cache
def _renameat2() -> Any:
    """The system call behind ``mv --no-clobber``, which Python does not offer."""
    if sys.platform != "linux":
        return None
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is not None:
        at, name = ctypes.c_int, ctypes.c_char_p
        function.argtypes = [at, name, at, name, ctypes.c_uint]
    return function


def _write_together(descriptor: int, pieces: list[memoryview]) -> int:
    """Write as much as the system takes at once; how much that was."""
    if hasattr(os, "writev"):
        return os.writev(descriptor, pieces[:_MOST_PIECES])
    return os.write(descriptor, pieces[0])


def _begin_write_back(descriptor: int, offset: int, length: int) -> None:
    """Ask the disk to begin with a part of a file, where the system has a way to ask.

    What goes wrong is told by the sync of the file, which asks for everything again.
    """
    sync_file_range = _sync_file_range()
    if sync_file_range is not None:
        sync_file_range(descriptor, offset, length, _SYNC_FILE_RANGE_WRITE)


@cache
def _sync_file_range() -> Any:
    if sys.platform != "linux":
        return None
    function = getattr(ctypes.CDLL(None), "sync_file_range", None)
    if function is not None:
        function.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
    return function


def make_folder(folder: str) -> None:
    """Make a folder, and those above it that are missing, and sync their entries.

    The entry of a folder that is there is synced too: whoever made it may have been killed before.
    """
    try:
        with suppress(FileExistsError):
            os.mkdir(folder)
    except FileNotFoundError:
        make_folder(os.path.dirname(folder))
        with suppress(FileExistsError):
            os.mkdir(folder)
    sync_folder(os.path.dirname(folder))


def sync_folder(folder: str) -> None:
    """Make the names in a folder durable."""
    try:
        # Opening a pipe in the place of the folder would wait for another process.
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except PermissionError:
        return  # it may be entered but not read: then there is no way to sync it
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems know no sync of folders: their names are durable at once.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)
