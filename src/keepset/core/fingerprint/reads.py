"""Reads: the names whose values a function uses, apart from those that it only writes.

``computed += 1`` and ``SEEN.append(x)`` as statements of their own write, and nothing comes of what
was there before. Neither does anything of what is only printed or logged.
"""

from __future__ import annotations

import ast
from types import CodeType

from keepset.core.fingerprint.syntax import FunctionNode
from keepset.core.record import record

# Methods that only change what they belong to, if nothing uses their result.
_WRITERS = {
    *("add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "insert"),
    *("remove", "setdefault", "subtract", "update"),
}
_SPEAKERS = {"critical", "debug", "error", "exception", "info", "log", "warning"}


@record
class Speech:
    """A call that says something to people: by what, and what it uses for that."""

    speaker: str
    reads: Reads


@record
class Reads:
    """What a function and those inside it use.

    Attributes:
        names: Variables whose content is used.
        attributes: Names of attributes that are used, and all texts, which may be such names.
        bare: Variables that are used as a whole, and not only for an attribute.
        speeches: What is used only to print or log it.
    """

    names: frozenset[str]
    attributes: frozenset[str]
    bare: frozenset[str]
    speeches: tuple[Speech, ...] = ()


def reads_of(code: CodeType, node: FunctionNode | None) -> Reads:
    """The reads of a function; without a source, all that its code names."""
    if node is None:
        names = frozenset(_names(code))
        return Reads(names, names, names)
    visitor = _Visitor()
    for statement in node.body if isinstance(node.body, list) else [node.body]:
        visitor.visit(statement)
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
        self._speeches: list[Speech] = []

    def reads(self) -> Reads:
        return Reads(
            frozenset(self._names),
            frozenset(self._attributes),
            frozenset(self._bare),
            tuple(self._speeches),
        )

    # Expressions

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._names.add(node.id)
            self._bare.add(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Load):
            self._attributes.add(node.attr)
        if isinstance(node.value, ast.Name):
            self._names.add(node.value.id)
        else:
            self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._attributes.add(node.value)

    # Statements

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._target(node.target)
        self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._target(target)
        value = node.value
        [target, *others] = node.targets
        if not others and isinstance(value, ast.BinOp) and _is_same(target, value.left):
            self.visit(value.right)  # n = n + 1
        else:
            self.visit(value)

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self._target(target)

    def visit_Expr(self, node: ast.Expr) -> None:
        call = node.value
        if _speaker(node) is not None:
            self._say(node, [])
        elif (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr in _WRITERS
        ):
            self._base(call.func.value)
            for each in (*call.args, *call.keywords):
                self.visit(each)
        else:
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        speakers = {_speaker(each) for each in (*node.body, *node.orelse)}
        if None in speakers or len(speakers) > 1:
            self.generic_visit(node)
            return
        for each in (*node.body, *node.orelse):
            self._say(each, [node.test])

    def _say(self, statement: ast.stmt, also: list[ast.expr]) -> None:
        inner = _Visitor()
        for each in (statement, *also):
            inner.generic_visit(each) if each is statement else inner.visit(each)
        speaker = _speaker(statement)
        assert speaker is not None
        reads = inner.reads()
        # What speaks is used all the same.
        names = reads.names - {speaker}
        self._speeches.append(Speech(speaker, Reads(names, reads.attributes, reads.bare)))

    def _target(self, node: ast.expr) -> None:
        """What stands left of an assignment: only what leads to it is read."""
        match node:
            case ast.Attribute():
                self.visit(node)
            case ast.Subscript(value=value, slice=index):
                self._base(value)
                self.visit(index)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                for item in items:
                    self._target(item)
            case ast.Starred(value=inner):
                self._target(inner)

    def _base(self, node: ast.expr) -> None:
        """What is written to: its content is not read."""
        if isinstance(node, ast.Attribute):
            # Which attribute it is does not count as a read of that attribute.
            if isinstance(node.value, ast.Name):
                self._names.add(node.value.id)
            else:
                self.visit(node.value)
        elif not isinstance(node, ast.Name):
            self.visit(node)


def _is_same(one: ast.expr, other: ast.expr) -> bool:
    return isinstance(one, ast.Name) and isinstance(other, ast.Name) and one.id == other.id


def _speaker(node: ast.stmt) -> str | None:
    """The name of what a statement speaks by: ``print`` or a logger."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
            return "print"
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method))):
            return name if method in _SPEAKERS else None
    return None
