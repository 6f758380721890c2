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
from typing import Any, TypeAlias

from keepset.core.fingerprint.plain import token

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

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
    text = ast.unparse(ast.fix_missing_locations(_normalised(node)))
    return text if len(text) <= _MAX_SOURCE else text[:_MAX_SOURCE] + "\n..."


def _normalised(node: FunctionNode, reads_texts: bool = False) -> FunctionNode:
    copy: Any = _Normaliser(reads_texts).visit(_copied(node))
    copy.args.defaults = []
    # None keeps the place of a keyword argument without a default.
    copy.args.kw_defaults = [None] * len(copy.args.kw_defaults)
    if not isinstance(copy, ast.Lambda):
        copy.decorator_list = []
    return copy  # type: ignore[no-any-return]


def _copied(node: Any) -> Any:
    """A deep copy, because the tree of a file is shared by all its functions."""
    if isinstance(node, list):
        return [_copied(item) for item in node]
    if not isinstance(node, ast.AST):
        return node
    fields = {name: _copied(value) for name, value in ast.iter_fields(node)}
    return ast.copy_location(type(node)(**fields), node)


class _Normaliser(ast.NodeTransformer):
    def __init__(self, reads_texts: bool) -> None:
        self._in_class = self._is_inside = False
        # Whether annotations and docstrings stay: in the function itself they do not.
        self._reads_texts, self._keeps_texts = reads_texts, False

    def generic_visit(self, node: ast.AST) -> ast.AST:
        outer = self._in_class, self._is_inside, self._keeps_texts
        self._in_class = self._scope_is_class(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            self._keeps_texts = self._is_inside and self._may_be_read(node)
            self._is_inside = True
        super().generic_visit(node)
        self._in_class, self._is_inside, self._keeps_texts = outer
        body = getattr(node, "body", None)
        if body == []:
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        return node

    def _may_be_read(self, node: ast.AST) -> bool:
        """Whether something may read the texts of a definition inside the function."""
        decorators, bases = getattr(node, "decorator_list", []), getattr(node, "bases", [])
        return self._reads_texts or self._keeps_texts or bool(decorators or bases)

    def _scope_is_class(self, node: ast.AST) -> bool:
        if isinstance(node, ast.ClassDef):
            return True
        function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
        return False if isinstance(node, function) else self._in_class

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        # Docstrings, and other texts that are only there to be read.
        is_text = isinstance(node.value, ast.Constant) and not self._keeps_texts
        return None if is_text else self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        if not self._keeps_texts:
            node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if not (self._is_inside and self._may_be_read(node)):
            node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        if not (self._is_inside and self._may_be_read(node)):
            node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if self._in_class:
            return self.generic_visit(node)
        if node.value is not None:
            return self.generic_visit(ast.Assign(targets=[node.target], value=node.value))
        # Without a value it still makes the name a local one.
        node.annotation = ast.Constant(None)
        return node


def _bytes(node: Any) -> Iterator[bytes]:
    # Own code and not ast.dump, whose form changes with Python: fields that are empty do not count,
    # so that a new one does not either.
    if isinstance(node, ast.AST):
        yield b"(" + type(node).__name__.encode()
        for name, value in ast.iter_fields(node):
            empty = (value is None and not isinstance(node, ast.Constant)) or value == []
            if name not in _IGNORED_FIELDS and not empty:
                yield b" " + name.encode() + b"="
                yield from _bytes(value)
        yield b")"
    elif isinstance(node, list):
        yield b"["
        for item in node:
            yield from _bytes(item)
        yield b"]"
    else:
        content = token(node) or repr(node).encode()
        yield len(content).to_bytes(4, "little") + content
