"""Saving: run a pipeline to its end and keep all of it as a new version."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
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
    run_id = new_run_id()
    log = Log(store)
    # From the beginning, so that a fence against this run is seen whatever was committed since.
    state = log.state()
    told = Told(node, tell)
    lease = Lease(store, run_id)
    shown = Progress(f"saving to {store.url}", node.cardinality(), progress)
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
        # Until this returns, nobody who keeps to the rules changes what the pipeline gives.
        holds_views=True,
    )
    whole = False
    is_published: bool | None = False
    try:
        given = 0
        for chunk in _chunks(node, recorder):
            shards = None if shard_func is None else shards_of(chunk, shard_func, given)
            recorder.add(chunk, shards)
            given += len(chunk)
            shown.advance(len(chunk))
        last = recorder.cut()
        # While the disk takes the last segment.
        about = {"lineage": Lineage.of(node).to_json(), **told.keep(store)}
        written = last.result()
        manifest = recorder.unified(written)
        is_published = None  # from here on it may be, whatever goes wrong
        _publish(log, state, run_id, manifest, about)
        # Of a narrower layout, and never part of any version.
        store.delete(written.segment_names - manifest.segment_names)
        whole = True
    except StorageError as error:
        if error.url.startswith(store.url):
            raise _with_outcome(error, is_published, state) from error
        raise  # of another place, which the pipeline reads
    finally:
        recorder.close()
        lease.release()
        shown.close(whole)
    return store.url


def _with_outcome(error: StorageError, is_published: bool | None, state: LogState) -> StorageError:
    """The error of a save, which says what is there now."""
    outcome = "whether it was saved is not certain: load it to see, or save it again"
    if is_published is not None:
        before = "" if state.version is None else ", and what was saved before is as it was"
        outcome = f"nothing of this save is stored{before}"
    return StorageError(f"{error}; {outcome}", url=error.url, number=error.errno)


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
