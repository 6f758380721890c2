"""Run: one pass over a pipeline, with the seeds it drew and the workers it started."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from keepset.core.options import Options

if TYPE_CHECKING:
    from keepset.core.node import Node


class Closable(Protocol):
    def close(self) -> None: ...


R = TypeVar("R", bound=Closable)


class Session:
    """What all cursors of one run share: draws, options and closable resources such as pools."""

    def __init__(
        self,
        root: Node,
        draws: dict[str, list[int]] | None = None,
        outer: Session | None = None,
    ) -> None:
        self._outer = outer
        self.options: Options = (
            root.options() if outer is None else outer.options.merge(root.options())
        )
        self.draws: dict[str, list[int]] = {}
        self._resources: dict[object, Closable] = {}
        self._cleanup = ExitStack()
        self._lock = Lock()
        self._draw_all(root, "", draws or {})

    def _draw_all(self, node: Node, where: str, known: dict[str, list[int]]) -> None:
        randomness = node.randomness
        if randomness is not None:
            if where in known:
                randomness.advance_past(known[where][1])
                self.draws[where] = list(known[where])
            else:
                self.draws[where] = [randomness.effective_seed, randomness.next_pass()]
        for i, parent in enumerate(node.inputs):
            self._draw_all(parent, f"{where}.{i}", known)

    def shared(self, make: Callable[[], R]) -> R:
        """The one resource of this class for the whole run, nested pipelines included."""
        return self.resource(make, make) if self._outer is None else self._outer.shared(make)

    def resource(self, key: object, make: Callable[[], R]) -> R:
        """The resource under ``key``, made on first use and closed with the session."""
        with self._lock:
            if key not in self._resources:
                made = make()
                self._cleanup.callback(made.close)
                self._resources[key] = made
            return self._resources[key]  # type: ignore[return-value]

    def on_close(self, action: Callable[[], Any]) -> None:
        """Call ``action`` when the run ends, before what was registered earlier."""
        self._cleanup.callback(action)

    def close(self) -> None:
        """End the run. Safe to call more than once."""
        self._cleanup.close()


@dataclass(frozen=True, slots=True)
class Run:
    """A node's view of its run: where it stands in the pipeline and which repetition this is."""

    session: Session
    where: str = ""
    repetition: tuple[int, ...] = ()

    def input(self, index: int) -> Run:
        """The view for the ``index``-th input; cursors pass it when they open their parents."""
        return replace(self, where=f"{self.where}.{index}")

    def again(self, count: int) -> Run:
        """The view for the ``count``-th repetition of everything upstream."""
        return replace(self, repetition=(*self.repetition, count))

    @property
    def options(self) -> Options:
        return self.session.options

    def key(self, node: Node) -> tuple[int, ...]:
        """The key of this node's random choices in this pass."""
        randomness = node.randomness
        assert randomness is not None
        seed, number = self.session.draws[self.where]
        return (seed, number, *self.repetition) if randomness.rerandomize else (seed,)


def start(root: Node, draws: dict[str, list[int]] | None = None, within: Run | None = None) -> Run:
    """Begin a pass over a pipeline, or over one that an element of the run ``within`` stands for.

    ``draws`` are those of a pass that is being resumed.
    """
    return Run(Session(root, draws, None if within is None else within.session))


class _FirstPass(Session):
    """A session that looks at the first pass without counting as one."""

    def _draw_all(self, node: Node, where: str, known: dict[str, list[int]]) -> None:
        if node.randomness is not None:
            self.draws[where] = [node.randomness.effective_seed, 0]
        for i, parent in enumerate(node.inputs):
            self._draw_all(parent, f"{where}.{i}", known)


def look(root: Node) -> Run:
    """A run for addressing elements by position: always the order of the first pass."""
    return Run(_FirstPass(root))
