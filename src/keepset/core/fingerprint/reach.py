"""Reach: the names outside a function that its code uses, and how far along their attributes."""

from __future__ import annotations

import dis
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import field
from types import CodeType

from keepset.core.record import mutable_record, record

Chain = tuple[str, ...]

_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
# Instructions that may stand between a name and its attributes and change nothing.
_SILENT = {"EXTENDED_ARG", "CACHE", "NOP", "PUSH_NULL"}
_GLOBALS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}

_READING_TEXTS = frozenset({"eval", "query"})

# What a module says about itself depends on where it lies and how it was started.
_OF_THE_MODULE = {
    "__annotations__",
    "__builtins__",
    "__cached__",
    "__debug__",
    "__file__",
    "__loader__",
    "__name__",
    "__package__",
    "__path__",
    "__spec__",
}


@record
class Imported:
    """An ``import`` inside a function: ``module`` (``level`` dots up), or a name from it.

    ``whole`` is the module that gets imported where ``module`` is only the first part of it.
    """

    module: str
    level: int
    attribute: str | None
    whole: str


@mutable_record
class Reach:
    """What a code object and those inside it use, in sorted order.

    Attributes:
        names: Global or captured names, each with the attribute chains that follow it.
        imports: What is imported inside the function, with the chains that follow it.
        assigned: Names of outside that the function itself assigns: a counter, a model that is
            loaded when it is first needed.
    """

    names: dict[str, list[Chain]] = field(default_factory=dict)
    imports: dict[Imported, list[Chain]] = field(default_factory=dict)
    assigned: frozenset[str] = frozenset()


def reach_of(code: CodeType) -> Reach:
    """Read the reach of a function from its bytecode, which is there even if its source is not."""
    # One name may be bound by several imports, and be a global as well: all of them count.
    bound: dict[str, list[Imported]] = defaultdict(list)
    for inner in with_nested(code):
        for name, imported in _imports(inner):
            bound[name].append(imported)
    names: dict[str, set[Chain]] = defaultdict(set)
    imports: dict[Imported, set[Chain]] = {
        each: set() for found in bound.values() for each in found
    }
    for inner in with_nested(code):
        for name, is_outer, chain in _loads(inner, code):
            for imported in bound.get(name, ()):
                imports[imported].add(chain)
            if is_outer and name not in _OF_THE_MODULE:
                names[name].add(chain)
        for name in _names_in_texts(inner):
            names[name].add(())
    assigned = {name for inner in with_nested(code) for name in _assigned(inner, code)}
    return Reach(
        {name: sorted(names[name]) for name in sorted(names)},
        {found: sorted(imports[found]) for found in sorted(imports, key=repr)},
        frozenset(assigned),
    )


def _names_in_texts(code: CodeType) -> Iterator[str]:
    """The variables that pandas looks up by the texts of ``query`` and ``eval``: ``"a > @B"``."""
    if _READING_TEXTS.isdisjoint(code.co_names):
        return
    for constant in code.co_consts:
        if isinstance(constant, str):
            found = re.findall(r"@([^\W\d]\w*)", constant)
            yield from (name for name in found if name not in code.co_varnames)


def _assigned(code: CodeType, outermost: CodeType) -> Iterator[str]:
    """The names that are declared global or nonlocal and given a value."""
    for found in instructions_of(code):
        if found.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") or (
            found.opname in ("STORE_DEREF", "DELETE_DEREF")
            and found.argval in outermost.co_freevars
        ):
            yield found.argval


def with_nested(code: CodeType) -> Iterator[CodeType]:
    """A code object and all those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from with_nested(constant)


def instructions_of(code: CodeType) -> list[dis.Instruction]:
    """The instructions of a code object, without those that change nothing."""
    return [found for found in dis.get_instructions(code) if found.opname not in _SILENT]


def _loads(code: CodeType, outermost: CodeType) -> Iterator[tuple[str, bool, Chain]]:
    """Each name that is loaded, whether it comes from outside, and the attributes taken from it."""
    instructions = instructions_of(code)
    for at, found in enumerate(instructions):
        is_cell = "DEREF" in found.opname
        if not found.opname.startswith(("LOAD_FAST", "STORE_FAST_LOAD")) and not (
            (is_cell or found.opname in _GLOBALS) and found.opname.startswith("LOAD")
        ):
            continue
        # A cell may be a variable of the outermost function, which it makes itself.
        outer = found.opname in _GLOBALS or (is_cell and found.argval in outermost.co_freevars)
        # Newer versions load two locals at once; attributes belong to the last.
        name = found.argval[-1] if isinstance(found.argval, tuple) else found.argval
        chain = []
        for follower in instructions[at + 1 :]:
            if follower.opname not in _ATTRIBUTES:
                break
            chain.append(follower.argval)
        yield name, outer, tuple(chain)


def _imports(code: CodeType) -> Iterator[tuple[str, Imported]]:
    """The local names that imports bind."""
    instructions = instructions_of(code)
    for at, found in enumerate(instructions):
        if found.opname != "IMPORT_NAME":
            continue
        level, listed = instructions[at - 2].argval, instructions[at - 1].argval
        whole: str = found.argval
        attribute: str | None = None
        is_alias = False
        for follower in instructions[at + 1 :]:
            if follower.opname == "IMPORT_FROM":
                attribute, is_alias = (follower.argval if listed else None), True
            elif follower.opname.startswith("STORE_"):
                # `import a.b` binds a; `import a.b as c` binds a.b.
                module = whole if is_alias else whole.partition(".")[0]
                name = follower.argval
                bound = name[0] if isinstance(name, tuple) else name
                yield bound, Imported(module, level, attribute, whole)
                if not listed:
                    break
            elif follower.opname != "SWAP" and (listed or follower.opname != "POP_TOP"):
                break
