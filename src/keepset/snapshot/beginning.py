"""Beginning: what a snapshot stage does that finds nothing to read, or not everything.

Imported by those stages alone: whoever only reads does not wait for it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from keepset.core.lineage import Lineage
from keepset.core.run import Run
from keepset.format.commit import Commit
from keepset.format.log import Log, LogState
from keepset.snapshot.files.source_keeper import SourceKeeper
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.writing.computing import Computing, computing_behind
from keepset.snapshot.writing.filling import fill_damaged
from keepset.snapshot.writing.first_pass import FirstPass
from keepset.snapshot.writing.lease import Lease
from keepset.snapshot.writing.recorder import Recorder
from keepset.snapshot.writing.run_id import new_run_id
from keepset.snapshot.writing.telling import Told
from keepset.storage import Store

if TYPE_CHECKING:
    from keepset.snapshot.stage import SnapshotStage

_OTHERS = "the pipeline does not give the same elements again"


class Beginning(NamedTuple):
    """The stage that computes, where it keeps what it computes, and how it opens what is kept."""

    node: SnapshotStage
    run: Run
    store: Store
    log: Log
    prefix: Callable[[LogState], Kept | None]

    def compute(self) -> Computing:
        """Compute everything, and keep nothing."""
        # In order, as the fingerprint does not count who may overtake whom.
        return Computing.begin(self.node.parent, self.run.input(0).in_order())

    def write(
        self, state: LogState, run_id: str, lease: Lease
    ) -> tuple[Kept | None, Computing | None]:
        """Put back what is damaged, and no more; or go on behind what is kept, or begin.

        Gives what is kept and comes first, and what computes and keeps the rest.
        """
        node = self.node
        if state.damaged is not None:
            if not fill_damaged(node.parent, self.log, state, run_id):
                self.reset(state, _OTHERS)
            return None, None
        kept = computing = None
        if state.appends and node.resume:
            kept = self.prefix(state)
            assert kept is not None
            computing = computing_behind(node.parent, state.appends[-1], kept, self.run)
        if computing is None:
            if state.appends:
                self.reset(state, _OTHERS)
            kept, computing = None, self.compute()
        try:
            computing.keep(self._first_pass(state, run_id, lease), node.shard_func, self.store.url)
        except BaseException:
            computing.close()
            raise
        return kept, computing

    def _first_pass(self, state: LogState, run_id: str, lease: Lease) -> FirstPass:
        node = self.node
        known = node.parent.known_spec()
        spec = state.kept.spec if state.kept is not None else known[0] if known else None
        recorder = Recorder(
            self.store,
            run_id,
            node.compression,
            spec=spec,
            has_spec=known is not None or state.kept is not None,
            chunk_bytes=node.chunk_bytes,
            segment_bytes=node.segment_bytes,
        )
        facts = {
            "fingerprint": node.fingerprint,
            "facts": node.facts,
            "lineage": Lineage.of(node.parent).to_json(),
            **Told(node.parent, node.tell).keep(self.store),
        }
        keeper = None if node.sources is None else SourceKeeper(self.store, node.sources)
        return FirstPass(self.log, state, run_id, recorder, lease, facts, keeper)

    def reset(self, state: LogState, reason: str) -> None:
        """Drop what is kept, and say so."""
        if not state.is_empty:
            warnings.warn(f"{self.store.url} starts over: {reason}", stacklevel=2)
        body = {"generation": state.generation + 1, "reason": reason}
        while not self.log.add(
            state, Commit(state.next_number, "reset", new_run_id(), time.time(), body)
        ):
            self.log.follow(state)
