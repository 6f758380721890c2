"""Settling: who owns an object after an unclear answer to the wish to create it."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable

from keepset.errors import ObjectMissingError, StorageError
from keepset.storage.store import Store

# About five seconds in all: what a network file system or a bucket under load may take to agree.
PAUSES_S = (0.0, 0.02, 0.05, 0.1, 0.3, 0.6, 1.2, 2.4)


class UnclearAnswerError(Exception):
    """The object may be there or not, and may be ours or not. Never leaves the storage layer."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(cause)
        self.cause = cause


def create_settled(store: Store, name: str, data: bytes, attempt: Callable[[], None]) -> bool:
    """Try to create an object until it is clear whose it is; whether it is ours.

    A retried request finds what its own first try has made, and a lost reply leaves an object that
    nobody claims. So what is there decides, not the answer.

    Args:
        attempt: Creates the object, or raises ``UnclearAnswerError`` or an error for the caller.
    """
    cause: Exception | None = None
    for pause in PAUSES_S:
        time.sleep(pause)
        try:
            attempt()
            return True
        except UnclearAnswerError as unclear:
            # Without the frames that it passed, which would hold what they hold, as this one does.
            cause = unclear.cause.with_traceback(None)
        try:
            return store.read(name) == data
        except (ObjectMissingError, StorageError) as error:
            what = store.obstacle(name)
            if what is not None:
                raise _obstructed(store.object_url(name), what) from cause
            if isinstance(error, StorageError):
                raise
            # It is not there: try again.
    url = store.object_url(name)
    raise StorageError(
        f"cannot create {url}: {len(PAUSES_S)} tries failed, the last one with: {cause}; it may "
        "still appear: run again when the store can be reached, what was committed is kept",
        url=url,
        number=cause.errno if isinstance(cause, OSError) else None,
    ) from cause


def _obstructed(url: str, what: str) -> StorageError:
    return StorageError(
        f"cannot create {url}: {what} is in its place; move it away", url=url, number=errno.EEXIST
    )
