"""Effects: what a function writes, calls and returns that it did not make itself.

Values are known by where they come from: a path begins at a global or captured name, a parameter,
an import or the result of a call, and goes on by attributes and items.
"""

from __future__ import annotations

from typing import Any

from keepset.core.record import record

# A root is ("global", name), ("free", name), ("param", name), ("import", Imported) or
# ("call", path, arguments, keywords); a step is ("attr", name), ("item", key), ("each",) for
# members, ("slice",), ("view",) for what shares memory, ("type",), ("joined",) for `path / name`,
# ("members",) for something new with the same members, ("pairs",) for keys and members, ("added",)
# for a sum of containers, or ("held", key) for something new that holds the value under the key.
Root = tuple[Any, ...]
Step = tuple[Any, ...]
Path = tuple[Root, tuple[Step, ...]]
Paths = frozenset[Path]

_NONE: Paths = frozenset()
# Stands for what an operator makes of the parameters: a sum, a name with another ending.
MADE: Path = (("made",), ())
# Stands for the key of an item that is not known before the function runs.
ANY_KEY = ("any key",)


@record
class Write:
    """Something that is written or may be.

    ``kind`` is ``"bind"`` (the name at the end of a path), ``"attr"`` or ``"item"`` of it,
    ``"delete"`` of an item, ``"inplace"`` (``+=`` and its kind), ``"method"`` that is taken from
    it, ``"read"`` of an item.
    ``keys`` are those that a method is given as constants, if it touches no others.
    """

    kind: str
    path: Path
    name: Any = None
    keys: tuple[Any, ...] = ()


@record
class Call:
    """A call: of what, with which values, and on which parameters it depends.

    ``constants`` are the positional arguments that are written as constants, ``modes`` the keyword
    arguments that are written as texts.
    """

    path: Path
    arguments: tuple[Paths, ...]
    keywords: tuple[tuple[str, Paths], ...]
    constants: tuple[Any, ...]
    depends: frozenset[str]
    is_empty: bool
    modes: tuple[tuple[str, str], ...] = ()


@record
class Effects:
    """What a function does to what it did not make itself.

    Attributes:
        parameters: The names of its positional parameters.
        writes: What it writes.
        calls: What it calls.
        returns: Where what it returns comes from.
        uses: All names from outside that it uses, with their attributes.
        stores: What it sets attributes to: of what, by which name, and where that comes from.
        returns_plain: Whether it returns nothing but numbers and texts, if it is given no others.
        returns_state: Whether it returns functions that change what it made for them.
    """

    parameters: tuple[str, ...] = ()
    writes: tuple[Write, ...] = ()
    calls: tuple[Call, ...] = ()
    returns: Paths = _NONE
    uses: Paths = _NONE
    stores: tuple[tuple[Path, str, Paths], ...] = ()
    returns_plain: bool = False
    returns_state: bool = False


def in_order(paths: Paths) -> list[Path]:
    """The same paths in an order that is the same in every process, which that of sets is not."""
    return sorted(paths, key=_text) if len(paths) > 1 else list(paths)


def _text(value: Any) -> str:
    """As ``repr``, with the sets in it sorted."""
    if type(value) is tuple:
        return f"({','.join(map(_text, value))})"
    if type(value) is frozenset:
        return f"{{{','.join(sorted(map(_text, value)))}}}"
    return repr(value)
