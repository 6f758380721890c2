"""Snapshot: keeps what the stages before it give, and gives it back on every later run."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import field
from numbers import Real
from typing import TYPE_CHECKING, Any

from keepset.core.cached import cached_property
from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, Lookup, State
from keepset.core.fingerprint.facts import digest_of
from keepset.core.node import Node, stage
from keepset.core.parameter import parameter, upstream
from keepset.core.random import Randomness
from keepset.core.run import Run, draws_by_place
from keepset.core.spec import Spec, is_compatible
from keepset.core.warn import warn_user
from keepset.errors import (
    InvalidArgumentError,
    PendingSnapshotError,
    SnapshotMismatchError,
    SnapshotMissingError,
    StateError,
    StorageError,
)
from keepset.format.log import LogState, Version
from keepset.format.manifest import Manifest
from keepset.nodes.nested import Nested, open_nested
from keepset.snapshot.empty_hit import warn_of_empty_hit
from keepset.snapshot.identity.pass_identity import PassIdentity
from keepset.snapshot.identity.pipeline_identity import Identity, Looks, identify, uses_state_of
from keepset.snapshot.identity.unfilled_state import (
    Unfilled,
    is_any_unfilled,
    unfilled_reached,
    warn_of_pass,
    warn_unfilled,
    was_replayed,
)
from keepset.snapshot.reading.in_order import Reading, open_reading
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.reading.opening import Location
from keepset.snapshot.writing.lease import EXPIRY_S, Holder, Lease, Watch, is_held_up
from keepset.snapshot.writing.run_id import new_run_id
from keepset.snapshot.writing.sizes import CHUNK_BYTES, SEGMENT_BYTES
from keepset.snapshot.writing.telling import Tell
from keepset.storage import Store, open_store
from keepset.storage.failures import cannot_be_stored

if TYPE_CHECKING:
    from keepset.snapshot.beginning import Beginning
    from keepset.snapshot.writing.computing import Computing

MODES = ("auto", "read", "write", "passthrough")
PENDING = ("passthrough", "wait", "follow", "error")
WRITE_ERRORS = ("warn", "raise")
_POLL_S = 0.2

_log = logging.getLogger("keepset")


@stage
class SnapshotStage(Node):
    """The elements of ``parent``, stored below ``path`` under the fingerprint of each pass.

    A ``fingerprint`` is one that the user gave: then nothing is compared.
    """

    is_physical = True
    opens_pipelines = True

    parent: Node = upstream()
    # Where and how elements are stored and who waits for whom: they are those of ``parent``.
    path: str = parameter(identity=False)
    # Given by the user, who changes it whenever the elements change.
    fingerprint: str | None = None
    compression: str = parameter(default="AUTO", identity=False)
    shard_func: Callable[..., Any] | None = None
    mode: str = parameter(default="auto", identity=False)
    on_pending: str = parameter(default="passthrough", identity=False)
    on_write_error: str = parameter(default="warn", identity=False)
    resume: bool = parameter(default=True, identity=False)
    progress: bool | None = parameter(default=None, identity=False, recipe=False)
    expiry_s: float = parameter(default=EXPIRY_S, identity=False)
    strict: bool = parameter(default=False, identity=False)
    ignore: tuple[str, ...] = parameter(default=(), identity=False)
    store_options: Any = parameter(default=None, identity=False, recipe=False)
    chunk_bytes: int = parameter(default=CHUNK_BYTES, identity=False)
    segment_bytes: int = parameter(default=SEGMENT_BYTES, identity=False)
    # These choose and order elements, so they count (the shards by what a reader makes of them).
    reader: Callable[[Location], Node] | None = None
    source: Randomness = field(default_factory=lambda: Randomness(None))
    tell: Tell | None = parameter(default=None, identity=False, recipe=False)

    @property
    def randomness(self) -> Randomness:
        return self.source

    def __post_init__(self) -> None:
        choices_of = {"mode": MODES, "on_pending": PENDING, "on_write_error": WRITE_ERRORS}
        for name, allowed in choices_of.items():
            if getattr(self, name) not in allowed:
                choices = ", ".join(map(repr, allowed))
                raise InvalidArgumentError(
                    f"{name} must be one of {choices}, not {getattr(self, name)!r}"
                )

        # What is not a number compares with none, and a NaN neither.
        if not (isinstance(self.expiry_s, Real) and self.expiry_s >= 0):
            raise InvalidArgumentError(
                "pending_snapshot_expiry_seconds must be a number that is not negative, not "
                f"{self.expiry_s!r:.60}"
            )

    @property
    def kind(self) -> str:
        return "snapshot"

    @property
    def title(self) -> str:
        return f"snapshot({self.path!r})"

    @cached_property
    def opened(self) -> dict[tuple[str, str], Kept]:
        """The version that was read last, by its place and the run that wrote it."""
        return {}

    @cached_property
    def looks(self) -> Looks:
        """How the files of the pipeline stood when they were first looked at."""
        return Looks()

    def identify(
        self, looks: Looks | None = None, *, spelled_out: bool = True, finds_blind: bool = False
    ) -> Identity:
        """The identity that the stages before have now."""
        return identify(
            self.parent,
            self.shard_func,
            strict=self.strict,
            ignore=self.ignore,
            looks=looks or self.looks,
            spelled_out=spelled_out,
            finds_blind=finds_blind,
        )

    def snapshots_before(self) -> list[SnapshotStage]:
        """The stages of this kind before this one, as far as no function opens them."""
        return [node for node in self.parent.walk() if isinstance(node, SnapshotStage)]

    def unfilled(self) -> tuple[Mapping[Any, Unfilled], Mapping[Any, Unfilled]]:
        """What replays have left as it was and the functions before use."""
        if not is_any_unfilled():
            return {}, {}
        replayed = {
            each
            for inner in self.snapshots_before()
            if inner.fingerprint is None and was_replayed(inner.identify(spelled_out=False).facts)
            for each in inner.walk()
        }
        nodes = [node for node in self.parent.walk() if node not in replayed]
        shards = [] if self.shard_func is None else [("shard_func", self.shard_func)]
        return unfilled_reached(nodes, shards, self.ignore)

    def begin_pass(self) -> PassIdentity:
        return PassIdentity(self)

    def goes_on_without(self, error: StorageError, *, has_begun: bool = False) -> bool:
        """Whether a pass goes on if its elements cannot be stored because of an error."""
        may_compute = self.mode in ("auto", "write") and self.on_write_error == "warn"
        return may_compute and cannot_be_stored(error, self.root().url, was_there=has_begun)

    def root(self) -> Store:
        return open_store(self.path, **(self.store_options or {}))

    def cursor(self, run: Run) -> Cursor:
        return _SnapshotCursor(self, run)

    def cardinality(self) -> int:
        return self.parent.cardinality()

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)

    def obstacle(self) -> str | None:
        return f"{self.title} gives its elements in order until they are all kept; load(path) then"


def _draws_of(state: LogState) -> dict[str, list[int]] | None:
    """The seeds of the pass that has stored the beginning, so that others compute the same."""
    draws: dict[str, list[int]] | None = None
    if state.appends:
        draws = state.appends[-1].resume.get("draws")
    return draws


class _SnapshotCursor(Cursor):
    """Decides at its first read what it is: a reader, a writer or neither."""

    def __init__(self, node: SnapshotStage, run: Run) -> None:
        self._node, self._run = node, run
        self._identity: PassIdentity | None = None
        self._name: str | None = None  # the fingerprint under which elements are stored
        self._position = 0
        self._is_open = False
        self._is_placed = False  # whether it is known what is stored
        self._starts_over = False
        self._kept: Kept | None = None  # what is there already, and is given first
        self._ahead: Reading | None = None  # of that
        self._computing: Computing | None = None  # what is not, if anything is to be
        self._follows: LogState | None = None
        self._reading: Nested | None = None  # what ``reader`` made of the kept elements
        self._reader_state: State | None = None
        self._version_draws: dict[str, list[int]] | None = None
        self._drawn: Any = None  # the seeds when a state was taken, or what stands for them
        self._early_states: list[State] = []  # taken before it was decided what is stored
        run.session.on_close(self.close)

    def read(self, max_rows: int) -> Chunk:
        self._open()
        if self._reading is not None:
            return self._reading.read(max_rows)
        while True:
            if self._kept is not None and self._position < len(self._kept):
                try:
                    chunk = self._read_kept(max_rows)
                except Exception:
                    self._position += 1  # the element that cannot be read
                    raise
            elif self._follows is not None:
                self._wait_for_more(self._follows)
                continue
            elif self._computing is not None:
                chunk = self._computing.read(self._position, max_rows)
            else:
                return EMPTY
            self._position += len(chunk)
            return chunk

    def _read_kept(self, max_rows: int) -> Chunk:
        assert self._kept is not None
        if self._ahead is None or self._ahead.kept is not self._kept:
            self._ahead = open_reading(self._kept)
        stop = min(self._position + max_rows, len(self._kept))
        return self._ahead.read(self._position, stop)

    # What it is:

    def _open(self) -> None:
        if not self._is_open:
            # Before it is tried: where errors are ignored, one that stays would come for ever.
            self._is_open = True
            try:
                self._decide()
            except StorageError as error:
                if self._computing is not None or not self._may_go_on_without(error):
                    raise
                self._go_on_without(error)
            self._check_draws()
            if self._run.computes_anew:
                self._note_replayed_draws()
            # Their holder has read on from there: what they are states of is known by now.
            for state in self._early_states:
                state.update(self._place())
            self._early_states.clear()

    def _may_go_on_without(self, error: StorageError) -> bool:
        if not self._node.goes_on_without(error):
            return False
        # What is stored and cannot be read would be computed again, perhaps for days.
        return self._is_placed or not self._begun().is_hidden_by(error)

    def _place(self) -> State:
        return {"fingerprint": self._name, "draws": self._draws_now() or self._drawn}

    def _note_replayed_draws(self) -> None:
        """Let an outer snapshot know of seeds that what is replayed here depends on."""
        draws, start = self._draws_now(), self._run.input(0).where
        for place in self._run.session.draws if draws is None else ():
            if place.startswith(start):
                self._run.session.note_opened_random(place)
        for place in draws_by_place(self._node.parent, draws or {}):
            self._run.session.note_opened_random(f"{start}{place}")

    def _check_draws(self) -> None:
        """Refuse to go on in an order that another seed has drawn."""
        drawn, now = self._drawn, self._draws_now()
        if isinstance(drawn, str):  # a state of an earlier version of the library
            is_same = drawn == self._digest_of_draws()
        elif drawn and now is not None:
            # What is not among them now is known to make no difference.
            is_same = all(now.get(place, each) == each for place, each in drawn.items())
        else:
            is_same = not drawn
        if not is_same:
            raise StateError(
                f"this state was taken of {self._node.title} while a random stage before it had "
                "drawn another seed than that of the elements that are stored now, so that a "
                "position is another element; give the stage a seed, or begin a new pass"
            )

    def _digest_of_draws(self) -> str | None:
        draws = self._draws_now() if self._computing is None else self._computing.draws
        return str(digest_of(json.dumps(draws, sort_keys=True).encode()).hex()) if draws else None

    def _draws_now(self) -> dict[str, list[int]] | None:
        """The seeds that the elements depend on, once it is known which they are."""
        if self._computing is not None:
            return self._computing.used_draws
        return self._version_draws if self._follows is None else _draws_of(self._follows)

    def _decide(self) -> None:
        mode = self._node.mode
        if mode == "passthrough":
            _log.info("pass-through: %s has mode='passthrough'", self._node.title)
            return self._compute_all()
        if self._fills_state_for_later_stages():
            _log.info(
                "pass-through: functions behind %s use what those before it write, so that these "
                "run again",
                self._node.title,
            )
            return self._compute_all()
        state = self._go_to_place()
        if self._uses_unfilled_state(state):
            return self._compute_all()
        self._starts_over = mode == "write" and not state.is_empty
        if state.is_empty and _log.isEnabledFor(logging.INFO):
            self._beginning().say_miss()
        while state.version is None or self._starts_over:
            if mode == "read":
                raise SnapshotMissingError(
                    f"{self._store.url} is not finished, and mode='read' computes nothing; run "
                    "the pipeline with mode='auto' first"
                )
            holder = self._become_writer(state)
            if holder is None:
                if self._computing is not None:
                    return None
                continue
            if self._node.on_pending == "error":
                raise PendingSnapshotError(
                    f"{self._store.url} is being written by {holder}; wait for it with "
                    "on_pending='wait', or read along with on_pending='follow'"
                )
            if self._would_wait_for_itself(holder) or self._node.on_pending == "passthrough":
                _log.info(
                    "pass-through: %s writes %s; elements are computed and not stored",
                    holder,
                    self._store.url,
                )
                return self._compute_all(_draws_of(state))
            if self._node.on_pending == "follow" and not self._starts_over:
                self._follows, self._kept = state, self._prefix(state)
                return None
            time.sleep(_POLL_S)
            self._log.follow(state)
        if self._computing is None:
            found = state.version.manifest
            _log.info("hit: %s replays %s elements", self._store.url, f"{found.elements:,}")
            if not found.elements and not self._run.session.is_nested:
                warn_of_empty_hit(self._store.url)
        self._read_version(state.version)
        return None

    def _uses_unfilled_state(self, state: LogState) -> bool:
        """Whether elements would be stored that functions compute from state left unfilled."""
        if not is_any_unfilled():
            return False
        found = self._begun().unfilled()
        is_replayed = state.version is not None and self._node.mode != "write"
        warn_unfilled(found, self._node.title, is_replayed=is_replayed)
        return bool(found) and not is_replayed and self._node.mode != "read"

    def _fills_state_for_later_stages(self) -> bool:
        """Whether a replay would leave out what later stages of an outer snapshot need.

        A vocabulary, for one, that functions before this stage fill and functions behind it read.
        """
        if not self._run.computes_anew or self._node.mode == "read":
            return False
        return uses_state_of(self._run.session.root, self._node.parent)

    def _would_wait_for_itself(self, holder: Holder) -> bool:
        """Whether the writer goes on only when the consumer of this pass has got its elements.

        So it is with two iterators of one loop, and with the workers of one loader.
        """
        # Two branches of one pipeline, and two threads, do not have to wait for each other.
        if holder.is_this_process and is_held_up(holder.run, self._run.session.outermost):
            warn_user(
                f"another iterator of this process is still open and stores {self._store.url}, so "
                "this pass computes its elements without storing them; read that one to its end, "
                "or close it first"
            )
        return holder.is_this_process or bool(self._run.session.outermost.handed)

    def _begun(self) -> PassIdentity:
        """The identity of this pass: of the process that began it, or taken now."""
        if self._identity is None:
            handed = self._run.session.handed.get(self._run.where)
            self._identity = handed.handed_to(self._node) if handed else self._node.begin_pass()
        return self._identity

    def _go_to_place(self) -> LogState:
        was_taken = self._identity is not None or self._run.session.handed.get(self._run.where)
        if was_taken and not self._begun().is_current():
            # Something changed between then and now, when the functions begin to run.
            self._identity = self._node.begin_pass()
            if self._run.computes_anew:
                # The name was right when the outer snapshot's pass was resumed. That pass warns of
                # the change and stores nothing more, but its consumer still gets all elements.
                self._drawn = None
            elif self._name is not None:
                self._identity.check_name(self._name)
        name, self._store, self._log, state = self._begun().place()
        self._name, self._is_placed = name, True
        self._watch = Watch(self._store, self._node.expiry_s)
        return state

    def _read_version(self, version: Version) -> None:
        # Opened once for all passes, so that every chunk is checked once.
        self._version_draws = version.commit.body.get("draws")
        place, opened = (self._store.url, version.commit.run), self._node.opened
        kept = opened.get(place)
        if kept is None or kept.manifest != version.manifest:
            kept = self._opened(version.manifest)
            opened.clear()
            opened[place] = kept
        self._kept, self._follows = kept, None
        self._begun().note_replay(version.commit.body.get("moved"), self._store.url)
        warn_of_pass(self._run.session.outermost.root)
        node = self._node
        # Whoever has begun to give elements in their order goes on with that.
        if node.reader is not None and not self._position:
            number, options = version.commit.number, node.store_options or {}
            location = Location(self._store.url, number, options, True, self._kept)
            key = self._run.key(node)
            self._reading = open_nested(node.reader(location), self._run, key, self._reader_state)

    def _prefix(self, state: LogState) -> Kept | None:
        return None if state.kept is None else self._opened(state.kept)

    def _opened(self, manifest: Manifest) -> Kept:
        known = self._node.parent.known_spec()
        if manifest.elements and known and not is_compatible(known[0], manifest.spec):
            raise SnapshotMismatchError(
                f"{self._store.url} keeps elements of {manifest.spec}, but the pipeline gives "
                f"{known[0]}: another one was given the fingerprint {self._name!r}; "
                "choose another name, or compute it again with mode='write'"
            )
        return Kept(self._store, manifest)

    def _wait_for_more(self, state: LogState) -> None:
        """Take in what the writer has committed since; if it is gone, take its place."""
        generation = state.generation
        self._log.follow(state)
        self._check_generation(state, generation)
        have = 0 if self._kept is None else len(self._kept)
        if state.version is not None:
            self._read_version(state.version)
        elif state.appends and state.appends[-1].stop > have:
            self._kept = self._prefix(state)
        elif self._become_writer(state) is not None:
            time.sleep(_POLL_S)
        elif self._computing is not None:
            self._check_generation(state, generation)
            self._follows = None

    def _check_generation(self, state: LogState, generation: int) -> None:
        """Elements of two passes that do not give the same are not mixed.

        Neither are those of a pass and of a save to the same place.
        """
        is_replaced = state.version is not None and state.version.commit.kind == "replace"
        if (state.generation != generation or is_replaced) and self._position:
            raise PendingSnapshotError(
                f"{self._store.url} was begun anew after {self._position} elements of it had been "
                "read along; iterate again to read the new ones"
            )

    def _become_writer(self, state: LogState) -> Holder | None:
        """Write from here on, unless somebody else does: who that is.

        None also if there is nothing left to write.
        """
        holder = self._watch.live_holder()
        if holder is None:
            from keepset.snapshot.beginning import lease_of

            run_id = new_run_id()
            place = self._node.root().url
            lease = lease_of(self._store, run_id, self._run.session.outermost, place)
            try:
                holder = lease.earlier_holder(self._watch)
                self._log.follow(state)
                if holder is None and (state.version is None or self._starts_over):
                    self._write(state, run_id, lease)
            finally:
                if self._computing is None:
                    lease.release()
        return holder

    def _compute_all(self, draws: dict[str, list[int]] | None = None) -> None:
        from keepset.snapshot.beginning import compute

        self._computing = compute(self._node, self._run, draws)
        if self._identity is not None:
            self._computing.watch(self._identity)

    def _go_on_without(self, error: StorageError) -> None:
        """Compute without storing, because the place does not take anything."""
        from keepset.snapshot.beginning import warn_not_stored

        self._compute_all()
        warn_not_stored(error, self._node.root().url)

    def _write(self, state: LogState, run_id: str, lease: Lease) -> None:
        beginning = self._beginning()
        if self._starts_over:
            # Not before it is certain who writes: else nobody might keep anything.
            beginning.reset(state, "mode='write' asks for it")
            self._starts_over = False
        kept, computing = beginning.write(state, run_id, lease)
        if computing is not None:
            self._kept, self._computing = kept, computing

    def _beginning(self) -> Beginning:
        from keepset.snapshot.beginning import Beginning

        return Beginning(self._node, self._run, self._begun(), self._store, self._log, self._prefix)

    # As every cursor:

    def skip(self, count: int) -> int:
        self._open()
        if self._reading is not None:
            return self._reading.skip(count)
        if self._kept is None or self._follows is not None or self._computing is not None:
            return super().skip(count)
        skipped = min(count, len(self._kept) - self._position)
        self._position += skipped
        return skipped

    def lookup(self) -> Lookup | None:
        kept = self._kept
        is_whole = not (self._follows or self._computing or self._reading)
        if kept is None or not is_whole or not kept.gathers_at_once:
            return None
        return lambda numbers: kept.gather(kept.rows_at(numbers))

    def state(self) -> State:
        if self._reading is not None:
            return self._place() | {"position": 0, "reader": self._reading.state()}
        state = self._place() | {"position": self._position, "reader": self._reader_state}
        if not self._is_open:
            self._early_states.append(state)
        return state

    def restore(self, state: State) -> None:
        self._position, self._reader_state = int(state["position"]), state["reader"]
        stored = state.get("fingerprint")
        if stored is None or self._node.mode == "passthrough":
            return  # nothing was read by then, or nothing is to be compared with
        self._begun().check_name(stored)
        self._name, self._drawn = stored, state.get("draws")

    def close(self) -> None:
        with ExitStack() as closing:  # all of them, also if one fails
            for opened in (self._ahead, self._reading, self._computing):
                if opened is not None:
                    closing.callback(opened.close)
