"""Literal names: which parts of a source stand for values that go by a name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from keepset.core.secrets.holders import NAMING, VALUES, strength_of_class, strength_of_named
from keepset.core.secrets.leaves import PASSING, WITH_DEFAULT, called_name
from keepset.core.secrets.names import NONE, SURE, VAGUE, WEAK, strength_of_name
from keepset.core.secrets.targets import assigned_values
from keepset.core.secrets.values import decoded, looks_like_key

# A name, what goes by it, and how surely that is secret.
Named = tuple[str, ast.AST | None, int]

_DEFAULTS: Final = {"default", "fallback", "value", "const", "initial"}
# Methods of a text that compare it with others.
_COMPARING: Final = {
    *("startswith", "endswith", "removeprefix", "removesuffix", "__eq__", "__ne__"),
    *("find", "index", "count", "replace", "__contains__"),
}
# Words of functions that compare their arguments.
_COMPARE_WORDS: Final = ("compare", "equal", "verify", "check", "validate")
# Functions of such names get what says where a secret is, and not the secret.
_ASKING: Final = (
    *("get", "load", "read", "fetch", "find", "generate", "make", "create", "new", "has", "is"),
    *("require", "request", "list", "delete", "remove", "parse", "tokenize", "lookup", "ask"),
)
# They get what may hold secrets, or the names of those.
_CLEANING: Final = {
    *("mask", "redact", "filter", "strip", "drop", "hide", "clean", "censor", "sanitize", "scrub"),
    *("detect", "scan", "count", "contains", "without", "exclude", "split", "extract", "match"),
}
_SETTING: Final = ("set_", "with_", "use_", "add_")
# They are given a secret, although their names have none of its words.
_LOGINS: Final = {"authenticate", "authorize", "login", "log_in", "signin", "sign_in", "unlock"}


def named_values(tree: ast.AST, signatures: dict[str, tuple[str, ...]]) -> Iterator[Named]:
    """Everything in a source that stands for a value with a name.

    Args:
        tree: The parsed source.
        signatures: The parameters of functions that are defined elsewhere.
    """
    nodes = list(ast.walk(tree))
    signatures = signatures | dict(_defined(nodes))
    for node in nodes:
        for name, value in _by_place(node):
            yield name, value, strength_of_name(name)
        for name, value in _by_result(node):
            yield name, value, _of_texts(name)
        yield from _by_look(node)
        if isinstance(node, ast.Call):
            yield from _of_call(node, signatures)
        elif isinstance(node, ast.ClassDef):
            yield from _of_class(node)
        elif isinstance(node, ast.Dict):
            yield from _beside_names(zip(node.keys, node.values, strict=True))
        elif isinstance(node, ast.BoolOp):
            for named in _among(node.values):
                # The variables of `auth and NAME` are asked together, and mean different things.
                if isinstance(node.op, ast.Or) or isinstance(named[1], ast.Constant):
                    yield named
        elif isinstance(node, ast.IfExp):
            yield from _among([node.body, node.orelse])


def _defined(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The functions that a source defines, with their parameters."""
    for node in nodes:
        match node:
            case (
                ast.FunctionDef(name=name, args=given) | ast.AsyncFunctionDef(name=name, args=given)
            ):
                yield name, _parameters(given)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda(args=given)):
                yield name, _parameters(given)
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(args=[_, ast.Constant(value=str(fields))]) as made,
            ) if called_name(made) == "namedtuple":
                yield name, tuple(fields.replace(",", " ").split())


def _parameters(given: ast.arguments) -> tuple[str, ...]:
    names = [each.arg for each in (*given.posonlyargs, *given.args)]
    return tuple(names[1:] if names[:1] in (["self"], ["cls"]) else names)


def _by_place(node: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    """Assignments, keywords, items of dicts, defaults, comparisons and patterns."""
    for target, value in assigned_values(node):
        yield _name_of(target), value
    match node:
        case ast.keyword(arg=str(name), value=value):
            yield name, value
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if key is not None:
                    yield _name_of(key), value
        case ast.Tuple(elts=items) | ast.List(elts=items):
            yield from _after_names(items)
        case ast.Compare(left=left, comparators=others):
            for one, other in ((left, other) for other in others):
                yield _name_of_variable(one), other
                yield _name_of_variable(other), one
        case ast.Match(subject=subject, cases=cases):
            for case in cases:
                yield _surest_name(subject), case.pattern
        case ast.MatchMapping(keys=keys, patterns=patterns):
            yield from zip(map(_name_of, keys), patterns, strict=False)
        case ast.MatchClass(kwd_attrs=names, kwd_patterns=patterns):
            yield from zip(names, patterns, strict=True)
        case ast.arguments() as arguments:
            names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
            defaults = arguments.defaults
            yield from zip(names[len(names) - len(defaults) :], defaults, strict=True)
            names = [each.arg for each in arguments.kwonlyargs]
            yield from zip(names, arguments.kw_defaults, strict=True)


def _by_result(node: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    """What functions of such names return, and what the results of calls are compared with."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            for each in ast.walk(node):
                if isinstance(each, ast.Return | ast.Yield):
                    yield name, each.value
        case ast.Compare(left=left, comparators=others):
            for other in others:
                yield _surest_name(left), other
                yield _surest_name(other), left


def _of_texts(name: str) -> int:
    """The strength of a name of which only texts are hidden: a number may be a status or a size."""
    return min(strength_of_name(name), SURE)


def _of_class(node: ast.ClassDef) -> Iterator[Named]:
    """The attributes and members of a class whose name is one of secrets."""
    if strength := strength_of_class(node.name):
        for statement in node.body:
            for target, value in assigned_values(statement):
                if not _name_of(target).startswith("__"):
                    yield node.name, value, strength


def _by_look(node: ast.AST) -> Iterator[Named]:
    """Texts that look like keys and go by no name: given to a class, or compared with."""
    given: list[ast.expr] = []
    if isinstance(node, ast.Call) and called_name(node)[:1].isupper():
        given = node.args
    elif isinstance(node, ast.Compare):
        given = [node.left, *node.comparators]
    for each in given:
        value = each.value if isinstance(each, ast.Constant) else None
        if isinstance(value, str | bytes) and looks_like_key(decoded(value)):
            yield "a text in it", each, VAGUE


def _beside_names(items: Iterable[tuple[ast.AST | None, ast.expr]]) -> Iterator[Named]:
    """The value in {"name": "DB_PASSWORD", "value": "..."}."""
    named = {_name_of(key).lower(): value for key, value in items if key is not None}
    for each in NAMING:
        name = named.get(each)
        if not isinstance(name, ast.Constant):
            continue
        strength = strength_of_named(name.value)
        yield from ((_name_of(name), named[key], strength) for key in VALUES if key in named)


def _zipped(call: ast.Call) -> Iterator[Named]:
    """The values in zip(["user", "password"], ["bob", "..."])."""
    match call.args:
        case [ast.List(elts=names) | ast.Tuple(elts=names), values, *_] if len(names) < 100:
            for i, name in enumerate(names):
                strength = strength_of_name(_name_of(name))
                if not isinstance(name, ast.Constant) or strength < SURE:
                    continue
                if not isinstance(values, ast.List | ast.Tuple):
                    yield _name_of(name), ast.Subscript(values, ast.Constant(i), ast.Load()), SURE
                elif i < len(values.elts):
                    yield _name_of(name), values.elts[i], strength


def _after_names(items: list[ast.expr]) -> Iterator[tuple[str, ast.AST]]:
    """Pairs such as ("Authorization", ...), and what follows an option such as --password."""
    for name, value in pairwise(items):
        if isinstance(name, ast.Constant) and isinstance(name.value, str | bytes):
            text = _name_of(name)
            is_named = len(items) == 2 or (text.startswith("-") and "=" not in text)
            if is_named and strength_of_name(text) >= SURE:
                yield text, value


def _of_call(call: ast.Call, signatures: dict[str, tuple[str, ...]]) -> Iterator[Named]:
    """The arguments of a call: by what it does, and by the names of its parameters."""
    called, given = called_name(call), call.args
    if called == "partial" and given and (inner := _name_of(given[0])) in signatures:
        called, given = inner, given[1:]
    for name, value in zip(signatures.get(called, ()), given, strict=False):
        yield name, value, strength_of_name(name)
    yield from _of_named_arguments(call, called)
    yield from _of_secret_call(call, called)
    yield from _beside_names((ast.Constant(each.arg), each.value) for each in call.keywords)
    if called == "zip":
        yield from _zipped(call)
    if called in _COMPARING and isinstance(call.func, ast.Attribute):
        name = _surest_name(call.func.value)
        strength = strength_of_name(name)
        # Prefixes of keys and tokens are mostly parts of ordinary texts.
        strength = WEAK if strength >= SURE else min(strength, VAGUE)
        yield from ((name, value, strength) for value in call.args)
    elif any(word in called.lower() for word in _COMPARE_WORDS):
        yield from ((name, value, min(how, SURE)) for name, value, how in _among(call.args))


def _of_named_arguments(call: ast.Call, called: str) -> Iterator[Named]:
    """What stands behind a name: setattr(o, "password", ...), getenv("API_KEY", default=...)."""
    for i, argument in enumerate(call.args):
        if not isinstance(argument, ast.Constant):
            continue
        name = _name_of(argument)
        strength = strength_of_name(name) if len(name) < 100 else NONE
        if strength < SURE:
            strength = VAGUE if strength and called in WITH_DEFAULT else NONE
        if strength == NONE:
            continue
        values = [each.value for each in call.keywords if each.arg in _DEFAULTS]
        yield from ((name, value, strength) for value in (*call.args[i + 1 : i + 2], *values))


def _of_secret_call(call: ast.Call, called: str) -> Iterator[Named]:
    """The arguments of what is made of a secret, or is given one: SecretStr(...), login(...)."""
    if called.lower().startswith(_SETTING) and call.args:
        yield called, call.args[-1], strength_of_name(called)
        return
    strength = WEAK if called.lower() in _LOGINS else _of_texts(called)
    first = called.lower().lstrip("_").partition("_")[0]
    is_asking = first in _CLEANING or first in _ASKING
    is_asking |= called[:1].islower() and first.startswith(_ASKING)
    if not is_asking or called.lower() in _LOGINS:
        strength = VAGUE if strength == WEAK and called.lower() not in _LOGINS else strength
        yield from ((called, value, strength) for value in call.args)


def _among(items: list[ast.expr]) -> Iterator[Named]:
    """Values of which one is as good as the other: password or "..."."""
    for i, one in enumerate(items):
        name = _surest_name(one)
        if strength := strength_of_name(name):
            yield from ((name, other, strength) for j, other in enumerate(items) if j != i)


def _surest_name(node: ast.AST) -> str:
    """Of the names that an expression may go by, that which is most surely a secret's."""
    if isinstance(node, ast.Constant):
        return ""  # a text is the name of nothing that it is compared with
    return max(_names_of(node), key=strength_of_name, default="")


def _name_of_variable(node: ast.AST) -> str:
    return "" if isinstance(node, ast.Constant) else _name_of(node)


def _names_of(node: ast.AST) -> Iterator[str]:
    yield _name_of(node)
    if not isinstance(node, ast.Call):
        return
    called = called_name(node)
    yield called
    if called in WITH_DEFAULT | PASSING and node.args:
        yield _name_of(node.args[0])  # environ.get("HF_TOKEN"), str(password)
    if isinstance(node.func, ast.Attribute):
        yield _name_of(node.func.value)  # password.strip()


def _name_of(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            return name
        case ast.Constant(value=bytes(name)):
            return name.decode("latin-1")
        case ast.Subscript(slice=inner):
            return _name_of(inner) if isinstance(inner, ast.Constant) else ""
    return ""
