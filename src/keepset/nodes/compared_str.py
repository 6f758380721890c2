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
    called = plain_function(function)
    code = getattr(called, "__code__", None)
    if code is None:
        return None
    return next(_compared(code, known_outside(called)), None)


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
    called = plain_function(function)
    code = getattr(called, "__code__", None)
    if code is None:
        return None
    given = given_names(function, called, code)
    return next(_compared_with_element(code, given, known_outside(called)), None)


def known_outside(called: Any) -> dict[str, Any]:
    """The variables outside a function."""
    try:
        outside = getclosurevars(called)
    except (TypeError, ValueError):  # an empty cell
        return {}
    return {**outside.globals, **outside.nonlocals}


def plain_function(function: Any) -> Any:
    """What has the code: behind partial, decorators, wrappers and objects that are called."""
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__wrapped__", function)
    if _has_code(function):
        return function
    return vars(type(function)).get("__call__")


def _has_code(function: Any) -> bool:
    # Proxies answer for every attribute, with more proxies.
    return isinstance(getattr(function, "__code__", None), CodeType)


def given_names(function: Any, called: Any, code: CodeType) -> tuple[str, ...]:
    """The arguments through which a function may be given elements, and nothing else."""
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    positional = list(names[: code.co_argcount])
    others = {*(getattr(called, "__kwdefaults__", None) or ())}
    others.update(positional[code.co_argcount - len(getattr(called, "__defaults__", None) or ()) :])
    bound = 0
    while isinstance(function, functools.partial):
        bound += len(function.args)
        others.update(function.keywords)
        function = function.func
    # A bound method, or an object that is called.
    bound += hasattr(called, "__self__") or not _has_code(function)
    others.update(positional[:bound])
    return tuple(name for name in names if name not in others)


def _compared(code: CodeType, known: dict[str, Any]) -> Iterator[Compared]:
    steps = list(dis.get_instructions(code))
    for place, step in enumerate(steps):
        if step.opname in _COMPARISONS:
            for operand in operands_of(steps, place):
                for value in strs_in(outside_value(operand[-1], known)):
                    yield Compared(value, operand[-1].opname == "LOAD_CONST")
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _compared(constant, known)


def _compared_with_element(
    code: CodeType, given: tuple[str, ...], known: dict[str, Any]
) -> Iterator[Compared]:
    if not _DECODERS.isdisjoint(code.co_names):
        return
    steps = list(dis.get_instructions(code))
    for place, step in enumerate(steps):
        operands = [*operands_of(steps, place)] if step.opname in _COMPARISONS else []
        if len(operands) < 2:
            continue
        right, left = operands
        is_equality = step.opname == "COMPARE_OP" and any(
            sign in str(step.argval) for sign in ("==", "!=")
        )
        if is_equality and _is_of_element(right, given):
            right, left = left, right
        # What is looked for in an element may be a key of it.
        if (is_equality or step.opname == "CONTAINS_OP") and _is_of_element(left, given):
            for value in strs_in(outside_value(right[-1], known)):
                yield Compared(value, right[-1].opname == "LOAD_CONST")


def _is_of_element(operand: list[dis.Instruction], given: tuple[str, ...]) -> bool:
    """Whether a value is an argument, or an item or attribute of one."""
    first, last = operand[0], operand[-1]
    if first.opname.startswith("LOAD_FAST"):
        # Two at once, in later versions of Python.
        name = first.argval[0] if isinstance(first.argval, tuple) else first.argval
    elif first.opname == "LOAD_DEREF":
        name = first.argval
    else:
        return False
    is_item = last.opname in _ITEMS or (last.opname == "BINARY_OP" and "[" in last.argrepr)
    return name in given and (is_item or len(operand) == 1)


def operands_of(steps: list[dis.Instruction], place: int) -> Iterator[list[dis.Instruction]]:
    """The instructions of the right and the left operand of a comparison."""
    end = place
    for _ in range(2):
        # Back to where the operand, which leaves one value behind, begins.
        depth, start = 0, end
        while start > 0 and depth != 1:
            start -= 1
            depth += dis.stack_effect(steps[start].opcode, steps[start].arg, jump=False)
        if start < end:
            yield steps[start:end]
        end = start


def outside_value(step: dis.Instruction, known: dict[str, Any]) -> Any:
    """The value that an instruction loads: a constant, or a variable outside the function."""
    if step.opname == "LOAD_CONST":
        return step.argval
    return known.get(step.argval) if step.opname in _NAMES else None


def strs_in(value: Any) -> Iterator[str]:
    """The ``str`` that a value is, or holds."""
    if type(value) is str:
        yield value
    elif type(value) in (tuple, list, set, frozenset, dict):
        yield from (item for item in islice(value, _MOST_ITEMS) if type(item) is str)
