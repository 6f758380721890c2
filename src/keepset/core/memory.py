"""Memory that a read frees is kept for the next one, instead of going back to the system."""

from __future__ import annotations

from functools import cache

import numpy as np

_LARGEST_REUSED_BYTES = 8 << 20


@cache
def reuse_freed_memory() -> None:
    """Make the C library hold on to a few megabytes of freed memory; once per process.

    A chunk is freed just before the next one of the same size is made. By default glibc gives
    such memory back at once, and every page of the next chunk then costs a page fault, which can
    take longer than computing it. Once a large block was freed it holds on to blocks up to that
    size, and to at most twice that much in all; other C libraries are not affected.
    """
    np.empty(_LARGEST_REUSED_BYTES, np.uint8)
