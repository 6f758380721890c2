"""SourceKeeper: writes down which files a first pass reads and what is in them, while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np

from keepset.errors import StorageError
from keepset.snapshot.files.sources import FOLDER, TABLE, FileTable, Sources
from keepset.storage import Store
from keepset.storage.files import SIZE

# How long the end of a pass may take for the files that are not hashed yet: as long again as the
# pass has taken, and not less than this. A pipeline may read little of large files.
_LEAST_WAIT_S = 5.0


class SourceKeeper:
    """Keeps the table of the files of one first pass.

    Nothing waits for it before the first element: hashing happens in a thread. The table is there
    from the beginning, so that a pass that is cut short can be explained too; the hashes are added
    at the end.
    """

    def __init__(
        self, store: Store, sources: Sources, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._sources, self._clock = store, sources, clock
        self._began = clock()
        self._hashes = sources.hashes()
        self._hashes.start(self._numbers(), gently=True)

    def _numbers(self) -> Iterator[int]:
        """The files to hash. Read by the thread, so that the thread writes the first table."""
        # Whoever cannot reach the store cannot commit either, and will hear of it there.
        with suppress(StorageError):
            # Not over an older one, which may have hashes.
            self._store.create(TABLE, self._table())
        yield from np.flatnonzero(self._sources.facts[:, SIZE] >= 0).tolist()

    def finish(self) -> list[str]:
        """Hash what is left, as far as there is time, and write the table with all hashes.

        Gives the paths of the files that were changed since the fingerprint was taken: what was
        computed from them may be of the old content or the new one, so their hashes are not kept.
        """
        self._hashes.hurry()
        self._hashes.wait(max(_LEAST_WAIT_S, self._clock() - self._began))
        self._hashes.stop()
        unchanged = self._sources.unchanged()
        self._hashes.known &= unchanged
        self._store.put(TABLE, self._table())
        changed = [self._sources.path(i) for i in np.flatnonzero(~unchanged).tolist()]
        if changed:
            # What was found to be the same as an earlier pass over these files is so no longer.
            notes = [info.name for info in self._store.list(FOLDER) if info.name != TABLE]
            self._store.delete(notes)
        return changed

    def _table(self) -> bytes:
        hashes = self._hashes
        return FileTable(self._sources.listings, hashes.known, hashes.hashes).to_bytes()

    def close(self) -> None:
        """Stop; safe to call more than once."""
        self._hashes.stop()


def changed_text(paths: list[str], url: str) -> str:
    """A warning about files that were changed while a pass read them."""
    more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
    return (
        f"{paths[0]}{more} changed while elements were computed for {url}, so they are not stored, "
        "and the next pass computes them again; leave the files alone during a pass"
    )
