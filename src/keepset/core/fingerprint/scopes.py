"""Scopes: which names a function or class binds itself, read from its syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType

from keepset.core.fingerprint.reach import Imported, with_nested
from keepset.core.fingerprint.syntax import FunctionNode, copied

_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def parameters(node: FunctionNode) -> list[str]:
    """The names of all parameters."""
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    named += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    return [each.arg for each in named]


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """What belongs to a function or class itself, without what is nested in it."""
    body = node.body if isinstance(node.body, list) else [node.body]  # type: ignore[attr-defined]
    todo: list[ast.AST] = list(body)
    while todo:
        each = todo.pop()
        yield each
        if not isinstance(each, _NESTED):
            todo.extend(ast.iter_child_nodes(each))


def bound_names(node: ast.AST) -> set[str]:
    """The names that the body of a function or class assigns."""
    names: set[str] = set()
    inside: set[ast.AST] = set()
    for each in own_nodes(node):
        match each:
            case ast.comprehension(target=target):
                inside.update(ast.walk(target))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name):
                names.add(name)
            case ast.Import() | ast.ImportFrom():
                names.update(name for name, _ in imports_of(each))
            case ast.ExceptHandler(name=caught) if caught:
                names.add(caught)
            case ast.match_case(pattern=pattern):
                names.update(captures(pattern))
    for each in own_nodes(node):
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load) and each not in inside:
            names.add(each.id)
    return names


def captures(pattern: ast.pattern) -> Iterator[str]:
    """The names that a pattern of a ``match`` binds."""
    for each in ast.walk(pattern):
        name = getattr(each, "name", None) or getattr(each, "rest", None)
        if isinstance(name, str):
            yield name


def imports_of(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Imported]]:
    """The names that an import binds."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            name = alias.asname or alias.name
            yield name, Imported(module, node.level, alias.name, module)
        elif alias.asname:
            yield alias.asname, Imported(alias.name, 0, None, alias.name)
        else:
            top = alias.name.partition(".")[0]
            yield top, Imported(top, 0, None, alias.name)


def with_private_names(node: FunctionNode, code: CodeType) -> FunctionNode:
    """A function in which attributes such as ``self.__count`` have the names that Python uses."""
    used = {name for inner in with_nested(code) for name in inner.co_names}
    private = [name for name in used if name.startswith("_") and "__" in name[1:]]
    if not private:
        return node
    node = copied(node)
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and each.attr.startswith("__"):
            found = (name for name in private if name.endswith(each.attr) and name != each.attr)
            each.attr = next(found, each.attr)
    return node
