"""Deal: every so many-th block of elements, for one of several readers who share a pipeline."""

from __future__ import annotations

from collections.abc import Callable

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, Standstill, State
from keepset.core.dtypes import Array
from keepset.core.node import UNKNOWN, scaled, stage
from keepset.core.run import Run
from keepset.errors import InvalidArgumentError
from keepset.nodes.indexed import Indexed


@stage
class Deal(Indexed):
    """Blocks of ``size`` elements: the one with the number ``first``, then every ``step``-th."""

    first: int
    step: int = 1
    size: int = 1

    def __post_init__(self) -> None:
        if self.first < 0 or self.step < 1 or self.size < 1:
            raise InvalidArgumentError(
                f"blocks are dealt from number 0 on, in steps and sizes of at least 1, not "
                f"first={self.first}, step={self.step}, size={self.size}"
            )

    def cursor(self, run: Run) -> Cursor:
        is_addressable = self.parent.obstacle() is None and self.parent.cardinality() != UNKNOWN
        # Whole blocks are read one after another, as views; single elements are gathered.
        if is_addressable and self.step > 1 and (self.size == 1 or self.jumps):
            return super().cursor(run)
        return _DealCursor(self, self.parent.cursor(run.input(0)))

    def cardinality(self) -> int:
        return scaled(self.parent.cardinality(), self._dealt)

    def _dealt(self, elements: int) -> int:
        blocks = -(-elements // self.size)
        ours = max(0, -(-(blocks - self.first) // self.step))
        has_last = ours and self.first + (ours - 1) * self.step == blocks - 1
        missing = blocks * self.size - elements if has_last else 0
        return ours * self.size - missing

    def translator(self, run: Run) -> Callable[[Array], Array]:
        size = self.size

        def translate(positions: Array) -> Array:
            blocks = self.first + positions // size * self.step
            translated: Array = blocks * size + positions % size
            return translated

        return translate


class _DealCursor(Cursor):
    """Passes over what is not ours: most stages do that without computing it.

    If one of those fails all the same, there is nothing behind the error.
    """

    def __init__(self, node: Deal, parent: Cursor) -> None:
        self._node, self._parent = node, parent
        self._standstill, self._failed = Standstill(parent), False
        self._ahead = node.first * node.size  # elements to pass over
        self._left = 0 if self._ahead else node.size  # of the block that comes then

    def read(self, max_rows: int) -> Chunk:
        if not self._reach():
            return EMPTY
        if self._node.step == 1:
            return self._parent.read(max_rows)
        try:
            chunk = self._parent.read(min(max_rows, self._left))
        except Exception:
            self._failed = True
            if not self._standstill.is_reached():
                self._use(1)
            raise
        if self._failed:
            self._failed = False
            self._standstill.forget()
        self._use(len(chunk))
        return chunk

    def skip(self, count: int) -> int:
        skipped = 0
        while skipped < count and self._reach():
            left = count - skipped
            wanted = left if self._node.step == 1 else min(left, self._left)
            passed = self._parent.skip(wanted)
            skipped += passed
            if self._node.step > 1:
                self._use(passed)
            if passed < wanted:
                break
        return skipped

    def _reach(self) -> bool:
        """Go to the next element that is ours; False if the parent ends before it."""
        if self._ahead:
            ahead, self._ahead = self._ahead, 0
            if self._parent.skip(ahead) < ahead:
                return False
            self._left = self._node.size
        return True

    def _use(self, count: int) -> None:
        self._left -= count
        if not self._left:
            self._ahead = (self._node.step - 1) * self._node.size

    def state(self) -> State:
        return {"parent": self._parent.state(), "ahead": self._ahead, "left": self._left}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        self._ahead, self._left = state["ahead"], state["left"]

    def close(self) -> None:
        self._parent.close()
