"""Row-wise stages: neighbours share one loop over the rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Any, ClassVar

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.conform import conformer
from keepset.core.cursor import Cursor, Marked, PositionCursor, State
from keepset.core.dtypes import Array
from keepset.core.node import Node, stage
from keepset.core.open_sizes import opened
from keepset.core.parameter import upstream
from keepset.core.run import Run
from keepset.core.spec import Spec, spec_of
from keepset.core.state_outline import other_workers
from keepset.core.tap import OnError, Tap, Tappable
from keepset.nodes.row_loop import RowLoop, Step


def checked(stage: Any) -> list[Step]:
    """The step that holds a stage's results to its ``output_signature``, if it has one."""
    if stage.output_signature is None:
        return []
    return [Step("convert", conformer(stage.output_signature), stage.title)]


@stage
class RowStage(Node):
    """A stage that is one or more steps of a row loop."""

    parent: Node = upstream()

    # Whether there is exactly one element out for each one in.
    one_to_one: ClassVar[bool] = True

    @abstractmethod
    def steps(self, run: Run) -> list[Step]:
        """The steps that this stage adds to the loop."""

    def cursor(self, run: Run) -> Cursor:
        steps: list[Step] = []
        node: Node = self
        while isinstance(node, RowStage) and node.fuses:
            steps[:0] = node.steps(run)
            node, run = node.parent, run.input(0)
        return _RowCursor(RowLoop(steps), node.cursor(run))

    @property
    def fuses(self) -> bool:
        """Whether the stage can share a loop with its neighbours."""
        return True

    def _first_spec(self) -> Spec:
        return self.first_with_spec()[1]

    def first_with_spec(self) -> tuple[Any, Spec]:
        if self.inferred_spec() is not None:
            return super().first_with_spec()
        row, given = self.parent.first_with_spec()
        result = self.replaced(parent=_OneRow(row=row))._first_element()
        return result, opened(spec_of(result), given, row, self.parent.gives_batches)

    def obstacle(self) -> str | None:
        if not self.one_to_one:
            return f"{self.title} decides which elements there are only while it runs"
        return self.parent.obstacle()

    def gather(self, indices: Array, run: Run) -> Chunk:
        chunk = self.parent.gather(indices, run.input(0))
        loop = RowLoop(self.steps(run))
        if loop.has_positional_steps:
            pairs = zip(chunk.rows, indices.tolist(), strict=True)
            return Chunk.from_rows([_one(loop, row, position) for row, position in pairs])
        out, used, error = loop.run(chunk)
        if error is not None:
            raise loop.explain(error, int(indices[used - 1]))
        return Chunk.from_rows(out)


@stage
class _OneRow(Node):
    """A row as it is, which a function may write to, to look at what comes of it."""

    row: Any

    def cursor(self, run: Run) -> Cursor:
        return PositionCursor(lambda start, stop: Chunk.from_rows([self.row]), 1)

    def cardinality(self) -> int:
        return 1

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec_of(self.row)


def _one(loop: RowLoop, row: Any, position: int) -> Any:
    loop.place_before(position)
    out, _, error = loop.run(Chunk.from_rows([row]))
    if error is not None:
        raise loop.explain(error)
    return out[0]


class _RowCursor(Tappable):
    def __init__(self, loop: RowLoop, parent: Cursor) -> None:
        self._loop, self._parent = loop, Marked(parent)
        self._error: Exception | None = None

    def tap(self, on_error: OnError) -> Tap:
        return _RowTap(self._loop, self._parent, on_error)

    def read(self, max_rows: int) -> Chunk:
        if self._error is not None:
            self._raise(self._error)
        while not self._loop.has_ended:
            chunk = self._parent.read(max_rows)
            if not chunk:
                self._loop.note_end()
                break
            out, used, error = self._loop.run(chunk)
            if error is not None:
                # The failed row is taken back as well until its error has been raised, so that a
                # state taken before that still points to it.
                self._parent.unread(chunk[used - 1 :])
                self._error = self._loop.explain(error)
                if not out:
                    self._raise(self._error)
            if out:
                return Chunk.from_rows(out)
        else:
            self._loop.note_end()
        return EMPTY

    def _raise(self, error: Exception) -> None:
        self._parent.skip(1)
        self._error = None
        raise error

    def skip(self, count: int) -> int:
        if self._error is not None or not self._loop.is_one_to_one:
            return super().skip(count)
        skipped = self._parent.skip(count)
        self._loop.pass_over(skipped)
        return skipped

    def state(self) -> State:
        return _state(self._loop, self._parent.state(), failed=self._error is not None)

    def restore(self, state: State) -> None:
        _restore(self._loop, self._parent, state)

    def close(self) -> None:
        self._parent.close()


class _RowTap(Tap):
    """Calls the functions when the consumer asks for an element, never ahead of it."""

    def __init__(self, loop: RowLoop, parent: Marked, on_error: OnError) -> None:
        self._loop, self._parent, self._on_error = loop, parent, on_error
        self._rows: Generator[Any, None, None] | None = None
        self._left: Any = iter(())  # the rows of the last read that were not used
        self._counted = 0  # how many rows were left when the loop's position was true
        self._failed = False

    def read(self, max_rows: int, tokens: list[None] | None = None) -> Iterator[Any] | None:
        self._count()
        if self._loop.has_ended:
            self._loop.note_end()
            return None
        chunk = self._parent.read(max_rows)
        if not chunk:
            self._loop.note_end()
            return None
        if self.counts_bytes:
            self.read_bytes = chunk.own_bytes
        self._rows, self._left = self._loop.give(chunk, self._fail, tokens)
        self._counted = len(chunk)
        return self._rows

    def _count(self) -> None:
        left = self._left.__length_hint__()
        self._loop.count(self._counted - left)
        self._counted = left

    def _fail(self, error: BaseException) -> BaseException:
        if isinstance(error, GeneratorExit):
            return error
        self._loop.note_failure(error)
        self._count()
        self._failed = True
        if isinstance(error, Exception):
            error = self._loop.explain(error)
        return self._on_error(error)

    def state(self) -> State:
        self._count()
        parent = self._parent.state(unused=self._counted + self._failed)
        return _state(self._loop, parent, failed=self._failed)

    def restore(self, state: State) -> None:
        _restore(self._loop, self._parent, state)

    def close(self) -> None:
        if self._rows is not None:
            # A function that is at work, here or in another thread, cannot be stopped from
            # outside; the loop ends with it.
            with suppress(ValueError):
                self._rows.close()
        self._parent.close()


def _state(loop: RowLoop, parent: State, failed: bool) -> State:
    """Where a loop stands; after a failure, before the row that failed."""
    progress = loop.progress
    if failed:
        for i in range(1, loop.failed_stretch + 2):
            progress[i] -= 1
    return {"parent": parent, "progress": progress, "memory": loop.memory(failed)}


def _restore(loop: RowLoop, parent: Marked, state: State) -> None:
    if "progress" not in state:
        raise other_workers()
    parent.restore(state["parent"])
    loop.progress = state["progress"]
    loop.restore_memory(state["memory"])
