"""Journal: the order in which a stage gave its elements where the order was left free.

Stages downstream note a position as "a state, and so many elements since". That is exact only if
going on from the state gives the same elements again. A stage that gives whatever is ready first
therefore writes down its choices into every state that somebody still holds, and a restored
stage follows them before it chooses freely again.
"""

from __future__ import annotations

from collections import deque
from weakref import WeakSet


class _Log(list[list[int]]):
    """A list that can be told from others and noticed when nobody holds it any more."""

    __slots__ = ("__weakref__",)
    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other


class Journal:
    """Choices ``[which, how many]``: to be followed first, then made and written down.

    ``which`` is the number of a source to take from, or with ``by_position`` the position of the
    first element taken.
    """

    def __init__(self, by_position: bool) -> None:
        self._by_position = by_position
        self._logs: WeakSet[_Log] = WeakSet()
        self._script: deque[list[int]] = deque()

    def log(self) -> list[list[int]]:
        """A list for a state, which goes on growing for as long as the state is held."""
        log = _Log([list(entry) for entry in self._script])
        self._logs.add(log)
        return log

    def follow(self, log: list[list[int]]) -> None:
        """Make the choices of a log before any others."""
        self._script = deque(list(entry) for entry in log)

    @property
    def next_choice(self) -> list[int] | None:
        return self._script[0] if self._script else None

    def starts_after(self, position: int) -> list[int]:
        """The choices still to come that lie beyond ``position``."""
        return [which for which, _ in self._script if which > position]

    def made(self, which: int, count: int) -> None:
        """A choice was made: one that the script asked for, or a free one."""
        if not self._script:
            for log in self._logs:
                log.append([which, count])
            return
        entry = self._script[0]
        entry[1] -= count
        if self._by_position:
            entry[0] += count
        if entry[1] <= 0:
            self._script.popleft()
