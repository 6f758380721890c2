"""What a process holds: threads, child processes and open files, to see that nothing is left."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from keepset.workers.nursery import belongings

# How long a thread or a process that was told to end may take.
_PATIENCE_S = 5.0


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """Assert that what was started inside has ended: no new thread, process or open file.

    The process that starts workers goes on for the next ones, and does not count. Child processes
    and files are looked up in ``/proc``; where there is none, only threads are.

    Example:
        >>> import keepset as ks
        >>> with nothing_left_behind():
        ...     iterator = iter(ks.Dataset.range(10).prefetch(2))
        ...     first = next(iterator)
        ...     iterator.close()
    """
    before = _held()
    yield
    deadline = time.monotonic() + _PATIENCE_S
    while (left := _held() - before) and time.monotonic() < deadline:
        time.sleep(0.01)
    if left:
        raise AssertionError(f"left behind: {', '.join(sorted(left))}")


def _held() -> set[str]:
    return {*_threads(), *_children(), *_open_files()}


def _threads() -> Iterator[str]:
    for thread in threading.enumerate():
        yield f"thread {thread.name} ({thread.ident})"


def _children() -> Iterator[str]:
    nursery = belongings()
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it may have ended since it was listed
            # The name in parentheses may itself hold spaces; the parent follows the state.
            name, _, rest = status.read_text().rpartition(")")
            pid, parent = int(status.parent.name), int(rest.split()[1])
            is_worker = nursery is not None and parent == nursery[0]
            is_ours = parent == os.getpid() and (nursery is None or pid != nursery[0])
            if is_worker or is_ours:
                yield f"process {name.partition('(')[2]} ({pid})"


def _open_files() -> Iterator[str]:
    nursery = belongings()
    for link in Path("/proc/self/fd").glob("*"):
        if nursery is not None and link.name == str(nursery[1]):
            continue
        with suppress(OSError):  # the listing itself is an open file
            yield f"file {os.readlink(link)} ({link.name})"
