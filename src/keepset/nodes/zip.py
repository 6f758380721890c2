"""Zip: the elements of several data sets side by side."""

from __future__ import annotations

from collections.abc import Callable

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, Marked, State
from keepset.core.dtypes import Array
from keepset.core.node import INFINITE, UNKNOWN, Node, stage
from keepset.core.parameter import upstream
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.core.structure import Structure
from keepset.errors import InvalidArgumentError


@stage
class Zip(Node):
    """One element of each input, nested like ``layout``, until the shortest ends."""

    parents: tuple[Node, ...] = upstream(several=True)
    layout: Structure

    def __post_init__(self) -> None:
        if not self.parents:
            raise InvalidArgumentError("zip needs at least one data set")
        places = self.layout.num_leaves
        if places != len(self.parents):
            raise InvalidArgumentError(
                f"zip has {len(self.parents)} datasets for the {places} places of {self.layout}; "
                "pass one for each"
            )

    def cursor(self, run: Run) -> Cursor:
        cursors = [parent.cursor(run.input(i)) for i, parent in enumerate(self.parents)]
        return _ZipCursor(self, cursors)

    def cardinality(self) -> int:
        lengths = [parent.cardinality() for parent in self.parents]
        finite = [length for length in lengths if length >= 0]
        if UNKNOWN in lengths:
            return UNKNOWN
        return min(finite) if finite else INFINITE

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return self.layout.build([spec(parent) for parent in self.parents])

    def obstacle(self) -> str | None:
        return next(filter(None, (parent.obstacle() for parent in self.parents)), None)

    def gather(self, indices: Array, run: Run) -> Chunk:
        parts = [parent.gather(indices, run.input(i)) for i, parent in enumerate(self.parents)]
        return self.join(parts)

    def join(self, parts: list[Chunk]) -> Chunk:
        """Put chunks of one length side by side, as columns if all have them."""
        length = len(parts[0])
        if all(part.has_columns for part in parts):
            structure = self.layout.nest(iter([part.structure for part in parts]))
            columns = [column for part in parts for column in part.columns]
            return Chunk.from_columns(structure, columns, length)
        return Chunk.from_rows(list(self.layout.rows([part.rows for part in parts], length)))


class _ZipCursor(Cursor):
    def __init__(self, node: Zip, parents: list[Cursor]) -> None:
        self._node, self._parents = node, [Marked(parent) for parent in parents]
        self._ended = False

    def read(self, max_rows: int) -> Chunk:
        if self._ended:
            return EMPTY
        parts: list[Chunk] = []
        wanted = max_rows
        for place, parent in enumerate(self._parents):
            try:
                chunk = parent.read(wanted)
            except Exception:
                if parent.stands_still:
                    # No element has failed, so none has lost its partners.
                    for earlier, part in zip(self._parents, parts, strict=False):
                        earlier.unread(part)
                    raise
                # The partners of the failed element go with it, so that the rest stays aligned.
                for earlier, part in zip(self._parents, parts, strict=False):
                    earlier.unread(part[1:])
                for later in self._parents[place + 1 :]:
                    later.skip(1)
                raise
            parts.append(chunk)
            wanted = len(chunk)
            if not wanted:
                break
        for parent, part in zip(self._parents, parts, strict=False):
            parent.unread(part[wanted:])
        if not wanted:
            self._ended = True
            return EMPTY
        return self._node.join([part[:wanted] for part in parts])

    def skip(self, count: int) -> int:
        if self._ended:
            return 0
        skipped = [parent.skip(count) for parent in self._parents]
        self._ended = min(skipped) < count
        return min(skipped)

    def state(self) -> State:
        return {"parents": [parent.state() for parent in self._parents], "ended": self._ended}

    def restore(self, state: State) -> None:
        for parent, place in zip(self._parents, state["parents"], strict=True):
            parent.restore(place)
        self._ended = state["ended"]

    def close(self) -> None:
        for parent in self._parents:
            parent.close()
