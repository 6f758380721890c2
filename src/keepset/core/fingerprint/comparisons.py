"""Comparisons: where the code of a function tells one object from two that are alike."""

from __future__ import annotations

import ast
import copy
import pickle
from collections.abc import Iterator
from itertools import pairwise
from types import CodeType, FunctionType, ModuleType

from keepset.core.fingerprint.reach import with_nested
from keepset.core.record import record

# Methods and functions that look for an item by comparing it.
_SEARCHES = {"index", "count", "remove", "contains", "indexOf", "countOf"}

# Functions whose results have one object in two places where their argument has.
_COPIERS = (copy.deepcopy, pickle.dumps, pickle.dump)
_PICKLERS = {"pickle", "cloudpickle", "dill"}

# A name from outside the function, and the attributes that are taken from it.
Chain = tuple[str, ...]
# Stands for any item of a container.
ITEM = "[]"


@record
class Comparisons:
    """What the code of one function does.

    Attributes:
        operands: What stands beside ``is`` or in ``id(...)`` and has a name outside the function.
        equated: What stands beside ``==`` and has such a name.
        anything: Whether something without such a name does: a variable of the function, an item.
        searches: Whether it looks for values in containers: ``in``, ``index``.
    """

    operands: frozenset[Chain] = frozenset()
    equated: frozenset[Chain] = frozenset()
    anything: bool = False
    searches: bool = False


def tells_apart(comparisons: Comparisons) -> bool:
    """Whether a function compares something by identity that is not made anew each time."""
    return comparisons.anything or bool(comparisons.operands)


def comparisons_of(code: CodeType, node: ast.AST | None) -> Comparisons:
    """What a function and those inside it compare; nothing is known without a source."""
    if node is None:
        return Comparisons()
    local = {name for inner in with_nested(code) for name in inner.co_varnames + inner.co_cellvars}
    operands: set[Chain] = set()
    equated: set[Chain] = set()
    called = {id(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)}
    anything = searches = False
    for each in ast.walk(node):
        for compared in _compared(each):
            chains = {chain for side in compared for chain in _chains(side)}
            named = {chain for chain in chains if chain[0] not in local}
            operands |= named
            # One that has a name is that object wherever it is met.
            anything = anything or not named
        if isinstance(each, ast.Name) and each.id == "id" and id(each) not in called:
            anything = True  # map(id, ...)
        for side in _equated(each):
            equated |= {chain for chain in _chains(side) if chain[0] not in local}
        searches = searches or _is_search(each)
    return Comparisons(frozenset(operands), frozenset(equated), anything, searches)


def _compared(node: ast.AST) -> Iterator[list[ast.expr]]:
    """What is compared by identity, together what is compared with each other."""
    if isinstance(node, ast.Compare):
        for pair, kind in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
            # There is one None, and one of each type.
            is_single = any(isinstance(each, ast.Constant) or _is_type(each) for each in pair)
            if isinstance(kind, ast.Is | ast.IsNot) and not is_single:
                yield list(pair)
    elif isinstance(node, ast.Call):
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        called = node.func.attr if isinstance(node.func, ast.Attribute) else called
        if called == "id" and node.args:
            yield node.args[:1]
        elif called in ("is_", "is_not") and node.args:
            yield node.args


def _equated(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        for pair, kind in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
            if isinstance(kind, ast.Eq | ast.NotEq):
                yield from pair


def _is_type(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "type"
    return isinstance(node, ast.Attribute) and node.attr == "__class__"


def _chains(node: ast.AST) -> Iterator[Chain]:
    """The names that an operand may stand for."""
    match node:
        case ast.Name(id=name):
            yield (name,)
        case ast.Attribute(value=inner, attr=name):
            yield from ((*chain, name) for chain in _chains(inner))
        case ast.Subscript(value=inner):
            yield from ((*chain, ITEM) for chain in _chains(inner))
        case ast.IfExp(body=body, orelse=other):
            yield from _chains(body)
            yield from _chains(other)
        case ast.BoolOp(values=items):
            for item in items:
                yield from _chains(item)


def _is_search(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        return any(isinstance(op, ast.In | ast.NotIn) for op in node.ops)
    return isinstance(node, ast.Attribute) and node.attr in _SEARCHES


def is_copier(value: object) -> bool:
    """Whether this is one of the functions that copy a structure so that what is one stays one."""
    return any(value is copier for copier in _COPIERS)


def copies_with_sharing(function: FunctionType) -> bool:
    """Whether a function, or one inside it, copies a structure so that what is one stays one."""
    names = {name for inner in with_nested(function.__code__) for name in inner.co_names}
    if "deepcopy" in names:
        return True
    used = [function.__globals__.get(name) for name in names]
    if any(map(is_copier, used)):
        return True
    modules = {getattr(each, "__name__", None) for each in used if type(each) is ModuleType}
    return not names.isdisjoint({"dumps", "dump"}) and not _PICKLERS.isdisjoint(names | modules)
