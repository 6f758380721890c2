"""Run: one pass over a pipeline, with the seeds it drew and the workers it started."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from contextvars import Context, copy_context
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar
from weakref import WeakSet

from keepset.core.options import NO_OPTIONS, Options
from keepset.core.random import Randomness, philox
from keepset.errors import StateError

if TYPE_CHECKING:
    from keepset.core.fingerprint import Difference
    from keepset.core.node import Node


class Closable(Protocol):
    def close(self) -> None: ...


R = TypeVar("R", bound=Closable)

# Runs that hold threads or processes. They are closed while the interpreter is still whole: once
# it is being taken down, threads no longer run and waiting for one would never end.
_open_sessions: WeakSet[Session] = WeakSet()


# What is ended behind them: a session may still need it to finish, as it needs an upload.
_after_sessions: list[Callable[[], None]] = []


@atexit.register
def _close_open_sessions() -> None:
    """Close each of them, also if others fail; every error is reported."""
    for end in (*[session.close for session in list(_open_sessions)], *_after_sessions):
        try:
            end()
        except BaseException as error:
            sys.excepthook(type(error), error, error.__traceback__)


def after_sessions(action: Callable[[], None]) -> Callable[[], None]:
    """Call ``action`` when the process ends, once all sessions are closed."""
    _after_sessions.append(action)
    return action


# What looks at each pipeline before a pass over it begins.
_before_passes: list[Callable[[Node], None]] = []


def before_passes(action: Callable[[Node], None]) -> Callable[[Node], None]:
    """Call ``action`` with the last stage of each pipeline that is iterated, before it is."""
    _before_passes.append(action)
    return action


def _leave_to_parent() -> None:
    """A child of a fork has none of its parent's threads, and its workers are not the child's."""
    for session in list(_open_sessions):
        session.leave()
    _open_sessions.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


class Session:
    """What all cursors of one run share: draws, options and closable resources such as pools."""

    def __init__(
        self,
        root: Node,
        draws: dict[str, list[int]] | None = None,
        outer: Session | None = None,
        options: Options | None = None,
        handed: Mapping[str, Any] | None = None,
    ) -> None:
        self._outer = outer
        self.root = root
        # What the process that began the pass found out, by the places of its stages.
        self.handed: Mapping[str, Any] = handed or {}
        inherited = options or (NO_OPTIONS if outer is None else outer.options)
        self.options: Options = inherited.merge(root.options())
        # Functions of the user see its variables in every thread, as they see those of the thread
        # that began the pass. A thread enters a copy: no two threads can be in one context.
        self.context: Context = copy_context() if outer is None else outer.context
        self.draws: dict[str, list[int]] = {}
        # Where stages have opened pipelines whose random stages draw from the seed of that one.
        self.opened_random: set[str] = set()
        self._known = draws or {}
        self._sources: dict[str, Randomness] = {}
        self._resources: dict[object, Closable] = {}
        self._cleanup = ExitStack()
        self._left: ExitStack | None = None  # kept, so that no destructor runs
        self._lock = Lock()
        # What worker processes compute with, and this process has otherwise.
        self.unlike: Sequence[Difference] = ()
        self._draw_all(root, "")

    def note_unlike(self, found: Sequence[Difference]) -> None:
        """Note that worker processes compute with other values than this process has."""
        session: Session | None = self
        while session is not None:
            session.unlike, session = session.unlike or found, session._outer

    def note_opened_random(self, where: str) -> None:
        """Note that the stage at a place has opened a pipeline that draws from its seed."""
        self.opened_random.add(where)

    def _draw_all(self, node: Node, where: str) -> None:
        if node.randomness is not None:
            self.draws[where] = self._draw(node.randomness, where)
        for i, parent in enumerate(node.inputs):
            self._draw_all(parent, f"{where}.{i}")

    def _draw(self, randomness: Randomness, where: str) -> list[int]:
        """The seed and the number of this pass, for the stage at ``where``."""
        if where not in self._known:
            return [randomness.effective_seed, randomness.next_pass()]
        seed, number = self._known[where]
        randomness.advance_past(number)
        return [seed, number]

    @property
    def outermost(self) -> Session:
        """The session of the pass that this one is part of."""
        return self if self._outer is None else self._outer.outermost

    @property
    def is_nested(self) -> bool:
        """Whether this is a pass over a pipeline that an element of another one stands for."""
        return self._outer is not None and self._outer.is_nested

    def is_read_by(self, other: Session) -> bool:
        """Whether stages of ``other`` read what this one gives, and no function opens it anew."""
        outer = None if self.is_nested else self._outer
        return outer is not None and (outer is other or outer.is_read_by(other))

    @property
    def computation(self) -> Session:
        """The session that computes what one snapshot stores, or that of the whole pass."""
        return self if self._outer is None else self._outer.computation

    def shared(self, make: Callable[[], R]) -> R:
        """The one resource of this class for the whole run, nested pipelines included."""
        return self.resource(make, make) if self._outer is None else self._outer.shared(make)

    def resource(self, key: object, make: Callable[[], R]) -> R:
        """The resource under ``key``, made on first use and closed with the session."""
        with self._lock:
            if key not in self._resources:
                made = make()
                self.on_close(made.close)
                self._resources[key] = made
            return self._resources[key]  # type: ignore[return-value]

    def on_close(self, action: Callable[[], Any]) -> None:
        """Call ``action`` when the run ends, before what was registered earlier."""
        self._cleanup.callback(action)
        _open_sessions.add(self)

    def leave(self) -> None:
        """Forget what is to be closed, which is another process's."""
        self._left = self._cleanup.pop_all()

    def check_process(self) -> None:
        """Raise an error in a forked process that goes on with its parent's run."""
        if self._left is not None:
            raise StateError(
                "this iteration began in the process that was forked; begin anew in this process"
            )

    def close(self) -> None:
        """End the run. Safe to call more than once."""
        self._cleanup.close()


class _FirstPass(Session):
    """A session that looks at the first pass without counting as one."""

    def _draw(self, randomness: Randomness, where: str) -> list[int]:
        # A node that is reached on two ways takes part in the first pass twice.
        earlier = sum(source is randomness for source in self._sources.values())
        self._sources[where] = randomness
        return [randomness.effective_seed, earlier]


class _Nested(Session):
    """A session of a pipeline that an element stands for.

    What it draws follows from ``key`` alone, so that opening the pipeline again, after a restore,
    gives the same elements in the same order.
    """

    def __init__(
        self, root: Node, key: tuple[int, ...], within: Run | None, options: Options
    ) -> None:
        self._key, self._within = key, within
        outer = None if within is None else within.session
        super().__init__(root, outer=outer, options=options)
        if any(map(_draws_unseeded, root.walk())):
            self.note_opened_random("")

    def note_opened_random(self, where: str) -> None:
        # Its own draws come from the seed of the stage that opened it, whichever of them it is.
        if self._within is not None:
            self._within.session.note_opened_random(self._within.where)

    @property
    def is_nested(self) -> bool:
        return True

    def _draw(self, randomness: Randomness, where: str) -> list[int]:
        # The opening stage's own seed counts only where the nested stage was given none: a
        # pipeline whose stages are all seeded has the same order each time it is built.
        seed, *place = self._key
        number = int(philox(*place, len(self.draws)).random_raw())
        if randomness.seed is not None:
            return [randomness.seed, number]
        return [int(philox(seed, number).random_raw()), number]


class _Below(Session):
    """A session of the stages before a snapshot, which draw what they draw in their first pass.

    Neither how often they were iterated before counts, nor what stands behind the snapshot: a
    repetition, or a stage that opens the pipeline for each of its elements.
    """

    def __init__(self, root: Node, within: Run, draws: dict[str, list[int]] | None) -> None:
        self._within = within
        start, outer = len(within.where), within.session
        inside = (within.where, f"{within.where}.")
        handed = {
            k[start:]: v
            for k, v in outer.handed.items()
            if k == inside[0] or k.startswith(inside[1])
        }
        known = None if draws is None else draws_by_place(root, draws)
        super().__init__(root, known, outer, handed=handed)
        # The identity of what is stored was taken just now, perhaps long after the pass began.
        self.context = copy_context()

    @property
    def computation(self) -> Session:
        return self

    def note_opened_random(self, where: str) -> None:
        super().note_opened_random(where)
        self._within.session.note_opened_random(f"{self._within.where}{where}")

    def resource(self, key: object, make: Callable[[], R]) -> R:
        # Workers are those of the whole pass: a repetition uses the ones that are there.
        return self._within.session.resource(key, make)

    def _draw(self, randomness: Randomness, where: str) -> list[int]:
        # A node that is reached on two ways takes part in the first pass twice.
        earlier = sum(source is randomness for source in self._sources.values())
        self._sources[where] = randomness
        if where in self._known:
            return list(self._known[where])
        seed, _ = self._within.session.draws[f"{self._within.where}{where}"]
        return [seed, earlier]


def _counted_places(
    node: Node, where: str = "", counted: str = ""
) -> Iterator[tuple[Node, str, str]]:
    """Each random stage, its place, and the one it has if stages that do not count are left out.

    A stage with randomness of its own is never left out, so that no two of them share a place.
    """
    if node.randomness is not None:
        yield node, where, counted
    is_left_out = node.is_passed_over and node.randomness is None and len(node.inputs) == 1
    for i, parent in enumerate(node.inputs):
        yield from _counted_places(
            parent, f"{where}.{i}", counted if is_left_out else f"{counted}.{i}"
        )


def _draws_unseeded(node: Node) -> bool:
    """Whether a stage of an opened pipeline draws from the seed of the one that opened it."""
    randomness = node.randomness
    return randomness is not None and randomness.seed is None and not node.opens_pipelines


def counted_draws(root: Node, draws: Mapping[str, list[int]]) -> dict[str, list[int]]:
    """Draws to be stored: by places that a prefetch, which may come and go, does not move."""
    return {counted: list(draws[where]) for _, where, counted in _counted_places(root)}


def used_draws(
    root: Node, draws: Mapping[str, list[int]], opened_random: Set[str]
) -> dict[str, list[int]]:
    """As :func:`counted_draws`, without stages that only open pipelines in which nothing draws.

    A worker process does not say what is drawn in the pipelines that it opens.
    """
    return {
        counted: list(draws[where])
        for node, where, counted in _counted_places(root)
        if not node.opens_pipelines or where in opened_random or _opens_elsewhere(node)
    }


def _opens_elsewhere(node: Node) -> bool:
    parallelism = getattr(node, "parallelism", None)
    return parallelism is not None and parallelism.executor == "process"


def draws_by_place(root: Node, stored: Mapping[str, list[int]]) -> dict[str, list[int]]:
    """Stored draws by the places that the stages have in this pipeline."""
    places = _counted_places(root)
    return {where: list(stored[counted]) for _, where, counted in places if counted in stored}


class Run(NamedTuple):
    """A node's view of its run: where it stands in the pipeline and which repetition this is.

    What ``computes_anew`` is going to be stored under the fingerprint that the pipeline has now:
    elements that a stage remembers may be of an earlier one.
    """

    session: Session
    where: str = ""
    repetition: tuple[int, ...] = ()
    keeps_order: bool = False
    computes_anew: bool = False

    def input(self, index: int) -> Run:
        """The view for the ``index``-th input; cursors pass it when they open their parents."""
        return self._replace(where=f"{self.where}.{index}")

    def again(self, count: int) -> Run:
        """The view for the ``count``-th repetition of everything upstream."""
        return self._replace(repetition=(*self.repetition, count))

    def in_order(self) -> Run:
        """The view for inputs that must give the same order when they are read again."""
        return self._replace(keeps_order=True)

    @property
    def options(self) -> Options:
        return self.session.options

    def key(self, node: Node) -> tuple[int, ...]:
        """The key of this node's random choices in this pass."""
        randomness = node.randomness
        assert randomness is not None
        seed, number = self.session.draws[self.where]
        return (seed, number, *self.repetition) if randomness.rerandomize else (seed,)


def start(
    root: Node,
    draws: dict[str, list[int]] | None = None,
    handed: Mapping[str, Any] | None = None,
) -> Run:
    """Begin a pass over a pipeline.

    Args:
        root: The last stage.
        draws: Those of a pass that is being resumed.
        handed: What the stages' ``begin_pass`` returned in the process that began the pass.
    """
    for look_at in _before_passes:
        look_at(root)
    return Run(Session(root, draws, handed=handed))


def start_nested(root: Node, within: Run, key: tuple[int, ...]) -> Run:
    """Begin a pass over a pipeline that an element of the run ``within`` stands for."""
    session = _Nested(root, key, within, within.options)
    return Run(session, keeps_order=within.keeps_order, computes_anew=within.computes_anew)


def start_below(root: Node, within: Run, draws: dict[str, list[int]] | None = None) -> Run:
    """Begin a pass over the stages before a snapshot, in the order of their first pass.

    What it takes ends with the run ``within``.

    Args:
        root: The last stage before the snapshot.
        within: The view that the snapshot has of this stage.
        draws: The stored ones of the pass that stored the beginning, if it is to go on.
    """
    session = _Below(root, within, draws)
    within.session.on_close(session.close)
    return Run(session, keeps_order=True, computes_anew=True)


def start_apart(
    root: Node, key: tuple[int, ...], options: Options, keeps_order: bool, computes_anew: bool
) -> Run:
    """As :func:`start_nested`, in another process than the run that it belongs to."""
    session = _Nested(root, key, None, options)
    return Run(session, keeps_order=keeps_order, computes_anew=computes_anew)


def look(root: Node) -> Run:
    """A run for addressing elements by position: always the order of the first pass."""
    return Run(_FirstPass(root))
