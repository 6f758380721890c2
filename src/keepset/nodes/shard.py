"""Shard: deal elements out like cards and keep one hand."""

from __future__ import annotations

from collections.abc import Callable

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.node import scaled, stage
from keepset.core.run import Run
from keepset.errors import InvalidArgumentError
from keepset.nodes.indexed import Indexed


@stage
class Shard(Indexed):
    """Keep the elements whose position is ``index`` modulo ``num_shards``."""

    num_shards: int
    index: int

    def __post_init__(self) -> None:
        if self.num_shards < 1:
            raise InvalidArgumentError(f"num_shards must be at least 1, not {self.num_shards}")
        if not 0 <= self.index < self.num_shards:
            raise InvalidArgumentError(
                f"shard index {self.index} is outside 0..{self.num_shards - 1}; "
                f"pass index < num_shards (got num_shards={self.num_shards})"
            )

    def cursor(self, run: Run) -> Cursor:
        if self.parent.obstacle() is None:
            return super().cursor(run)
        return _ShardCursor(self, self.parent.cursor(run.input(0)))

    def cardinality(self) -> int:
        return scaled(self.parent.cardinality(), lambda n: -(-(n - self.index) // self.num_shards))

    def translator(self, run: Run) -> Callable[[Array], Array]:
        return lambda positions: positions * self.num_shards + self.index


class _ShardCursor(Cursor):
    def __init__(self, node: Shard, parent: Cursor) -> None:
        self._node, self._parent, self._dealt = node, parent, 0

    def read(self, max_rows: int) -> Chunk:
        shards = self._node.num_shards
        while chunk := self._parent.read(max_rows * shards):
            first = (self._node.index - self._dealt) % shards
            self._dealt += len(chunk)
            # Slicing a chunk slices its columns: no element is touched.
            if hand := chunk[first::shards]:
                return hand
        return EMPTY

    def state(self) -> State:
        return {"parent": self._parent.state(), "dealt": self._dealt}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        self._dealt = state["dealt"]

    def close(self) -> None:
        self._parent.close()
