"""Comparisons: where code compares by identity, so that one object is not as two that are alike."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from types import CodeType, FunctionType, ModuleType
from typing import Any

from keepset.core.fingerprint.origin import is_library_class
from keepset.core.fingerprint.reach import instructions_of, with_nested
from keepset.core.record import mutable_record, record

_NAMES = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
# What compares by identity without ``is``, and what looks for an item in a sequence.
_BY_IDENTITY = {"id", "is_", "is_not"}
_SEARCHES = {"index", "count", "remove", "contains", "indexOf", "countOf"}

Chain = tuple[str, ...]


@record
class CodeComparisons:
    """What the code of one function says.

    Attributes:
        operands: What stands on the right of each ``is``, as a name and its attributes; empty for
            what has no name outside the function.
        by_identity: Whether it uses ``id`` or the like.
        by_search: Whether it looks for values in containers.
    """

    operands: frozenset[Chain]
    by_identity: bool
    by_search: bool


@mutable_record
class Comparisons:
    """What the functions of a graph do.

    Attributes:
        by_is: Whether one compares objects with ``is`` or ``id``.
        by_in: Whether one looks for a value in a sequence.
    """

    by_is: bool = False
    by_in: bool = False


_met: ContextVar[Comparisons | None] = ContextVar("comparisons", default=None)


@contextmanager
def finding_comparisons() -> Iterator[Comparisons]:
    """Note what the functions compare that are walked."""
    found = Comparisons()
    token = _met.set(found)
    try:
        yield found
    finally:
        _met.reset(token)


def meet_comparisons(function: FunctionType, code: CodeComparisons) -> None:
    """Record that a function was walked whose code compares in this way."""
    met = _met.get()
    if met is None:
        return
    met.by_in = met.by_in or code.by_search
    if not met.by_is:
        names = _names_of(function) if code.operands else {}
        met.by_is = code.by_identity or any(_may_be_shared(names, each) for each in code.operands)


def comparisons_of(code: CodeType) -> CodeComparisons:
    """What a function and those inside it compare by identity."""
    operands: set[Chain] = set()
    by_identity = by_search = False
    for inner in with_nested(code):
        chain: Chain | None = ()
        for each in instructions_of(inner):
            if each.opname in _NAMES:
                chain = (each.argval,)
            elif each.opname in _ATTRIBUTES:
                chain = (*chain, each.argval) if chain else ()
            elif each.opname == "LOAD_CONST":
                chain = None  # None, True and the like are there once
            elif each.opname == "IS_OP" and chain is not None:
                operands.add(chain)
            elif each.opname == "CONTAINS_OP" and chain is not None:
                by_search = True
            elif each.opname not in ("CACHE", "EXTENDED_ARG", "NOP", "IS_OP", "CONTAINS_OP"):
                chain = ()
            if each.opname in _NAMES or each.opname in _ATTRIBUTES:
                by_identity = by_identity or each.argval in _BY_IDENTITY
                by_search = by_search or each.argval in _SEARCHES
    return CodeComparisons(frozenset(operands), by_identity, by_search)


def _names_of(function: FunctionType) -> Mapping[str, Any]:
    found = {**vars(builtins), **function.__globals__}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue  # not assigned yet
    return found


def _may_be_shared(names: Mapping[str, Any], operand: Chain) -> bool:
    """Whether an operand may be an object of which there are others that are alike."""
    if not operand or operand[0] not in names:
        return True
    value = names[operand[0]]
    for attribute in operand[1:]:
        # A member of an enum, an attribute of a library's module: there once.
        if isinstance(value, type) and issubclass(value, Enum):
            return False
        if not isinstance(value, ModuleType | type):
            return True
        value = vars(value).get(attribute)
    if isinstance(value, type | ModuleType | FunctionType | Enum) or callable(value):
        return False
    return type(value) is object or not is_library_class(type(value))
