"""Callable methods: which functions and methods of a graph a pass can run.

Functions that another one names are run. Of classes, those methods are whose names occur in a
function that is run: a setter that only the consumer's loop calls is not.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from keepset.core.fingerprint.class_attributes import is_a
from keepset.core.fingerprint.origin import is_library_class
from keepset.core.fingerprint.sketch import Part
from keepset.core.fingerprint.vertex import Vertex

# Methods that write to an instance that is new.
MAKING = {"__init__", "__new__", "__post_init__", "__setstate__", "__init_subclass__"}


def running(roots: list[Vertex]) -> dict[Vertex, None]:
    """The vertices that a pass can run: of classes, only the methods that something names."""
    found = dict.fromkeys(roots)
    todo = list(roots)
    named: set[str] = set()
    waiting: list[tuple[str, Vertex]] = []
    while todo:
        while todo:
            vertex = todo.pop()
            is_class = vertex.sketch is not None and vertex.sketch.kind == "class"
            # What __init__ calls is called on a new object.
            if is_a(vertex.value, FunctionType) and vertex.value.__name__ not in MAKING:
                named |= _names_in(vertex.value.__code__)
            for part, inner in vertex.edges:
                if inner is None or inner in found:
                    continue
                if is_class and _is_gated(vertex.value, part):
                    waiting.append((part.label.partition(" ")[2], inner))
                else:
                    found[inner] = None
                    todo.append(inner)
        still = []
        for name, inner in waiting:
            if inner in found:
                continue
            if name in named:
                found[inner] = None
                todo.append(inner)
            else:
                still.append((name, inner))
        waiting = still
    return found


def _is_gated(kind: type, part: Part) -> bool:
    word, _, name = part.label.partition(" ")
    if word != "method" or (name.startswith("__") and name.endswith("__")):
        return False
    # What a library's base class declares is called by the library.
    bases = (base for base in kind.__mro__[1:] if base is not object and is_library_class(base))
    return not any(name in vars(base) for base in bases)


@functools.lru_cache(maxsize=4096)
def _names_in(code: CodeType) -> frozenset[str]:
    """The names that a function and those inside it use, also as texts for ``getattr``."""
    names = set(code.co_names)
    if names & {"getattr", "methodcaller", "attrgetter"}:
        names.update(each for each in code.co_consts if isinstance(each, str))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names_in(constant)
    return frozenset(names)


def methods_of(
    vertex: Vertex, found: dict[Vertex, None]
) -> Iterator[tuple[str, FunctionType, str]]:
    """The methods of a class that run, and whether they are given an instance or the class."""
    for part, inner in vertex.edges:
        word, _, name = part.label.partition(" ")
        if inner not in found or word not in ("method", "attribute"):
            continue
        yield from ((name, function, owner) for function, owner in unwrapped(inner.value))


def unwrapped(item: Any, owner: str = "instance") -> Iterator[tuple[FunctionType, str]]:
    """The functions behind an item of a class, and what they are given."""
    if isinstance(item, FunctionType):
        yield item, owner
        if isinstance(inner := vars(item).get("__wrapped__"), FunctionType):
            yield from unwrapped(inner, owner)
    elif isinstance(item, classmethod) or (
        # Python makes a static method of it, and calls it with the class.
        isinstance(item, staticmethod)
        and isinstance(item.__func__, FunctionType)
        and item.__func__.__name__ == "__new__"
    ):
        yield from unwrapped(item.__func__, "class")
    elif isinstance(item, property):
        # Its setter runs where the attribute is set.
        yield from unwrapped(item.fget, owner)
    elif isinstance(item, functools.cached_property):
        yield from unwrapped(item.func, owner)
    elif isinstance(item, functools._lru_cache_wrapper):
        yield from unwrapped(item.__wrapped__, owner)
