"""Beginning: what a snapshot stage does that finds nothing to read, or not everything.

Imported by those stages alone: whoever only reads does not wait for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from keepset.core.fingerprint import Difference, moving_path
from keepset.core.lineage import Lineage
from keepset.core.run import Run, start_below
from keepset.core.warn import warn_user
from keepset.errors import StorageError
from keepset.format.log import Log, LogState
from keepset.snapshot.files.source_keeper import SourceKeeper
from keepset.snapshot.identity.pass_identity import PassIdentity, changes_text, unlike_text
from keepset.snapshot.identity.shared_state import note_computing, shared_text
from keepset.snapshot.nearest import nearest
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.reading.opening import fingerprints_at
from keepset.snapshot.writing.computing import Computing, computing_behind, not_stored_text
from keepset.snapshot.writing.filling import fill_damaged
from keepset.snapshot.writing.first_pass import FirstPass
from keepset.snapshot.writing.lease import Lease
from keepset.snapshot.writing.progress import Progress
from keepset.snapshot.writing.recorder import Recorder
from keepset.snapshot.writing.reset import add_reset
from keepset.snapshot.writing.telling import Told
from keepset.storage import Store
from keepset.storage.patience import Patience

if TYPE_CHECKING:
    from keepset.snapshot.stage import SnapshotStage

_log = logging.getLogger("keepset")

# How long a first pass tries to write to a place that is full or cannot be reached.
_PATIENCE_S = 60.0
# How long it tries to begin there: nothing is computed yet, and a training run waits for it.
_BEGINNING_PATIENCE_S = 3.0
# A pass that is over sooner shows no progress.
_SHOWN_AFTER_S = 2.0

_OTHERS = "the pipeline does not give the same elements again"
_HERE = (
    "; its functions draw at random, or hold state that is not seen and has moved now, so this "
    "process stores no more of it, and the next one begins anew"
)
# The snapshots whose functions did not give the same elements again in this process, by their urls.
# To compare, functions were run: state that they hold is no longer what the fingerprint says.
_not_reproduced: set[str] = set()


def compute(stage: SnapshotStage, run: Run, draws: dict[str, list[int]] | None = None) -> Computing:
    """Compute all elements of the stages before a snapshot.

    Args:
        stage: The snapshot.
        run: Its view of the pass.
        draws: The seeds of a pass that has stored some of the elements, to compute the same ones.
    """
    # In order, as the fingerprint does not count who may overtake whom.
    return Computing.begin(stage.parent, start_below(stage.parent, run.input(0), draws))


def warn_not_stored(error: StorageError, url: str) -> None:
    """Warn that a pass begins that cannot store its elements."""
    warn_user(not_stored_text(error, url, 0))


def lease_of(store: Store, run_id: str, held_by: object, place: str) -> Lease:
    """The lease of a first pass, which is written before all else: a full disk is waited for.

    ``place`` is where all snapshots of the path are, for which the process waits in vain only once.
    """
    with Patience(min(_BEGINNING_PATIENCE_S, _PATIENCE_S), place).here():
        return Lease(store, run_id, held_by)


class Beginning(NamedTuple):
    """The stage that computes, where it keeps what it computes, and how it opens what is kept."""

    node: SnapshotStage
    run: Run
    identity: PassIdentity
    store: Store
    log: Log
    prefix: Callable[[LogState], Kept | None]

    def say_miss(self) -> None:
        """Log why nothing that is stored at the path can be replayed."""
        identity, root = self.identity.identity, self.node.root()
        if identity is None:
            _log.info("miss: nothing is stored in %s yet", self.store.url)
            return
        found = nearest(root, fingerprints_at(root), identity)
        if found is None:
            _log.info("miss: nothing is stored in %s yet", root.url)
            return
        _log.info(
            "miss: %s has no snapshot of this pipeline; the nearest, %s, differs in %s",
            root.url,
            found.name,
            found.changes[0] if found.changes else "what was not recorded",
        )

    def write(
        self, state: LogState, run_id: str, lease: Lease
    ) -> tuple[Kept | None, Computing | None]:
        """Put back what is damaged, and no more; or go on behind what is kept, or begin.

        Gives what is kept and comes first, and what computes and keeps the rest.
        """
        node = self.node
        if self.identity.has_own_state and not state.is_empty:
            # Before any function runs: what they hold now is what the fingerprint says.
            self.reset(state, _of_own_state(self.identity))
        if state.damaged is not None:
            return self._fill(state, run_id)
        kept = computing = None
        if state.appends and node.resume:
            kept = self.prefix(state)
            assert kept is not None
            computing = computing_behind(
                node.parent, state.appends[-1], kept, self.run, self.store.url
            )
        if computing is None:
            if state.appends and kept is not None:
                self._not_reproduced(state)
            elif state.appends:
                self.reset(state, _OTHERS)
            if self.store.url in _not_reproduced:
                return None, compute(self.node, self.run)  # and nothing is stored by this pass
            self._warn_of_shared_state()
            kept, computing = None, compute(self.node, self.run)
        if kept is not None:
            _log.info("resume: %s goes on at element %s", self.store.url, f"{len(kept):,}")
        try:
            first = self._first_pass(state, run_id, lease)
            computing.keep(first, self.identity, node, self.store.url)
        except BaseException:
            computing.close()
            raise
        return kept, computing

    def _warn_of_shared_state(self) -> None:
        identity, url = self.identity.identity, self.node.root().url
        if identity is None or not self.identity.has_own_state or self.run.computes_anew:
            return  # the outer snapshot has noted it: its stages are these and more
        change = note_computing(url, identity.facts)
        if change is not None:
            warn_user(shared_text(change, url))

    def _fill(self, state: LogState, run_id: str) -> tuple[Kept | None, Computing | None]:
        """Compute what a repair has dropped."""

        def is_unmoved(unlike: Sequence[Difference]) -> bool:
            moved = self.identity.moved(thorough=True)
            if unlike:
                warn_user(unlike_text(unlike, self.store.url))
            elif moved.outside:
                warn_user(changes_text(moved.outside, self.store.url))
            return moved.is_known and not moved.outside and not unlike

        filled = fill_damaged(self.node.parent, self.log, state, run_id, is_unmoved)
        if filled is None:
            return None, compute(self.node, self.run)  # and nothing is stored by this pass
        if not filled:
            self._not_reproduced(state)
        return None, None

    def _not_reproduced(self, state: LogState) -> None:
        """Start over, because elements were computed again and are not the same."""
        if self.identity.identity is None:
            self.reset(state, _OTHERS)  # a user has named it, and may have edited the functions
            return
        _not_reproduced.add(self.store.url)
        self.reset(state, _OTHERS + _HERE)

    def _first_pass(self, state: LogState, run_id: str, lease: Lease) -> FirstPass:
        node = self.node
        known = node.parent.known_spec()
        shown = Progress(
            f"storing in {node.root().url}",
            node.cardinality(),
            node.progress,
            done=state.appends[-1].stop if state.appends else 0,
            delay_s=_SHOWN_AFTER_S,
        )
        spec = state.kept.spec if state.kept is not None else known[0] if known else None
        facts = {
            "fingerprint": self.identity.name,
            "facts": self.identity.facts,
            "lineage": Lineage.of(node.parent).to_json(),
            **self._recipe().keep(self.store),
        }
        if state.appends and self.identity.name != self.identity.fingerprint:
            # Functions have moved state of their own since: the log has the facts from before.
            facts["facts"] = state.appends[-1].commit.body.get("facts")
        sources = self.identity.sources
        keeper = None if sources is None else SourceKeeper(self.store, sources)
        patient = self.store.patient()
        # Last, as it has a thread that ends when the pass does, and the lines above may fail.
        recorder = Recorder(
            patient,
            run_id,
            node.compression,
            spec=spec,
            has_spec=known is not None or state.kept is not None,
            chunk_bytes=node.chunk_bytes,
            segment_bytes=node.segment_bytes,
            on_written=shown.add_written,
            patience=Patience(_PATIENCE_S, node.root().url),
            first=state.appends[-1].stop if state.appends else 0,
        )
        return FirstPass(Log(patient), state, run_id, recorder, lease, facts, keeper, shown)

    def _recipe(self) -> Told:
        with self.identity.moment:
            return Told(self.node.parent, self.node.tell, self.node.looks)

    def reset(self, state: LogState, reason: str) -> None:
        """Drop what is stored, and say so."""
        if not state.is_empty:
            _log.info("starts over: %s: %s", self.store.url, reason)
            warn_user(f"{self.store.url} starts over: {reason}")
        add_reset(self.log, state, reason)


def _of_own_state(identity: PassIdentity) -> str:
    """Why a pass begins again whose functions move state, with the name of some of it."""
    path = None if identity.identity is None else moving_path(identity.identity.facts)
    name = path[-1] if path else "global NAME"
    found = f"state of their own ({name})" if path else "state of their own"
    return (
        f"its functions hold {found}, such as a cache or a counter, which an interrupted pass does "
        "not leave behind for the next process; if it does not change the elements, leave it out "
        f'with snapshot(path, ignore=["{name}"]), and passes go on where they stopped'
    )
