"""Regular files: opening what has contents to read, and no pipe, device or socket in its place.

Opening a named pipe waits until another process writes to it, which may be never, and a device may
have no end.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import IO, Any, BinaryIO, Final

from keepset.errors import StorageError

# Does not wait for the other end of a pipe; for files it means nothing. Not every system has it.
NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0)
_KINDS: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_regular(path: str) -> BinaryIO:
    """Open a file to read its bytes.

    Raises:
        StorageError: Something else than a file or a folder is there.
        OSError: The file cannot be opened.
    """
    if "\0" in path:
        raise StorageError(
            f"cannot read {path!r}: no path has a NUL character; check the list or the program "
            "that this path comes from",
            url=path,
        )
    return open(path, "rb", opener=_opened)


def open_regular_text(path: str) -> IO[str]:
    """Open a file to read its text, which is UTF-8."""
    return open(path, encoding="utf-8", opener=_opened)


def check_regular(facts: os.stat_result, path: str) -> None:
    """Raise unless these are the facts of a file or a folder."""
    if stat.S_ISREG(facts.st_mode) or stat.S_ISDIR(facts.st_mode):
        return
    kind = kind_of(facts)
    raise StorageError(
        f"cannot read {path}: it is {kind}, which is not read; write what it has to a file, and "
        "name that",
        url=path,
    )


def file_to_replace(path: str) -> str:
    """The file that writing to ``path`` makes or replaces: the one that links lead to.

    Raises:
        StorageError: There is a folder, a device, a pipe or a socket, which no file may replace:
            renaming one over ``/dev/null`` would succeed for an administrator.
    """
    try:
        facts = os.stat(path)
    except FileNotFoundError:
        return os.path.realpath(path)
    if not stat.S_ISREG(facts.st_mode):
        raise StorageError(
            f"cannot write {path}: it is {kind_of(facts)}, and a file would take its place; name "
            "a file",
            url=path,
            number=errno.EISDIR if stat.S_ISDIR(facts.st_mode) else errno.EEXIST,
        )
    return os.path.realpath(path)


def kind_of(facts: os.stat_result) -> str:
    """What these facts are of, in words."""
    if stat.S_ISREG(facts.st_mode):
        return "a file"
    return _KINDS.get(stat.S_IFMT(facts.st_mode), "no regular file")


def open_at_once(path: Any, flags: int) -> int:
    """Open a file without waiting for the other end of a pipe; the descriptor."""
    try:
        return os.open(path, flags | NO_WAIT)
    except BlockingIOError:
        # Another program, such as a file server, has a lease on it and gives it up on request.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise
        return os.open(path, flags)


def _opened(path: Any, flags: int) -> int:
    descriptor = open_at_once(path, flags)
    try:
        check_regular(os.fstat(descriptor), os.fsdecode(path))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
