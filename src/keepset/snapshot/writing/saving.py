"""Saving: run a pipeline to its end and keep all of it as a new version."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Any

from keepset.codecs import normal_name
from keepset.core.chunk import Chunk
from keepset.core.lineage import Lineage
from keepset.core.node import INFINITE, Node
from keepset.core.pace import Pace
from keepset.core.run import start
from keepset.errors import InvalidArgumentError, PendingSnapshotError, StorageError
from keepset.format.commit import Commit
from keepset.format.log import Log, LogState
from keepset.format.manifest import Manifest
from keepset.snapshot.writing.lease import Lease
from keepset.snapshot.writing.progress import Progress
from keepset.snapshot.writing.recorder import Recorder
from keepset.snapshot.writing.run_id import new_run_id
from keepset.snapshot.writing.sharding import shards_of
from keepset.snapshot.writing.sizes import CHUNK_BYTES, SEGMENT_BYTES
from keepset.snapshot.writing.staging import is_read_only
from keepset.snapshot.writing.telling import Tell, Told
from keepset.storage import open_store

_PATIENCE = 8


def save_node(
    node: Node,
    path: str | os.PathLike[str],
    *,
    compression: str | None = None,
    shard_func: Callable[..., Any] | None = None,
    progress: bool | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    segment_bytes: int = SEGMENT_BYTES,
    options: dict[str, Any] | None = None,
    tell: Tell | None = None,
) -> str:
    """Keep every element under ``path``, as a version of its own. Gives the url."""
    if node.cardinality() == INFINITE:
        raise InvalidArgumentError(
            f"{node.title} never ends, so it cannot be saved; use take(n) to keep the first n"
        )
    name = normal_name(compression)
    store = open_store(path, **(options or {}))
    shown = Progress(f"saving to {store.url}", node.cardinality(), progress)
    outcome = _Outcome()
    try:
        with ExitStack() as ends:
            ends.callback(lambda: shown.close(outcome.is_published is True))
            run_id = new_run_id()
            log = Log(store)
            # From the beginning, so that a fence against this run is seen whatever was committed
            # since.
            state = outcome.before = log.state()
            told = Told(node, tell)
            lease = Lease(store, run_id)
            ends.callback(lease.release)
            known = node.known_spec()
            recorder = Recorder(
                store,
                run_id,
                name,
                spec=known[0] if known else None,
                has_spec=known is not None,
                chunk_bytes=chunk_bytes,
                segment_bytes=segment_bytes,
                on_written=shown.add_written,
                # Until this returns, no function may change what the pipeline yields.
                holds_views=True,
            )
            ends.callback(recorder.close)
            written = _write(node, recorder, shard_func, shown)
            # While the disk takes the last segment.
            about = {"lineage": Lineage.of(node).to_json(), **told.keep(store)}
            last = recorder.finished(written)
            manifest = recorder.unified(last)
            outcome.is_published = None  # from here on it may be, whatever goes wrong
            _publish(log, state, run_id, manifest, about)
            outcome.is_published = True
            # Of a narrower layout, and never part of any version.
            store.delete(last.segment_names - manifest.segment_names)
    except StorageError as error:
        if error.url.startswith(store.url):
            raise outcome.added_to(error) from error
        raise  # of another place, which the pipeline reads
    return store.url


def _write(
    node: Node, recorder: Recorder, shard_func: Callable[..., Any] | None, shown: Progress
) -> Future[Manifest]:
    """Write all elements; what makes the last of them durable."""
    given = 0
    for chunk in _chunks(node, recorder):
        shards = None if shard_func is None else shards_of(chunk, shard_func, given)
        recorder.add(chunk, shards)
        given += len(chunk)
        shown.advance(len(chunk))
    return recorder.cut()


class _Outcome:
    """What is there after a save that has failed.

    Attributes:
        before: What was there when it began; None if the place did not say.
        is_published: Whether all of it is there; None if that is not certain.
    """

    def __init__(self) -> None:
        self.before: LogState | None = None
        self.is_published: bool | None = False

    def added_to(self, error: StorageError) -> StorageError:
        """The error, which says so."""
        return StorageError(f"{error}; {self}", url=error.url, number=error.errno)

    def __str__(self) -> str:
        if self.is_published is None:
            return "whether it was saved is not certain: load it to see, or save it again"
        if self.is_published:
            return "all of it is saved, and files that are not needed may be left: keepset gc"
        nothing = "nothing of this save is stored"
        if self.before is None:
            return f"{nothing}, and what may have been saved before is as it was"
        if self.before.version is None:
            return nothing
        return f"{nothing}, and what was saved before is as it was"


def _chunks(node: Node, recorder: Recorder) -> Iterator[Chunk]:
    """All elements, a few at a time."""
    run = start(node)
    cursor = node.cursor(run)
    try:
        # Nobody waits for single elements here, so a live source may be read by the many too, and
        # a read may take longer than elsewhere.
        pace, rows = Pace(True), 1
        while True:
            began = time.perf_counter()
            chunk = cursor.read(rows)
            if not len(chunk):
                return
            seconds = time.perf_counter() - began
            yield chunk
            pace.adapt(seconds / _PATIENCE, chunk.size_bytes)
            # Views cost nothing, and as many as a chunk lacks are written from where they are.
            rows = max(recorder.room, 1) if is_read_only(chunk) else pace.size
    finally:
        cursor.close()
        run.session.close()


def _publish(
    log: Log, state: LogState, run: str, manifest: Manifest, about: dict[str, Any]
) -> None:
    """Make it the newest version, behind those that others publish meanwhile."""
    body = {"manifest": manifest.to_json(), **about}
    while True:
        log.follow(state)
        if run in state.fenced or not log.still_has(state, manifest.segment_names):
            raise PendingSnapshotError(
                f"{log.store.url} was cleaned up while this save seemed dead, and some of its "
                "files may be gone; save again"
            )
        if log.add(state, Commit(state.next_number, "replace", run, time.time(), body)):
            return
