"""Source text: a function's own source as a recipe tells it, and the function again."""

from __future__ import annotations
import __future__

import ast
import builtins
import hashlib
import linecache
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any, Final

from keepset.core.fingerprint.source import find_source
from keepset.errors import RecipeError

_AROUND: Final = "__keepset_recipe__"
# Those that change what code does in a version of Python that we know.
_FEATURES: Final = ("annotations",)


def source_text(function: FunctionType) -> str | None:
    """The source, without decorators and with ``...`` for defaults, which are told by value.

    None if no known source compiles to the function that is loaded.
    """
    node = find_source(function.__code__)
    if node is None:
        return None
    text = ast.unparse(node)
    [statement] = ast.parse(text if not isinstance(node, ast.Lambda) else f"({text})").body
    bare: Any = statement.value if isinstance(statement, ast.Expr) else statement
    bare.args.defaults = [ast.Constant(...)] * len(bare.args.defaults)
    bare.args.kw_defaults = [default and ast.Constant(...) for default in bare.args.kw_defaults]
    if not isinstance(bare, ast.Lambda):
        bare.decorator_list = []
    return ast.unparse(ast.fix_missing_locations(bare))


def futures_of(function: FunctionType) -> list[str]:
    """The features that its file asked of ``__future__``."""
    flags = function.__code__.co_flags
    return [name for name in _FEATURES if flags & getattr(__future__, name).compiler_flag]


def function_of(
    text: str,
    name: str,
    captured: Mapping[str, CellType],
    used: dict[str, Any],
    futures: Sequence[str] = (),
) -> FunctionType:
    """The function that a source text defines. Nothing of it runs before it is called.

    The statement itself is not run either: its code is taken out of what was compiled.
    """
    whole = _wrapped(text, list(captured))
    file = f"<recipe {hashlib.sha256(whole.encode()).hexdigest()[:16]}>"
    try:
        defined = _defined_name(text)
        flags = sum(getattr(__future__, each).compiler_flag for each in futures)
        compiled = compile(whole, file, "exec", flags=flags, dont_inherit=True)
    except (AttributeError, SyntaxError, ValueError) as error:
        raise RecipeError(f"the source of {name} cannot be compiled: {error}") from error
    # A decorator may have given it another name.
    found = [
        code
        for code in _all_code(compiled)
        if code.co_name == defined and set(code.co_freevars) == set(captured)
    ]
    if not found:
        raise RecipeError(f"the source of {name} does not define it: {text!r:.80}")
    # So that a fingerprint finds the source, and a traceback shows it.
    linecache.cache[file] = (len(whole), None, whole.splitlines(keepends=True), file)
    # What it uses is filled in later: functions may use each other.
    used |= {"__builtins__": builtins, "__name__": _AROUND}
    closure = tuple(captured[each] for each in found[0].co_freevars)
    return FunctionType(found[0], used, name, None, closure)


def _defined_name(text: str) -> str | None:
    """The name of the first function that a text defines."""
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            return statement.name
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Lambda):
            return "<lambda>"
    return None


def _wrapped(text: str, captured: list[str]) -> str:
    """The text such that names which were captured are so again."""
    if text.startswith("lambda"):
        text = f"_ = (\n{text}\n)"
    if not captured:
        return f"{text}\n"
    return f"def {_AROUND}({', '.join(captured)}):\n{textwrap.indent(text, '    ')}\n"


def _all_code(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _all_code(constant)
