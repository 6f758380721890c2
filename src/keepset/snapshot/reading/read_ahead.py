"""ReadAhead: the chunks that a reader needs next are loaded while it works on the ones before."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakSet

from keepset.snapshot.reading.chunk_source import ChunkSource
from keepset.snapshot.reading.loading import Load
from keepset.workers.background import BackgroundThreads, background_threads, cores

# Where a request takes its time, most threads only wait.
_REMOTE_THREADS = 8
# What one reader may have loaded and not yet used, and all of them together.
_MOST_BYTES = 32 << 20
_MOST_BYTES_OF_ALL = 128 << 20

# Readers that have something loaded. Those that stand still are among them, so that nobody has to
# wait for their share: the more there are, the less each runs ahead.
_active: WeakSet[ReadAhead] = WeakSet()


def threads_for(source: ChunkSource) -> BackgroundThreads | None:
    """The threads that load chunks ahead of their use; None where they would save no time.

    On a single core they only take turns with the reader, unless there is a disk to wait for.
    """
    if source.store.is_remote:
        return background_threads(_REMOTE_THREADS)
    limit = cores()
    return background_threads(limit) if limit > 1 or source.is_slow else None


class ReadAhead:
    """Loads for one reader, which says at every step what it will need then.

    It has no threads of its own, and need not be closed: loads that nobody holds are not begun.
    """

    def __init__(self, source: ChunkSource) -> None:
        self._source = source
        is_remote = source.store.is_remote
        # Enough for all threads while the reader is at work on a chunk, or waits for the slowest.
        self.most = _REMOTE_THREADS if is_remote else 3 * cores()
        self._loads: dict[int, Load] = {}

    def take(self, number: int, coming: Sequence[int] = ()) -> Load:
        """A chunk that is needed now; those that are ``coming`` are loaded in the meantime."""
        load = self._loads.pop(number, None) or self._source.request(number)
        self.run_ahead(coming)
        load.fetch()
        return load

    def run_ahead(self, coming: Sequence[int]) -> None:
        """Have these chunks loaded, the first of them first, as far as memory allows.

        Others that were asked for before are let go.
        """
        if not coming and not self._loads and self not in _active:
            return None
        wanted = [
            number
            for number in coming[: self.most]
            if number in self._loads or not self._source.is_quick(number)
        ]
        threads = threads_for(self._source) if wanted else None
        if threads is None:
            return self.close()
        _active.add(self)
        share = _MOST_BYTES_OF_ALL // len(_active)
        taken, before, self._loads = 0, self._loads, {}
        for number in wanted:
            load = before.get(number)
            if load is None:
                expected = self._source.expected_bytes(number)
                # A single chunk may be larger than what several may take.
                most = min(share, _MOST_BYTES) if taken else share
                if taken + expected > most:
                    continue
                load = self._source.request(number)
                if not load.has_begun:
                    threads.submit(load)
            self._loads[number] = load
            taken += self._source.expected_bytes(number) if load.size is None else load.size
        return None

    def close(self) -> None:
        """Let go of what was loaded and not used."""
        self._loads = {}
        _active.discard(self)
