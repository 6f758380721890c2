"""Dataflow: the effects of a function, found by following values through its syntax.

Local names stand for the paths of what was assigned to them last. What is made inside the function
has no path, and writing to it has no effect.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType
from typing import Any

from keepset.core.fingerprint.bytecode_effects import bytecode_effects
from keepset.core.fingerprint.effects import ANY_KEY, MADE, Call, Effects, Path, Write, in_order
from keepset.core.fingerprint.plain_results import returns_plain
from keepset.core.fingerprint.reach import reach_of
from keepset.core.fingerprint.scopes import bound_names, imports_of, own_nodes, parameters
from keepset.core.fingerprint.syntax import FunctionNode
from keepset.core.fingerprint.writers import class_method_writes

_MAX_PATHS, _MAX_STEPS, _MAX_CALLS, _ROUNDS = 24, 8, 3, 3
# What a nested function is given by its callers, which may be anything.
_UNKNOWN = "*"
_TAKES_ITEM = {"get", "setdefault", "pop", "__getitem__"}
_WRITES_ITEM = {"setdefault", "pop", "__setitem__", "__delitem__"}
_VIEWS = {"reshape", "view", "ravel", "squeeze", "transpose", "swapaxes", "detach", "numpy"}
_VIEWS_OF_ARGUMENT = {
    *("asarray", "asanyarray", "ascontiguousarray", "atleast_1d", "atleast_2d", "atleast_3d"),
    *("ravel", "reshape", "squeeze", "transpose", "from_numpy", "as_tensor", "memoryview"),
}
_SAME_MEMBERS = {"list", "tuple", "iter", "reversed", "sorted", "filter"}


def effects_of(code: CodeType, node: FunctionNode | None) -> Effects:
    """The effects of a function; without a source, those that its instructions show."""
    try:
        if node is not None:
            return _Analysis(code, node).effects()
    except RecursionError:
        pass  # an expression nested deeper than the stack
    return bytecode_effects(code, reach_of(code))


class _Value:
    """What is known of an expression: where it may come from, and what it depends on.

    ``functions`` are the nested functions that it may be; ``is_captured`` says that it may belong
    to a function around the one that uses it.
    """

    __slots__ = ("depends", "functions", "is_captured", "paths")

    def __init__(
        self,
        paths: Iterable[Path] = (),
        depends: frozenset[str] = frozenset(),
        functions: frozenset[int] = frozenset(),
        is_captured: bool = False,
    ) -> None:
        paths = frozenset(paths)
        if len(paths) > _MAX_PATHS:
            paths = frozenset(in_order(paths)[:_MAX_PATHS])
        self.paths, self.depends, self.functions = paths, depends, functions
        self.is_captured = is_captured

    def __or__(self, other: _Value) -> _Value:
        return _Value(
            self.paths | other.paths,
            self.depends | other.depends,
            self.functions | other.functions,
            self.is_captured or other.is_captured,
        )

    def step(self, *step: Any) -> _Value:
        paths = {(root, (*steps, step)) for root, steps in self.paths if len(steps) < _MAX_STEPS}
        return _Value(paths, self.depends, is_captured=self.is_captured)


_Env = dict[str, _Value]


class _Scope:
    """The names of one function: which are its own, and what they ever stood for."""

    def __init__(self, parent: _Scope | None, names: set[str], ever: _Env) -> None:
        self.parent, self.names, self.ever = parent, names, ever
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.returns = _Value()

    def inner(self, names: set[str]) -> _Scope:
        """The scope of a comprehension."""
        scope = _Scope(self.parent, self.names | names, self.ever)
        scope.globals, scope.nonlocals = self.globals - names, self.nonlocals - names
        return scope


class _Analysis:
    def __init__(self, code: CodeType, node: FunctionNode) -> None:
        self._free, self._node = set(code.co_freevars), node
        self._writes: dict[Write, None] = {}
        self._calls: dict[Call, None] = {}
        self._uses: set[Path] = set()
        # Of nested functions, by their number: what they are given and return, and their names.
        self._given: dict[int, _Env] = {}
        self._returned: dict[int, _Value] = {}
        self._ever: dict[int, _Env] = {}
        self._nested: dict[int, FunctionNode] = {}
        self._moves_captured = False
        # What attributes are set to: of what is from outside, and of objects made here.
        self._stores: dict[tuple[Path, str], _Value] = {}
        self._stored: _Env = {}

    def effects(self) -> Effects:
        names = parameters(self._node)
        returns = _Value()
        known = -1
        for _ in range(_ROUNDS):
            self._calls.clear()  # each round knows more of what nested functions are given
            given = {name: _Value([(("param", name), ())], frozenset({name})) for name in names}
            returns = self._function(self._node, None, given)
            found = len(self._writes) + len(self._calls) + len(self._stored)
            found += sum(map(len, self._given.values()))
            if found == known or not self._nested:
                break
            known = found
        arguments = self._node.args
        positional = tuple(each.arg for each in (*arguments.posonlyargs, *arguments.args))
        return Effects(
            positional,
            tuple(self._writes),
            tuple(self._calls),
            returns.paths,
            frozenset(self._uses),
            tuple((*place, value.paths) for place, value in self._stores.items()),
            returns_plain(self._node),
            self._moves_captured and bool(returns.functions),
        )

    def _function(self, node: FunctionNode, parent: _Scope | None, given: _Env) -> _Value:
        ever = self._ever.setdefault(id(node), {})
        scope = _Scope(parent, set(given) | bound_names(node), ever)
        for each in own_nodes(node):
            if isinstance(each, ast.Global):
                scope.globals.update(each.names)
            elif isinstance(each, ast.Nonlocal):
                scope.nonlocals.update(each.names)
        scope.names -= scope.globals | scope.nonlocals
        env = dict(given)
        for name, value in given.items():
            ever[name] = ever.get(name, _Value()) | value
        if isinstance(node, ast.Lambda):
            return self._eval(node.body, scope, env)
        self._block(node.body, scope, env)
        return scope.returns

    # Names

    def _load(self, name: str, scope: _Scope, env: _Env) -> _Value:
        if name in scope.names:
            return env.get(name, scope.ever.get(name, _Value()))
        if name not in scope.globals:
            outer = scope.parent
            while outer is not None:
                if name in outer.names:
                    return outer.ever.get(name, _Value()) | _Value(is_captured=True)
                outer = outer.parent
        return _Value([self._outer(name, name in scope.globals)])

    def _outer(self, name: str, is_global: bool) -> Path:
        path: Path = (("free" if name in self._free and not is_global else "global", name), ())
        self._uses.add(path)
        return path

    def _bind(self, name: str, value: _Value, scope: _Scope, env: _Env) -> None:
        if name in scope.names:
            env[name] = value
            scope.ever[name] = scope.ever.get(name, _Value()) | value
            return
        outer = scope.parent
        while name in scope.nonlocals and outer is not None:
            if name in outer.names:
                outer.ever[name] = outer.ever.get(name, _Value()) | value
                self._moves_captured = True
                return
            outer = outer.parent
        self._write("bind", _Value([self._outer(name, name in scope.globals)]))

    def _write(
        self, kind: str, value: _Value, name: Any = None, keys: tuple[Any, ...] = ()
    ) -> None:
        for path in in_order(value.paths):
            self._writes[Write(kind, path, name, keys)] = None
        is_certain = kind not in ("read", "method")
        if value.is_captured and (is_certain or class_method_writes(None, str(name))):
            self._moves_captured = True

    # Statements

    def _block(self, body: list[ast.stmt], scope: _Scope, env: _Env) -> None:
        for statement in body:
            self._statement(statement, scope, env)

    def _statement(self, node: ast.stmt, scope: _Scope, env: _Env) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                self._assign(targets, value, scope, env)
            case ast.AnnAssign():
                if node.value is not None:
                    self._assign([node.target], node.value, scope, env)
            case ast.AugAssign(target=target, value=value):
                self._augment(target, self._eval(value, scope, env), scope, env)
            case ast.Delete(targets=targets):
                for each in targets:
                    self._delete(each, scope, env)
            case ast.Return(value=value):
                if value is not None:
                    scope.returns |= self._eval(value, scope, env)
            case ast.For() | ast.AsyncFor():
                self._loop(node, scope, env)
            case ast.While(test=test, body=body, orelse=otherwise):
                self._eval(test, scope, env)
                for _ in range(2):
                    self._branches([body, []], scope, env)
                    self._eval(test, scope, env)
                self._block(otherwise, scope, env)
            case ast.If(test=test, body=body, orelse=otherwise):
                self._eval(test, scope, env)
                self._branches([body, otherwise], scope, env)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    entered = self._eval(item.context_expr, scope, env)
                    if item.optional_vars is not None:
                        self._store(item.optional_vars, entered, scope, env)
                self._block(body, scope, env)
            case ast.Try() | ast.TryStar():
                handlers = [each.body for each in node.handlers]
                self._branches([[*node.body, *node.orelse], node.body, []], scope, env)
                self._branches([*handlers, []], scope, env)
                self._block(node.finalbody, scope, env)
            case ast.Match(subject=subject, cases=cases):
                matched = self._eval(subject, scope, env)
                for case in cases:
                    self._capture(case.pattern, matched, scope, env)
                    if case.guard is not None:
                        self._eval(case.guard, scope, env)
                self._branches([*(case.body for case in cases), []], scope, env)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for decorator in node.decorator_list:
                    self._eval(decorator, scope, env)
                self._bind(node.name, self._define(node, scope, env), scope, env)
            case ast.ClassDef(name=name, body=body):
                self._class(node, scope, env)
                self._bind(name, _Value(), scope, env)
            case ast.Import() | ast.ImportFrom():
                for name, imported in imports_of(node):
                    self._bind(name, _Value([(("import", imported), ())]), scope, env)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self._eval(child, scope, env)

    def _branches(self, bodies: list[list[ast.stmt]], scope: _Scope, env: _Env) -> None:
        """Run each of the bodies from here, and go on with all that they left behind."""
        after: list[_Env] = []
        for body in bodies:
            inner = dict(env)
            self._block(body, scope, inner)
            after.append(inner)
        for name in {name for inner in after for name in inner}:
            value = _Value()
            for inner in after:
                value |= inner.get(name, _Value())
            env[name] = value

    def _loop(self, node: ast.For | ast.AsyncFor, scope: _Scope, env: _Env) -> None:
        for _ in range(2):
            self._iterate(node.target, node.iter, scope, env)
            self._branches([node.body, []], scope, env)
        self._block(node.orelse, scope, env)

    def _assign(self, targets: list[ast.expr], value: ast.expr, scope: _Scope, env: _Env) -> None:
        found = self._eval(value, scope, env)
        for target in targets:
            pairs = _pairs(target, value)
            if pairs is None:
                self._store(target, found, scope, env)
            else:
                values = [self._eval(right, scope, env) for _, right in pairs]
                for (left, _), each in zip(pairs, values, strict=True):
                    self._store(left, each, scope, env)

    def _store(self, target: ast.expr, value: _Value, scope: _Scope, env: _Env) -> None:
        match target:
            case ast.Name(id=name):
                self._bind(name, value, scope, env)
            case ast.Attribute(value=base, attr=name):
                owner = self._eval(base, scope, env)
                self._write("attr", owner, name)
                self._store_attribute(owner, name, value)
            case ast.Subscript(value=base, slice=index):
                self._eval(index, scope, env)
                self._write("item", self._eval(base, scope, env), _key(index))
            case ast.Starred(value=inner):
                self._store(inner, value, scope, env)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                for item, part in zip(items, _parts(items, value), strict=True):
                    self._store(item, part, scope, env)

    def _store_attribute(self, owner: _Value, name: str, value: _Value) -> None:
        """Note what an attribute is set to; those of objects made here are known by name alone."""
        if not owner.paths:
            self._stored[name] = self._stored.get(name, _Value()) | value
        for path in in_order(owner.paths):
            self._stores[path, name] = self._stores.get((path, name), _Value()) | value

    def _delete(self, target: ast.expr, scope: _Scope, env: _Env) -> None:
        if isinstance(target, ast.Subscript):
            self._eval(target.slice, scope, env)
            self._write("delete", self._eval(target.value, scope, env), _key(target.slice))
        elif isinstance(target, ast.Tuple | ast.List):
            for each in target.elts:
                self._delete(each, scope, env)
        else:
            self._store(target, _Value(), scope, env)

    def _capture(self, pattern: ast.pattern, value: _Value, scope: _Scope, env: _Env) -> None:
        """Bind the names of a pattern to what they may stand for."""
        name: str | None = None
        match pattern:
            case ast.MatchSequence(patterns=inner):
                for each, part in zip(inner, _parts(inner, value), strict=True):
                    self._capture(each, part, scope, env)
            case ast.MatchMapping(keys=keys, patterns=inner, rest=name):
                for key, each in zip(keys, inner, strict=True):
                    self._capture(each, value.step("item", _key(key)), scope, env)
                value = value.step("members")
            case ast.MatchClass(patterns=inner, kwd_attrs=names, kwd_patterns=named):
                for each in inner:
                    self._capture(each, value, scope, env)  # as `list(found)` does
                for attribute, each in zip(names, named, strict=True):
                    self._capture(each, value.step("attr", attribute), scope, env)
            case ast.MatchOr(patterns=inner):
                for each in inner:
                    self._capture(each, value, scope, env)
            case ast.MatchAs(pattern=within, name=name):
                if within is not None:
                    self._capture(within, value, scope, env)
            case ast.MatchStar(name=name):
                pass
        if name is not None:
            self._bind(name, value, scope, env)

    def _augment(self, target: ast.expr, value: _Value, scope: _Scope, env: _Env) -> None:
        if isinstance(target, ast.Name):
            before = self._load(target.id, scope, env)
            self._write("inplace", before)
            self._bind(target.id, before | _Value(depends=value.depends), scope, env)
        elif isinstance(target, ast.Attribute):
            base = self._eval(target.value, scope, env)
            self._write("inplace", base.step("attr", target.attr))
            self._write("attr", base, target.attr)
        else:
            if isinstance(target, ast.Subscript) and _key(target.slice) != ANY_KEY:
                before = self._eval(target.value, scope, env).step("item", _key(target.slice))
                self._write("inplace", before)
            self._store(target, value, scope, env)

    def _iterate(self, target: ast.expr, source: ast.expr, scope: _Scope, env: _Env) -> None:
        """Bind the target of a loop or comprehension to the members of what it iterates over."""
        value = self._eval(source, scope, env)
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        if isinstance(source, ast.Tuple | ast.List) and not parts:
            member = _Value(depends=value.depends)
            for item in source.elts:
                member |= self._eval(item, scope, env)
            self._store(target, member, scope, env)
            return
        if parts and isinstance(source, ast.Call):
            members = self._members(source, len(parts), scope, env)
            if members is not None:
                for part, member in zip(parts, members, strict=True):
                    self._store(part, member, scope, env)
                return
        self._store(target, value.step("each"), scope, env)

    def _members(
        self, source: ast.Call, count: int, scope: _Scope, env: _Env
    ) -> list[_Value] | None:
        match source:
            case ast.Call(func=ast.Attribute(value=base, attr="items")) if count == 2:
                found = self._eval(base, scope, env)
                return [_Value(depends=found.depends), found.step("each")]
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]) if count == 2:
                found = self._eval(inner, scope, env)
                return [_Value(), found.step("each")]
            case ast.Call(func=ast.Name(id="zip"), args=inner) if len(inner) == count:
                return [self._eval(each, scope, env).step("each") for each in inner]
        return None

    def _define(self, node: FunctionNode, scope: _Scope, env: _Env) -> _Value:
        """Look into a nested function, with all that its callers were seen to pass so far."""
        key = id(node)
        self._nested[key] = node
        given = self._given.setdefault(key, {})
        for name, value in self._defaults(node, scope, env).items():
            given[name] = given.get(name, _Value()) | value
        unknown = _Value(depends=frozenset({_UNKNOWN}))
        values = {name: given.get(name, _Value()) | unknown for name in parameters(node)}
        returned = self._function(node, scope, values)
        self._returned[key] = self._returned.get(key, _Value()) | returned
        return _Value(functions=frozenset({key}))

    def _defaults(self, node: FunctionNode, scope: _Scope, env: _Env) -> _Env:
        arguments = node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        pairs: list[tuple[ast.arg, ast.expr | None]] = [
            *zip(
                positional[len(positional) - len(arguments.defaults) :],
                arguments.defaults,
                strict=True,
            ),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        ]
        return {
            each.arg: self._eval(default, scope, env)
            for each, default in pairs
            if default is not None
        }

    def _class(self, node: ast.ClassDef, scope: _Scope, env: _Env) -> None:
        for each in (*node.bases, *node.decorator_list):
            self._eval(each, scope, env)
        # Its methods do not see its names.
        inner = scope.inner(bound_names(node))
        inner.ever = dict(scope.ever)
        body_env = dict(env)
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                self._define(statement, scope, env)
            else:
                self._statement(statement, inner, body_env)

    # Expressions

    def _eval(self, node: ast.expr, scope: _Scope, env: _Env) -> _Value:
        match node:
            case ast.Constant():
                return _Value()
            case ast.Name(id=name):
                return self._load(name, scope, env)
            case ast.Attribute(value=base, attr=name):
                return self._attribute(self._eval(base, scope, env), name)
            case ast.Subscript(value=base, slice=index):
                return self._subscript(base, index, scope, env)
            case ast.Call():
                return self._call(node, scope, env)
            case ast.NamedExpr(target=target, value=inner):
                value = self._eval(inner, scope, env)
                self._store(target, value, scope, env)
                return value
            case ast.IfExp(test=test, body=one, orelse=other):
                self._eval(test, scope, env)
                return self._eval(one, scope, env) | self._eval(other, scope, env)
            case ast.BoolOp(values=values):
                result = _Value()
                for each in values:
                    result |= self._eval(each, scope, env)
                return result
            case ast.Starred(value=inner) | ast.Await(value=inner):
                return self._eval(inner, scope, env)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                folder, name_in_it = self._eval(left, scope, env), self._eval(right, scope, env)
                joined = folder.step("joined")
                return _Value(joined.paths, folder.depends | name_in_it.depends)
            case ast.BinOp(left=left, op=ast.Add() | ast.BitOr() | ast.Mult(), right=right):
                sides = self._eval(left, scope, env) | self._eval(right, scope, env)
                made = _Value([MADE] if sides.depends else [], sides.depends)
                return made | sides.step("added")
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return self._display(items, scope, env)
            case ast.Dict(keys=keys, values=items):
                result = _Value()
                for key, item in zip(keys, items, strict=True):
                    found = self._eval(item, scope, env)
                    if key is None:
                        result |= found.step("members")
                        continue
                    result |= _Value(depends=self._eval(key, scope, env).depends)
                    result |= found.step("held", _key(key))
                return result
            case ast.Yield(value=inner) if inner is not None:
                scope.returns |= self._eval(inner, scope, env).step("held", ANY_KEY)
                return _Value()
            case ast.YieldFrom(value=inner):
                found = self._eval(inner, scope, env)
                scope.returns |= found.step("members")
                return _Value(depends=found.depends)
            case ast.Lambda():
                return self._define(node, scope, env)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node, scope, env)
        depends: frozenset[str] = frozenset()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                depends |= self._eval(child, scope, env).depends
        is_text = isinstance(node, ast.BinOp | ast.JoinedStr) and bool(depends)
        return _Value([MADE] if is_text else [], depends)

    def _display(self, items: list[ast.expr], scope: _Scope, env: _Env) -> _Value:
        result, is_place_known = _Value(), True
        for i, item in enumerate(items):
            found = self._eval(item, scope, env)
            if isinstance(item, ast.Starred):
                result, is_place_known = result | found.step("members"), False
            else:
                result |= found.step("held", i if is_place_known else ANY_KEY)
        return result

    def _attribute(self, base: _Value, name: str, keys: tuple[Any, ...] = ()) -> _Value:
        self._write("method", base, name, keys)
        value = base.step("view") if name in ("T", "real", "imag", "flat", "data") else _Value()
        value |= base.step("attr", name)
        if not base.paths:
            value |= self._stored.get(name, _Value())
        self._uses |= {path for path in value.paths if path[0][0] in ("global", "free", "import")}
        return _Value(value.paths, base.depends, is_captured=base.is_captured)

    def _subscript(self, base: ast.expr, index: ast.expr, scope: _Scope, env: _Env) -> _Value:
        value, at = self._eval(base, scope, env), self._eval(index, scope, env)
        key = _key(index)
        self._write("read", value, key)
        found = value.step("slice") if _is_slice(index) else value.step("item", key)
        depends = value.depends | at.depends
        return _Value(found.paths, depends, is_captured=value.is_captured)

    def _comprehension(
        self,
        node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
        scope: _Scope,
        env: _Env,
    ) -> _Value:
        names = {
            each.id
            for part in node.generators
            for each in ast.walk(part.target)
            if isinstance(each, ast.Name)
        }
        inner, inner_env = scope.inner(names), dict(env)
        depends: frozenset[str] = frozenset()
        for part in node.generators:
            self._iterate(part.target, part.iter, inner, inner_env)
            depends |= self._eval(part.iter, inner, inner_env).depends
            for test in part.ifs:
                self._eval(test, inner, inner_env)
        made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        result = _Value(depends=depends)
        for each in made:
            result |= self._eval(each, inner, inner_env).step("held", ANY_KEY)
        scope.returns |= inner.returns
        return result

    def _call(self, node: ast.Call, scope: _Scope, env: _Env) -> _Value:
        base = _Value()
        if isinstance(node.func, ast.Attribute):
            # Once: of a chain of calls each would double the work.
            base = self._eval(node.func.value, scope, env)
            function = self._attribute(base, node.func.attr, _keys(node, node.func.attr))
        else:
            function = self._eval(node.func, scope, env)
        written = list(_spelled_out(node.args))
        arguments = [self._eval(each, scope, env) for each in written]
        keywords = [
            (each.arg or "**", self._eval(each.value, scope, env)) for each in node.keywords
        ]
        values = [*arguments, *(value for _, value in keywords)]
        depends = frozenset[str]().union(*(value.depends for value in values))
        starred = [i for i, each in enumerate(written) if isinstance(each, ast.Starred)]
        if starred:
            # Which parameter gets what behind it is not known any more.
            keywords.append(("*", arguments[starred[0]]))
            arguments = arguments[: starred[0]]
        constants = tuple(
            each.value if isinstance(each, ast.Constant) else ANY_KEY for each in written
        )
        given = tuple(value.paths for value in arguments)
        named = tuple((name, value.paths) for name, value in keywords)
        modes = tuple(
            (each.arg, each.value.value)
            for each in node.keywords
            if each.arg and isinstance(each.value, ast.Constant) and type(each.value.value) is str
        )
        results: set[Path] = set()
        for path in in_order(function.paths):
            is_empty = not node.args and not node.keywords
            self._calls[
                Call(path, given, named, constants, depends | function.depends, is_empty, modes)
            ] = None
            if _calls_in(path) < _MAX_CALLS:
                results.add((("call", path, given, named), ()))
        result = _Value(results, depends | function.depends)
        for key in function.functions:
            self._pass(key, arguments, keywords)
            result |= self._returned.get(key, _Value())
        self._pass_on(values)
        if _is_next_of_captured(node, arguments):
            self._moves_captured = True
        return result | self._known_result(node, base, arguments, scope, env)

    def _pass_on(self, values: list[_Value]) -> None:
        """Let functions that are passed on be called with the others, and with their members."""
        passed = [value for value in values if value.functions]
        if passed:
            others = _all([each for each in values if not each.functions])
            given = others | others.step("each")
            for key in frozenset[int]().union(*(each.functions for each in passed)):
                names = parameters(self._nested[key])
                self._pass(key, [], [(name, given) for name in names])

    def _pass(self, key: int, arguments: list[_Value], keywords: list[tuple[str, _Value]]) -> None:
        given = self._given.setdefault(key, {})
        spec = self._nested[key].args
        names = [each.arg for each in (*spec.posonlyargs, *spec.args)]
        for name, value in (*zip(names, arguments, strict=False), *keywords):
            given[name] = given.get(name, _Value()) | value

    def _known_result(
        self, node: ast.Call, base: _Value, arguments: list[_Value], scope: _Scope, env: _Env
    ) -> _Value:
        """The result of what everybody calls: getattr, dict.get, np.asarray."""
        first = arguments[0] if arguments else _Value()
        match node.func:
            case ast.Name(id="getattr") if len(node.args) > 1:
                name = node.args[1]
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    return self._attribute(first, name.value) | _all(arguments[2:])
                return _Value()
            case ast.Name(id="vars") if arguments:
                return first.step("attr", "__dict__")
            case ast.Name(id="globals" | "locals"):
                return _Value([(("globals",), ())])
            case ast.Name(id="type") if len(arguments) == 1:
                return first.step("type")
            case ast.Name(id="super"):
                names = parameters(self._node)
                return self._load(names[0], scope, env) if names else _Value()
            case ast.Name(id=name) if name in _SAME_MEMBERS and arguments:
                return arguments[-1].step("members")
            case ast.Name(id="next") if arguments:
                return first.step("each") | _all(arguments[1:])
            case ast.Name(id="map"):
                found = [self._returned.get(key, _Value()) for key in sorted(first.functions)]
                return _all(found).step("held", ANY_KEY)
            case ast.Name(id="memoryview"):
                return first.step("view")
            case ast.Attribute(attr=name):
                if name == "values":
                    return base.step("members")
                if name == "items":
                    return base.step("pairs")
                if name in _TAKES_ITEM:
                    key = _key(node.args[0]) if node.args else ANY_KEY
                    return base.step("item", key) | _all(arguments[1:])
                result = base.step("view") if name in _VIEWS else _Value()
                return result | first.step("view") if name in _VIEWS_OF_ARGUMENT else result
        return _Value()


def _spelled_out(arguments: list[ast.expr]) -> Iterator[ast.expr]:
    """Arguments, in which `*(a, b)` is `a, b`."""
    for each in arguments:
        if isinstance(each, ast.Starred) and isinstance(each.value, ast.Tuple | ast.List):
            yield from _spelled_out(each.value.elts)
        else:
            yield each


def _is_next_of_captured(node: ast.Call, arguments: list[_Value]) -> bool:
    is_next = isinstance(node.func, ast.Name) and node.func.id == "next"
    return is_next and bool(arguments) and arguments[0].is_captured


def _parts(items: Sequence[ast.expr] | Sequence[ast.pattern], value: _Value) -> Iterator[_Value]:
    """What each of some targets or patterns is given of a sequence."""
    starred = [isinstance(each, ast.Starred | ast.MatchStar) for each in items]
    for i, is_rest in enumerate(starred):
        if is_rest:
            yield value.step("members")
        else:
            yield value.step("item", i - len(items) if any(starred[:i]) else i)


def _all(values: list[_Value]) -> _Value:
    result = _Value()
    for value in values:
        result |= value
    return result


def _calls_in(path: Path) -> int:
    return 1 + _calls_in(path[0][1]) if path[0][0] == "call" else 0


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]] | None:
    """`a, b = c, d` in pairs; None for anything else."""
    if not isinstance(target, ast.Tuple | ast.List) or not isinstance(value, ast.Tuple | ast.List):
        return None
    starred = any(isinstance(each, ast.Starred) for each in (*target.elts, *value.elts))
    if starred or len(target.elts) != len(value.elts):
        return None
    return list(zip(target.elts, value.elts, strict=True))


def _key(index: ast.expr) -> Any:
    if isinstance(index, ast.Constant):
        return index.value
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
        inner = index.operand
        if isinstance(inner, ast.Constant) and isinstance(inner.value, int):
            return -inner.value
    return ANY_KEY


def _keys(call: ast.Call, method: str) -> tuple[Any, ...]:
    """The keys that a call of a dict's method touches; empty if they are not all constants."""
    found: list[Any] = []
    if method in _WRITES_ITEM and call.args:
        found = [_key(call.args[0])]
    elif method == "update":
        found = [each.arg or ANY_KEY for each in call.keywords]
        for each in call.args:
            keys = each.keys if isinstance(each, ast.Dict) else [None]
            found += [ANY_KEY if key is None else _key(key) for key in keys]
    return () if ANY_KEY in found else tuple(found)


def _is_slice(index: ast.expr) -> bool:
    items = index.elts if isinstance(index, ast.Tuple) else [index]
    simple = (ast.Slice, ast.Constant)
    return any(isinstance(each, ast.Slice) for each in items) and all(
        isinstance(each, simple) for each in items
    )
