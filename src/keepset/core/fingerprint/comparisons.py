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
        searches: Whether it looks for values in containers: ``in``, ``index``.
    """

    operands: frozenset[Chain] = frozenset()
    searches: bool = False


def comparisons_of(code: CodeType, node: ast.AST | None) -> Comparisons:
    """What a function and those inside it compare; nothing is known without a source."""
    if node is None:
        return Comparisons()
    local = {name for inner in with_nested(code) for name in inner.co_varnames + inner.co_cellvars}
    operands: set[Chain] = set()
    searches = False
    for each in ast.walk(node):
        operands |= {chain for chain in _compared(each) if chain[0] not in local}
        searches = searches or _is_search(each)
    return Comparisons(frozenset(operands), searches)


def _compared(node: ast.AST) -> Iterator[Chain]:
    if isinstance(node, ast.Compare):
        for pair, kind in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
            # There is one None; that something else is not it says nothing of what it is.
            is_constant = any(isinstance(each, ast.Constant) for each in pair)
            if isinstance(kind, ast.Is | ast.IsNot) and not is_constant:
                yield from (chain for each in pair for chain in _chains(each))
    elif isinstance(node, ast.Call):
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        called = node.func.attr if isinstance(node.func, ast.Attribute) else called
        if called in ("id", "is_", "is_not"):
            for argument in node.args:
                yield from _chains(argument)


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


def copies_with_sharing(function: FunctionType) -> bool:
    """Whether a function, or one inside it, copies a structure so that what is one stays one."""
    names = {name for inner in with_nested(function.__code__) for name in inner.co_names}
    if "deepcopy" in names:
        return True
    used = [function.__globals__.get(name) for name in names]
    if any(each is copier for each in used for copier in _COPIERS):
        return True
    modules = {getattr(each, "__name__", None) for each in used if type(each) is ModuleType}
    return not names.isdisjoint({"dumps", "dump"}) and not _PICKLERS.isdisjoint(names | modules)
