"""FirstPass: keeps what a pipeline gives while somebody else consumes it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from keepset.core.chunk import Chunk
from keepset.core.dtypes import Array
from keepset.format.commit import Commit
from keepset.format.log import Log, LogState
from keepset.format.manifest import Manifest, join
from keepset.snapshot.lease import Lease
from keepset.snapshot.recorder import Recorder

_FIRST_COMMIT_S = 1.0
_SHARE_OF_TIME = 0.02
_LONGEST_INTERVAL_S = 300.0
_MOST_UNCOMMITTED_BYTES = 256 << 20


class FirstPass:
    """Adds elements behind those that the log has, and commits what is durable now and then.

    If another writer gets ahead, this one has ``lost``: it keeps nothing more.
    """

    def __init__(
        self,
        log: Log,
        state: LogState,
        run: str,
        recorder: Recorder,
        lease: Lease,
        facts: dict[str, Any],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log, self._state, self._run = log, state, run
        self._recorder, self._lease, self._facts = recorder, lease, facts
        self._clock = clock
        self._began = self._committed_at = clock()
        self._uncommitted_bytes = 0
        self._added = 0
        self._start = state.appends[-1].stop if state.appends else 0
        self.lost = False
        self._open = True

    def add(self, chunk: Chunk, shards: Array | None) -> None:
        self._recorder.add(chunk, shards)
        self._added += len(chunk)
        self._uncommitted_bytes += chunk.size_bytes

    @property
    def is_due(self) -> bool:
        """Whether it is time for a commit."""
        now = self._clock()
        interval = min(
            max(_FIRST_COMMIT_S, _SHARE_OF_TIME * (now - self._began)), _LONGEST_INTERVAL_S
        )
        return self._added > 0 and (
            now - self._committed_at >= min(interval, _LONGEST_INTERVAL_S)
            or self._uncommitted_bytes >= _MOST_UNCOMMITTED_BYTES
        )

    def commit(self, resume: dict[str, Any]) -> None:
        """Commit what was added, in the background; ``resume`` is what going on from here takes."""
        start, stop = self._start, self._start + self._added
        self._start, self._added, self._uncommitted_bytes = stop, 0, 0
        self._committed_at = self._clock()

        def append(manifest: Manifest) -> None:
            body = {
                "part": 0,
                "start": start,
                "stop": stop,
                "manifest": manifest.to_json(),
                "resume": resume,
                **self._facts,
            }
            self._add("append", body)

        self._recorder.cut(append)

    def complete(self) -> None:
        """Commit the whole; returns when it is durable."""

        def finish(manifest: Manifest) -> None:
            whole = join([*(append.manifest for append in self._state.appends), manifest])
            self._add("complete", {"manifest": whole.to_json(), **self._facts})

        self._recorder.cut(finish).result()

    def _add(self, kind: str, body: dict[str, Any]) -> None:
        if self.lost:
            return
        commit = Commit(self._state.next_number, kind, self._run, time.time(), body)
        self.lost = not self._log.add(self._state, commit)

    def close(self, resume: Callable[[], dict[str, Any]] | None = None) -> None:
        """Stop; with ``resume``, what was added is committed first."""
        if not self._open:
            return
        self._open = False
        try:
            if resume is not None and self._added and not self.lost:
                self.commit(resume())
        finally:
            try:
                self._recorder.close()
            finally:
                self._lease.release()
