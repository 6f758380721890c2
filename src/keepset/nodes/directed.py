"""Directed: take elements from several inputs, each time from the one that a selector names."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from keepset.core.chunk import EMPTY, Chunk, concat
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.node import Node
from keepset.core.run import Run
from keepset.core.spec import Spec, common_supertype
from keepset.errors import ElementError, InvalidArgumentError
from keepset.nodes.trail import Trail


class Selector(Protocol):
    """Names inputs by number, one for each element, and can take names back."""

    def read(self, count: int) -> Array:
        """At most ``count`` numbers, and none at the end."""

    def unread(self, choices: Array) -> None:
        """Take back the last numbers that ``read`` gave."""

    def state(self) -> State: ...

    def restore(self, state: State) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Directed(Node):
    """Elements of ``parents`` in an order that a selector decides as it goes."""

    parents: tuple[Node, ...]
    stop_on_empty_dataset: bool

    def __post_init__(self) -> None:
        if not self.parents:
            raise InvalidArgumentError(f"{self.kind} needs at least one data set")
        known = [parent.known_spec() for parent in self.parents]
        if all(spec is not None for spec in known):
            self._common([spec[0] for spec in known])

    @abstractmethod
    def selector(self, run: Run) -> Selector:
        """What names the inputs in one pass."""

    def never_chosen(self) -> set[int]:
        """Inputs that the selector is known not to name."""
        return set()

    def cursor(self, run: Run) -> Cursor:
        return _DirectedCursor(self, run)

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return self._common([spec(parent) for parent in self.parents])

    def _common(self, specs: list[Spec]) -> Spec:
        try:
            return common_supertype(specs)
        except ElementError as error:
            raise ElementError(
                f"{self.kind} needs data sets of one type: {error}; map some of them to the others"
            ) from error


class _DirectedCursor(Cursor):
    def __init__(self, node: Directed, run: Run) -> None:
        self._node = node
        self._selector = node.selector(run)
        self._parents = [Trail(p.cursor(run.input(i))) for i, p in enumerate(node.parents)]
        self._empty = node.never_chosen()
        self._error: Exception | None = None
        self._failed = -1  # the input whose error waits to be raised
        self._ended = False

    def read(self, max_rows: int) -> Chunk:
        if self._error is not None:
            self._fail(self._error)
        wanted = max_rows
        while not self._is_over():
            choices = self._selector.read(wanted)
            self._ended = not len(choices)
            choices = self._choose(choices, max_rows)
            if len(choices):
                chunk = self._take(choices)
                if len(chunk):
                    return chunk
                if self._error is not None:
                    self._fail(self._error)
            # A selector that names empty inputs again and again is asked for more at a time.
            wanted = min(2 * wanted, 4096) if self._selector_is_free else max_rows
        return EMPTY

    @property
    def _selector_is_free(self) -> bool:
        return getattr(self._selector, "is_free", False)

    def _is_over(self) -> bool:
        return self._ended or len(self._empty) == len(self._parents)

    def _choose(self, choices: Array, most: int) -> Array:
        """The choices that name an input with elements left, at most so many of them."""
        if not self._empty:
            return choices
        full = np.flatnonzero(~np.isin(choices, list(self._empty)))
        if len(full) > most:
            self._selector.unread(choices[full[most] :])
            full = full[:most]
        return choices[full]

    def _take(self, choices: Array) -> Chunk:
        """Read what the choices name, up to an error, or to an empty input if that is the end."""
        parts: list[Chunk] = []
        places: list[Array] = []
        stop = len(choices)
        numbers: list[int] = np.unique(choices).tolist()
        for number in numbers:
            named = np.flatnonzero(choices == number)
            chunk, error = self._read(self._parents[number], len(named))
            parts.append(chunk)
            places.append(named)
            if len(chunk) == len(named):
                continue
            missing = int(named[len(chunk)])
            if error is not None:
                if missing < stop:
                    stop, self._error, self._failed = missing, error, number
'''
rm_later=1
