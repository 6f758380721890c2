"""EmptyFilter: say so at the end of a pass where a filter has passed none of its elements."""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Iterator
from inspect import getclosurevars
from itertools import islice
from types import CodeType
from typing import Any, Final, NamedTuple

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.column import Column
from keepset.core.dtypes import DType, dtype_of, string, text
from keepset.core.jagged import Jagged
from keepset.core.ragged import Ragged
from keepset.core.secrets import Mask
from keepset.core.sparse import Sparse
from keepset.core.warn import warn_user
from keepset.nodes.returned import place_of

_COMPARISONS: Final = ("COMPARE_OP", "CONTAINS_OP")
_NAMES: Final = ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_CLASSDEREF")
_MOST_ITEMS: Final = 100  # of a container that are looked at


class EmptyFilter:
    """Warns, once for each cause, of a filter that has refused all elements of a pass.

    It may be meant so. More often the predicate compares text, which is ``bytes`` in elements,
    with a ``str``: that is False for each of them, and no error.
    """

    def __init__(self, predicate: Callable[..., Any], title: str) -> None:
        self._predicate, self._title = predicate, title
        self._told: set[str] = set()

    def __call__(self, judged: int, holds_bytes: bool) -> None:
        """Warn of a pass in which all of ``judged`` elements were refused.

        Args:
            judged: How many elements there were.
            holds_bytes: Whether text in the elements is ``bytes``, as far as is known.
        """
        word = compared_str(self._predicate) if holds_bytes else None
        # A variable may hold a secret: its value is not shown.
        shown = None if word is None or not word.is_constant else Mask().text(word.value)
        if word is None:
            cause, advice = "other", "look at what it compares, or ignore this if it is meant"
        else:
            cause = "str"
            what = "a str" if shown is None else f"the str {shown!r:.60}"
            other = "bytes" if shown is None else f"{shown.encode(errors='replace')!r:.60}"
            advice = (
                f"it compares with {what}, and text in elements is bytes, which no str is equal "
                f'to: compare with {other}, or read str with encoding="utf-8" in the reader'
            )
        if cause not in self._told:
            self._told.add(cause)
            elements = "element" if judged == 1 else "elements"
            warn_user(
                f"{self._title} passed none of its {judged} {elements}, by the predicate "
                f"{place_of(self._predicate)}; {advice}"
            )


def holds_bytes(chunk: Chunk) -> bool:
    """Whether leaves of the first element are ``bytes``, and none are ``str``."""
    piece = chunk.pieces[0]
    columns = piece.columns if piece.has_columns else piece[:1].columns
    dtypes = set(map(_dtype_of, columns))
    return string in dtypes and text not in dtypes


def _dtype_of(column: Column) -> DType | None:
    if isinstance(column, Jagged):
        return dtype_of(column.values)
    leaf: Any = column[0] if isinstance(column, list) else column
    if isinstance(leaf, Ragged | Sparse):
        return leaf.dtype
    if isinstance(leaf, np.ndarray | np.generic):
        return dtype_of(leaf)
    # Not by a spec: that of a data set may have to be found by running it.
    if isinstance(leaf, bytes):
        return string
    return text if isinstance(leaf, str) else None


class Compared(NamedTuple):
    """A ``str`` that code compares with, and whether it is written there."""

    value: str
    is_constant: bool


def compared_str(function: Callable[..., Any]) -> Compared | None:
    """A ``str`` that a function's code compares something with, by ``==``, ``<`` or ``in``.

    Found from constants, and from variables outside the function, without calling it.

    Example:
        >>> compared_str(lambda row: row["name"] == "ada")
        Compared(value='ada', is_constant=True)
        >>> compared_str(lambda row: row["x"] > 1)
    """
    called = _plain_function(function)
    code = getattr(called, "__code__", None)
    if code is None:
        return None
    try:
        outside = getclosurevars(called)
    except (TypeError, ValueError):  # an empty cell
        known: dict[str, Any] = {}
    else:
        known = {**outside.globals, **outside.nonlocals}
    return next(_compared(code, known), None)


def _plain_function(function: Any) -> Any:
    """What has the code: behind partial, decorators, wrappers and objects that are called."""
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__wrapped__", function)
    if hasattr(function, "__code__"):
        return function
    return vars(type(function)).get("__call__")


def _compared(code: CodeType, known: dict[str, Any]) -> Iterator[Compared]:
    steps = list(dis.get_instructions(code))
    for place, step in enumerate(steps):
        if step.opname in _COMPARISONS:
            for operand in _operands(steps, place):
                for value in _strs_in(_value(operand, known)):
                    yield Compared(value, operand.opname == "LOAD_CONST")
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _compared(constant, known)


def _operands(steps: list[dis.Instruction], place: int) -> Iterator[dis.Instruction]:
    """The last instructions of the right and the left operand of a comparison."""
    right = place - 1
    if right < 0:
        return
    yield steps[right]
    # Back to where the right operand, which leaves one value behind, begins.
    depth, left = 0, right
    while left >= 0:
        depth += dis.stack_effect(steps[left].opcode, steps[left].arg, jump=False)
        left -= 1
        if depth == 1:
            break
    if left >= 0:
        yield steps[left]


def _value(step: dis.Instruction, known: dict[str, Any]) -> Any:
    if step.opname == "LOAD_CONST":
        return step.argval
    return known.get(step.argval) if step.opname in _NAMES else None


def _strs_in(value: Any) -> Iterator[str]:
    if type(value) is str:
        yield value
    elif type(value) in (tuple, list, set, frozenset, dict):
        yield from (item for item in islice(value, _MOST_ITEMS) if type(item) is str)
