"""Functions: the user's own count by value with all that they use, those of libraries by name."""

from __future__ import annotations

import builtins
import functools
import sys
import types
import weakref
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from keepset.core.fingerprint.class_attributes import is_a
from keepset.core.fingerprint.code import code_digest, version_note
from keepset.core.fingerprint.comparisons import (
    Comparisons,
    comparisons_of,
    copies_with_sharing,
    tells_apart,
)
from keepset.core.fingerprint.dataflow import effects_of
from keepset.core.fingerprint.effects import Effects
from keepset.core.fingerprint.extensions import extension_of
from keepset.core.fingerprint.fresh_stack import on_stack_for
from keepset.core.fingerprint.held_results import result_of_function
from keepset.core.fingerprint.introspection import (
    annotations_of,
    aspects_read,
    counts,
    meet,
    meet_tells_apart,
)
from keepset.core.fingerprint.names import followed, resolved_import
from keepset.core.fingerprint.origin import (
    is_added_builtin,
    is_library_class,
    is_library_function,
    is_library_module,
    library_of,
    module_of,
)
from keepset.core.fingerprint.plain import order_of
from keepset.core.fingerprint.reach import Reach, reach_of
from keepset.core.fingerprint.reads import Reads, reads_of
from keepset.core.fingerprint.scopes import with_private_names
from keepset.core.fingerprint.sketch import ByName, Part, Sketch, part
from keepset.core.fingerprint.source import find_source
from keepset.core.fingerprint.stale_caches import stale_mark
from keepset.core.fingerprint.syntax import canonical_bytes, canonical_source
from keepset.core.record import record

_DESCRIPTORS = (
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
_NAMED = (FunctionType, types.BuiltinFunctionType, *_DESCRIPTORS)
_BUILTIN = (types.BuiltinFunctionType, types.MethodWrapperType)
# What functools.update_wrapper copies, and what lru_cache adds.
_COPIED = {*functools.WRAPPER_ASSIGNMENTS, "__isabstractmethod__", "__wrapped__"} | {
    "__annotate__",
    "__annotations__",
    "cache_parameters",
}


_COPYING = {
    *("__copy__", "__deepcopy__", "__getstate__", "__reduce__", "__reduce_ex__", "__setstate__"),
    *("__getattr__", "__init__", "__setattr__"),
}


@record
class _Reading:
    """What the code of one function says, which never changes."""

    content: bytes
    source: str
    note: str
    reach: Reach
    effects: Effects
    reads: Reads
    aspects: frozenset[str]
    comparisons: Comparisons


# By identity and not by equality: equal code may come from sources that differ (`1 + 2` and `3`).
_readings: dict[int, tuple[weakref.ref[CodeType], _Reading]] = {}


def function_sketch(value: Any) -> Sketch | None:
    """The sketch of anything made to be called; None for other values and callable objects.

    Classes that the user derives from these count as other classes do, with their attributes.
    """
    kind = type(value)
    if kind is FunctionType:
        return _library_function(value) if is_library_function(value) else _function(value)
    if kind is functools.partial:
        return _partial(value)
    if kind is functools._lru_cache_wrapper:
        return _cached(value)
    if kind is types.MethodType:
        return _method(value)
    if kind in _BUILTIN:
        return _named(value) or _builtin_method(value)
    if kind in _DESCRIPTORS:
        owner = part("class", value.__objclass__)
        return Sketch("method", value.__qualname__, value.__name__.encode(), [owner])
    if kind in (staticmethod, classmethod):
        parts = [part("function", value.__func__), *_attributes(value)]
        return Sketch(kind.__name__, kind.__name__, parts=parts)
    if kind is property:
        used = [("fget", value.fget), ("fset", value.fset), ("fdel", value.fdel)]
        return Sketch("property", "property", parts=[part(*each) for each in used if each[1]])
    if kind is functools.cached_property:
        return Sketch("property", "cached property", parts=[part("fget", value.func)])
    if kind is CodeType:
        own = version_note().encode() + code_digest(value)
        return Sketch("code", f"compiled code of {value.co_name} ({version_note()})", own)
    return None


def _function(value: FunctionType) -> Sketch:
    reading = _reading(value.__code__)
    # Methods that copy an object go through its attributes, whatever their order.
    is_copying = value.__name__ in _COPYING
    aspects = reading.aspects - {"order"} if is_copying else reading.aspects
    meet(aspects, frozenset() if is_copying else reading.reads.attributes)
    if tells_apart(reading.comparisons) or copies_with_sharing(value):
        meet_tells_apart()
    return Sketch(
        "function",
        f"function {value.__name__}{reading.note}",
        reading.content,
        [*_defaults(value), *_captured(value, reading.reach), *_used(value, reading.reach)]
        + [part(f"attribute {name}", item) for name, item in sorted(vars(value).items())]
        + list(_described(value)),
        source=reading.source,
    )


def _described(value: FunctionType) -> Iterator[Part]:
    """What a function says about itself, as far as some code reads it."""
    if counts("annotations"):
        yield part("annotations", annotations_of(value))
    if counts("doc"):
        yield part("docstring", value.__doc__)
    if counts("name"):
        yield part("name", value.__name__)
        yield part("qualified name", value.__qualname__)


def _attributes(value: Any) -> Iterator[Part]:
    """The attributes that were given to a wrapper of a function."""
    for name, item in sorted(getattr(value, "__dict__", {}).items()):
        if name not in _COPIED:
            yield part(f"attribute {name}", item)


def _cached(value: Any) -> Sketch:
    # What a memo holds follows from the function, but 1 and 1.0 may share a place in it.
    parts = [part("function", value.__wrapped__), part("parameters", value.cache_parameters())]
    parts += result_of_function(value)
    if (mark := stale_mark(value)) is not None:
        parts.append(part("results of several versions (call its cache_clear)", mark))
    return Sketch("cached function", "cached function", parts=[*parts, *_attributes(value)])


def _method(value: types.MethodType) -> Sketch:
    owner: Any = value.__self__
    function = value.__func__
    kind: type = owner if is_a(owner, type) else type(owner)
    is_named = is_a(function, _NAMED)
    if is_named and is_library_class(kind) and (found := _named(value)) is not None:
        return found
    # Not of an object that is called as a method: it may do anything to find an attribute.
    name = function.__name__ if is_named else "method"
    parts = [part(f"function {name}", function), part("self", owner)]
    return Sketch("method", f"method {name}", parts=parts)


def _library_function(value: FunctionType) -> Sketch:
    """By name, and by what a library's decorator was given: contextmanager, singledispatch."""
    name = f"{value.__module__}.{value.__qualname__}"
    made = "<locals>" in value.__code__.co_qualname
    if made or hasattr(value, "__wrapped__"):
        name = f"{value.__globals__.get('__name__')}.{value.__code__.co_qualname}"
    library = str(value.__globals__.get("__name__", "")).partition(".")[0]
    parts: list[Part] = []
    if hasattr(value, "registry") and hasattr(value, "dispatch"):
        # The rest of what singledispatch captures is a cache that fills with use.
        parts.append(part("registry", value.registry))
    else:
        parts += map(_machinery, _captured(value, Reach()))
        parts += map(_machinery, _defaults(value) if made else ())
        parts += map(_machinery, _attributes(value) if made else ())
    if hasattr(value, "__wrapped__"):
        parts.append(part("wrapped function", value.__wrapped__))
    parts += annotations_read(parts, library)
    return Sketch("library function", name, name.encode(), parts, library=library)


def annotations_read(parts: list[Part], library: str) -> list[Part]:
    """The annotations of the functions that a library holds, which may check them at each call."""
    if library in sys.stdlib_module_names or counts("annotations"):
        return []
    return [
        part(f"annotations of {each.label}", annotations_of(each.value))
        for each in parts
        if type(each.value) is FunctionType and not is_library_function(each.value)
    ]


def _machinery(found: Part) -> Part:
    """A lock that a library holds for itself counts by its type: nobody can change its meaning."""
    if type(found.value).__module__ in ("_thread", "threading"):
        found.value = ByName(f"{type(found.value).__module__}.{type(found.value).__name__}")
    return found


def _reading(code: CodeType) -> _Reading:
    kept = _readings.get(id(code))
    if kept is not None and kept[0]() is code:
        return kept[1]
    node, aspects = find_source(code), aspects_read(code)
    comparisons = comparisons_of(code, node)
    if node is not None:
        private = with_private_names(node, code)
        text, effects, reads = on_stack_for(
            node,
            lambda: (canonical_source(node), effects_of(code, private), reads_of(code, private)),
        )
        content = b"source" + canonical_bytes(node, bool(aspects & {"annotations", "doc"}))
        reading = _Reading(content, text, "", reach_of(code), effects, reads, aspects, comparisons)
    else:
        note = f" (compiled code of {version_note()}: no source that matches it)"
        content = b"code" + version_note().encode() + code_digest(code)
        reach, effects, reads = reach_of(code), effects_of(code, None), reads_of(code, None)
        reading = _Reading(content, "", note, reach, effects, reads, aspects, comparisons)
    key = id(code)
    _readings[key] = weakref.ref(code, lambda _: _readings.pop(key, None)), reading
    return reading


def effects_of_function(value: FunctionType) -> Effects | None:
    """What a function of the user's does to what it did not make; None for those of libraries."""
    return None if is_library_function(value) else _reading(value.__code__).effects


def source_of_function(value: FunctionType) -> str:
    """The normalised source of a function of the user's; empty if there is none."""
    return _reading(value.__code__).source


def comparisons_of_function(value: FunctionType) -> Comparisons | None:
    """What a function of the user's compares by identity; None for those of libraries."""
    return None if is_library_function(value) else _reading(value.__code__).comparisons


def reads_of_function(value: FunctionType) -> Reads | None:
    """What a function of the user's uses; None for those of libraries."""
    return None if is_library_function(value) else _reading(value.__code__).reads


def _defaults(value: FunctionType) -> Iterator[Part]:
    names = value.__code__.co_varnames[: value.__code__.co_argcount]
    defaults = value.__defaults__ or ()
    # Decorators give functions of `*args` the defaults of others, for `inspect.signature`.
    beyond = [f"{i} beyond" for i in range(len(defaults) - len(names))]
    named = [*beyond, *names[max(0, len(names) - len(defaults)) :]]
    for name, default in zip(named, defaults, strict=True):
        yield part(f"default {name}", default)
    for name, default in sorted((value.__kwdefaults__ or {}).items()):
        yield part(f"default {name}", default)


def _captured(value: FunctionType, reach: Reach) -> Iterator[Part]:
    cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
    for name, cell in sorted(cells, key=lambda pair: pair[0]):
        try:
            content = cell.cell_contents
        except ValueError:
            continue  # not assigned yet; the function says so itself when it is called
        if name == "__class__":
            # What super() needs.
            yield part("class of the method", content)
        else:
            found = followed(name, content, reach.names.get(name))
            held = _held(name, content, found) | {name: (id(cell), "")}
            yield from _labelled("captured", found, held)


def _used(value: FunctionType, reach: Reach) -> Iterator[Part]:
    free = set(value.__code__.co_freevars)
    for name in reach.names:
        if name not in free and name not in value.__globals__ and is_added_builtin(name):
            yield part(f"global {name}", vars(builtins)[name])
    for name, chains in reach.names.items():
        if name not in free and name in value.__globals__:
            found = followed(name, value.__globals__[name], chains)
            held = _held(name, value.__globals__[name], found)
            held[name] = id(value.__globals__), name
            yield from _labelled("global", found, held)
    names = [imported.attribute or imported.module for imported in reach.imports]
    for name, (imported, chains) in zip(names, reach.imports.items(), strict=True):
        if names.count(name) > 1:
            name = ".".join(filter(None, (imported.whole, imported.attribute)))
        content = resolved_import(imported, value.__globals__)
        found = followed(name, content, chains)
        held = _held(name, content, found)
        source = sys.modules.get(imported.whole)
        if imported.attribute is not None and source is not None and not imported.level:
            held.setdefault(name, (id(vars(source)), imported.attribute))
        yield from _labelled("imported", found, held, f" of {imported.whole}")


def _held(name: str, value: Any, found: list[tuple[str, Any]]) -> dict[str, tuple[int, str]]:
    """What holds each of the names that were followed through modules."""
    result: dict[str, tuple[int, str]] = {}
    for where, _ in found:
        owner, chain = value, where[len(name) + 1 :].split(".")
        for attribute in chain[:-1]:
            owner = vars(owner).get(attribute) if is_a(owner, types.ModuleType) else None
        if chain[-1] and is_a(owner, types.ModuleType):
            result[where] = id(vars(owner)), chain[-1]
    return result


def _labelled(
    word: str, found: list[tuple[str, Any]], held: dict[str, tuple[int, str]], origin: str = ""
) -> Iterator[Part]:
    for where, content in found:
        label = f"helper {where}" if _is_helper(word, content) else f"{word} {where}"
        # Of two imports that bind one name, it counts which module gave what.
        yield Part(label, content, f"{word} {where}{origin}".encode(), held.get(where))


def _is_helper(word: str, content: Any) -> bool:
    return word != "captured" and is_a(content, FunctionType | type)


def _partial(value: functools.partial[Any]) -> Sketch:
    parts = [part("function", value.func)]
    parts += [part(f"argument {i}", item) for i, item in enumerate(value.args)]
    parts += [part(f"argument {name}", item) for name, item in sorted(value.keywords.items())]
    parts += [*order_of(value.keywords), *_attributes(value)]
    return Sketch("partial", "functools.partial", parts=parts)


def _named(value: Any) -> Sketch | None:
    """What can be found in a library's module by name: len, np.array, random.shuffle."""
    name = value.__name__
    owner = getattr(value, "__self__", None)
    for module in (module_of(value), module_of(type(owner))):
        # random.shuffle is a method of a generator inside the module, whose state does not count.
        if module is None or not is_library_module(module):
            continue
        if _same(getattr(module, name, None), value):
            full = f"{module.__name__}.{name}"
            library = module.__name__.partition(".")[0]
            return Sketch("library function", full, full.encode(), library=library)
    return None


def _same(found: Any, value: Any) -> bool:
    return type(found) is type(value) and bool(found == value)


def _builtin_method(value: Any) -> Sketch:
    owner = value.__self__
    full = f"{getattr(value, '__module__', None)}.{value.__qualname__}"
    if extension := extension_of(value):
        return Sketch("extension function", full, value.__qualname__.encode(), extension)
    if owner is None or is_a(owner, types.ModuleType):
        return Sketch("library function", full, full.encode(), library=library_of(value))
    return Sketch("method", value.__qualname__, value.__name__.encode(), [part("self", owner)])
