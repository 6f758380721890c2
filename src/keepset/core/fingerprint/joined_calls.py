"""JoinedCalls: what a function is called with, one call at a time or all calls taken together.

Large code calls a function in thousands of ways, each with other arguments. After some of them,
which arguments go together is no longer looked at, and the function is followed again only if there
is something new among them.
"""

from __future__ import annotations

from collections import defaultdict
from types import FunctionType
from typing import Any, Final

from keepset.core.fingerprint.stand_ins import identity, nesting
from keepset.core.fingerprint.targets import Bindings

_MOST_SINGLE: Final = 24
_DEEPEST: Final = 3  # new containers in new containers: a recursion may make ever deeper ones


class JoinedCalls:
    """The calls of one function.

    Attributes:
        depth: How far from a root of the pipeline the nearest of them is.
        has_grown: Whether there is something that the function was not followed with.
    """

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.depth: int | None = None
        self.has_grown = False
        # By what the function gets. It is kept, so that the ids in the keys stay its own.
        self._single: dict[Any, Bindings] = {}
        self._values: dict[str, dict[Any, Any]] = defaultdict(dict)

    def add(self, bindings: Bindings, depth: int) -> bool:
        """Take in a call; whether the function is to be followed with its arguments alone."""
        self.depth = depth if self.depth is None else min(self.depth, depth)
        if len(self._single) >= _MOST_SINGLE:
            self.has_grown |= self._join(bindings)
            return False
        key = tuple(
            (name, frozenset(map(identity, found))) for name, found in sorted(bindings.items())
        )
        if key in self._single:
            return False
        self._single[key] = bindings
        self._join(bindings)
        return True

    def _join(self, bindings: Bindings) -> bool:
        has_grown = False
        for name, found in bindings.items():
            known = self._values[name]
            before = len(known)
            for value in found:
                if nesting(value) <= _DEEPEST:
                    known.setdefault(identity(value), value)
            has_grown |= len(known) > before
        return has_grown

    def taken(self) -> Bindings:
        """All arguments so far, by parameter, with which the function is followed now."""
        self.has_grown = False
        return {name: list(known.values()) for name, known in self._values.items()}
