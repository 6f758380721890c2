"""Targets: the parts of a source that get a value, each with the expression that gives it."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def assigned_values(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What a single statement, loop or expression assigns, as far as the source says so."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _unpacked(target, value)
        case (
            ast.For(target=target, iter=value)
            | ast.AsyncFor(target=target, iter=value)
            | ast.comprehension(target=target, iter=value)
        ):
            items = value.elts if isinstance(value, ast.Tuple | ast.List | ast.Set) else [value]
            for item in items:
                yield from _unpacked(target, item)
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.AugAssign(target=target, value=value)
            | ast.NamedExpr(target=target, value=value)
        ):
            yield target, value


def _unpacked(target: ast.AST, value: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """The single targets in one, each with what it gets."""
    if isinstance(target, ast.Starred):
        target = target.value
    if not isinstance(target, ast.Tuple | ast.List):
        yield target, value.body if isinstance(value, ast.Lambda) else value
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
        yield from _unpacked(each, item)


def _stars(node: ast.Tuple | ast.List) -> list[int]:
    return [i for i, each in enumerate(node.elts) if isinstance(each, ast.Starred)]
