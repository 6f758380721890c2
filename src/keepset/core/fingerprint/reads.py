"""Reads: the names whose values a function uses, apart from those that it only adds to.

``computed += 1``, ``COUNTS["ok"] += 1`` and ``SEEN.append(x)`` as statements of their own write,
and nothing comes of what was there before. Everything that may fail because of what was there
counts as a read: ``remove``, ``del``, an item of a list.
"""

from __future__ import annotations

import ast
from types import CodeType
from typing import Any

from keepset.core.fingerprint.effects import ANY_KEY
from keepset.core.fingerprint.syntax import FunctionNode
from keepset.core.record import record

# Methods of Python's containers that add, and cannot fail because of what is there already.
_ADDING = {"add", "append", "appendleft", "discard", "extend", "extendleft", "update"}
# Operators that any two numbers have, whatever they are.
_SAFE = (ast.Add, ast.Sub, ast.Mult)


@record
class Reads:
    """What a function and those inside it use.

    Attributes:
        names: Variables whose content is used.
        attributes: Names of attributes that are used, and all texts, which may be such names.
        bare: Variables that are used as a whole, and not only for an attribute.
        placed: Variables and attributes that items are assigned to, as in ``D[k] = v``.
        counted: Those of which items are counted up, as in ``D["k"] += 1``, and the keys, as far
            as the code has them. If there is no number under it, that fails.
    """

    names: frozenset[str]
    attributes: frozenset[str]
    bare: frozenset[str]
    placed: frozenset[str]
    counted: frozenset[tuple[str, Any]] = frozenset()


def reads_of(code: CodeType, node: FunctionNode | None) -> Reads:
    """The reads of a function; without a source, all that its code names."""
    if node is None:
        names = frozenset(_names(code))
        return Reads(names, names, names, names)
    visitor = _Visitor()
    try:
        for statement in node.body if isinstance(node.body, list) else [node.body]:
            visitor.visit(statement)
    except RecursionError:
        return reads_of(code, None)  # an expression nested deeper than the stack
    return visitor.reads()


def _names(code: CodeType) -> set[str]:
    found = {*code.co_names, *code.co_freevars, *code.co_varnames}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names(constant)
        elif isinstance(constant, str):
            found.add(constant)
    return found


class _Visitor(ast.NodeVisitor):
    def __init__(self) -> None:
        self._names: set[str] = set()
        self._attributes: set[str] = set()
        self._bare: set[str] = set()
        self._placed: set[str] = set()
        self._counted: set[tuple[str, Any]] = set()

    def reads(self) -> Reads:
        return Reads(
            frozenset(self._names),
            frozenset(self._attributes),
            frozenset(self._bare),
            frozenset(self._placed),
            frozenset(self._counted),
        )

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._names.add(node.id)
            self._bare.add(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Load):
            self._attributes.add(node.attr)
        self._owner(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._attributes.add(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        match node.target:
            case ast.Name() if isinstance(node.op, _SAFE):
                pass  # n += 1
            case ast.Attribute() as target if isinstance(node.op, _SAFE):
                self._owner(target)  # self.n += 1
            case ast.Subscript(value=ast.Name() | ast.Attribute() as base, slice=key) if isinstance(
                node.op, _SAFE
            ):
                self._container(base)  # COUNTS["ok"] += 1
                self.visit(key)
                name = base.id if isinstance(base, ast.Name) else base.attr
                self._counted.add((name, key.value if isinstance(key, ast.Constant) else ANY_KEY))
            case ast.Name(id=name):
                self._names.add(name)
            case ast.Attribute(attr=name) as target:
                self._attributes.add(name)
                self._owner(target)
            case target:
                self.generic_visit(target)
        self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.BinOp(left=ast.Name(id=same), op=operator, right=right),
            ) if name == same and isinstance(operator, _SAFE):
                self.visit(right)  # n = n + 1
            case ast.Assign(targets=[ast.Subscript(value=base, slice=index)], value=value):
                self._container(base)  # D[k] = v
                if isinstance(base, ast.Name | ast.Attribute):
                    self._placed.add(base.id if isinstance(base, ast.Name) else base.attr)
                self.visit(index)
                self.visit(value)
            case _:
                self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        match node.value:
            case ast.Call(func=ast.Attribute(value=base, attr=method)) as call if method in _ADDING:
                self._container(base)  # SEEN.append(x)
                for each in (*call.args, *call.keywords):
                    self.visit(each)
            case _:
                self.generic_visit(node)

    def _container(self, node: ast.expr) -> None:
        """What is added to: its content is not read."""
        if isinstance(node, ast.Attribute):
            self._owner(node)
        elif not isinstance(node, ast.Name):
            self.visit(node)

    def _owner(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name):
            self._names.add(node.value.id)
        else:
            self.visit(node.value)
