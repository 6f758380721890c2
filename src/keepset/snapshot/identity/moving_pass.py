"""MovingPass: a pass whose functions move state, beside the others of this process that share it.

Elements that depend on such state are right only if one pass alone has moved it. A pass that stores
what it gets from another one is no other: the functions run once for both.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable

from keepset.core.fingerprint import Facts
from keepset.core.run import Session

# Those that are under way in this process. Another thread may add one at any time, so this is no
# WeakSet, and a fork may come at any time, so there is no lock.
_under_way: dict[int, weakref.ref[MovingPass]] = {}


class MovingPass:
    """What one pass and the others have to know of each other.

    Args:
        facts: Those of its pipeline as it began.
        name: Gives the fingerprint under which its elements are stored; None if it is gone.

    Attributes:
        is_disturbed: Whether another pass has moved state that the functions of this one use.
    """

    def __init__(self, facts: Facts, name: Callable[[], str | None]) -> None:
        self._facts, self._name = facts, name
        self._process = os.getpid()
        self._session: Session | None = None
        self._inner: set[str] = set()  # of the passes that it has read, the digests without state
        self.is_disturbed = False

    def begin(self, session: Session | None) -> None:
        """Let the others know of it.

        Args:
            session: The one that computes the elements; None if more functions than its own run.
        """
        self._session = session
        for other in self._sharing():
            other._note_inner(self)
        key = id(self)
        _under_way[key] = weakref.ref(self, lambda _: _under_way.pop(key, None))

    def end(self) -> None:
        _under_way.pop(id(self), None)

    def note_move(self) -> None:
        """Note that functions are about to run, and may move state that other passes share."""
        for other in self._sharing():
            if not (self._reads(other) or other._reads(self)):
                other.is_disturbed = True

    def names_of_same(self) -> list[str]:
        """What passes store their elements as that compute the same, apart from that state."""
        names = [
            other._name()
            for other in _now()
            if other._facts.fixed == self._facts.fixed
            and not other._facts.places.isdisjoint(self._facts.places)
        ]
        return [name for name in names if name is not None]

    def _sharing(self) -> list[MovingPass]:
        """The others under way whose functions use state that those of this one move."""
        return [
            other
            for other in _now()
            if other is not self
            and other._process == os.getpid()
            and not other._facts.places.isdisjoint(self._facts.places)
        ]

    def _note_inner(self, inner: MovingPass) -> None:
        if not self._reads(inner):
            return
        if inner._facts.fixed in self._inner:
            # It is computed twice, as in a repetition, and not replayed as it usually would be.
            self.is_disturbed = True
        self._inner.add(inner._facts.fixed)

    def _reads(self, other: MovingPass) -> bool:
        """Whether this pass stores what it gets from another one: functions run once for both."""
        mine, given = self._session, other._session
        return mine is not None and given is not None and given.is_read_by(mine)


def _now() -> list[MovingPass]:
    found = [reference() for reference in list(_under_way.values())]
    return [each for each in found if each is not None]
