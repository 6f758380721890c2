"""A lack of memory while something is read: an error that says where, how much, and what to do."""

from __future__ import annotations

import re
from typing import Final

from keepset.core.size_text import size_text
from keepset.errors import OutOfMemoryError

# Of Arrow, whatever the class of its error, and of NumPy.
FAILED_ALLOCATION: Final = re.compile(r"\b(?:m|c|re)alloc of size (\d+) failed")
_NUMPY_SIZE: Final = re.compile(r"Unable to allocate ([\d.]+) ([KMGTPE]i)?B")
_POWERS: Final = {None: 0, "Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def out_of_memory(
    error: BaseException, where: str, wanted_bytes: int | None = None
) -> OutOfMemoryError:
    """The error that says that memory ran out while ``where`` was read.

    Args:
        error: What was raised, which may say how much memory was wanted.
        where: What was read, for people to read.
        wanted_bytes: How much it takes about, if the error does not say.
    """
    wanted = bytes_wanted(error) or wanted_bytes
    much = f": {size_text(wanted)} could not be had" if wanted else ""
    return OutOfMemoryError(
        f"memory ran out while {where} was read{much}; this says nothing about what is stored: "
        "raise the limit of this process (`ulimit -v`, or that of its container), close other "
        "programs, or use smaller batches and buffers, and run again",
        path=where,
        wanted_bytes=wanted,
    )


def bytes_wanted(error: BaseException) -> int | None:
    """How much memory could not be had, if the error says so."""
    text = str(error)
    if (found := FAILED_ALLOCATION.search(text)) is not None:
        return int(found[1])
    if (found := _NUMPY_SIZE.search(text)) is not None:
        return int(float(found[1]) * (1 << _POWERS[found[2]]))
    return None
