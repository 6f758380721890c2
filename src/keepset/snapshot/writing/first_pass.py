"""FirstPass: keeps what a pipeline gives while somebody else consumes it."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from keepset.core.chunk import Chunk
from keepset.core.cursor import State
from keepset.core.dtypes import Array
from keepset.core.size_text import size_text
from keepset.errors import StorageError
from keepset.format.log import Log, LogState
from keepset.format.manifest import Manifest, join
from keepset.snapshot.files.source_keeper import SourceKeeper
from keepset.snapshot.writing.lease import Lease
from keepset.snapshot.writing.progress import Progress
from keepset.snapshot.writing.recorder import Recorder
from keepset.snapshot.writing.reset import add_reset
from keepset.storage.failures import is_full

_log = logging.getLogger("keepset")

_FIRST_COMMIT_S = 1.0
_SHARE_OF_TIME = 0.02
_LONGEST_INTERVAL_S = 300.0
_MOST_UNCOMMITTED_BYTES = 256 << 20


class FirstPass:
    """Adds elements behind those that the log has, and commits what is durable now and then.

    If another writer gets ahead, this one has ``lost``: it keeps nothing more. So has the copy of
    it that a forked process gets, which has none of the threads.
    """

    def __init__(
        self,
        log: Log,
        state: LogState,
        run: str,
        recorder: Recorder,
        lease: Lease,
        facts: dict[str, Any],
        sources: SourceKeeper | None = None,
        shown: Progress | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log, self._state, self._run = log, state, run
        self._recorder, self._lease, self._facts = recorder, lease, facts
        self._sources, self._shown, self._clock = sources, shown, clock
        self._is_whole = False
        self._began = self._committed_at = clock()
        self._uncommitted_bytes = 0
        self._added = 0
        self._start = state.appends[-1].stop if state.appends else 0
        self._lost = self._has_committed = False
        # Why, if it is not because another writer got ahead.
        self.removed: StorageError | None = None
        self._check_s = 0.0
        self._open = True
        self._before_last: State = {}
        self._last_cut: Future[Manifest] | None = None
        # Whether what is noted here fits together. An interrupt may come between any two steps;
        # then nothing is committed any more, and the next run goes on from the last commit.
        self._in_step = True
        self._process = os.getpid()

    @property
    def lost(self) -> bool:
        return self._lost or self._process != os.getpid()

    def add(self, chunk: Chunk, shards: Array | None, before_last: State) -> None:
        """Keep these elements; ``before_last`` is where the pipeline was before the last one."""
        self._in_step = False
        self._recorder.add(chunk, shards)
        self._added += len(chunk)
        self._uncommitted_bytes += chunk.size_bytes
        self._before_last = before_last
        self._in_step = True
        if self._shown is not None:
            self._shown.advance(len(chunk))

    @property
    def committed(self) -> int:
        """How many elements the log has, those of earlier passes included."""
        return self._state.appends[-1].stop if self._state.appends else 0

    @property
    def has_elements(self) -> bool:
        """Whether this pass has added any element."""
        return self._added > 0 or self._has_committed

    @property
    def is_due(self) -> bool:
        """Whether it is time for a commit."""
        now = self._clock()
        waited = now - self._committed_at
        interval = min(
            max(_FIRST_COMMIT_S, _SHARE_OF_TIME * (now - self._began)), _LONGEST_INTERVAL_S
        )
        # Comparing the identity takes its share of the time too, if functions hold much.
        least = self._check_s / _SHARE_OF_TIME
        return self._added > 0 and (
            waited >= max(interval, least)
            or (self._uncommitted_bytes >= _MOST_UNCOMMITTED_BYTES and waited >= least)
        )

    def note_check(self, seconds: float) -> None:
        """Note how long it took to compare the identity, whatever came of it."""
        self._check_s = seconds
        self._committed_at = self._clock()

    def commit(self, draws: dict[str, Any]) -> None:
        """Commit what was added, in the background. ``draws`` are those of the pipeline."""
        self._in_step = False
        resume = {"state": self._before_last, "draws": draws}
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

        self._last_cut = self._recorder.cut(append)
        self._in_step = True

    def changed_files(self) -> list[str]:
        """Finish the table of files, and list those that changed while the pass read them."""
        return [] if self._sources is None else self._sources.finish()

    def complete(
        self,
        draws: dict[str, Any],
        aliases: Sequence[str] = (),
        moved: Mapping[str, str] | None = None,
    ) -> None:
        """Commit the whole; returns when it is durable.

        Args:
            draws: Those of the pipeline.
            aliases: Other fingerprints that the same pipeline may have.
            moved: The state that its functions have moved; None if they have none.
        """
        self._in_step = False
        about = {"draws": draws, **self._facts, **({"aliases": list(aliases)} if aliases else {})}
        if moved is not None:
            about["moved"] = dict(moved)

        def finish(manifest: Manifest) -> None:
            if self._lost:
                return  # what it wrote may be gone
            kept = [append.manifest for append in self._state.appends]
            whole = self._recorder.unified(join([*kept, manifest]))
            self._add("complete", {"manifest": whole.to_json(), **about})
            if not self._lost:
                self._say_stored(whole)

        self._recorder.finished(self._recorder.cut(finish))
        self._is_whole = not self._lost

    def _say_stored(self, whole: Manifest) -> None:
        _log.info(
            "stored: %s has %s elements, %s; the pass took %.1f s",
            self._log.store.url,
            f"{whole.elements:,}",
            size_text(whole.stored_bytes),
            self._clock() - self._began,
        )

    def withdraw(self, reason: str) -> None:
        """Make what this pass has committed void: it may hold elements of two pipelines."""
        self._in_step = False
        generation = self._state.generation
        self.close()
        if self._process != os.getpid():
            return
        self._log.follow(self._state)
        ours = any(append.commit.run == self._run for append in self._state.appends)
        completed = self._state.version is not None and self._has_committed
        if self._state.generation == generation and (ours or completed):
            self._void(reason)

    def _void(self, reason: str) -> None:
        """Commit that what was stored counts no more; an error whatever happens otherwise.

        What may be a mixture must not stay, and a pass must not go on as if it did not matter.
        """
        try:
            try:
                add_reset(self._log, self._state, reason)
            except StorageError as error:
                if not is_full(error):
                    raise
                # Files of this pass make room, and without them its elements cannot be read.
                names = {n for each in self._state.appends for n in each.manifest.segment_names}
                own = {name for name in names if name.startswith(f"segments/{self._run}-")}
                self._log.store.delete(sorted(own))
                add_reset(self._log, self._state, reason)
        except StorageError as error:
            raise StorageError(
                f"{reason}; and what is stored of it could not be made void: {error}; remove it "
                f"with `keepset rm {self._log.store.url}` before it is used",
                number=error.errno,
            ) from error

    def _add(self, kind: str, body: dict[str, Any]) -> None:
        if self._lost:
            return
        url = self._log.store.url
        if not self._log.extend(self._state, kind, self._run, body):
            self._lost = True
            self._note_loss(url)
            return
        self._has_committed = True
        _log.debug("commit %d of %s: %s", self._state.next_number - 1, url, kind)

    def _note_loss(self, url: str) -> None:
        """Find out why nothing more can be added to the log."""
        now = self._log.state()
        if now.last is None or now.removal is not None:
            self._state = now
            self.removed = StorageError(
                f"{url} was removed, or moved, while elements were stored there", url=url
            )
        else:
            _log.info("pass-through: another process has gone on with %s", url)

    def close(self, draws: Callable[[], dict[str, Any]] | None = None) -> None:
        """Stop; with ``draws``, what was added is committed first.

        If a commit in the background has failed and nobody has heard of it, it is an error now.
        """
        if not self._open or self._process != os.getpid():
            return
        self._open = False
        try:
            if draws is not None and self._added and self._in_step and not self.lost:
                self.commit(draws())
        finally:
            try:
                self._recorder.close()
            finally:
                if self._sources is not None:
                    self._sources.close()
                self._lease.release()
                if self._shown is not None:
                    self._shown.close(self._is_whole)
        failure = None if self._last_cut is None else self._last_cut.exception()
        if failure is not None and self._in_step:
            raise failure
