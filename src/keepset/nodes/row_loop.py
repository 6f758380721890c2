"""RowLoop: user functions called element by element, those of neighbouring stages in one loop.

A chain such as ``map, filter, map`` runs as one generated Python loop, so that functions are
called in the order in which a plain ``for`` statement would call them, and no stage costs more
than its function call and one type check.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.dtypes import PLAIN_SCALARS
from keepset.core.element import to_returned_element
from keepset.errors import ElementError, ResultError
from keepset.nodes.empty_filter import holds_bytes


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
    # Called where a function begins by returning None, or for the truth of a predicate's result.
    judge: Callable[..., Any] | None = None
    # Called at the end of the input if a filter has passed none of its elements, with their number
    # and with whether text in them is bytes.
    on_none: Callable[[int, bool], None] | None = None
    # Called if it has passed all of them, or ended at the first, and text in them is bytes.
    on_all: Callable[[int], None] | None = None
    on_first: Callable[[], None] | None = None
    # Called with the first element of a pass if text in it is bytes, and no function before this
    # one has changed it.
    on_bytes: Callable[[Any], None] | None = None


# What each kind of step does to the element ``x``. ``f`` is its function, ``call`` calls it with a
# tuple unpacked, ``at`` is the element's position in the stage's input. ``t`` is the type of the
# last result if that was plain: a result of that type is an element already. ``s`` says whether the
# last result was a tuple. ``g`` is the step's judge, and ``n`` says whether the function has given
# nothing but None so far. The text is ours alone: nothing a user writes gets into it.
_TO_ELEMENT = (
    "if type(x) is not {t}:",
    "    x = to_element(x)",
    "    {s} = type(x) is tuple",
    "    {t} = type(x) if type(x) in plain else None",
    "    if x is not None: {n} = False",
    "    elif {n}: {g}()",
)
# NumPy's two truth values are single objects, as Python's are. Anything else goes to the judge.
_REFUSED = "(y := {call}) is no or y is not yes and (y is False or y is not True and not {g}(y))"
_TEMPLATES: dict[str, tuple[str, ...]] = {
    "map": ("x = {call}", *_TO_ELEMENT),
    "map_checked": ("x = {call}",),
    "convert": ("x = {f}(x)",),
    "filter": (f"if {_REFUSED}: continue",),
    "take_while": (f"if {_REFUSED}:", "    step = ENDED", "    break"),
    "positional": ("x = {f}(x, {at})", *_TO_ELEMENT),
    "carried": ("x = {f}(x)",),
    # Behind a last filter whose elements are to be counted, which those before a step are.
    "counted": (),
}
_LOCALS = ("plain", "to_element", "yes", "no", "type")
_ENDED = -1
_FILE = "<keepset row loop>"
# What Python, NumPy and functions in C say of arguments that are too many or too few.
_ARGUMENTS = re.compile(r"\b(?:takes|missing|expected)\b.* arguments?\b")
# Steps whose elements can be passed over without calling their functions.
_PREDICATES = {"filter", "take_while"}
_ONE_TO_ONE = {"map", "map_checked", "convert", "positional"}


class _Source:
    """Generated lines, and which step each of them belongs to."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.steps: dict[int, int] = {}

    def add(self, depth: int, *lines: str, step: int | None = None) -> None:
        for line in lines:
            self.lines.append("    " * depth + line)
            if step is not None:
                self.steps[len(self.lines)] = step


@lru_cache(maxsize=256)
def _compile(kinds: tuple[str, ...]) -> tuple[Callable[..., Any], dict[int, int]]:
    """Generate the loops over rows for a chain of steps, and say which line is of which step.

    For each stretch between two filters they count the position of the element in it, so that an
    error can say where it was. Functions are arguments because locals are the quickest to load.
    """
    functions = [f"{name}{i}" for name in "fg" for i in range(len(kinds))]
    counters = ", ".join(f"at{i}" for i in range(1 + kinds.count("filter")))
    source = _Source()
    source.add(0, f"def make({', '.join(functions)}, plain, to_element, yes, no):")
    source.add(1, "step = 0", "passed = False", f"{counters.replace(', ', ' = ')} = -1")
    source.add(1, "def get():", f"    return [step, {counters}]")
    source.add(1, "def put(progress):", f"    nonlocal step, {counters}")
    source.add(1, f"    step, {counters} = progress")
    source.add(1, "def advance(rows):", "    nonlocal at0", "    at0 += rows")
    source.add(1, "def has_passed():", "    return passed")
    arguments = ", ".join(f"{name}={name}" for name in (*functions, *_LOCALS))
    for scalars in (True, False):
        name = "scalars" if scalars else "any"
        # One loop puts all results on a list, for a stage that wants many; the others hand out
        # one at a time, for a consumer. One of them shows by a token that it is ready for the next:
        # by an operator and not by a call, behind which another thread could be let in before it
        # has yielded (CPython switches threads after calls, and not between these instructions).
        source.add(1, f"def run_{name}(rows, append, {arguments}):")
        _begin(source, kinds, counters)
        source.add(2, "for x in rows:")
        _body(source, 3, kinds, scalars)
        source.add(3, "append(x)")
        for verb in ("give", "lend"):
            source.add(1, f"def {verb}_{name}(rows, failed, tokens, {arguments}):")
            _begin(source, kinds, counters)
            hand_out = [*(["tokens += (None,)"] if verb == "lend" else []), "yield x"]
            source.add(2, "try:")
            if kinds[-1] == "filter":
                # Whether a last filter passes any is seen in a loop that ends with the first of
                # them, so that the loop for all others need not say it each time.
                source.add(3, "if not passed:", "    for x in rows:")
                _body(source, 5, kinds, scalars)
                source.add(5, "passed = True", *hand_out, "break")
                source.add(3, "if step == ENDED: return")
            source.add(3, "for x in rows:")
            _body(source, 4, kinds, scalars)
            source.add(4, *hand_out)
            source.add(2, "except BaseException as error:", "    other = failed(error)")
            source.add(3, "if other is error:", "    raise", "raise other")
    loops = ("run", "give", "lend")
    scalars_loops, any_loops = (
        ", ".join(f"{verb}_{name}" for verb in loops) for name in ("scalars", "any")
    )
    returned = "get, put, advance, has_passed"
    source.add(1, f"return {returned}, {{True: ({scalars_loops}), False: ({any_loops})}}")
    namespace: dict[str, Any] = {"ENDED": _ENDED}
    exec(compile("\n".join(source.lines), _FILE, "exec"), namespace)
    return namespace["make"], source.steps


def _begin(source: _Source, kinds: tuple[str, ...], counters: str) -> None:
    source.add(2, f"nonlocal step, passed, {counters}")
    for number in range(len(kinds)):
        stretch = kinds[:number].count("filter")
        source.add(2, f"t{number}, s{number}, n{number} = None, False, at{stretch} < 0")


def _body(source: _Source, depth: int, kinds: tuple[str, ...], scalars: bool) -> None:
    """What is done to each row; ``scalars`` if no row is a tuple."""
    # A position is counted only if a step behind it can fail or asks for it, and that in the input
    # is otherwise known from the number of rows.
    if "positional" in kinds:
        source.add(depth, "at0 += 1")
    stretch = 0
    unpacks = None if scalars else "type(x) is tuple"
    for number, kind in enumerate(kinds):
        f, g, n, t, s = (f"{name}{number}" for name in "fgnts")
        call = f"{f}(x)" if unpacks is None else f"({f}(*x) if {unpacks} else {f}(x))"
        for line in _TEMPLATES[kind]:
            text = line.format(f=f, g=g, n=n, t=t, s=s, at=f"at{stretch}", call=call)
            source.add(depth, text, step=number)
        if kind == "filter":
            stretch += 1
            if number + 1 < len(kinds):
                source.add(depth, f"at{stretch} += 1")
        elif kind in ("map", "positional"):
            unpacks = s
        elif kind != "take_while":
            unpacks = "type(x) is tuple"


class RowLoop:
    """The loops of a chain of steps, with their position counters."""

    def __init__(self, steps: list[Step]) -> None:
        if steps[-1].kind == "filter" and steps[-1].on_all is not None:
            steps = [*steps, steps[-1]._replace(kind="counted", on_none=None, on_all=None)]
        self._steps = steps
        self._memories = [(i, s.memory) for i, s in enumerate(steps) if s.memory is not None]
        self.is_one_to_one = all(step.kind in _ONE_TO_ONE for step in steps)
        self.has_positional_steps = any(step.kind == "positional" for step in steps)
        make, self._step_of_line = _compile(tuple(step.kind for step in steps))
        functions = [*(step.function for step in steps), *(step.judge for step in steps)]
        self._get, self._put, self._advance, self._has_passed, self._loops = make(
            *functions, PLAIN_SCALARS, to_returned_element, np.True_, np.False_
        )
        # What is asked at the end: whether the last step passed any, whether all of the pass went
        # through here without an error, and whether text in the first elements was bytes.
        self._has_results, self._is_whole = False, True
        self._held_bytes: bool | None = None

    def run(
        self, chunk: Chunk, on_row: Callable[[int], None] | None = None
    ) -> tuple[list[Any], int, Exception | None]:
        """Give the results, how many rows were used, and the error that stopped the loop.

        ``on_row`` is told the number of each row before it is worked on.
        """
        out: list[Any] = []
        rows, left = chunk.iterate()
        used, failure = len(chunk), None
        loop = self._loops[_holds_scalars(chunk)][0]
        self._look_at(chunk)
        try:
            loop(rows if on_row is None else _announced(rows, on_row), out.append)
        except Exception as error:
            used, failure = used - left.__length_hint__(), error
            self.note_failure(error)
        if self.has_ended:
            used -= left.__length_hint__()
        self.count(used)
        self._has_results = self._has_results or bool(out)
        return out, used, failure

    def give(
        self,
        chunk: Chunk,
        failed: Callable[[BaseException], BaseException],
        tokens: list[None] | None,
    ) -> tuple[Generator[Any, None, None], Any]:
        """Give results one by one, and an iterator that knows how many rows are left.

        The rows used have to be passed to ``count``. ``failed`` is called with an error, which it
        has to pass on to ``note_failure``, and returns the one to raise. Before each result, an
        item is put into ``tokens``.
        """
        self._look_at(chunk)
        rows, left = chunk.iterate()
        loop = self._loops[_holds_scalars(chunk)][1 if tokens is None else 2]
        return loop(rows, failed, tokens), left

    def note_failure(self, error: BaseException) -> None:
        """Find the step that an error came from by the line of the loop that called it."""
        self._is_whole = False
        for frame, line in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename == _FILE:
                self._put([self._step_of_line.get(line, 0), *self._get()[1:]])
                break

    def count(self, used: int) -> None:
        """Count rows that went through the loop, unless it did so itself."""
        if not self.has_positional_steps:
            self.pass_over(used)

    def pass_over(self, rows: int) -> None:
        """Count rows that did not go through the loop."""
        self._advance(rows)  # and nothing else: another thread may be in the loop

    @property
    def progress(self) -> list[int]:
        """The step at work, the position in the input, and that behind each filter."""
        return self._get()  # type: ignore[no-any-return]

    @progress.setter
    def progress(self, progress: list[int]) -> None:
        self._put(progress)
        self._is_whole = self._is_whole and progress[1] < 0

    def _look_at(self, chunk: Chunk) -> None:
        if self._held_bytes is not None:
            return
        first = next((step for step in self._steps if step.kind not in _PREDICATES), None)
        on_bytes = None if first is None else first.on_bytes
        is_asked = on_bytes or any(step.on_none or step.on_all for step in self._steps)
        self._held_bytes = bool(is_asked) and len(chunk) > 0 and holds_bytes(chunk)
        if on_bytes is not None and self._held_bytes:
            on_bytes(chunk.pieces[0][:1].rows[0])

    def note_end(self) -> None:
        """Tell the steps that have judged all of their elements alike so: the pass has ended."""
        if not self._is_whole:
            return
        for step, judged, passed, in_bytes in self._judged():
            if self.has_ended:
                if judged == 1 and in_bytes and step.on_first is not None:
                    step.on_first()
            elif passed == 0:
                if step.on_none is not None:
                    step.on_none(judged, in_bytes)
                return
            elif passed == judged and in_bytes and step.on_all is not None:
                step.on_all(judged)

    def _judged(self) -> Iterator[tuple[Step, int, int, bool]]:
        """Steps that judged elements: how many, how many passed, whether text in them is bytes.

        Of a last filter that is not counted, how many passed is only known to be none or some.
        """
        progress, stretch = self.progress[1:], 0
        in_bytes = bool(self._held_bytes)
        for number, step in enumerate(self._steps):
            judged = passed = progress[stretch] + 1
            if step.kind == "filter":
                stretch += 1
                passed = progress[stretch] + 1
                if number + 1 == len(self._steps):
                    passed += self._has_results or self._has_passed()
            if step.kind in ("filter", "take_while"):
                if judged:
                    yield step, judged, passed, in_bytes
            elif step.kind != "counted":
                # What functions return is never str, unless a signature promises it.
                in_bytes = step.kind in ("map", "positional")

    def place_before(self, position: int) -> None:
        """Say which element of the input comes next."""
        step, _, *others = self._get()
        self._put([step, position - 1, *others])

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
        progress = self.progress
        at = progress[1 + self.failed_stretch] if position is None else position
        return explain(error, self._steps[progress[0]].title, at)


def _holds_scalars(chunk: Chunk) -> bool:
    return chunk.has_columns and chunk.structure.is_leaf


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
        if _is_of_the_call(error):
            error.__keepset_call__ = True  # type: ignore[attr-defined]
        error.add_note(f"in {title}, at element {position}")
        if isinstance(error, ElementError):
            error.at(position, 0)
        error.__keepset_explained__ = True  # type: ignore[attr-defined]
    return error


def _is_of_the_call(error: BaseException) -> bool:
    """Whether a function cannot be called with what a stage passes to it, and never began.

    Not known of an error that comes from another process, which has no traceback any more: it is
    explained where it was raised.
    """
    if type(error) is not TypeError or not _ARGUMENTS.search(str(error)):
        return False
    for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
        module = str(frame.f_globals.get("__name__"))
        if frame.f_code.co_filename == _FILE or module.startswith("keepset.nodes."):
            return True
        if not module.startswith("keepset."):
            return False
    return False


def note_end_of_source(error: Exception) -> None:
    """Mark an error behind which a source gives nothing more, as a generator does that raised."""
    with suppress(AttributeError):  # a class with slots
        error.__dict__["keepset_ends_source"] = True


def ends_source(error: Exception) -> bool:
    """Whether nothing comes behind an error."""
    return bool(getattr(error, "keepset_ends_source", False))


def is_explained(error: BaseException) -> bool:
    """Whether an error is known to be about an element, which a function was called with."""
    return hasattr(error, "__keepset_explained__")


def is_of_the_program(error: BaseException) -> bool:
    """Whether a function could not be called, or returned what no stage can use."""
    return isinstance(error, ResultError) or hasattr(error, "__keepset_call__")
