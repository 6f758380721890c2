"""Failures: what the errors of an operating system mean to the user of a store."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from keepset.errors import KeepsetError, ObjectMissingError, StorageError
from keepset.storage.memory_errors import out_of_memory

_SPACE = "free some space and run again"
_PERMISSION = "check who owns it and that you may read and write there"

_HINTS = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EFBIG: "the file system does not take files of this size; use another one",
    errno.EACCES: _PERMISSION,
    errno.EPERM: _PERMISSION,
    errno.EROFS: "the file system is mounted read-only; write to another one",
    errno.EIO: "the disk or the network file system is failing; see the system's log",
    errno.ENOMEM: "memory ran out; close other programs, or raise the limit of this process",
    errno.ESTALE: "the network file system lost it; mount it again and run again",
    errno.EMFILE: "too many files are open; raise the limit with `ulimit -n`",
    errno.ENFILE: "too many files are open on this machine; close some programs",
    errno.ENOTDIR: "a file is in the place of a folder; move it away",
    errno.EISDIR: "a folder is in the place of a file; move it away",
    errno.ENAMETOOLONG: "use a shorter path",
    errno.ELOOP: "the links lead in a circle; replace them by the file that is meant",
    errno.ESPIPE: "it is a pipe or a device; write what it has to a file, and name that",
    errno.ENXIO: "it is a socket or a device; write what it has to a file, and name that",
    errno.ENOTSUP: "use a file system that can create a file without replacing one",
}


def is_full(error: OSError) -> bool:
    """Whether there was no room left to write something."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


# The place cannot be what is needed of it. Time does not mend that.
_WRONG_PLACE = {errno.EINVAL, errno.EISDIR, errno.ENAMETOOLONG, errno.ENOTSUP}
# The place was named wrongly; or it is gone, if something was stored there before.
_NO_PLACE = {errno.ENOENT, errno.ENOTDIR}


def cannot_be_stored(error: StorageError, url: str, *, was_there: bool = False) -> bool:
    """Whether a place is full, locked or out of reach, so that a pass can go on without it.

    Not so for an error of another place, such as one that a stage of the pipeline reads.

    Args:
        error: What a store said.
        url: The place.
        was_there: Whether something was stored there before, by the same pass.
    """
    is_of_place = bool(url) and f"{error.url}/".startswith(f"{url.rstrip('/')}/")
    wrong = _WRONG_PLACE if was_there else _WRONG_PLACE | _NO_PLACE
    return is_of_place and error.errno not in wrong


def missing(url: str) -> ObjectMissingError:
    return ObjectMissingError(
        f"{url} does not exist; check the path, and whether something else removed it", url=url
    )


def failed(action: str, url: str, error: OSError) -> StorageError:
    """The error to raise for what the operating system said."""
    reason = error.strerror or str(error)
    hint = _HINTS.get(error.errno or 0, "see whether the place can be reached, and run again")
    return StorageError(f"cannot {action} {url}: {reason}; {hint}", url=url, number=error.errno)


@contextmanager
def reading(url: str, action: str = "read") -> Iterator[None]:
    """Turn errors into ours. A folder, or a file in place of a folder, means: no such object.

    A lack of memory is an ``OutOfMemoryError``, whatever raised it.
    """
    try:
        yield
    except KeepsetError:
        raise
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise missing(url) from error
    except MemoryError as error:
        raise out_of_memory(error, url) from error
    except OSError as error:
        if error.errno == errno.ENOMEM:
            raise out_of_memory(error, url) from error
        raise failed(action, url, error) from error


@contextmanager
def writing(url: str, action: str = "write") -> Iterator[None]:
    """Turn errors into ours, where something missing is a failure like any other."""
    try:
        yield
    except KeepsetError:
        raise
    except OSError as error:
        raise failed(action, url, error) from error
