"""RejectionResample: leave elements out at random until the classes are as frequent as asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.element import to_element
from keepset.core.node import INFINITE, UNKNOWN, Node, must_run, stage
from keepset.core.parameter import upstream
from keepset.core.random import Randomness
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.errors import ElementError, InvalidArgumentError, ResultError
from keepset.nodes.random_source import random_words, unit_doubles
from keepset.nodes.row_loop import explain
from keepset.nodes.trail import Trail

# How many elements of each class count as seen before the first one, as in TensorFlow: the
# estimate begins with equal classes and leans on the data more and more.
_SEEN_BEFOREHAND = 10


@stage
class RejectionResample(Node):
    """``(class, element)`` for a selection of elements whose classes follow ``target_dist``.

    Without ``initial_dist`` the frequencies of the classes are estimated from the elements so far.
    Each element is looked at once and given at most once; whether it is given depends on its class,
    the key and its position. (TensorFlow mixes in a second, unfiltered pass over the data, which
    gives some elements twice.)
    """

    parent: Node = upstream()
    class_func: Callable[..., Any]
    target_dist: Any
    initial_dist: Any = None
    source: Randomness

    def __post_init__(self) -> None:
        target = _distribution(self.target_dist, "target_dist")
        object.__setattr__(self, "target_dist", target)
        if self.initial_dist is None:
            return
        initial = _distribution(self.initial_dist, "initial_dist")
        if len(initial) != len(target):
            raise InvalidArgumentError(
                f"initial_dist has {len(initial)} classes and target_dist has {len(target)}; "
                "pass one probability for each class in both"
            )
        if any(t and not p for t, p in zip(target, initial, strict=True)):
            raise InvalidArgumentError(
                f"target_dist {target} asks for a class that initial_dist {initial} says is never "
                "there; pass initial probabilities above 0 for the classes you want"
            )
        object.__setattr__(self, "initial_dist", initial)

    @property
    def randomness(self) -> Randomness:
        return self.source

    def cursor(self, run: Run) -> Cursor:
        return _ResampleCursor(self, run)

    def cardinality(self) -> int:
        return INFINITE if self.parent.cardinality() == INFINITE else UNKNOWN

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return must_run()

    def classify(self, row: Any) -> tuple[Any, int]:
        """The class of an element, as the function gave it and as a checked number."""
        function = self.class_func
        value = to_element(function(*row) if type(row) is tuple else function(row))
        if not isinstance(value, np.integer | np.bool_):
            raise ResultError(f"class_func must return one integer, not {value!r:.60}")
        number, classes = int(value), len(self.target_dist)
        if not 0 <= number < classes:
            raise ElementError(
                f"class_func returned {number}, but target_dist has classes 0 to {classes - 1}"
            )
        return value, number


def _distribution(values: Any, name: str) -> tuple[float, ...]:
    array = np.asarray(values)
    if (
        array.ndim != 1
        or array.dtype.kind not in "iufb"
        or not np.isfinite(array).all()
        or (array < 0).any()
        or not array.any()
    ):
        raise InvalidArgumentError(
            f"{name} must be a list of probabilities, not {values!r:.80}; pass one number of 0 or "
            "more for each class, not all of them 0"
        )
    return tuple(array.astype(np.float64).tolist())


class _ResampleCursor(Cursor):
    def __init__(self, node: RejectionResample, run: Run) -> None:
        self._node = node
        self._parent = Trail(node.parent.cursor(run.input(0)))
        self._words = random_words(run.key(node))
        self._seen = [_SEEN_BEFOREHAND] * len(node.target_dist)
        self._error: Exception | None = None

    def read(self, max_rows: int) -> Chunk:
        if self._error is not None:
            self._fail(self._error)
        while True:
            first = self._parent.position
            self._parent.release(first)
            chunk = self._parent.read(max_rows)
            if not len(chunk):
                return EMPTY
            kept = self._select(chunk, first)
            if kept:
                return Chunk.from_rows(kept)
            if self._error is not None:
                self._fail(self._error)

    def _select(self, chunk: Chunk, first: int) -> list[Any]:
        chances = unit_doubles(self._words(np.arange(first, first + len(chunk)))).tolist()
        kept = []
        for number, row in enumerate(chunk.rows):
            try:
                value, kind = self._node.classify(row)
            except Exception as error:
                # The failed row is taken back until its error has been raised, so that a state
                # taken before that still points to it.
                self._parent.unread(chunk[number:])
                self._error = explain(error, self._node.title, first + number)
                break
            if chances[number] < self._acceptance(kind):
                kept.append((value, row))
        return kept

    def _acceptance(self, kind: int) -> float:
        """The probability that an element of this class is kept, having seen it."""
        frequencies = self._node.initial_dist
        if frequencies is None:
            self._seen[kind] += 1
            frequencies = self._seen
        ratios = [
            t / p if p else 0.0 for t, p in zip(self._node.target_dist, frequencies, strict=True)
        ]
        return ratios[kind] / max(ratios)

    def _fail(self, error: Exception) -> NoReturn:
        self._parent.skip(1)
        self._error = None
        raise error

    def state(self) -> State:
        return {"parent": self._parent.state(), "seen": list(self._seen)}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        self._seen = list(state["seen"])

    def close(self) -> None:
        self._parent.close()
