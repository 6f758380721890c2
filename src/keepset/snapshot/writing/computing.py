"""Computing: the stages before a snapshot at work, and the first pass that keeps what they give."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Marked
from keepset.core.dtypes import Array
from keepset.core.node import Node
from keepset.core.pace import Pace
from keepset.core.run import Run, start
from keepset.errors import StateError
from keepset.format.log import Append
from keepset.snapshot.files.source_keeper import changed_text
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.writing.filling import are_same
from keepset.snapshot.writing.first_pass import FirstPass
from keepset.snapshot.writing.sharding import shards_of
from keepset.snapshot.writing.staging import frozen


class Computing:
    """Gives elements from some position on; keeps them if it was told to, and is still the one."""

    def __init__(self, node: Node, run: Run, upstream: Marked, position: int = 0) -> None:
        self._run, self._upstream = run, upstream
        self._position = position
        self._pace = Pace(node.may_run_ahead)
        self._pass: FirstPass | None = None
        self._shard_func: Callable[..., Any] | None = None
        self._url = ""

    @classmethod
    def begin(cls, node: Node, run: Run) -> Computing:
        """From the first element on."""
        return cls(node, run, Marked(node.cursor(run)))

    def keep(self, first: FirstPass, shard_func: Callable[..., Any] | None, url: str) -> None:
        """Keep what is computed from now on."""
        self._pass, self._shard_func, self._url = first, shard_func, url

    def read(self, position: int, max_rows: int) -> Chunk:
        """Elements from ``position`` on, which is never before the last one that was given."""
        while self._position < position:
            if not len(self._take(min(max_rows, position - self._position))):
                return EMPTY
        return frozen(self._take(max_rows))

    def _take(self, max_rows: int) -> Chunk:
        # Elements that were kept came quickly; those that are computed may not.
        began = time.perf_counter()
        chunk = self._upstream.read(min(max_rows, self._pace.size))
        self._pace.adapt(time.perf_counter() - began, chunk.own_bytes)
        if self._pass is not None and self._pass.lost:
            self._stop_keeping(commit=False)  # so that nobody waits for it
        if self._pass is not None:
            shards = self._shards(chunk)
            try:
                self._keep(self._pass, chunk, shards)
            except BaseException:
                self._stop_keeping(commit=False)
                raise
            finally:
                self._position += len(chunk)
        else:
            self._position += len(chunk)
        return chunk

    def _shards(self, chunk: Chunk) -> Array | None:
        if self._shard_func is None or not len(chunk):
            return None
        return shards_of(chunk, self._shard_func, self._position)

    def _keep(self, first: FirstPass, chunk: Chunk, shards: Array | None) -> None:
        if not len(chunk):
            changed = first.complete(self._draws())
            self._stop_keeping(commit=False)
            if changed:
                warnings.warn(changed_text(changed, self._url), stacklevel=2)
            return
        # The place is noted now and not when it is needed: by then a read may have failed.
        first.add(chunk, shards, self._upstream.before_last())
        if first.is_due:
            first.commit(self._draws())

    def _draws(self) -> dict[str, Any]:
        """The seeds of the stages before the snapshot, by their places as seen from there."""
        run = self._run
        return {
            where.removeprefix(run.where): draw
            for where, draw in run.session.draws.items()
            if where.startswith(run.where)
        }

    def _stop_keeping(self, commit: bool) -> None:
        first, self._pass = self._pass, None
        if first is not None:
            first.close(self._draws if commit else None)

    def close(self) -> None:
        try:
            self._stop_keeping(commit=True)
        finally:
            self._upstream.close()


def computing_behind(node: Node, last: Append, kept: Kept, within: Run) -> Computing | None:
    """Stand behind the last kept element; None if it comes out differently this time.

    What it takes ends with the run ``within``.
    """
    run = start(node, last.resume.get("draws")).in_order()
    upstream = Marked(node.cursor(run))
    is_same = False
    try:
        upstream.restore(last.resume["state"])
        again = upstream.read(1)
        place = kept.rows_at(np.array([last.stop - 1]))
        is_same = len(again) == 1 and are_same(again, kept.gather(place))
    except StateError:
        return None
    except (LookupError, TypeError, ValueError) as error:
        # An error in a function of the user says where it was. Else it is the state that we do
        # not understand, as another version of the library may have left it.
        if hasattr(error, "__notes__"):
            raise
        return None
    finally:
        if not is_same:
            upstream.close()
            run.session.close()
    if not is_same:
        return None
    within.session.on_close(run.session.close)
    return Computing(node, run, upstream, last.stop)
