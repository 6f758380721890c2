"""Leaves: what the value of an expression consists of, as far as the source says so."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any, Final

# Calls that give back what they get, or a default that is among their arguments.
PASSING: Final = {
    *("SecretStr", "SecretBytes", "Secret", "str", "bytes", "bytearray", "fromhex"),
    *("b64decode", "b64encode", "urlsafe_b64encode", "urlsafe_b64decode", "quote", "quote_plus"),
}
WITH_DEFAULT: Final = {"get", "getenv", "pop", "setdefault"}
_LOOKING_UP: Final = {"get", "pop", "setdefault", "__getitem__"}
# Calls whose results hold what they get.
_HOLDING: Final = {"dict", "list", "tuple", "set", "frozenset", "SimpleNamespace", "sorted", "iter"}
# Methods of a text whose arguments become part of what they return.
_ASSEMBLING: Final = ("format", "format_map", "join", "replace")
# Methods of a text that return it, or a part of it, in another form.
_OF_TEXTS: Final = {
    *("encode", "decode", "strip", "lstrip", "rstrip", "lower", "upper", "casefold", "title"),
    *("removeprefix", "removesuffix", "split", "rsplit", "splitlines", "partition", "rpartition"),
    *("replace", "format", "format_map", "hex", "ljust", "rjust", "zfill", "swapcase", "copy"),
    *("capitalize", "translate", "expandtabs", "center", "get_secret_value", "__str__"),
}


def leaves(node: ast.AST | None) -> Iterator[ast.expr]:
    """The literals, names, attributes and items that a value consists of.

    Not those that something is only made from: neither of ``open(PATH).read()``.
    """
    match node:
        case ast.Constant() | ast.Name() | ast.Attribute():
            yield node
        case ast.Subscript(slice=key) if key_of(key) is not None:
            yield node
        case ast.Call():
            yield from _leaves_of_all(_parts_of_call(node))
        case _:
            yield from _leaves_of_all(_parts(node))


def _leaves_of_all(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    for each in nodes:
        yield from leaves(each)


def constants(node: ast.AST | None) -> Iterator[ast.Constant]:
    """The literals that may be part of a value, and not those that only say where it is."""
    match node:
        case None | ast.Compare():
            return
        case ast.Constant():
            yield node
        case ast.Subscript(value=inner):
            yield from constants(inner)
        case ast.Dict(values=items):
            for item in items:
                yield from constants(item)
        case ast.IfExp(body=body, orelse=other):
            yield from constants(body)
            yield from constants(other)
        case ast.Call(func=function, args=arguments, keywords=keywords):
            called = called_name(node)
            yield from constants(function)
            for argument in (*arguments[called in WITH_DEFAULT :], *keywords):
                yield from constants(argument)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from constants(child)


def key_of(node: ast.expr) -> tuple[Any] | None:
    """The key of an item, alone in a tuple; None if only the running program knows it."""
    match node:
        case ast.Constant(value=value):
            return (value,)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return (-value,)
    return None


def called_name(call: ast.Call) -> str:
    """The name of the function or the method that is called."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _parts(node: ast.AST | None) -> list[ast.AST]:
    match node:
        case (
            ast.MatchValue(value=value)
            | ast.FormattedValue(value=value)
            | ast.NamedExpr(value=value)
            | ast.Starred(value=value)
            | ast.Await(value=value)
            | ast.Subscript(value=value, slice=ast.Slice())
            | ast.UnaryOp(op=ast.USub(), operand=value)
        ):
            return [value]
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.BoolOp(values=items) | ast.JoinedStr(values=items) | ast.Dict(values=items):
            return [*items]
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return [*items]
        case ast.MatchOr(patterns=patterns) | ast.MatchSequence(patterns=patterns):
            return [*patterns]
        case ast.IfExp(body=body, orelse=other):
            return [body, other]
        case ast.ListComp(elt=item) | ast.SetComp(elt=item) | ast.GeneratorExp(elt=item):
            # A literal in it was made for each item, and is no more than a part of a key.
            return _unless_constant([item])
    return []


def _parts_of_call(call: ast.Call) -> list[ast.AST]:
    called, given = called_name(call), call.args
    match call.func:
        case ast.Attribute(value=ast.Constant() as text):
            # "...".encode(), but "".join(["...", "..."])
            keywords = [each.value for each in call.keywords]
            return [text, *given, *keywords] if called in _ASSEMBLING else [text]
        case ast.Attribute(value=holder) if called in _LOOKING_UP and _is_constant(given[:1]):
            item = ast.Subscript(holder, given[0], ast.Load())
            return [item, *given[1:]]
        case ast.Attribute(value=text) if called in _OF_TEXTS:
            return [text, *(_unless_constant(given) if called in _ASSEMBLING else [])]
        case ast.Attribute(attr="join") if len(given) == 1:
            return _unless_constant(given)
    if called in PASSING | WITH_DEFAULT:
        return [*given[called in WITH_DEFAULT :]]
    if called in _HOLDING:
        return _unless_constant([*given, *(each.value for each in call.keywords)])
    return []


def _is_constant(nodes: list[ast.expr]) -> bool:
    return bool(nodes) and isinstance(nodes[0], ast.Constant)


def _unless_constant(nodes: list[ast.expr]) -> list[ast.AST]:
    return [each for each in nodes if not isinstance(each, ast.Constant)]
