"""Source: the text of a loaded function, believed only if it compiles to that very function.

The file may have been edited since it was imported, and a line may hold several lambdas. So the
whole file is compiled again and the loaded code is looked up among the results.
"""

from __future__ import annotations
import __future__

import ast
import functools
import linecache
import warnings
from collections import defaultdict
from collections.abc import Iterator
from types import CodeType
from typing import Any

from keepset.core.fingerprint.code import same_code
from keepset.core.fingerprint.plain import token
from keepset.core.fingerprint.syntax import FunctionNode, canonical_bytes

_FUTURES = functools.reduce(
    int.__or__, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)

_Range = tuple[tuple[int, int], tuple[int, int]]


def find_source(code: CodeType) -> FunctionNode | None:
    """The syntax tree of a function, or None if no known source compiles to it."""
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename))
    if not text:
        return None
    found = [
        (compiled.co_firstlineno != code.co_firstlineno, canonical_bytes(node), node)
        for compiled, node in _functions(text, code.co_flags & _FUTURES).get(code.co_name, ())
        if same_code(compiled, code)
    ]
    # Several can compile to the same code (`1 + 2` and `3`): the same one is taken every time.
    return min(found, key=lambda item: item[:2])[2] if found else None


@functools.lru_cache(maxsize=32)
def _functions(text: str, flags: int) -> dict[str, list[tuple[CodeType, FunctionNode]]]:
    """All functions of a file by name, as code and as syntax."""
    try:
        with warnings.catch_warnings():
            # What Python has to say of a file was said when it was loaded.
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            compiled = compile(tree, "<source>", "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    nodes: dict[tuple[str, int], list[FunctionNode]] = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            nodes[node.name, min(n.lineno for n in (node, *node.decorator_list))].append(node)
        elif isinstance(node, ast.Lambda):
            nodes["<lambda>", node.lineno].append(node)
    result: dict[str, list[tuple[CodeType, FunctionNode]]] = defaultdict(list)
    for code in _all_code(compiled):
        match = _node_of(code, nodes.get((code.co_name, code.co_firstlineno), []))
        if match is not None:
            result[code.co_name].append((code, match))
    return dict(result)


def _all_code(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _all_code(constant)


def _node_of(code: CodeType, nodes: list[FunctionNode]) -> FunctionNode | None:
    """Of several functions that start on one line, the smallest that holds all of the code."""
    if len(nodes) < 2:
        return nodes[0] if nodes else None
    places = _places(code)
    if places:
        holding = [node for node in nodes if all(_inside(at, _body(node)) for at in places)]
    else:
        holding = [node for node in nodes if _only_returns_constant(node, code)]
    return min(holding, key=_size, default=None)


def _places(code: CodeType) -> list[_Range]:
    places = []
    for line, end_line, column, end_column in code.co_positions():
        # The instructions before the body have no width.
        if line and end_line and column is not None and end_column:
            places.append(((line, column), (end_line, end_column)))
    return places


def _only_returns_constant(node: FunctionNode, code: CodeType) -> bool:
    """Whether this is the lambda of code without places, as Python 3.12 compiles ``lambda: 0``."""
    if not isinstance(node.body, ast.Constant):
        return False
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    named += [last for last in (arguments.vararg, arguments.kwarg) if last is not None]
    returned = {token(constant) for constant in code.co_consts}
    same_names = tuple(argument.arg for argument in named) == code.co_varnames
    return same_names and token(node.body.value) in returned


def _body(node: Any) -> _Range:
    first, last = (node.body, node.body) if isinstance(node, ast.Lambda) else (node, node)
    return (first.lineno, first.col_offset), (last.end_lineno or 0, last.end_col_offset or 0)


def _inside(inner: _Range, outer: _Range) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _size(node: FunctionNode) -> tuple[int, int]:
    # Of two that hold the same place, one contains the other.
    start, end = _body(node)
    return end[0] - start[0], end[1] - start[1]
