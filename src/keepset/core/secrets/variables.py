"""Variables: what the names in a source stand for, inside and outside of it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any

from keepset.core.record import mutable_record, record
from keepset.core.secrets.leaves import key_of, leaves
from keepset.core.secrets.targets import assigned_values

# What stands behind a name: the name of an attribute, or the key of an item.
Step = tuple[str, Any]
ATTRIBUTE, ITEM = "attribute", "item"

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
# A name that is assigned from others is followed through as many.
_MOST_FOLLOWED = 1000


@record
class Variable:
    """A variable that a source uses and does not assign, ``CONFIG["db"].host`` for instance."""

    name: str
    steps: tuple[Step, ...] = ()


@mutable_record
class _Scope:
    """A function, a class or a comprehension, and the names that it assigns."""

    node: ast.AST | None = None
    parent: _Scope | None = None
    # Each with the expressions that it may get its value from.
    bound: dict[str, list[ast.AST]] = field(default_factory=dict)
    global_names: set[str] = field(default_factory=set)
    nonlocal_names: set[str] = field(default_factory=set)

    def bind(self, name: str, *values: ast.AST) -> None:
        self.bound.setdefault(name, []).extend(values)

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)


class Variables:
    """Finds what names stand for.

    Args:
        tree: The source of one function. What is on the level of its module is outside.
    """

    def __init__(self, tree: ast.AST) -> None:
        self._scopes: dict[int, _Scope] = {}  # of names, by their ids
        self._bind_all(tree)

    def origins(self, leaf: ast.expr) -> Iterator[Variable | ast.Constant]:
        """The variables of outside and the literals that the value of a leaf may come from."""
        todo: list[tuple[ast.AST, tuple[Step, ...]]] = [(leaf, ())]
        seen: set[tuple[int, tuple[Step, ...]]] = set()
        while todo and len(seen) < _MOST_FOLLOWED:
            node, steps = todo.pop()
            if (id(node), steps) in seen:
                continue
            seen.add((id(node), steps))
            if isinstance(node, ast.Constant):
                if not steps:
                    yield node
                continue
            found = _path(node)
            if found is None:
                continue
            name, own = found
            scope = self._scope_of(name)
            if scope is None:
                yield Variable(name.id, own + steps)
                continue
            for value in scope.bound[name.id]:
                todo += _inside(value, own + steps)

    def _scope_of(self, name: ast.Name) -> _Scope | None:
        """The scope that assigns a name; None if that is outside."""
        first = scope = self._scopes.get(id(name))
        while scope is not None and scope.parent is not None:
            # The variables of a class are not seen by the functions in it.
            if not scope.is_class or scope is first:
                if name.id in scope.global_names:
                    return None
                if name.id in scope.bound and name.id not in scope.nonlocal_names:
                    return scope
            scope = scope.parent
        return None

    def _bind_all(self, tree: ast.AST) -> None:
        # A list and not recursion: a source may be nested deeper than Python's stack.
        todo: list[tuple[ast.AST, _Scope]] = [(tree, _Scope())]
        while todo:
            node, scope = todo.pop()
            if isinstance(node, ast.Name):
                self._scopes[id(node)] = scope
            for name, values in _bindings(node):
                _binding_scope(node, scope).bind(name, *values)
            if isinstance(node, ast.Global):
                scope.global_names.update(node.names)
            elif isinstance(node, ast.Nonlocal):
                scope.nonlocal_names.update(node.names)
            todo += _children(node, scope)


def _binding_scope(node: ast.AST, scope: _Scope) -> _Scope:
    """A walrus in a comprehension assigns outside of that."""
    while isinstance(node, ast.NamedExpr) and isinstance(scope.node, _Comprehension):
        scope = scope.parent or scope
    return scope


def _bindings(node: ast.AST) -> Iterator[tuple[str, list[ast.AST]]]:
    """The names that a node assigns, and what to, without those of the scope that it opens."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()):
            yield name, []
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name, []
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from ((each.asname or each.name.partition(".")[0], []) for each in names)
        case ast.ExceptHandler(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name, []
        case ast.MatchAs(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name, []
    for target, value in assigned_values(node):
        if isinstance(target, ast.Name):
            yield target.id, [value]


def _children(node: ast.AST, scope: _Scope) -> Iterable[tuple[ast.AST, _Scope]]:
    """What is inside of a node, each with the scope in which it runs."""
    if isinstance(node, _Function):
        inner = _Scope(node, scope)
        given = node.args
        for each in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
            if each is not None:
                inner.bind(each.arg)
        body = node.body if isinstance(node.body, list) else [node.body]
        inside = {id(each) for each in body}
        return [
            (each, inner if id(each) in inside else scope) for each in ast.iter_child_nodes(node)
        ]
    if isinstance(node, ast.NamedExpr):
        return [(node.value, scope)]
    if isinstance(node, ast.ClassDef):
        inner, inside = _Scope(node, scope), {id(each) for each in node.body}
        return [
            (each, inner if id(each) in inside else scope) for each in ast.iter_child_nodes(node)
        ]
    if isinstance(node, _Comprehension):
        # Only what the first loop goes through is looked up outside.
        inner, first = _Scope(node, scope), node.generators[0]
        for target, value in assigned_values(first):
            if isinstance(target, ast.Name):
                inner.bind(target.id, value)
        found: list[tuple[ast.AST, _Scope]] = [(first.iter, scope), (first.target, inner)]
        found += [(each, inner) for each in first.ifs]
        rest = [each for each in ast.iter_child_nodes(node) if each is not first]
        return found + [(each, inner) for each in rest]
    return [(each, scope) for each in ast.iter_child_nodes(node)]


def _path(node: ast.AST) -> tuple[ast.Name, tuple[Step, ...]] | None:
    """The name that an expression begins with, and the attributes and items behind it."""
    steps: list[Step] = []
    while not isinstance(node, ast.Name):
        match node:
            case ast.Attribute(value=inner, attr=name):
                steps.append((ATTRIBUTE, name))
            case ast.Subscript(value=inner, slice=item) if (key := key_of(item)) is not None:
                steps.append((ITEM, key[0]))
            case _:
                return None
        node = inner
    return node, tuple(reversed(steps))


def _inside(value: ast.AST, steps: tuple[Step, ...]) -> Iterator[tuple[ast.AST, tuple[Step, ...]]]:
    """The leaves of what a name was assigned, behind some steps."""
    while steps and steps[0][0] == ITEM:
        key = steps[0][1]
        match value:
            case ast.Dict(keys=keys, values=values):
                named = [
                    item
                    for each, item in zip(keys, values, strict=True)
                    if isinstance(each, ast.Constant) and each.value == key
                ]
            case ast.List(elts=items) | ast.Tuple(elts=items):
                is_there = isinstance(key, int) and -len(items) <= key < len(items)
                named = [items[key]] if is_there else []
            case _:
                break
        if not named:
            return
        value, steps = named[-1], steps[1:]
    if not steps:
        yield from ((leaf, ()) for leaf in leaves(value))
    elif _path(value) is not None:
        yield value, steps
