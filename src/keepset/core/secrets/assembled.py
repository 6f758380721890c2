"""Assembled: secrets in texts that a source puts together, such as ``"Bearer " + "..."``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from string import Formatter
from typing import Final

from keepset.core.secrets.commands import Span
from keepset.core.secrets.mask import Mask, spans_of_command
from keepset.core.secrets.values import decoded

# Stands for what only the running program knows: a letter, which may be part of anything.
_UNKNOWN: Final = "x"
# The places of the arguments of ``%``.
_PERCENT: Final = re.compile(r"(%%)|%[-+ #0]*[\d*]*(?:\.\d+)?[sdrifgaxc]")

# A piece of a text, and the literal that it is part of, with the place in it.
Piece = tuple[str, ast.Constant | None, int]


def assembled_spans(tree: ast.AST, mask: Mask) -> dict[int, list[Span]]:
    """The parts of literals that are secret in the text that they become part of, by their ids."""
    found: dict[int, list[Span]] = {}
    inside: set[int] = set()
    for node in ast.walk(tree):
        # Outer expressions come first, and take in those within.
        if id(node) in inside:
            continue
        pieces = list(_pieces(node, inside))
        spans = mask.spans("".join(text for text, _, _ in pieces)) if len(pieces) > 1 else []
        if isinstance(node, ast.List | ast.Tuple):
            pieces, spans = _words(node)
        for literal, span in _secret_parts(pieces, spans):
            found.setdefault(id(literal), []).append(span)
    return {key: sorted(set(spans)) for key, spans in found.items()}


def _words(node: ast.List | ast.Tuple) -> tuple[list[Piece], list[Span]]:
    """The words of a command that is written as a list, and where the secrets are in its line."""
    words = [list(_leaf(each, set())) for each in node.elts]
    texts = ["".join(text for text, _, _ in pieces) for pieces in words]
    between: Piece = " ", None, 0
    return [each for pieces in words for each in (*pieces, between)], spans_of_command(texts)


def _secret_parts(pieces: list[Piece], spans: list[Span]) -> Iterator[tuple[ast.Constant, Span]]:
    at, first = 0, 0
    for text, literal, offset in pieces:
        while first < len(spans) and spans[first][1] <= at:
            first += 1
        for start, end in spans[first:] if literal is not None else ():
            if start >= at + len(text):
                break
            low, high = max(start, at) - at, min(end, at + len(text)) - at
            is_cut = (low, high) != (start - at, end - at)
            if is_cut and ":" in text[low:high]:
                # Of user:password, the former is no secret if they are apart.
                low = text.index(":", low, high) + 1
            if any(map(str.isalnum, text[low:high])) and literal is not None:
                yield literal, (offset + low, offset + high)
        at += len(text)


def _pieces(node: ast.AST, inside: set[int]) -> Iterator[Piece]:
    """The pieces that a text is put together from; none if the node is no such expression."""
    match node:
        case ast.BinOp(op=ast.Add()):
            yield from _sum(node, inside)
        case ast.JoinedStr(values=values):
            for each in values:
                yield from _leaf(each, inside)
        case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str() | bytes()) as text, right=right):
            given = right.elts if isinstance(right, ast.Tuple) else [right]
            yield from _percent(text, given, inside)
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()) as text, attr="format")):
            yield from _format(text, node, inside)


def _sum(node: ast.BinOp, inside: set[int]) -> Iterator[Piece]:
    # A loop and not recursion: a sum may be longer than Python's stack.
    parts: list[ast.expr] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
        inside.add(id(left))
        parts.append(left.right)
        left = left.left
    for each in (left, *reversed(parts)):
        yield from _leaf(each, inside)


def _leaf(node: ast.expr, inside: set[int]) -> Iterator[Piece]:
    if isinstance(node, ast.FormattedValue):
        node = node.value
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        yield decoded(node.value), node, 0
        return
    pieces = list(_pieces(node, inside))
    inside.add(id(node))
    yield from pieces or [(_UNKNOWN, None, 0)]


def _percent(text: ast.Constant, given: list[ast.expr], inside: set[int]) -> Iterator[Piece]:
    template, done, waiting = str(text.value), 0, list(given)
    if isinstance(text.value, bytes):
        template = decoded(text.value)
    for found in _PERCENT.finditer(template):
        if found[1] is None:
            yield template[done : found.start()], text, done
            yield from _leaf(waiting.pop(0), inside) if waiting else [(_UNKNOWN, None, 0)]
            done = found.end()
    yield template[done:], text, done


def _format(text: ast.Constant, call: ast.Call, inside: set[int]) -> Iterator[Piece]:
    template, done, waiting = str(text.value), 0, list(call.args)
    named = {each.arg: each.value for each in call.keywords}
    try:
        fields = [field for _, field, _, _ in Formatter().parse(template)]
    except ValueError:
        return
    for field in fields:
        start = template.find("{", done)
        if field is None or start < 0 or template.startswith("{{", start):
            break  # with braces of its own, in which places are not told
        yield template[done:start], text, done
        value = named.get(field) if field else waiting.pop(0) if waiting else None
        if field.isdecimal() and int(field) < len(call.args):
            value = call.args[int(field)]
        yield from [(_UNKNOWN, None, 0)] if value is None else _leaf(value, inside)
        done = template.find("}", start) + 1 or len(template)
    yield template[done:], text, done
