"""SizeWatch: notices that a file was cut while it is read."""

from __future__ import annotations

import math
import os
from time import perf_counter

from keepset.errors import CorruptRecordError
from keepset.exchange.files.row_file import Place

# The file is looked at no more often than this, so that looking costs under one per cent.
_INTERVAL_S = 0.005


class SizeWatch:
    """Compares the size of a file on a disk with the one that it had when it was opened.

    Files of other programs are mapped into memory. The system ends a process that touches a part of
    a map behind the end of its file, so a file that has become smaller must not be read on. One
    that another file was renamed over is still there as it was, and is read to its end.
    """

    def __init__(self, place: Place) -> None:
        self._name, self._path = place.name, place.store.object_url(place.file)
        self._found = None if place.store.is_remote else self._look()
        self._due_s = math.inf if self._found is None else perf_counter() + _INTERVAL_S

    def _look(self) -> os.stat_result | None:
        try:
            return os.stat(self._path)
        except OSError:
            return None  # removed or moved, which does not change what was opened

    def check(self) -> None:
        """Raise an error if the file is smaller than it was."""
        if perf_counter() < self._due_s:
            return
        before, now = self._found, self._look()
        assert before is not None
        # Looked at again at once if it is cut: a reader may try smaller pieces.
        if now is not None and now.st_size < before.st_size and os.path.samestat(now, before):
            raise CorruptRecordError(
                f"{self._name} was cut or rewritten while it was read: it had {before.st_size} "
                f"bytes and has {now.st_size}; read it anew, and do not write over a file that is "
                "in use: write a new one and rename it over the old one",
                path=self._name,
                byte=now.st_size,
            )
        self._due_s = perf_counter() + _INTERVAL_S
