"""TrainingPasses: which pass over a pipeline training is in, and how far it has come in it.

A framework may take batches ahead of training, look at a first one that it does not train on, or
leave a pass early. So there are two places: that of the reader, and that of training, which follows
it batch by batch as training says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

from keepset.adapters.shares import Shares
from keepset.core.node import UNKNOWN, Node
from keepset.errors import StateError


class Place(NamedTuple):
    """A pass, and how many of its batches are behind it."""

    number: int
    taken: int


class TrainingPasses:
    """The passes of one reader after another, and the place that training is at."""

    def __init__(self, node: Node) -> None:
        self._shares = Shares(node).again()
        self._length = node.cardinality()
        self._begin = self._place = Place(0, 0)  # where the pass under way began, and training is
        self._reader: object = None  # that of the pass under way
        self._handed: deque[Place] = deque()  # behind each batch that training has not reported
        self._ends: dict[int, int] = {}  # the lengths of passes that came to their end
        self._was_used = self._is_watched = self._has_untold_rest = False

    @property
    def place(self) -> Place:
        """Where training stands. Behind the last batch of a pass that is where the next begins."""
        if self._was_used and not self._is_watched:
            return Place(self._begin.number + 1, 0)  # as far as is known
        return self._settled(self._place)

    def _settled(self, place: Place) -> Place:
        end = self._ends.get(place.number, self._length if self._length >= 0 else None)
        return Place(place.number + 1, 0) if place.taken == end else place

    def rows(self) -> Iterator[Any]:
        """The batches of the next pass, which begins with the first of them."""
        self._reader = reader = self._next()
        number, taken = self._begin
        self._handed.clear()
        self._shares.begin()
        with closing(self._shares.chunks(number, taken)) as chunks:
            for chunk in chunks:
                for row in chunk.rows:
                    taken += 1
                    if self._is_watched and self._reader is reader:
                        self._handed.append(Place(number, taken))
                    yield row
        self._ends[number] = taken

    def _next(self) -> object:
        if self._reader is not None:  # the pass before is over, or was left for good
            if self._has_untold_rest and self._length == UNKNOWN:
                raise StateError(
                    "Keras takes the rest of an epoch for the length of those behind it, as the "
                    "pipeline does not know its length; state it with assert_cardinality(n), or "
                    "train on the rest alone: fit(data, initial_epoch=e, epochs=e + 1), and then "
                    "fit(data, initial_epoch=e + 1, ...)"
                )
            self._begin = Place(self._begin.number + 1, 0)
        self._has_untold_rest, self._was_used = self._begin.taken > 0, False
        return object()

    def trained(self, count: int) -> None:
        """Training is through with so many more batches."""
        for _ in range(min(count, len(self._handed))):
            self._place = self._handed.popleft()

    def end_epoch(self) -> None:
        """What was read so far was used, and not just looked at."""
        self._was_used = True

    def start_over(self) -> None:
        """Whoever reads begins anew: a pass that was only looked at does not count."""
        if self._reader is not None:
            if self._was_used or self._is_watched:
                self._begin = self.place
            self._reader, self._was_used, self._place = None, False, self._begin
            self._handed.clear()
        self._has_untold_rest = False

    def watch(self) -> None:
        """From now on training reports the batches that it is through with."""
        self._is_watched = True

    def unwatch(self) -> None:
        """Training is over: what comes next goes on behind it."""
        self._begin, self._reader = self.place, None
        self._is_watched = self._was_used = False

    def state(self) -> dict[str, Any]:
        if self._reader is not None and not self._is_watched:
            raise StateError(
                "where training stands is not known: Keras may take batches ahead of it; pass "
                "callbacks=[data.watch()], or data.backup(folder), to fit"
            )
        return self._shares.state(*self.place)

    def restore(self, state: Any) -> None:
        self._begin = self._place = Place(*self._shares.restore(state))
        self._was_used = self._is_watched = False
        self._reader = None
        self._handed.clear()
