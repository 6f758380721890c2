"""Library files: which datasets of libraries read files when an element is asked for.

The code of a library counts by its name, and is not walked. What such an object holds, the names of
files for one, counts; what is in the files does not.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from functools import partial
from types import FunctionType
from typing import Any, Final

from keepset.core.fingerprint.blind_names import Spot, spot_of
from keepset.core.fingerprint.class_attributes import attributes_of, class_attribute, is_a
from keepset.core.fingerprint.origin import function_behind, is_library_class, library_of
from keepset.core.fingerprint.reach import reach_of, with_nested
from keepset.core.fingerprint.vertex import Vertex

# What is called for an element.
_READING: Final = ("__getitem__", "__getitems__")
# So many functions of a library are looked at for one object.
_MOST_FUNCTIONS: Final = 200
_MISSING: Final = object()


def file_spot(vertex: Vertex) -> Spot | None:
    """How an object of a library reads files when it is asked for an element, if it does."""
    value, kind = vertex.value, type(vertex.value)
    if vertex.sketch is None or vertex.sketch.kind != "object" or not is_library_class(kind):
        return None
    names = _READING if vertex.parent is not None else (*_READING, "__iter__")
    todo = [found for name in names if is_a(found := class_attribute(kind, name), FunctionType)]
    seen: dict[int, Any] = {}
    while todo and len(seen) < _MOST_FUNCTIONS:
        function = todo.pop()
        if id(function) in seen:
            continue
        seen[id(function)] = function
        for used in (*_of_outside(function), *_of_object(function, value)):
            spot = spot_of(used)
            if spot is not None and spot.kind == "file":
                return spot
            inner = used.func if is_a(used, partial) else function_behind(used)
            if is_a(inner, FunctionType) and _is_near(inner, kind):
                todo.append(inner)
    return None


def _is_near(function: FunctionType, kind: type) -> bool:
    """Whether a function is of the library of a class: others are not looked into."""
    return any(library_of(function) == library_of(base) for base in kind.__mro__[:-1])


def _of_outside(function: FunctionType) -> Iterator[Any]:
    """What a function uses of its module, and of the modules that it names."""
    outside = function.__globals__
    for name, chains in reach_of(function.__code__).names.items():
        start = outside.get(name, getattr(builtins, name, _MISSING))
        for chain in chains if start is not _MISSING else ():
            value = start
            for step in chain:
                value = attributes_of(value).get(step, _MISSING)
                yield from () if value is _MISSING else (value,)
        if start is not _MISSING:
            yield start


def _of_object(function: FunctionType, value: Any) -> Iterator[Any]:
    """What a method may use of its object: other methods, and functions that it was given."""
    held = attributes_of(value)
    for name in sorted({name for code in with_nested(function.__code__) for name in code.co_names}):
        found = held.get(name, class_attribute(type(value), name, _MISSING))
        if callable(found) or is_a(found, staticmethod | classmethod | property):
            yield found
