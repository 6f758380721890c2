"""Opaque objects: those that keep their content in memory of C, where no walk sees it.

A list of numba holds a handle that cannot be copied, and gives its items all the same. An instance
of a compiled class of numba has a getter for each of its fields.
"""

from __future__ import annotations

import collections.abc
import re
from collections.abc import Iterable, Iterator
from types import MemberDescriptorType
from typing import Any

from keepset.core.fingerprint.bounds import bounded
from keepset.core.fingerprint.class_attributes import attributes_of
from keepset.core.fingerprint.origin import is_library_class, library_of
from keepset.core.fingerprint.running import is_running
from keepset.core.fingerprint.sketch import Part, Sketch, Uncountable, part

# What a class may define to say what a copy of its instances gets.
_COPYING = ("__getstate__", "__reduce__", "__reduce_ex__")
_POINTER = tuple.__itemsize__
_CONTAINERS = (collections.abc.Mapping, collections.abc.Set, collections.abc.Sequence)
# What is compiled once for each class of numba has an address in its name.
_ADDRESS = re.compile("#[0-9a-f]+")


def hides_memory(kind: type) -> bool:
    """Whether objects of a class hold more than Python puts there for attributes and slots."""

    # Not by attribute: a metaclass may answer anything.
    ask = type.__getattribute__
    slots = sum(
        isinstance(item, MemberDescriptorType)
        for base in ask(kind, "__mro__")
        for item in list(ask(base, "__dict__").values())
    )
    tables = (ask(kind, "__dictoffset__") > 0) + (ask(kind, "__weakrefoffset__") > 0)
    return bool(ask(kind, "__basicsize__") > object.__basicsize__ + _POINTER * (slots + tables))


def is_opaque(value: Any) -> bool:
    """Whether nothing of what an object holds can be seen, and no copy of it can be made."""
    kind = type(value)
    if kind.__module__ == "builtins" or is_running(value) or not hides_memory(kind):
        return False
    if any(getattr(kind, name) is not getattr(object, name) for name in _COPYING):
        return False
    try:
        value.__reduce_ex__(4)
    except TypeError:
        return not hasattr(kind, "__array__")
    return False


def opaque_sketch(value: Any) -> Sketch | None:
    """The sketch of an object that keeps its content in memory of C, where it gives that."""
    kind = type(value)
    if (compiled := _compiled_class(kind)) is not None:
        return _instance(value, compiled)
    if not is_library_class(kind):
        return None
    sort = next((each for each in _CONTAINERS if each in kind.__mro__), None)
    if sort is None:
        return None
    held = dict(attributes_of(value))
    if not any(map(is_opaque, held.values())):
        return None
    parts = [Part(f"class {kind.__name__}", kind, b"class"), part("items", _items(value, sort))]
    # What else it holds describes the items: their type, which has numbers of this process in it.
    texts = {name: _type_text(item) for name, item in sorted(held.items()) if not is_opaque(item)}
    parts += [part(name, text) for name, text in texts.items() if " at 0x" not in text]
    return Sketch("object", f"{kind.__name__} of {len(value):,}", parts=parts)


def _items(value: Any, sort: type) -> Any:
    if sort is collections.abc.Mapping:
        return dict(bounded(value.items()))
    found: Iterable[Any] = bounded(value)
    return frozenset(found) if sort is collections.abc.Set else list(found)


def compiled_class_sketch(value: Any) -> Sketch | None:
    """The sketch of a compiled class of numba, or of that of its instances."""
    compiled = _compiled_class(value)
    if compiled is None:
        return None
    parts = [part("fields", {name: _type_text(each) for name, each in compiled.struct.items()})]
    tables = ("jit_methods", "jit_props", "jit_static_methods")
    parts += [part(name, getattr(compiled, name, {})) for name in tables]
    name = str(compiled.class_name)
    return Sketch("class", f"class {name}", name.encode(), parts)


def _type_text(kind: Any) -> str:
    return _ADDRESS.sub("", str(kind))


def _compiled_class(kind: type) -> Any:
    """What numba knows of a class that it has compiled; None for other classes."""
    own = vars(kind)
    found = own.get("class_type") or getattr(own.get("_numba_type_"), "class_type", None)
    is_known = library_of(type(found)) == "numba" and hasattr(found, "struct")
    return found if is_known else None


def _instance(value: Any, compiled: Any) -> Sketch:
    kind = type(value)
    return Sketch("object", f"{kind.__name__} object", parts=list(_fields(value, compiled)))


def _fields(value: Any, compiled: Any) -> Iterator[Part]:
    kind = type(value)
    yield Part(f"class {kind.__name__}", kind, b"class")
    for name in sorted(compiled.struct):
        if not hasattr(kind, name):
            raise Uncountable(f"an object of {kind.__name__} with the private field {name}")
        yield part(f"attribute {name}", getattr(value, name))
