"""Uses of an element's text as if it were ``str``, found in code without calling it."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np

from keepset.nodes.compared_str import (
    Compared,
    given_names,
    known_outside,
    operands_of,
    outside_value,
    plain_function,
    strs_in,
)

# A function that looks at types, or decodes, may well know what it is given.
_KNOWING: Final = frozenset({"decode", "astype", "isinstance", "type"})
_FORMATS: Final = ("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC")
_REPR: Final = 2  # the conversions from which on FORMAT_VALUE asks for what bytes look like
_CONVERSION: Final = 3
_HAS_SPEC: Final = 4
_MOST_KEYS: Final = 100  # of a dict that are looked at


class StrUse(NamedTuple):
    """A use of an argument, or of an item of it, that goes wrong where that is ``bytes``.

    Attributes:
        argument: The number of the argument.
        key: The item, or the name of the attribute; None for the argument itself.
        compared: The str that it is compared with; None if it is not compared.
        is_lookup: Whether it is looked up in a dict whose keys are str; otherwise, where it is not
            compared, it is formatted into a str.
    """

    argument: int
    key: Any
    compared: Compared | None = None
    is_lookup: bool = False

    def is_of_bytes(self, element: Any) -> bool:
        """Whether what is used so is ``bytes`` in an element."""
        arguments = element if type(element) is tuple else (element,)
        try:
            value = arguments[self.argument]
            if self.key is not None:
                is_item = not hasattr(value, "_fields") or isinstance(self.key, int)
                value = value[self.key] if is_item else getattr(value, self.key)
        except (LookupError, TypeError, AttributeError):
            return False
        if isinstance(value, np.ndarray) and value.dtype == object and value.size:
            value = value.flat[0]
        return isinstance(value, bytes)


def str_uses(function: Callable[..., Any]) -> list[StrUse]:
    """The uses of a function's arguments as ``str``.

    Example:
        >>> [use] = str_uses(lambda row: row["label"] == "cat")
        >>> use.compared.value, use.is_of_bytes({"label": b"cat"}), use.is_of_bytes({"label": 1})
        ('cat', True, False)
        >>> [use] = str_uses(lambda name: f"/data/{name}")
        >>> use.is_of_bytes(b"1.jpg")
        True
        >>> str_uses(lambda row: f"/data/{row['name'].decode()}")
        []
    """
    called = plain_function(function)
    code = getattr(called, "__code__", None)
    if code is None or not _KNOWING.isdisjoint(code.co_names):
        return []
    given = given_names(function, called, code)
    return list(_found(list(dis.get_instructions(code)), given, known_outside(called)))


def _found(
    steps: list[dis.Instruction], given: tuple[str, ...], known: dict[str, Any]
) -> Iterator[StrUse]:
    for place, step in enumerate(steps):
        if step.opname in ("COMPARE_OP", "CONTAINS_OP"):
            yield from _compared(steps, place, given, known)
        elif step.opname in _FORMATS and not _is_repr(step) and not _is_dropped(steps, place):
            has_spec = step.opname == "FORMAT_WITH_SPEC" or bool((step.arg or 0) & _HAS_SPEC)
            operands = list(operands_of(steps, place))[int(has_spec) :]
            if operands and (use := _use(operands[0], given)):
                yield use
        elif _is_get_of_str_keys(steps, place, known):
            yield from _looked_up(steps[place + 1 : place + 4], given)


def _compared(
    steps: list[dis.Instruction], place: int, given: tuple[str, ...], known: dict[str, Any]
) -> Iterator[StrUse]:
    step, operands = steps[place], list(operands_of(steps, place))
    is_equality = any(sign in str(step.argval) for sign in ("==", "!="))
    if len(operands) < 2 or not (is_equality or step.opname == "CONTAINS_OP"):
        return
    right, left = operands
    # What an element holds is looked for; what is looked for in it may be a key of it.
    for text, other in ((left, right), (right, left))[: 1 + is_equality]:
        use = _use(text, given)
        word = next(strs_in(outside_value(other[-1], known)), None)
        if use is not None and word is not None and len(other) == 1:
            yield use._replace(compared=Compared(word, other[-1].opname == "LOAD_CONST"))


def _looked_up(steps: list[dis.Instruction], given: tuple[str, ...]) -> Iterator[StrUse]:
    """The first argument of a call that these instructions begin."""
    use = _use(steps, given) or _use(steps[:1], given)
    is_whole = use is not None and (use.key is not None or not _is_item(steps[1:2]))
    if use is not None and is_whole:
        yield use._replace(is_lookup=True)


def _is_item(steps: list[dis.Instruction]) -> bool:
    """Whether something else than the next argument, or the call, comes behind an argument."""
    return not steps or not (steps[0].opname.startswith("LOAD_") or "CALL" in steps[0].opname)


def _use(operand: list[dis.Instruction], given: tuple[str, ...]) -> StrUse | None:
    """The use of an argument, or of one constant item of it; None for anything else."""
    first = operand[0] if operand else None
    is_local = first is not None and first.opname.startswith(("LOAD_FAST", "LOAD_DEREF"))
    if first is None or not is_local or first.argval not in given:
        return None
    number = given.index(first.argval)
    if len(operand) == 1:
        return StrUse(number, None)
    if len(operand) == 2 and operand[1].opname == "LOAD_ATTR":
        return StrUse(number, operand[1].argval)
    last = operand[-1]
    is_item = last.opname == "BINARY_SUBSCR" or (last.opname == "BINARY_OP" and "[" in last.argrepr)
    is_constant = len(operand) == 3 and operand[1].opname.startswith(("LOAD_CONST", "LOAD_SMALL"))
    return StrUse(number, operand[1].argval) if is_item and is_constant else None


def _is_repr(step: dis.Instruction) -> bool:
    """Whether what bytes look like is asked for, as by ``{name!r}``."""
    return step.opname == "FORMAT_VALUE" and ((step.arg or 0) & _CONVERSION) >= _REPR


def _is_dropped(steps: list[dis.Instruction], place: int) -> bool:
    """Whether a formatted text is only printed, logged or raised."""
    for step in steps[place + 1 :]:
        if step.opname in ("POP_TOP", "RAISE_VARARGS"):
            return True
        if step.opname.startswith(("RETURN", "STORE", "BINARY", "COMPARE")):
            return False
    return False


def _is_get_of_str_keys(steps: list[dis.Instruction], place: int, known: dict[str, Any]) -> bool:
    """Whether an instruction loads ``get`` of a dict some of whose keys are str, and none bytes."""
    step = steps[place]
    if step.argval != "get" or step.opname not in ("LOAD_METHOD", "LOAD_ATTR") or not place:
        return False
    value = outside_value(steps[place - 1], known)
    if not isinstance(value, dict):
        return False
    kinds = set(map(type, islice(value, _MOST_KEYS)))
    return str in kinds and bytes not in kinds
