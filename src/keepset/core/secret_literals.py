"""Secret literals: a function's source without the secrets that are written in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from keepset.core.record import record
from keepset.core.secrets import (
    NONE,
    SURE,
    Mask,
    is_secret,
    placeholder,
    secret_texts,
    strength_of_name,
    strength_of_pair,
)

# Calls that give back what they get, or a default that is among their arguments.
_PASSING: Final = {"SecretStr", "SecretBytes", "Secret", "str", "bytes", "b64decode", "fromhex"}
_WITH_DEFAULT: Final = {"get", "getenv", "pop", "setdefault"}


@record
class MaskedSource:
    """A source whose secrets are hidden.

    Attributes:
        text: The source, with a placeholder for each secret.
        hidden: What stands in place of each literal, by the variable, the argument or the key that
            it was for.
        secrets: What nothing else may contain either.
    """

    text: str
    hidden: Mapping[str, str]
    secrets: frozenset[str]


# What every name of a secret has.
_NAMES: Final = re.compile(
    "key|token|secret|pass|pw|cred|auth|cookie|bearer|jwt|connection|options|kwargs", re.IGNORECASE
)


@lru_cache(1024)
def masked_source(text: str, known: tuple[str, ...] = ()) -> MaskedSource:
    """Hide the secrets in the literals of a source: by name, by shape, or known from elsewhere."""
    # Most sources have none, and parsing takes longer than to see that.
    is_escaped = any(not each.isprintable() or set(each) & set("'\"\\") for each in known)
    if not is_escaped and not _NAMES.search(text) and Mask(known).text(text) == text:
        return MaskedSource(text, {}, frozenset())
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # It was cut. What stands by a secret's name cannot be found, so that none of it is stored.
        names = any(strength_of_name(word) for word in _names_in(text))
        return MaskedSource("" if names else Mask(known).text(text), {}, frozenset())
    masking = _Masking(tree, Mask(known))
    changed = masking.visit(tree)
    if not masking.hidden:
        return MaskedSource(text, {}, frozenset(masking.secrets))
    shown = ast.unparse(ast.fix_missing_locations(changed))
    if text.startswith("lambda") and shown.startswith("("):
        shown = shown[1:-1]
    return MaskedSource(shown, masking.hidden, frozenset(masking.secrets))


def filled_source(text: str, given: Mapping[str, str | bytes]) -> str:
    """The source again, with what each placeholder stands for."""
    tree = _Filling(given).visit(ast.parse(text))
    return ast.unparse(ast.fix_missing_locations(tree))


def _names_in(text: str) -> set[str]:
    cleaned = "".join(letter if letter.isalnum() or letter in "_-" else " " for letter in text)
    return set(cleaned.split())


class _Masking(ast.NodeTransformer):
    def __init__(self, tree: ast.AST, mask: Mask) -> None:
        self._mask = mask
        self._names: dict[int, tuple[str, int]] = {}  # of literals, by their ids
        self.hidden: dict[str, str] = {}
        self.secrets: set[str] = set()
        for node in ast.walk(tree):
            for name, value in _named_values(node):
                self._mark(value, name, strength_of_name(name))

    def _mark(self, node: ast.AST | None, name: str, strength: int) -> None:
        """Note which literals go by a name: those whose value the named thing gets."""
        if strength >= SURE:
            for constant in _constants(node):
                if self._names.get(id(constant), ("", NONE))[1] < strength:
                    self._names[id(constant)] = name, strength
            return
        match node:
            case ast.Constant() if self._names.get(id(node), ("", NONE))[1] < strength:
                self._names[id(node)] = name, strength
            case ast.BinOp(left=left, right=right):
                self._mark(left, name, strength)
                self._mark(right, name, strength)
            case ast.BoolOp(values=items) | ast.JoinedStr(values=items):
                for item in items:
                    self._mark(item, name, strength)
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                for item in items:
                    self._mark(item, name, strength)
            case ast.Dict(values=items):
                for item in items:
                    self._mark(item, name, strength)
            case ast.IfExp(body=body, orelse=other):
                self._mark(body, name, strength)
                self._mark(other, name, strength)
            case ast.Call(func=ast.Attribute(value=ast.Constant() as text)):
                self._mark(text, name, strength)  # "...".encode()
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=arguments):
                if called in _PASSING | _WITH_DEFAULT:
                    for item in arguments[called in _WITH_DEFAULT :]:
                        self._mark(item, name, strength)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        value = node.value
        if not isinstance(value, str | bytes):
            return node
        name, strength = self._names.get(id(node), ("a text in it", NONE))
        text = value if isinstance(value, str) else value.decode("latin-1")
        if is_secret(value, strength):
            shown = placeholder(value)
            self.secrets |= secret_texts(value, strength)
        else:
            shown = self._mask.text(text)
        if shown == text:
            return node
        self.hidden.setdefault(shown, name)
        new = shown if isinstance(value, str) else shown.encode("latin-1")
        return ast.copy_location(ast.Constant(new), node)


def _named_values(node: ast.AST) -> Iterator[tuple[str, ast.AST | None]]:
    """What stands for a value with a name: assignments, arguments, items, comparisons."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _assigned(target, value)
        case (
            ast.For(target=target, iter=value)
            | ast.AsyncFor(target=target, iter=value)
            | ast.comprehension(target=target, iter=value)
        ):
            items = value.elts if isinstance(value, ast.Tuple | ast.List | ast.Set) else [value]
            for item in items:
                yield from _assigned(target, item)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            for each in ast.walk(node):
                if isinstance(each, ast.Return | ast.Yield):
                    yield name, each.value
        case (
            ast.AnnAssign(target=target, value=value)
            | ast.AugAssign(target=target, value=value)
            | ast.NamedExpr(target=target, value=value)
        ):
            yield _name_of(target), value
        case ast.keyword(arg=str(name), value=value):
            yield name, value
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if key is not None:
                    yield _name_of(key), value
        case (
            ast.Tuple(elts=[ast.Constant(value=str(name)), value])
            | ast.List(elts=[ast.Constant(value=str(name)), value])
            | ast.Call(args=[ast.Constant(value=str(name)), value])
        ):
            # Such as ("Authorization", ...) and os.environ.setdefault("API_KEY", ...).
            if strength_of_pair((name, "")):
                yield name, value
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[value]):
            if name.lower().startswith(("set_", "with_", "use_")):
                yield name, value
        case ast.Compare(left=left, comparators=others):
            for one, other in ((left, other) for other in others):
                yield _name_of(one), other
                yield _name_of(other), one
        case ast.arguments() as arguments:
            names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
            defaults = arguments.defaults
            yield from zip(names[len(names) - len(defaults) :], defaults, strict=True)
            names = [each.arg for each in arguments.kwonlyargs]
            yield from zip(names, arguments.kw_defaults, strict=True)


def _assigned(target: ast.AST, value: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The names in a target, each with what it gets, as far as the source says so."""
    if isinstance(target, ast.Starred):
        target = target.value
    if not isinstance(target, ast.Tuple | ast.List):
        yield _name_of(target), value
        return
    items: list[ast.AST] = [value] * len(target.elts)
    if isinstance(value, ast.Tuple | ast.List) and not _stars(value):
        stars, more = _stars(target), len(value.elts) - len(target.elts)
        if stars:
            # What a star takes is as long as the others leave.
            rest = ast.Tuple(value.elts[stars[0] : stars[0] + more + 1], ast.Load())
            items = [*value.elts[: stars[0]], rest, *value.elts[stars[0] + more + 1 :]]
        elif not more:
            items = list(value.elts)
    for each, item in zip(target.elts, items, strict=False):
        yield from _assigned(each, item)


def _stars(node: ast.Tuple | ast.List) -> list[int]:
    return [i for i, each in enumerate(node.elts) if isinstance(each, ast.Starred)]


def _constants(node: ast.AST | None) -> Iterator[ast.Constant]:
    """The literals that may be part of a value, and not those that only say where it is."""
    match node:
        case None | ast.Compare():
            return
        case ast.Constant():
            yield node
        case ast.Subscript(value=inner):
            yield from _constants(inner)
        case ast.Dict(values=items):
            for item in items:
                yield from _constants(item)
        case ast.IfExp(body=body, orelse=other):
            yield from _constants(body)
            yield from _constants(other)
        case ast.Call(func=function, args=arguments, keywords=keywords):
            called = _name_of(function)
            yield from _constants(function)
            for argument in (*arguments[called in _WITH_DEFAULT :], *keywords):
                yield from _constants(argument)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _constants(child)


def _name_of(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            return name
        case ast.Subscript(slice=inner):
            return _name_of(inner) if isinstance(inner, ast.Constant) else ""
    return ""


class _Filling(ast.NodeTransformer):
    def __init__(self, given: Mapping[str, str | bytes]) -> None:
        self._given = given

    def visit_Constant(self, node: ast.Constant) -> Any:
        value = node.value
        text = value.decode("latin-1") if isinstance(value, bytes) else value
        if not isinstance(text, str) or text not in self._given:
            return node
        new = self._given[text]
        if isinstance(value, bytes) and isinstance(new, str):
            new = new.encode()
        return ast.copy_location(ast.Constant(new), node)
