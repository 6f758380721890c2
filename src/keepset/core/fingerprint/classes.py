"""Classes: the user's own count by their bases, methods and attributes, those of libraries by name.

The name of a class counts, its module does not, so that a script that is run and the same one
imported agree.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
from collections.abc import Iterator
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

from keepset.core.fingerprint.origin import is_library_class, is_library_function, library_of
from keepset.core.fingerprint.sketch import Part, Sketch, part
from keepset.core.structure import is_namedtuple

# What Python and abc write into every class, or what depends on where the class stands.
_IGNORED = {
    "__abstractmethods__",
    "__annotate__",
    "__annotate_func__",
    "__annotations__",
    "__annotations_cache__",
    "__conditional_annotations__",
    "__dataclass_fields__",
    "__dataclass_params__",
    "__dict__",
    "__doc__",
    "__firstlineno__",
    "__match_args__",
    "__module__",
    "__orig_bases__",
    "__parameters__",
    "__qualname__",
    "__signature__",
    "__static_attributes__",
    "__type_params__",
    "__weakref__",
    "_abc_impl",
}
# Methods that libraries write for a class from its fields, which count themselves.
_GENERATED_NAMES, _GENERATED_FILES = ("__create_fn__",), ("<attrs generated",)

# Newer versions of Python keep more of them, which show in the fields and the attributes too.
_DATACLASS_OPTIONS = ("init", "repr", "eq", "order", "unsafe_hash", "frozen")


def class_sketch(value: Any) -> Sketch | None:
    """The sketch of a class; None for everything else."""
    if not isinstance(value, type):
        return None
    if is_library_class(value):
        name = f"{value.__module__}.{value.__qualname__}"
        return Sketch("library class", name, name.encode(), library=library_of(value))
    bases = [base for base in value.__bases__ if base is not object]
    parts = [
        Part(f"base {base.__name__}", base, f"base {i}".encode()) for i, base in enumerate(bases)
    ]
    if type(value) not in (type, enum.EnumMeta):
        parts.append(part("metaclass", type(value)))
    parts += _content(value)
    own = repr((value.__name__, sorted(_annotations(value).items())))
    return Sketch("class", f"class {value.__name__}", own.encode("utf-8", "surrogatepass"), parts)


def _content(value: type) -> Iterator[Part]:
    if issubclass(value, enum.Enum):
        for name, member in value.__members__.items():
            yield part(f"member {name}", member._value_)
        yield from _methods(value)
    elif is_namedtuple(value) and "_fields" in vars(value):
        yield part("fields", value._fields)  # type: ignore[attr-defined]
        yield part("defaults", value._field_defaults)  # type: ignore[attr-defined]
        yield from _methods(value)
    else:
        if "__dataclass_fields__" in vars(value):
            yield from _dataclass_fields(value)
        yield from _attributes(value)


def _methods(value: type) -> Iterator[Part]:
    """What the user added to a class of which the rest is written by a library."""
    for name, item in sorted(vars(value).items()):
        function = getattr(item, "__func__", getattr(item, "fget", item))
        if isinstance(function, FunctionType) and not _is_written_by_library(function):
            yield part(f"method {name}", item)


def _attributes(value: type) -> Iterator[Part]:
    for name, item in sorted(vars(value).items()):
        if name in _IGNORED or isinstance(item, GetSetDescriptorType | MemberDescriptorType):
            continue
        if name.startswith("__pydantic_") and name != "__pydantic_fields__":
            continue
        if isinstance(item, FunctionType):
            if not _is_generated(item):
                yield part(f"method {name}", item)
        else:
            word = (
                "method" if isinstance(item, classmethod | staticmethod | property) else "attribute"
            )
            yield part(f"{word} {name}", item)


def _dataclass_fields(value: Any) -> Iterator[Part]:
    options = {name: getattr(value.__dataclass_params__, name) for name in _DATACLASS_OPTIONS}
    yield part("dataclass options", options)
    counted = (
        "default",
        "default_factory",
        "init",
        "repr",
        "hash",
        "compare",
        "kw_only",
        "metadata",
    )
    for field in dataclasses.fields(value):
        settings = {name: getattr(field, name) for name in counted}
        yield part(f"field {field.name}", {name: item for name, item in settings.items() if item})
    # Their order is that of the arguments.
    yield part("fields", tuple(field.name for field in dataclasses.fields(value)))


def _is_generated(function: FunctionType) -> bool:
    code = getattr(inspect.unwrap(function), "__code__", function.__code__)
    by_name = code.co_qualname.startswith(_GENERATED_NAMES)
    shared = function.__globals__ is vars(dataclasses)
    return bool(by_name or shared or code.co_filename.startswith(_GENERATED_FILES))


def _is_written_by_library(function: FunctionType) -> bool:
    made_in = str(function.__globals__.get("__name__", ""))
    return made_in.startswith("namedtuple_") or is_library_function(function)


def _annotations(value: type) -> dict[str, str]:
    """The annotations of the class itself as text, the same however they were written."""
    found = inspect.get_annotations(value)
    return {name: _annotation_text(annotation) for name, annotation in found.items()}


def _annotation_text(annotation: Any) -> str:
    if isinstance(annotation, str):
        text = annotation.replace(" ", "")
    elif isinstance(annotation, type) and not hasattr(annotation, "__args__"):
        text = annotation.__name__
    else:
        text = repr(annotation).replace(" ", "")
    # Without the modules in it: __main__.Label is Label.
    return re.sub(r"(?:\w+\.)+(\w+)", r"\1", text)
