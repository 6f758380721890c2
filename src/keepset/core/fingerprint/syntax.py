"""Syntax: a function's source in the one form that counts.

What does not change what a function does is taken out: comments, formatting, docstrings, the
annotations of functions and local variables, positions, and of the function itself its name, its
decorators and the expressions of its defaults (what those gave counts by value). Annotations in
the body of a class stay, because dataclasses and their kind read them. So do the annotations and
docstrings of functions and classes inside it, where a decorator, a base or the function may read
them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, TypeAlias, TypeVar

from keepset.core.fingerprint.plain import token
from keepset.core.record import record

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
NodeType = TypeVar("NodeType", bound=ast.AST)

# Positions are attributes and not fields; these fields do not change what code does.
_IGNORED_FIELDS = {"ctx", "kind", "type_comment", "type_params"}

_MAX_SOURCE = 20_000


def canonical_bytes(node: FunctionNode, reads_texts: bool = False) -> bytes:
    """The bytes of a function's syntax tree: the same in every version of Python that knows it.

    Args:
        node: The function.
        reads_texts: Whether it reads annotations or docstrings: those inside it count then.
    """
    counted = _normalised(node, reads_texts)
    if not isinstance(counted, ast.Lambda):
        counted.name = "function"
    return b"".join(_bytes(counted))


def canonical_source(node: FunctionNode) -> str:
    """The normalised source, for people."""
    try:
        text = ast.unparse(ast.fix_missing_locations(_normalised(node)))
    except RecursionError:
        return "... (nested too deep to be shown)"
    return text if len(text) <= _MAX_SOURCE else text[:_MAX_SOURCE] + "\n..."


def _normalised(node: FunctionNode, reads_texts: bool = False) -> FunctionNode:
    copy: Any = copied(node)
    _normalise(copy, reads_texts)
    copy.args.defaults = []
    # None keeps the place of a keyword argument without a default.
    copy.args.kw_defaults = [None] * len(copy.args.kw_defaults)
    if not isinstance(copy, ast.Lambda):
        copy.decorator_list = []
    return copy  # type: ignore[no-any-return]


# All that goes through syntax here does so in loops: a chain of `elif` or of `+` is nested deeper
# than Python's stack, and how deep that is already differs from call to call.


def copied(node: NodeType) -> NodeType:
    """A deep copy, because the tree of a file is shared by all its functions."""
    copy = _shallow(node)
    todo: list[ast.AST] = [copy]
    while todo:
        each = todo.pop()
        for name, value in ast.iter_fields(each):
            if isinstance(value, ast.AST):
                inner = _shallow(value)
                todo.append(inner)
                setattr(each, name, inner)
            elif isinstance(value, list):
                items = [_shallow(item) if isinstance(item, ast.AST) else item for item in value]
                todo += (item for item in items if isinstance(item, ast.AST))
                setattr(each, name, items)
    return copy


def _shallow(node: NodeType) -> NodeType:
    return ast.copy_location(type(node)(**dict(ast.iter_fields(node))), node)


@record
class _Scope:
    """Where a node stands: whether annotations and docstrings stay there, for one."""

    in_class: bool = False
    is_inside: bool = False
    # In the function itself they do not stay.
    keeps_texts: bool = False


def _normalise(function: FunctionNode, reads_texts: bool) -> None:
    if not isinstance(function, ast.Lambda):
        function.returns = None
    todo: list[tuple[ast.AST, _Scope]] = [(function, _Scope())]
    while todo:
        node, outer = todo.pop()
        scope = _inner_scope(node, outer, reads_texts)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                setattr(node, name, _replaced(value, scope, reads_texts, todo))
            elif isinstance(value, list):
                items = (
                    _replaced(item, scope, reads_texts, todo) if isinstance(item, ast.AST) else item
                    for item in value
                    if not _is_text(item, scope)
                )
                setattr(node, name, list(items))
        if getattr(node, "body", None) == []:
            node.body = [ast.Pass()]  # type: ignore[attr-defined]


def _inner_scope(node: ast.AST, outer: _Scope, reads_texts: bool) -> _Scope:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
        return outer
    keeps_texts = outer.is_inside and _may_be_read(node, outer, reads_texts)
    return _Scope(isinstance(node, ast.ClassDef), True, keeps_texts)


def _may_be_read(node: ast.AST, outer: _Scope, reads_texts: bool) -> bool:
    """Whether something may read the texts of a definition inside the function."""
    decorators, bases = getattr(node, "decorator_list", []), getattr(node, "bases", [])
    return reads_texts or outer.keeps_texts or bool(decorators or bases)


def _is_text(item: Any, scope: _Scope) -> bool:
    """Whether this is a docstring, or another text that is only there to be read."""
    is_text = isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)
    return is_text and not scope.keeps_texts


def _replaced(
    node: ast.AST, scope: _Scope, reads_texts: bool, todo: list[tuple[ast.AST, _Scope]]
) -> ast.AST:
    """What stands for a node; what is inside of it is still ``todo``."""
    match node:
        case ast.arg():
            if not scope.keeps_texts:
                node.annotation = None
            return node
        case ast.AnnAssign(value=None) if not scope.in_class:
            # Without a value it still makes the name a local one.
            node.annotation = ast.Constant(None)
            return node
        case ast.AnnAssign(value=ast.expr() as value) if not scope.in_class:
            node = ast.Assign(targets=[node.target], value=value)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            if not (scope.is_inside and _may_be_read(node, scope, reads_texts)):
                node.returns = None
    todo.append((node, scope))
    return node


class _Written(bytes):
    """What is written as it stands."""


def _bytes(node: Any) -> Iterator[bytes]:
    # Own code and not ast.dump, whose form changes with Python: fields that are empty do not count,
    # so that a new one does not either.
    todo = [node]
    while todo:
        each = todo.pop()
        if type(each) is _Written:
            yield each
        elif isinstance(each, ast.AST):
            inside: list[Any] = [_Written(b"(" + type(each).__name__.encode())]
            for name, value in ast.iter_fields(each):
                empty = (value is None and not isinstance(each, ast.Constant)) or value == []
                if name not in _IGNORED_FIELDS and not empty:
                    inside += _Written(b" " + name.encode() + b"="), value
            todo += reversed((*inside, _Written(b")")))
        elif isinstance(each, list):
            todo += reversed((_Written(b"["), *each, _Written(b"]")))
        else:
            content = token(each) or repr(each).encode()
            yield len(content).to_bytes(4, "little") + content
