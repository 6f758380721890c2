"""Bytecode effects: what a function without a source writes, as far as its instructions show it.

A store names its target by its place in the text: the instruction that writes ``a.b[k]`` begins
where the one that loads ``a`` does. Local names are not followed, nor what a call returns.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import CodeType
from typing import Any

from keepset.core.fingerprint.effects import ANY_KEY, Effects, Path, Write
from keepset.core.fingerprint.reach import Reach, instructions_of, with_nested

_STORES = {
    "STORE_ATTR": "attr",
    "DELETE_ATTR": "attr",
    "STORE_SUBSCR": "item",
    "DELETE_SUBSCR": "item",
}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}


def bytecode_effects(code: CodeType, reach: Reach) -> Effects:
    """The effects that can be read from the instructions of a function and of those inside it."""
    writes: dict[Write, None] = {}
    for inner in with_nested(code):
        for write in _writes(inner, code):
            writes[write] = None
    uses = _uses(reach, set(code.co_freevars))
    for root, steps in uses:
        if steps:
            writes[Write("method", (root, steps[:-1]), steps[-1][1])] = None
    names = code.co_varnames[: code.co_argcount]
    return Effects(names, tuple(writes), uses=uses)


def _writes(code: CodeType, outermost: CodeType) -> Iterator[Write]:
    # What was loaded so far by the expression that begins at a place.
    loaded: dict[tuple[int, int], Path] = {}
    # `a.b += 1` loads a.b before it stores it: what was loaded before that.
    before: dict[Any, Path] = {}
    for each in instructions_of(code):
        place = _start(each)
        if place is None:
            continue
        root = _root(each, code, outermost)
        if root is not None:
            loaded[place] = root, ()
        if place not in loaded:
            continue
        path = loaded[place]
        if each.opname in _ATTRIBUTES:
            yield Write("method", path, each.argval)
            loaded[place] = path[0], (*path[1], ("attr", each.argval))
            before[each.positions] = path
        elif each.opname == "BINARY_SUBSCR" or (
            each.opname == "BINARY_OP" and each.argrepr == "[]"
        ):
            yield Write("read", path, ANY_KEY)
            loaded[place] = path[0], (*path[1], ("item", ANY_KEY))
            before[each.positions] = path
        elif each.opname in _STORES:
            kind = _STORES[each.opname]
            written = before.get(each.positions, path)
            yield Write(kind, written, each.argval if kind == "attr" else ANY_KEY)
        elif each.opname.startswith(("CALL", "PRECALL")):
            del loaded[place]  # what is written now belongs to the result


def _start(instruction: Any) -> tuple[int, int] | None:
    place = instruction.positions
    if place is None or place.lineno is None or place.col_offset is None:
        return None
    return place.lineno, place.col_offset


def _root(instruction: Any, code: CodeType, outermost: CodeType) -> tuple[str, str] | None:
    name, kind = instruction.argval, instruction.opname
    if kind in ("LOAD_GLOBAL", "LOAD_NAME"):
        return "global", name
    if "DEREF" in kind and name in outermost.co_freevars:
        return "free", name
    is_parameter = code is outermost and name in code.co_varnames[: code.co_argcount]
    if kind.startswith("LOAD_FAST") and is_parameter and name not in _assigned(code):
        return "param", name
    return None


@functools.lru_cache(maxsize=64)
def _assigned(code: CodeType) -> frozenset[str]:
    return frozenset(
        each.argval
        for each in instructions_of(code)
        if each.opname.startswith(("STORE_FAST", "DELETE_FAST"))
    )


def _uses(reach: Reach, free: set[str]) -> frozenset[Path]:
    """The names from outside that a function uses, each with its attributes and without."""
    found: set[Path] = set()
    for name, chains in reach.names.items():
        for chain in chains:
            root = ("free" if name in free else "global", name)
            found.add((root, tuple(("attr", each) for each in chain)))
    for imported, chains in reach.imports.items():
        for chain in chains:
            found.add((("import", imported), tuple(("attr", each) for each in chain)))
    return frozenset(
        (root, steps[:count]) for root, steps in found for count in range(len(steps) + 1)
    )
