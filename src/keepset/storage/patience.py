"""Patience: try again what a disk or a network may do later, for a while and no longer.

A disk that is full may be emptied, a network file system may come back. A thread that writes in the
background can wait for that; a call that a person waits for should fail at once. So trying again is
switched on for a thread, by the one who starts it.
"""

from __future__ import annotations

import errno
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from keepset.errors import StorageError

T = TypeVar("T")

_log = logging.getLogger("keepset")

# What may be over after a while. Not what a failed sync says: after it the system has forgotten
# what was not written, and a second sync would succeed all the same.
_PASSING: Final = {
    *(errno.EAGAIN, errno.EBUSY, errno.EDQUOT, errno.EINTR, errno.ENETDOWN, errno.ENETUNREACH),
    *(errno.ENOMEM, errno.ENOSPC, errno.ESTALE, errno.ETIMEDOUT),
}
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 5.0

_thread = threading.local()


# The places for which this process has waited until its patience was over, and where nothing could
# be stored since. To wait again in each epoch would cost a minute of every one of them.
_in_vain: set[str] = set()


class Patience:
    """How long the calls of a thread are repeated; none of them is any more once it has ended.

    With the ``place`` that they write to, nothing is repeated where this process has waited for
    that place before, and in vain, until ``note_stored`` is called.
    """

    def __init__(self, seconds: float, place: str | None = None) -> None:
        self.seconds, self._place = seconds, place
        self._over = threading.Event()
        self._has_said = False

    def end(self) -> None:
        """Fail at once from now on: a thread that waits between two tries makes its last one."""
        self._over.set()

    @contextmanager
    def here(self) -> Iterator[None]:
        """Repeat the calls of this thread."""
        _thread.patience = self
        try:
            yield
        finally:
            _thread.patience = None

    def note_stored(self) -> None:
        """Take note that the place takes what is written to it."""
        _in_vain.discard(self._place or "")

    def pauses(self, reason: Exception) -> Iterator[None]:
        """Wait a little longer each time, until it is enough; the first wait is logged."""
        if self._place in _in_vain:
            return
        if self.seconds > 0 and not self._has_said:
            self._has_said = True
            _log.warning("%s; trying again for up to %.0f s", reason, self.seconds)
        until, pause = time.monotonic() + self.seconds, _FIRST_PAUSE_S
        while not self._over.is_set() and (left := until - time.monotonic()) > 0:
            self._over.wait(min(pause, left))
            yield
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        if self._place is not None and self.seconds > 0 and not self._over.is_set():
            _in_vain.add(self._place)


def pauses(reason: Exception) -> Iterator[None]:
    """The pauses between two tries of a call of this thread; there are none without patience."""
    patience: Patience | None = getattr(_thread, "patience", None)
    return iter(()) if patience is None else patience.pauses(reason)


def is_passing(error: OSError) -> bool:
    """Whether a call that failed may succeed later, if nothing but time goes by."""
    return error.errno in _PASSING


def patiently(call: Callable[[], T]) -> T:
    """Repeat a call that begins from scratch each time, as long as this thread has patience."""
    waiting = None
    while True:
        try:
            return call()
        except StorageError as error:
            waiting = waiting or pauses(error)
            if not is_passing(error) or next(waiting, waiting) is waiting:
                raise
