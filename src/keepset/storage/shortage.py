"""Shortages: errors about this process and its machine, which say nothing about the data.

Libraries report a lack of memory, of open files or of threads in many ways, and some in the same
way as damage. Whatever turns the errors of a decoder into "this file is damaged" asks here first.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from keepset.errors import KeepsetError, OutOfMemoryError, StorageError
from keepset.storage.failures import failed
from keepset.storage.memory_errors import FAILED_ALLOCATION, bytes_wanted, out_of_memory

# What an operating system says of arguments that were taken from damaged data, such as an offset.
_OF_ARGUMENTS: Final = {
    errno.EINVAL, errno.EOVERFLOW, errno.ERANGE, errno.EDOM, errno.EILSEQ, errno.EBADMSG,
}  # fmt: skip
# Of zstd, lz4, libdeflate, HDF5, C++ and threads of Python. An error may quote a value of the
# data, so these are not looked for in those that do.
_NO_MEMORY: Final = re.compile(
    r"out of memory|not enough memory|allocation[ _](?:error|failed)|memory allocation|bad_alloc"
    r"|(?:cannot|can't|unable to) allocate|can't start new thread",
    re.IGNORECASE,
)
# Nothing that is read at once takes so much: such a length comes out of damaged data.
_MOST_BYTES: Final = 1 << 40


def raise_shortage(
    error: BaseException,
    where: str,
    wanted_bytes: int | None = None,
    most_bytes: int = _MOST_BYTES,
) -> None:
    """Raise in place of an error that tells nothing about the data of ``where``; else return.

    What caused the error is looked at as well.

    Args:
        error: What reading or decoding raised.
        where: What was read, for people to read.
        wanted_bytes: How much memory that takes about, if the error does not say.
        most_bytes: Whatever asks for more at once is taken for a length that is damaged.

    Raises:
        OutOfMemoryError: There was too little memory.
        StorageError: The system could not read or open something.
    """
    shortage = _shortage_of(error, where, wanted_bytes, most_bytes)
    if shortage is None:
        return
    try:
        if shortage.__traceback__ is None:
            raise shortage from error
        raise shortage  # raised before, with a cause of its own
    finally:
        del shortage  # it would hold this frame, and this frame it


@contextmanager
def shortages_of(where: str) -> Iterator[None]:
    """Raise what ``raise_shortage`` says of any error that comes out of what is done here."""
    try:
        yield
    except KeepsetError:
        raise
    except Exception as error:
        raise_shortage(error, where)
        raise


def _shortage_of(
    error: BaseException, where: str, wanted_bytes: int | None, most_bytes: int
) -> OutOfMemoryError | StorageError | None:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OutOfMemoryError | StorageError):
            return cause
        if _is_no_memory(cause):
            if (bytes_wanted(cause) or 0) > most_bytes:
                return None
            return out_of_memory(cause, where, wanted_bytes)
        if isinstance(cause, OSError) and cause.errno and cause.errno not in _OF_ARGUMENTS:
            return failed("read", where, cause)
        cause = cause.__cause__
    return None


def _is_no_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError) and error.errno:
        return error.errno == errno.ENOMEM
    text = str(error)
    quotes_data = isinstance(error, ValueError | LookupError | TypeError)
    return bool(FAILED_ALLOCATION.search(text) or (not quotes_data and _NO_MEMORY.search(text)))
