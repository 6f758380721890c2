"""MultipartUpload: the bytes of one object on their way into a bucket, part by part."""

from __future__ import annotations

import errno
import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np

from keepset.core.dtypes import Array
from keepset.core.run import after_sessions
from keepset.errors import KeepsetError, StorageError
from keepset.storage.clients import is_kind, obstore
from keepset.storage.object_errors import failed
from keepset.storage.patience import pauses
from keepset.storage.store import ObjectWriter

# A writer holds the parts that are under way and the one that it fills. S3 takes 10,000 parts of at
# least 5 MiB, so 80 GB an object.
PART_BYTES = 8 << 20
PARTS_AT_ONCE = 4
# Without a network the request to abort is repeated for minutes. It goes on in the background.
_LONGEST_ABORT_S = 10.0
# The metadata of an object that names the upload it came by. Azure allows letters, digits and _,
# and some proxies drop headers with _.
_UPLOAD_NAME = "keepsetupload"
# Before an upload whose first answer broke off is begun again. A writer in the background has
# patience beyond them.
_PAUSES_S = (0.05, 0.2, 0.5)
# How obstore words an error of the request to abort.
_ABORT = "Error performing DELETE"
# Uploads that are neither completed nor aborted, and the process that began each.
_open_uploads: dict[Any, int] = {}


class MultipartUpload(ObjectWriter):
    """Uploads in parts. The object is there once all of them are and the upload is completed.

    obstore reads what it is given long after ``write`` has returned: a part while it is sent, and
    in memory for ever. So everything is copied into parts of our own. A part is handed over whole,
    and filled again only when obstore has let go of it; a store that never lets go costs a new one.

    An upload that is aborted, dropped, or open when the process ends leaves no parts in the bucket.
    At the end of the process it is aborted last, because a session that is closed then may still
    complete it.

    obstore repeats a request without an answer, but not one whose answer breaks off. So an upload
    whose begin was answered in part is begun again; after a failed end, the object shows by its
    metadata whether this upload was completed.
    """

    def __init__(self, url: str, client: Any, key: str) -> None:
        super().__init__(url)
        self._client, self._key = client, key
        self._id = uuid4().hex
        self._open()
        self._part: Array | None = None
        self._filled = 0
        # Parts that were handed over, each with what lives as long as its bytes may be read.
        self._given: list[tuple[Array, weakref.ref[Array]]] = []
        self._has_parts = False

    def _open(self) -> None:
        sizes = {"buffer_size": PART_BYTES, "max_concurrency": PARTS_AT_ONCE}
        attributes = {_UPLOAD_NAME: self._id}
        self._upload = self._run(
            lambda: obstore().open_writer(self._client, self._key, attributes=attributes, **sizes)
        )
        _open_uploads[self._upload] = os.getpid()
        self._dropped = weakref.finalize(self, _abort, self._upload)
        self._dropped.atexit = False

    def _write(self, view: memoryview) -> None:
        done = 0
        while done < len(view):
            if self._part is None:
                self._part = self._free_part()
            count = min(len(view) - done, len(self._part) - self._filled)
            # NumPy would let other threads run meanwhile, and wait for them afterwards.
            own = self._part.data
            own[self._filled : self._filled + count] = view[done : done + count]
            self._filled, done = self._filled + count, done + count
            if self._filled == len(self._part):
                self._hand_over()

    def _free_part(self) -> Array:
        """One that obstore no longer reads, or a new one."""
        for number, (part, reader) in enumerate(self._given):
            if reader() is None:
                del self._given[number]
                return part
        return np.empty(PART_BYTES, np.uint8)

    def _hand_over(self) -> None:
        assert self._part is not None
        part, self._part, self._filled = self._part, None, 0
        # Every view of a view holds on to the array that the first one is of.
        shown = part[:]
        self._given.append((part, weakref.ref(shown)))
        send = self._upload.write if self._has_parts else self._begin
        self._has_parts = True  # also when obstore has let go of them all
        self._run(partial(send, shown.data))

    def _begin(self, part: memoryview) -> None:
        """Begin the upload, with its first part; again if the answer breaks off."""
        again: Iterator[None] | None = None
        while True:
            try:
                self._upload.write(part)
                return
            except Exception as error:
                again = again or _begins(failed("write", self.url, error))
                if not _broke_off(error) or next(again, again) is again:
                    raise
            # The upload that may be open now was named in the answer. It stays, without parts.
            self._dropped.detach()
            _open_uploads.pop(self._upload, None)
            self._open()

    def _finish(self) -> None:
        if self._part is not None:
            # A store in memory holds the last bytes for ever, and needs no whole part for them.
            rest = self._part.data[: self._filled].tobytes()
            self._run(lambda: self._upload.write(rest))
        try:
            self._upload.close()
        except Exception as error:
            # Without parts it was one request, which obstore has repeated.
            is_there = self._has_parts and self._is_there(error)
            if is_there is not True:
                raise self._not_completed(error, is_there) from error
        _open_uploads.pop(self._upload, None)
        self._let_go()

    def _not_completed(self, error: Exception, is_there: bool | None) -> KeepsetError:
        """What to say of a failed end, after which obstore has aborted the upload itself."""
        if not self._has_parts or not isinstance(error, FileNotFoundError):
            return failed("write", self.url, error)
        # This is the answer to the abort, as a rule: obstore forgets what failed before it, which
        # may be a part or the completion. Only the object shows whether a completion took effect.
        if is_there is None:
            what = (
                f"cannot tell whether {self.url} was written: a request failed, and the upload is "
                "gone; if the object is there, it is whole: run again"
            )
            return StorageError(what, url=self.url, number=errno.EIO)
        return self._not_written()

    def _not_written(self) -> StorageError:
        what = (
            f"cannot write {self.url}: a part or the completion of the upload failed, and the "
            "upload is gone, so the store does not say why; check the credentials and what "
            "they allow, and run again"
        )
        return StorageError(what, url=self.url, number=errno.EIO)

    def _is_there(self, error: Exception) -> bool | None:
        """Whether the object is the one of this upload, and so is whole; None if unclear."""
        if is_kind(error, "Generic") and _ABORT in str(error):
            return None  # the store is out of reach, which took a minute to find out
        try:
            found = obstore().get(self._client, self._key, options={"head": True})
        except FileNotFoundError:
            return False
        except Exception:
            return None
        if _UPLOAD_NAME not in found.attributes and found.meta["size"] == self.tell():
            return None  # of another program, or of a store without metadata
        return bool(found.attributes.get(_UPLOAD_NAME) == self._id)

    def _discard(self) -> None:
        _abort(self._upload)
        self._let_go()

    def _let_go(self) -> None:
        self._part, self._given = None, []

    def _run(self, request: Callable[[], Any]) -> Any:
        try:
            return request()
        except Exception as error:
            if isinstance(error, FileNotFoundError) and _ABORT in str(error):
                # The answer to an abort: an earlier part has failed, and no completion was sent.
                raise self._not_written() from error
            raise failed("write", self.url, error) from error


def _begins(reason: Exception) -> Iterator[None]:
    for pause in _PAUSES_S:
        time.sleep(pause)
        yield
    yield from pauses(reason)


def _broke_off(error: Exception) -> bool:
    """Whether a request was answered, and the answer did not arrive whole."""
    reason = str(error).partition("\n")[0]
    is_answer = re.search("response body: HTTP error|invalid (multipart|put) response", reason)
    return is_kind(error, "Generic") and is_answer is not None


@after_sessions
def _abort_open_uploads() -> None:
    for upload in list(_open_uploads):
        _abort(upload)


def _abort(upload: Any) -> None:
    """Have the parts removed that are in the bucket, unless the upload has ended."""
    if _open_uploads.pop(upload, None) != os.getpid():
        return  # or this is a fork of the writer, and the upload is not its own

    def leave() -> None:
        # obstore aborts where a with statement is left by an error, and has no other call for it.
        # What cannot be aborted stays invisible, until the bucket's own rule removes it.
        with suppress(Exception):
            upload.__exit__(InterruptedError, None, None)

    thread = threading.Thread(target=leave, name="keepset-abort", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # the interpreter is ending, and starts no more threads
        leave()
    else:
        thread.join(_LONGEST_ABORT_S)
