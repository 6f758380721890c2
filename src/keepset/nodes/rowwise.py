"""Row-wise stages: user functions called element by element, neighbours fused into one loop.

A chain such as ``map, filter, map`` runs as one generated Python loop, so that functions are
called in the order in which a plain ``for`` statement would call them, and no stage costs more
than its function call and one type check.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Protocol

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.conform import conformer
from keepset.core.cursor import Cursor, Marked, State
from keepset.core.dtypes import PLAIN_SCALARS, Array
from keepset.core.element import to_returned_element
from keepset.core.node import Node, stage
from keepset.core.run import Run


class Memory(Protocol):
    """What a step carries from row to row, as JSON."""

    def state(self, before_last: bool) -> Any:
        """The value, or the one before the last row."""

    def restore(self, state: Any) -> None:
        """Go back to a value that ``state`` gave."""


class Step(NamedTuple):
    """One function of the loop. ``kind`` is a key of the templates below."""

    kind: str
    function: Callable[..., Any]
    title: str
    memory: Memory | None = None


# What each kind of step does to the element ``x``. ``f`` is its function, ``call`` calls it with a
# tuple unpacked, ``at`` is the element's position in the stage's input. ``t`` is the type of the
# last result if that was plain: a result of that type is an element already. ``s`` says whether the
# last result was a tuple. The text is ours alone: nothing a user writes gets into it.
_TO_ELEMENT = (
    "if type(x) is not {t}:",
    "    x = to_element(x)",
    "    {s} = type(x) is tuple",
    "    {t} = type(x) if type(x) in plain else None",
)
_TEMPLATES: dict[str, tuple[str, ...]] = {
    "map": ("x = {call}", *_TO_ELEMENT),
    "map_checked": ("x = {call}",),
    "convert": ("x = {f}(x)",),
    "filter": ("if not {call}: continue", "{at} += 1"),
    "take_while": ("if not {call}:", "    step = ENDED", "    break"),
    "positional": ("x = {f}(x, {at})", *_TO_ELEMENT),
    "carried": ("x = {f}(x)",),
}
_ENDED = -1
# Steps whose elements can be passed over without calling their functions.
_ONE_TO_ONE = {"map", "map_checked", "convert", "positional"}


@lru_cache(maxsize=256)
def _compile(kinds: tuple[str, ...], scalars: bool) -> Callable[..., Callable[..., None]]:
    """Generate the loop over rows for a chain of steps; ``scalars`` if no row is a tuple.

    ``progress`` holds the number of the step at work and, for each stretch between two filters,
    the position of the element in it, so that an error can say where it happened. The position in
    the input is counted here only if a step asks for it.
    """
    body = ["at0 += 1"] if "positional" in kinds else []
    stretch = 0
    unpacks = None if scalars else "type(x) is tuple"
    for number, kind in enumerate(kinds):
        if len(kinds) > 1:
            body.append(f"step = {number}")
        f, t, s = (f"{name}{number}" for name in "fts")
        at = f"at{stretch + (kind == 'filter')}"
        call = f"{f}(x)" if unpacks is None else f"({f}(*x) if {unpacks} else {f}(x))"
        body.extend(line.format(f=f, t=t, s=s, at=at, call=call) for line in _TEMPLATES[kind])
        stretch += kind == "filter"
        if kind in ("map", "positional"):
            unpacks = s
        elif kind not in ("filter", "take_while"):
            unpacks = "type(x) is tuple"
    functions = ", ".join(f"f{i}" for i in range(len(kinds)))
    hints = " = ".join(f"t{i}" for i in range(len(kinds)))
    tuples = " = ".join(f"s{i}" for i in range(len(kinds)))
    counters = ", ".join(f"at{i}" for i in range(stretch + 1))
    lines = [
        f"def make({functions}, plain, to_element):",
        "    def loop(rows, append, progress):",
        f"        step, {counters} = progress",
        f"        {hints} = None",
        f"        {tuples} = False",
        "        try:",
        "            for x in rows:",
        *(f"                {line}" for line in body),
        "                append(x)",
        "        finally:",
        f"            progress[:] = step, {counters}",
        "    return loop",
    ]
    namespace: dict[str, Any] = {"ENDED": _ENDED}
    exec("\n".join(lines), namespace)
    return namespace["make"]  # type: ignore[no-any-return]


class RowLoop:
    """The compiled loop of a chain of steps, with its position counters."""

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps
        self._loops: dict[bool, Callable[..., None]] = {}
        filters = sum(step.kind == "filter" for step in steps)
        self.progress = [0] + [-1] * (filters + 1)
        self._memories = [(i, s.memory) for i, s in enumerate(steps) if s.memory is not None]
        self.is_one_to_one = all(step.kind in _ONE_TO_ONE for step in steps)
        self.has_positional_steps = any(step.kind == "positional" for step in steps)

    def _loop(self, scalars: bool) -> Callable[..., None]:
        if scalars not in self._loops:
            make = _compile(tuple(step.kind for step in self._steps), scalars)
            functions = [step.function for step in self._steps]
            self._loops[scalars] = make(*functions, PLAIN_SCALARS, to_returned_element)
        return self._loops[scalars]

    def run(
        self, chunk: Chunk, on_row: Callable[[int], None] | None = None
    ) -> tuple[list[Any], int, Exception | None]:
        """Give the results, how many rows were used, and the error that stopped the loop.

        ``on_row`` is told the number of each row before it is worked on.
        """
        rows, scalars = chunk.rows, chunk.has_columns and chunk.structure.is_leaf
        out: list[Any] = []
        remaining: Any = iter(rows)  # knows how many rows are left
        source = remaining if on_row is None else _announced(remaining, on_row)
        used, failure = len(rows), None
        try:
            self._loop(scalars)(source, out.append, self.progress)
        except Exception as error:
            used, failure = used - remaining.__length_hint__(), error
        if not self.has_positional_steps:
            self.progress[1] += used
        return out, used, failure

    def memory(self, failed: bool) -> list[Any]:
        """What the steps carry; after a failure, what they carried before the failed row."""
        reached = self.progress[0] if failed else -1
        return [memory.state(number < reached) for number, memory in self._memories]

    def restore_memory(self, carried: list[Any]) -> None:
        for (_, memory), value in zip(self._memories, carried, strict=True):
            memory.restore(value)

    @property
    def has_ended(self) -> bool:
        """Whether a step has said that no more elements are wanted."""
        return self.progress[0] == _ENDED

    @property
    def failed_stretch(self) -> int:
        """How many filters the element had passed that the loop stopped at."""
        before = self._steps[: self.progress[0]]
        return sum(step.kind == "filter" for step in before)

    def explain(self, error: Exception, position: int | None = None) -> Exception:
        """Say at which stage and element the loop stopped."""
        at = self.progress[1 + self.failed_stretch] if position is None else position
        return explain(error, self._steps[self.progress[0]].title, at)


def checked(stage: Any) -> list[Step]:
    """The step that holds a stage's results to its ``output_signature``, if it has one."""
    if stage.output_signature is None:
        return []
    return [Step("convert", conformer(stage.output_signature), stage.title)]


def _announced(rows: Iterator[Any], on_row: Callable[[int], None]) -> Iterator[Any]:
    for number, row in enumerate(rows):
        on_row(number)
        yield row


def explain(error: Exception, title: str, position: int) -> Exception:
    """Add the stage and the element's position to a user's error, once."""
    if isinstance(error, StopIteration):
        # Let loose, it would look like the end of the data.
        stopped = RuntimeError("the function raised StopIteration")
        stopped.__cause__ = error
        error = stopped
    if not hasattr(error, "__keepset_explained__"):
        error.add_note(f"in {title}, at element {position}")
        error.__keepset_explained__ = True  # type: ignore[attr-defined]
    return error


@stage
class RowStage(Node):
    """A stage that is one or more steps of a row loop."""

    parent: Node

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

    def obstacle(self) -> str | None:
        if not self.one_to_one:
            return f"{self.title} decides which elements there are only while it runs"
        return self.parent.obstacle()

    def gather(self, indices: Array, run: Run) -> Chunk:
        chunk = self.parent.gather(indices, run.input(0))
        loop = RowLoop(self.steps(run))
        if loop.has_positional_steps:
            pairs = zip(chunk.rows, indices, strict=True)
            return Chunk.from_rows([_one(loop, row, position) for row, position in pairs])
        out, used, error = loop.run(chunk)
        if error is not None:
            raise loop.explain(error, int(indices[used - 1]))
        return Chunk.from_rows(out)


def _one(loop: RowLoop, row: Any, position: int) -> Any:
    loop.progress[1] = int(position) - 1
    out, _, error = loop.run(Chunk.from_rows([row]))
    if error is not None:
        raise loop.explain(error)
    return out[0]


class _RowCursor(Cursor):
    def __init__(self, loop: RowLoop, parent: Cursor) -> None:
        self._loop, self._parent = loop, Marked(parent)
        self._error: Exception | None = None

    def read(self, max_rows: int) -> Chunk:
        if self._error is not None:
            self._raise(self._error)
        while not self._loop.has_ended and (chunk := self._parent.read(max_rows)):
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
        return EMPTY

    def _raise(self, error: Exception) -> None:
        self._parent.skip(1)
        self._error = None
        raise error

    def skip(self, count: int) -> int:
        if self._error is not None or not self._loop.is_one_to_one:
            return super().skip(count)
        skipped = self._parent.skip(count)
        self._loop.progress[1] += skipped
        return skipped

    def state(self) -> State:
        progress = list(self._loop.progress)
        if self._error is not None:
            for i in range(1, self._loop.failed_stretch + 2):
                progress[i] -= 1
        memory = self._loop.memory(failed=self._error is not None)
        return {"parent": self._parent.state(), "progress": progress, "memory": memory}

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        self._loop.progress[:] = state["progress"]
        self._loop.restore_memory(state["memory"])

    def close(self) -> None:
        self._parent.close()
