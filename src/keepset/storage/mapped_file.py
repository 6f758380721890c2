"""Mapped files: the bytes of a file in memory, without the file being open.

There may be more segments than a process may have open files, and each is mapped as long as
something is read from it. The maps of Python hold a descriptor each before version 3.13.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Final, cast

import numpy as np

from keepset.core.arrays import MappedFile

_HAS_TRACKFD: Final = sys.version_info >= (3, 13)
_MAP_FIXED: Final = 0x10  # on Linux, macOS and the BSDs
# Where replacing a map has failed, its addresses may be somebody else's: it is never let go of.
_lost: list[mmap.mmap] = []


def mapped_file(descriptor: int) -> MappedFile:
    """The whole of an open file, which is not empty, to be read; it may be closed then.

    Raises:
        OSError: There is no memory for it, or it cannot be mapped.
    """
    if _HAS_TRACKFD:
        options: dict[str, Any] = {"trackfd": False}
        return MappedFile(descriptor, 0, access=mmap.ACCESS_READ, **options)
    replace = _system_call()
    if replace is None:
        return MappedFile(descriptor, 0, access=mmap.ACCESS_READ)
    return _in_place_of_memory(descriptor, replace)


def _in_place_of_memory(descriptor: int, replace: Callable[..., int | None]) -> MappedFile:
    """A map of empty memory, which knows of no file, with the file put in its place.

    Python gives it back to the system as it would the memory.
    """
    size = os.fstat(descriptor).st_size
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    mapped = MappedFile(-1, size, flags=flags, prot=mmap.PROT_READ)
    where = _address(mapped)
    found = replace(where, size, mmap.PROT_READ, mmap.MAP_SHARED | _MAP_FIXED, descriptor, 0)
    if found != where:
        _lost.append(mapped)
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return mapped


def _address(mapped: mmap.mmap) -> int:
    return int(np.frombuffer(mapped, np.uint8).ctypes.data)


@cache
def _system_call() -> Callable[..., int | None] | None:
    """``mmap`` of the system; None where it is not known how to call it."""
    if not sys.platform.startswith(("linux", "darwin", "freebsd")):
        return None
    call = ctypes.CDLL(None, use_errno=True).mmap
    call.restype = ctypes.c_void_p
    number, pointer = ctypes.c_int, ctypes.c_void_p
    # The last is where to begin, which is 0, so that its width does not matter.
    call.argtypes = [pointer, ctypes.c_size_t, number, number, number, ctypes.c_long]
    return cast(Callable[..., int | None], call)
