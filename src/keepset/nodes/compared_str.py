"""Strings that a predicate compares with, found in its code without calling it."""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Iterator
from inspect import getclosurevars
from itertools import islice
from types import CodeType
from typing import Any, Final, NamedTuple

_COMPARISONS: Final = ("COMPARE_OP", "CONTAINS_OP")
_NAMES: Final = ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_CLASSDEREF")
_ITEMS: Final = ("BINARY_SUBSCR", "LOAD_ATTR")
_MOST_ITEMS: Final = 100  # of a container that are looked at
# What makes str of bytes.
_DECODERS: Final = frozenset({"decode", "str", "astype"})


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
    return next(_compared(code, _known(called)), None)


def str_compared_with_element(function: Callable[..., Any]) -> Compared | None:
    """A ``str`` that a function compares something of its arguments with for equality.

    Of a smaller set than ``compared_str``, to say so where nothing else looks wrong: code that
    decodes is left out, and so are keys that are looked for in a dict.

    Example:
        >>> str_compared_with_element(lambda row: row["name"] != "ada")
        Compared(value='ada', is_constant=True)
        >>> str_compared_with_element(lambda row: row["name"].decode() != "ada")
        >>> str_compared_with_element(lambda row: "name" in row)
    """
    called = _plain_function(function)
    code = getattr(called, "__code__", None)
    if code is None:
        return None
    return next(_compared_with_element(code, _known(called)), None)


def _known(called: Any) -> dict[str, Any]:
    """The variables outside a function."""
    try:
        outside = getclosurevars(called)
    except (TypeError, ValueError):  # an empty cell
        return {}
    return {**outside.globals, **outside.nonlocals}


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


def _compared_with_element(code: CodeType, known: dict[str, Any]) -> Iterator[Compared]:
    if not _DECODERS.isdisjoint(code.co_names):
        return
    steps = list(dis.get_instructions(code))
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for place, step in enumerate(steps):
        if step.opname not in _COMPARISONS or (right_left := [*_operands(steps, place)])[1:] == []:
            continue
        right, left = right_left
        is_equality = step.opname == "COMPARE_OP" and any(
            sign in str(step.argval) for sign in ("==", "!=")
        )
        if is_equality and _is_of_element(right, arguments):
            right, left = left, right
        # What is looked for in an element may be a key of it.
        if (is_equality or step.opname == "CONTAINS_OP") and _is_of_element(left, arguments):
            for value in _strs_in(_value(right, known)):
                yield Compared(value, right.opname == "LOAD_CONST")


def _is_of_element(step: dis.Instruction, arguments: tuple[str, ...]) -> bool:
    """Whether a value is an argument, or an item or attribute of something."""
    if step.opname.startswith("LOAD_FAST"):
        return step.argval in arguments
    return step.opname in _ITEMS or (step.opname == "BINARY_OP" and "[" in step.argrepr)


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
