"""PassIdentity: what a pass over the stages before a snapshot is known by, begin to end.

The functions of a pipeline run while a pass does, not when the pipeline is built. So the identity
is taken when the pass begins, and compared with what it is whenever something is committed: what
was computed after a variable changed is never stored under the fingerprint from before.
"""

from __future__ import annotations

import errno
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from keepset.core.fingerprint import (
    Difference,
    EmptyCaches,
    Moment,
    counting_results,
    differences,
    facts_to_json,
    note_made_so_far,
    while_pass_runs,
)
from keepset.core.fingerprint.facts import digest_of
from keepset.core.run import Session
from keepset.errors import FingerprintError, StateError, StorageError
from keepset.format.commit import FOLDER
from keepset.format.log import Log, LogState
from keepset.snapshot.files.same_files import find_same
from keepset.snapshot.files.sources import Sources
from keepset.snapshot.identity.aliases import alias_of, remember_alias
from keepset.snapshot.identity.moving_pass import MovingPass
from keepset.snapshot.identity.pipeline_identity import Identity, Looks
from keepset.snapshot.identity.unfilled_state import (
    Unfilled,
    key_of,
    note_filled,
    note_replay,
    recorded_moves,
    was_replayed,
)
from keepset.snapshot.reading.neighbours import read_neighbours
from keepset.snapshot.reading.opening import fingerprints_at
from keepset.storage import Store

T = TypeVar("T")

# A walk meets a container that another thread changes at that moment: it is repeated.
_TRIES: Final = 5


class StoringStage(Protocol):
    """A stage that stores the elements of the stages before it."""

    @property
    def fingerprint(self) -> str | None:
        """The one that the user gave, if any."""

    @property
    def mode(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def looks(self) -> Looks: ...

    def snapshots_before(self) -> Sequence[StoringStage]:
        """The stages of this kind before this one, as far as no function opens them."""

    def identify(self, looks: Looks | None = None, *, spelled_out: bool = True) -> Identity:
        """The identity that the stages before have now."""

    def unfilled(self) -> tuple[Mapping[Any, Unfilled], Mapping[Any, Unfilled]]:
        """What replays have left as it was and its functions use, see ``unfilled_reached``."""

    def root(self) -> Store:
        """Where snapshots are stored, each under its fingerprint."""


class Place(NamedTuple):
    """Where the elements of a pass are stored or are to be, and what its log says."""

    name: str
    store: Store
    log: Log
    state: LogState


class Moved(NamedTuple):
    """What is not as it was when the pass began.

    Attributes:
        outside: Variables that the pipeline's functions do not write: their elements are a mixture.
        settled: Fingerprints that the pipeline has from its first element on, because objects of a
            library have made up their minds.
        now: The fingerprint that the pipeline has now.
        places: What holds own state now.
        moves: What of that the pass has moved, by its path, and the digest of what it holds now;
            None if there is no own state.
        is_known: Whether it could be found out; not so while other threads are at work on it.
    """

    outside: Sequence[Difference] = ()
    settled: Sequence[str] = ()
    now: str | None = None
    places: frozenset[Any] = frozenset()
    moves: Mapping[str, str] | None = None
    is_known: bool = True


class PassIdentity:
    """The identity of one pass.

    It can be handed to another process, which has a copy of the stages.
    """

    def __init__(self, stage: StoringStage) -> None:
        self._stage = stage
        self.moment = Moment()
        self._caches = EmptyCaches()
        note_made_so_far()
        self._begun = None if stage.fingerprint is not None else self._taken(self.moment)
        self._settled: Identity | None = None
        self._name: str | None = stage.fingerprint
        self._moving = self._moving_pass()
        self._fingerprint = self._own_fingerprint()
        self._awaited: Mapping[Any, Unfilled] = {}

    def handed_to(self, stage: StoringStage) -> PassIdentity:
        """The same pass in a process that has a copy of the stage."""
        self._stage = stage
        return self

    def __getstate__(self) -> dict[str, Any]:
        # Memory of another process says nothing of this one's.
        names = "_begun", "_settled", "_name", "_fingerprint"
        return {name: self.__dict__[name] for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, moment=Moment(), _caches=EmptyCaches(), _awaited={})
        self._moving = self._moving_pass()

    def _moving_pass(self) -> MovingPass | None:
        if self._begun is None or not self._begun.facts.places:
            return None
        # No cycle: an iterator that is dropped in the middle is no longer under way.
        own = weakref.ref(self)
        return MovingPass(
            self._begun.facts, lambda: None if (pass_ := own()) is None else pass_.name
        )

    @property
    def identity(self) -> Identity | None:
        """That of the pipeline as the pass began; None if the user has named the snapshot."""
        return self._begun

    @property
    def fingerprint(self) -> str:
        """What is computed now is stored under it."""
        return self._fingerprint

    def _own_fingerprint(self) -> str:
        """The user's; or that of the stages, and of what snapshots before this one replay here.

        Such a one may stand for what its functions computed before they moved their state. That
        is not what a process computes whose functions begin with the state as it is now.
        """
        if self._begun is None:
            assert self._stage.fingerprint is not None
            return self._stage.fingerprint
        replayed = self._replayed() if self.has_own_state else []
        if not replayed:
            return self._begun.fingerprint
        parts = [name.encode() for name in (self._begun.fingerprint, *replayed)]
        return digest_of(b"replays", *parts).hex()

    @property
    def _is_of_stages(self) -> bool:
        """Whether another process has the same fingerprint, as nothing else is in it."""
        return self._begun is not None and self.fingerprint == self._begun.fingerprint

    def _replayed(self) -> list[str]:
        """What snapshots before this one were stored as before their functions moved state."""
        inner = [each for each in self._stage.snapshots_before() if each.mode in ("auto", "read")]
        with self.moment:
            begun = [
                each.identify(each.looks, spelled_out=False)
                for each in inner
                if each.fingerprint is None
            ]
        found = [alias_of(each.fingerprint, each.facts.places) for each in begun]
        return [name for name in found if name is not None]

    @property
    def facts(self) -> dict[str, Any] | None:
        return None if self._begun is None else facts_to_json(self._begun.facts)

    @property
    def sources(self) -> Sources | None:
        return None if self._begun is None else self._begun.sources

    @property
    def name(self) -> str:
        """The fingerprint under which the elements are stored, or are going to be."""
        return self._name if self._name is not None else self.place().name

    def check_name(self, stored: str) -> None:
        """Refuse a state that was taken of another snapshot.

        Raises:
            StateError: The stages before the snapshot compute something else.
        """
        if stored != self.name and stored not in self._earlier_names():
            raise StateError(
                f"this state was taken of {self._stage.title} with the fingerprint {stored}, and "
                f"now it has {self.name}: the stages before it compute something else, so that a "
                "position is another element; run the pipeline as it was, or begin a new pass "
                "(ks.explain(ds, path) says what has changed)"
            )

    def _earlier_names(self) -> set[str | None]:
        """What this pipeline was stored as before its functions moved their state here."""
        if self._begun is None or self._moving is None:
            return set()
        alias = alias_of(self._begun.fingerprint, self._begun.facts.places)
        return {alias, *self._moving.names_of_same()}

    # Where:

    def place(self) -> Place:
        """Find what is stored of this pipeline, also under a fingerprint that it had before."""
        root = self._stage.root()
        found = self._by_name(root)
        if found.state.is_empty and found.name == self.fingerprint:
            found = self._by_content(root) or found
        self._name = found.name
        return found

    def is_hidden_by(self, error: StorageError) -> bool:
        """Whether something is stored of this pipeline that an error keeps from being read.

        A place that cannot even be asked for that is out of reach.
        """
        root = self._stage.root()
        if root.is_remote and error.errno not in (errno.EACCES, errno.EPERM):
            return False  # without asking again: the next answer may take as long to fail
        try:
            found = {name.split("/")[0] for name in root.names("")}
            return self.fingerprint in found or bool(root.names(f"{self.fingerprint}/{FOLDER}"))
        except StorageError:
            return False

    def _by_name(self, root: Store) -> Place:
        """What is stored under one of its names, or the empty place of its own."""
        alias = None
        if self._begun is not None and self._stage.mode in ("auto", "read"):
            alias = alias_of(self._begun.fingerprint, self._begun.facts.places)
        if alias is not None:
            found = _place(root, alias)
            # What is missing there cannot be computed: functions hold other state by now.
            is_whole = found.state.version is not None
            if is_whole or (not found.state.is_empty and not self.has_own_state):
                return found
        return _place(root, self.fingerprint)

    def _by_content(self, root: Store) -> Place | None:
        if self._begun is None or self._stage.mode not in ("auto", "read"):
            return None
        if not self._is_of_stages:
            return None
        facts = self._begun.facts
        may_have_settled = facts.firm != facts.fixed or facts.counts_results
        name = _with_alias(root, self.fingerprint) if may_have_settled else None
        if name is None and self.sources is not None:
            name = find_same(root, self.sources)
        return None if name is None else _place(root, name)

    # What has moved:

    @property
    def has_own_state(self) -> bool:
        """Whether there is state that the functions of the pipeline move themselves."""
        return self._moving is not None

    def note_first_element(self) -> None:
        """Take the identity again: objects of a library may settle when they are first used.

        What functions have put into their caches by now is seen before the consumer can change it.
        """
        if self._begun is None or self._settled is not None:
            return
        facts = self._begun.facts
        if facts.firm == facts.fixed and not facts.has_caches:
            return  # there are none
        try:
            with while_pass_runs():
                self._settled = self._taken(self.moment, spelled_out=False)
        except (FingerprintError, RuntimeError):
            return  # then what has moved at the end is taken for a change

    def note_found(self, *, in_background: bool) -> None:
        """Let what the consumer's program has put into caches count, before functions use it."""
        self._caches.note_found(in_background=in_background)

    def begin_functions(self) -> None:
        """Take what appears in caches from here on to be made by the functions of the pipeline."""
        self._caches.begin_functions()

    def end_functions(self) -> None:
        """Note what they have made, before the consumer can change it."""
        self._caches.end_functions()

    def moved(self, *, thorough: bool) -> Moved:
        """Compare with how it is now.

        Args:
            thorough: Whether large arrays are hashed again, and remote files are asked for. If not,
                samples of arrays are compared.
        """
        if self._begun is None:
            return Moved()
        try:
            now = self._now(thorough, spelled_out=False)
        except FingerprintError as error:
            where = getattr(error, "path", None) or "the pipeline"
            return Moved([Difference(str(where), "comparable", "no longer comparable")])
        except RuntimeError as error:
            if _is_disturbance(error):
                return Moved(is_known=False)
            return Moved([Difference("the pipeline", "comparable", f"no longer ({error})")])
        begun = self._begun.facts
        if now.facts.fixed == begun.fixed:
            results = self._with_results(now, thorough)
            return self._own_moved(now, results)
        settled = self._settled
        if settled is not None and (now.facts.firm, now.facts.fixed) == (
            begun.firm,
            settled.facts.fixed,
        ):
            names = [settled.fingerprint] if self._is_of_stages else []
            return self._own_moved(now, names)
        described = self._now(thorough, spelled_out=True).facts
        return Moved(differences(begun, described, name=begun.kind), now=now.fingerprint)

    def _own_moved(self, now: Identity, settled: Sequence[str]) -> Moved:
        """What has moved if nothing was changed from outside."""
        assert self._begun is not None
        begun = self._begun.facts
        moves = recorded_moves(begun, now.facts) if begun.places else None
        places = now.facts.places
        return Moved(settled=settled, now=now.fingerprint, places=places, moves=moves)

    def _with_results(self, now: Identity, thorough: bool) -> list[str]:
        """The fingerprint in a process whose caches held their values before the pass."""
        if not thorough or self.has_own_state or not now.facts.leaves_out_results:
            return []
        with counting_results():
            return [self._taken(self.moment, spelled_out=False).fingerprint]

    def _now(self, thorough: bool, *, spelled_out: bool) -> Identity:
        with while_pass_runs():
            if thorough:
                return self._taken(Moment(), again=True, spelled_out=spelled_out)
            return self._taken(self.moment, spelled_out=spelled_out)

    def is_current(self) -> bool:
        """Whether the pipeline is still what it was when this was taken."""
        if self._begun is None:
            return True
        now = self._taken(self.moment, spelled_out=False)
        return now.facts.digest == self._begun.facts.digest

    def begin_computing(self, session: Session | None) -> None:
        """Let other passes of this process know of this one, if functions move their state.

        Args:
            session: The one that computes the elements; None if more functions than its own run.
        """
        self._caches.note_made()  # to go on behind what is stored, functions have run
        if self._moving is not None:
            self._moving.begin(session)

    def end_computing(self) -> None:
        if self._moving is not None:
            self._moving.end()

    def note_move(self) -> None:
        """Note that functions are about to run, and may move state that other passes share."""
        if self._moving is not None:
            self._moving.note_move()

    @property
    def is_disturbed(self) -> bool:
        """Whether another pass has moved state that the functions of this one use."""
        return self._moving is not None and self._moving.is_disturbed

    # State that replays have left as it was:

    def note_replay(self, moves: Mapping[str, str] | None, url: str) -> None:
        """Note that the pass does not move the state that its first pass moved.

        Args:
            moves: What was recorded with it, as :func:`recorded_moves`.
            url: Where it is stored.
        """
        if self._begun is None or not self.has_own_state:
            return
        facts = self._begun.facts
        if alias_of(facts.digest, facts.places) == self.name != self.fingerprint:
            return  # a first pass of this process has moved it
        with self.moment:
            inner = [each for each in self._stage.snapshots_before() if each.fingerprint is None]
            before = [key_of(each.identify(spelled_out=False).facts) for each in inner]
        note_replay(facts, moves, url, before)

    def unfilled(self) -> Mapping[Any, Unfilled]:
        """What replays have left as it was, so that functions compute something else from it.

        What they set themselves, when they first need it, is compared when the pass ends.
        """
        if self._begun is None or was_replayed(self._begun.facts):
            return {}
        with self.moment:  # in which what arrays hold is known
            found, self._awaited = _undisturbed(self._stage.unfilled)
        return found

    def wrongly_filled(self) -> Mapping[Any, Unfilled]:
        """What its functions have set to something else than the first pass of another did."""
        if not self._awaited:
            return {}
        now = self._now(True, spelled_out=False).facts.state
        right = {
            place
            for place, each in self._awaited.items()
            if place in now and now[place].digest == each.after
        }
        wrong = {place: each for place, each in self._awaited.items() if place not in right}
        note_filled(right, wrong)
        return wrong

    def changed_files(self) -> list[str]:
        """The local files that do not stand as they did when the pass began."""
        if self.sources is None:
            return []
        changed = (~self.sources.unchanged()).nonzero()[0].tolist()
        return [self.sources.path(number) for number in changed]

    def remember(self, moved: Moved) -> None:
        """Let the next pass of this process find what this one has stored."""
        if self.is_disturbed:
            return  # the state is not what this pass alone has made of it
        if self._name is None:
            return  # the place was out of reach when the pass began: nothing of it is stored there
        for name in (moved.now, *moved.settled):
            if name is not None:
                remember_alias(name, moved.places, self.name)

    def forget_files(self) -> None:
        """Look at the files again when the next pass begins."""
        self._stage.looks.forget()

    def _taken(self, moment: Moment, *, again: bool = False, spelled_out: bool = True) -> Identity:
        looks = self._stage.looks

        def identify() -> Identity:
            with moment, self._caches.finding():
                return self._stage.identify(
                    looks.of_local_files() if again else looks, spelled_out=spelled_out
                )

        return _undisturbed(identify)


def _undisturbed(look: Callable[[], T]) -> T:
    """What a walk finds, which is repeated where another thread changes a container meanwhile."""
    for _ in range(_TRIES - 1):
        try:
            return look()
        except RuntimeError as error:
            if not _is_disturbance(error):
                raise
    return look()


def _is_disturbance(error: RuntimeError) -> bool:
    """Whether another thread changed a container while the walk went through it."""
    return "during iteration" in str(error) or "mutated" in str(error)


def _place(root: Store, name: str) -> Place:
    store = root.sub(f"{name}/")
    log = Log(store)
    return Place(name, store, log, log.state())


def _with_alias(root: Store, fingerprint: str) -> str | None:
    """The snapshot whose log says that it is also known by this fingerprint."""

    def aliases(store: Store) -> list[str]:
        version = Log(store).state().version
        return [] if version is None else version.commit.body.get("aliases", [])

    known = read_neighbours(root, fingerprints_at(root), aliases)
    return next((name for name, found in known.items() if fingerprint in found), None)


def changes_text(changes: Sequence[Difference], url: str) -> str:
    """A warning about variables that changed while a pass computed from them."""
    more = f" (and {len(changes) - 1} more)" if len(changes) > 1 else ""
    return (
        f"{changes[0]}{more}: this changed while elements were computed for {url}, so they are not "
        "stored, and the next pass computes them again; leave the variable alone during a pass, or "
        "leave it out of the fingerprint with snapshot(path, ignore=[...])"
    )


def disturbed_text(url: str) -> str:
    """A warning that two passes at once have moved the same state."""
    return (
        f"another pass has run functions that write the same variables as those for {url} do, such "
        "as a cache or a counter, so the elements from here on are not stored; iterate one after "
        "the other, or leave the variables out with snapshot(path, ignore=[...]) if they do not "
        "change the elements"
    )


def unknown_text(url: str) -> str:
    """A warning that the end of a pass could not be compared with its begin."""
    return (
        f"other threads go on changing variables of the pipeline while the pass for {url} ends, so "
        "it cannot be compared with how it began, and what it computed is not stored; stop them, "
        "or leave the variables out of the fingerprint with snapshot(path, ignore=[...])"
    )


def unlike_text(found: Sequence[Difference], url: str) -> str:
    """A warning that worker processes compute with other values than the fingerprint counts."""
    first, more = found[0], f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return (
        f"{first.path} is {first.old} here and {first.new} in a worker process{more}, so that what "
        f"workers compute is not stored in {url}: they import modules anew, and this could not be "
        "sent to them; set it where the module is imported, pass it as an argument or a captured "
        'variable, or leave out executor="process"'
    )
