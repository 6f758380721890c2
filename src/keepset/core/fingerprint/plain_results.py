"""Plain results: whether a function certainly returns numbers and texts, which nothing changes.

A memo of these holds no state. Its parameters are keys of a table, and so are plain themselves.
"""

from __future__ import annotations

import ast

from keepset.core.fingerprint.scopes import own_nodes, parameters
from keepset.core.fingerprint.syntax import FunctionNode

# Builtin functions that return something plain, whatever they are given.
_ALWAYS = {
    *("all", "any", "ascii", "bin", "bool", "bytes", "callable", "chr", "complex", "float"),
    *("format", "frozenset", "hash", "hex", "id", "int", "isinstance", "issubclass", "len", "oct"),
    *("ord", "range", "repr", "str"),
}
# Those that do so if they are given something plain.
_OF_PLAIN = {"abs", "divmod", "max", "min", "pow", "round", "sum", "tuple"}
_MODULES = {"cmath", "math", "statistics"}
# Methods that texts and digests have and next to nothing else, and those that others have as well:
# tables are joined, plots have a title, a tree strips its leaves.
_OF_TEXTS = {
    *("capitalize", "casefold", "digest", "hexdigest", "lower", "removeprefix", "removesuffix"),
    *("swapcase", "upper"),
}
_OF_PLAIN_VALUES = {
    *("bit_length", "center", "count", "decode", "encode", "endswith", "find", "format", "hex"),
    *("index", "join", "ljust", "lstrip", "partition", "replace", "rfind", "rjust", "rstrip"),
    *("startswith", "strip", "title", "zfill"),
}


def returns_plain(node: FunctionNode) -> bool:
    """Whether all that a function returns is plain, if what it is given is."""
    if isinstance(node, ast.Lambda):
        return _Plain(node).are_plain([node.body])
    found = list(own_nodes(node))
    if any(isinstance(each, ast.Yield | ast.YieldFrom | ast.FunctionDef) for each in found):
        return False  # a function in it may assign its names
    results = [each.value for each in found if isinstance(each, ast.Return)]
    return _Plain(node).are_plain([each for each in results if each is not None])


class _Plain:
    """Knows which local names stand for nothing but numbers and texts."""

    def __init__(self, node: FunctionNode) -> None:
        self._own = "" if isinstance(node, ast.Lambda) else node.name
        self._bound: dict[str, list[ast.expr | None]] = {}
        for each in own_nodes(node):
            self._take_in(each)
        for name in parameters(node):
            self._bound.setdefault(name, [])
        if node.args.kwarg is not None:
            self._bound[node.args.kwarg.arg] = [None]  # a dict
        self._met: set[str] = set()
        self._todo: list[ast.expr | None] = []

    def _take_in(self, node: ast.AST) -> None:
        """Remember what names are bound to; None stands for what is not known."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._bound.setdefault(name, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._bound.setdefault(name, []).append(value)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                self._bound.setdefault(name, []).append(value)
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                self._bound.setdefault(name, []).append(value)
            case ast.For(target=ast.Name(id=name), iter=value):
                self._bound.setdefault(name, []).append(value)
            case ast.Assign(targets=targets):
                for each in targets:
                    self._take_unknown(each)
            case ast.For(target=target) | ast.AsyncFor(target=target):
                self._take_unknown(target)
            case ast.withitem(optional_vars=ast.expr() as target):
                self._take_unknown(target)
            case ast.ExceptHandler(name=str() as name):
                self._bound.setdefault(name, []).append(None)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                self._bound.setdefault(name, []).append(None)
            case ast.ClassDef(name=name):
                self._bound.setdefault(name, []).append(None)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                for name in names:
                    self._bound.setdefault(name, []).append(None)
            case ast.match_case():
                self._take_unknown(node.pattern)
            case ast.Import() | ast.ImportFrom() if any(a.asname for a in node.names):
                for alias in node.names:
                    self._bound.setdefault(alias.asname or alias.name, []).append(None)

    def _take_unknown(self, node: ast.AST) -> None:
        for each in ast.walk(node):
            name = getattr(each, "name", None) or getattr(each, "rest", None)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                name = each.id
            if isinstance(name, str):
                self._bound.setdefault(name, []).append(None)

    def are_plain(self, nodes: list[ast.expr]) -> bool:
        """Whether all of these are, and with them all that the names in them stand for.

        One value that is not settles the answer, so that each name is looked at once.
        """
        self._todo += nodes
        while self._todo:
            if not self._is_plain(self._todo.pop()):
                return False
        return True

    def _is_plain(self, node: ast.expr | None) -> bool:
        """Whether an expression is, if the names in it are: these are to be looked at next."""
        match node:
            case ast.Constant() | ast.JoinedStr():
                return True
            case ast.Compare():
                return True
            case ast.UnaryOp(operand=inner):
                return isinstance(node.op, ast.Not) or self._is_plain(inner)
            case ast.BinOp(left=left, right=right):
                return self._is_plain(left) and self._is_plain(right)
            case ast.BoolOp(values=items) | ast.Tuple(elts=items):
                return all(map(self._is_plain, items))
            case ast.IfExp(body=one, orelse=other):
                return self._is_plain(one) and self._is_plain(other)
            case ast.Subscript(value=inner) | ast.Starred(value=inner):
                return self._is_plain(inner)
            case ast.NamedExpr(value=inner):
                return self._is_plain(inner)
            case ast.Name(id=name):
                return self._is_plain_name(name)
            case ast.Call():
                return self._is_plain_call(node)
        return False

    def _is_plain_name(self, name: str) -> bool:
        if name not in self._bound:
            return False
        if name not in self._met:
            self._met.add(name)
            self._todo += self._bound[name]
        return True

    def _is_plain_call(self, node: ast.Call) -> bool:
        match node.func:
            case ast.Name(id=name) if name not in self._bound:
                if name in _ALWAYS or name == self._own:
                    return True
                return name in _OF_PLAIN and all(map(self._is_plain, node.args))
            case ast.Attribute(value=ast.Name(id=name)) if name in _MODULES - self._bound.keys():
                return True
            case ast.Attribute(value=ast.Name(id="re"), attr="escape" | "sub"):
                return "re" not in self._bound
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="os"), attr="path")):
                return "os" not in self._bound
            case ast.Attribute(value=ast.Attribute(attr="str")):
                return False  # of a column of a table
            case ast.Attribute(value=base, attr=name):
                return name in _OF_TEXTS or (name in _OF_PLAIN_VALUES and self._is_plain(base))
        return False
