"""Classes: the user's own count by their bases, methods and attributes, those of libraries by name.

The name of a class counts, its module does not, so that a script that is run and the same one
imported agree. A class that a library made of what the user gave counts by content, too.
"""

from __future__ import annotations

import _abc  # type: ignore[import-not-found]
import dataclasses
import enum
import inspect
from collections.abc import Iterator
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any, Protocol

from keepset.core.fingerprint.class_attributes import has_class_attribute
from keepset.core.fingerprint.extensions import extension_of
from keepset.core.fingerprint.introspection import annotations_of, counts
from keepset.core.fingerprint.opaque_objects import compiled_class_sketch
from keepset.core.fingerprint.origin import (
    function_behind,
    is_library_class,
    is_library_function,
    library_of,
)
from keepset.core.fingerprint.plain import order_of
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
    "__module__",
    "__parameters__",
    "__qualname__",
    "__static_attributes__",
    "__type_params__",
    "__slotnames__",  # noted by copyreg when an object is copied
    "__weakref__",
    "_abc_impl",
}
# What pydantic makes of the fields and of the decorated functions, which count themselves.
_PYDANTIC, _PYDANTIC_COUNTED = "__pydantic_", {"__pydantic_fields__", "__pydantic_decorators__"}

# What enum makes of the members, which count themselves.
_ENUM_MACHINERY = {
    "_all_bits_",
    "_flag_mask_",
    "_hashable_values_",
    "_inverted_",
    "_member_map_",
    "_member_names_",
    "_member_type_",
    "_singles_mask_",
    "_unhashable_values_",
    "_unhashable_values_map_",
    "_use_args_",
    "_value2member_map_",
    "_value_repr_",
}
_MEMBER_MACHINERY = {"__objclass__", "_inverted_", "_name_", "_sort_order_", "_value_"}

_NAMEDTUPLE_MACHINERY = {"_field_defaults", "_fields"}

# Methods that libraries write for a class from its fields, which count themselves.
_GENERATED_NAMES, _GENERATED_FILES = ("__create_fn__",), ("<attrs generated",)

# Newer versions of Python keep more of them, which show in the fields and the attributes too.
_DATACLASS_OPTIONS = ("init", "repr", "eq", "order", "unsafe_hash", "frozen")
_FIELD_OPTIONS = (
    *("default", "default_factory", "init", "repr", "hash", "compare", "kw_only", "metadata"),
)


def class_sketch(value: Any) -> Sketch | None:
    """The sketch of a class; None for everything else."""
    if not isinstance(value, type):
        return None
    if (compiled := compiled_class_sketch(value)) is not None:
        return compiled
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
    parts += extension_of(value)
    if counts("name"):
        parts.append(part("qualified name", value.__qualname__))
    # The repr of a dataclass names the classes around its own.
    name = value.__qualname__.rpartition("<locals>.")[2]
    own = name.encode("utf-8", "surrogatepass")
    return Sketch("class", f"class {value.__name__}", own, parts)


def _content(value: type) -> Iterator[Part]:
    if issubclass(value, enum.Enum):
        yield from _members(value)
    elif _is_namedtuple(value):
        yield part("fields", value._fields)  # type: ignore[attr-defined]
        yield part("defaults", value._field_defaults)  # type: ignore[attr-defined]
    elif "__dataclass_fields__" in vars(value):
        yield from _dataclass_fields(value)
    yield from _attributes(value)
    if counts("order"):
        yield from order_of(name for name in vars(value) if name not in _IGNORED)
    if "_abc_impl" in vars(value):
        # The classes that were registered; the rest of it is caches.
        registered = [reference() for reference in _abc._get_dump(value)[0]]
        if registered:
            yield part("registered classes", frozenset(filter(None, registered)))
    annotations = annotations_of(value)
    yield from (part(f"annotation {name}", item) for name, item in sorted(annotations.items()))
    # Their order is that of fields, for the libraries that make fields of them.
    yield from (part("order of annotations", each.value) for each in order_of(annotations))
    text = vars(value).get("__doc__")
    if (counts("doc") or has_class_attribute(value, "__pydantic_fields__")) and not (
        # What dataclasses writes holds the names of modules. Schemas of pydantic hold docstrings.
        "__dataclass_fields__" in vars(value) and str(text).startswith(f"{value.__name__}(")
    ):
        yield part("docstring", text)


def _is_namedtuple(value: type) -> bool:
    return is_namedtuple(value) and "_fields" in vars(value)


def _members(value: type[enum.Enum]) -> Iterator[Part]:
    for name, member in value.__members__.items():
        yield part(f"member {name}", member._value_)
        for attribute, item in sorted(vars(member).items()):
            if attribute not in _MEMBER_MACHINERY and member._name_ == name:
                yield part(f"attribute {name}.{attribute}", item)
    yield from order_of(value.__members__)


def _attributes(value: type) -> Iterator[Part]:
    for name, item in sorted(vars(value).items()):
        if name in _IGNORED or isinstance(item, GetSetDescriptorType | MemberDescriptorType):
            continue
        if _is_machinery(value, name, item):
            continue
        if name == "__pydantic_decorators__":
            yield part("decorated functions", _decorated(item))
        elif isinstance(item, FunctionType | classmethod | staticmethod | property):
            if not _is_generated(item):
                yield part(f"method {name}", item)
            elif _defaults(item) != (None, None):
                yield part(f"defaults of {name}", _defaults(item))
        else:
            yield part(f"attribute {name}", item)


def _decorated(decorators: Any) -> dict[str, dict[str, Any]]:
    """Pydantic's validators and their kind, without the number that it gives to the class."""
    names = [field.name for field in dataclasses.fields(decorators)]
    groups = {name: getattr(decorators, name) for name in names}
    return {
        group: {name: (each.info, each.func) for name, each in members.items()}
        for group, members in groups.items()
    }


def _is_machinery(value: type, name: str, item: Any) -> bool:
    """Whether this was written into the class by what made it, from what counts already."""
    if issubclass(value, enum.Enum):
        if name in _ENUM_MACHINERY or name in value.__members__:
            return True
        # Some versions of Python write into each enum what it inherits anyway.
        return _inherited(value, name) is item
    if name == "__init__" and Protocol in value.__mro__:
        # Written into the class when it is instantiated first.
        return any(vars(base).get(name) is item for base in value.__mro__[1:])
    if _is_namedtuple(value):
        getter = type(item).__name__ == "_tuplegetter"
        fields: tuple[str, ...] = value._fields  # type: ignore[attr-defined]
        return name in _NAMEDTUPLE_MACHINERY or (getter and name in fields)
    if has_class_attribute(value, "__pydantic_fields__"):
        # A lazy signature follows from the fields.
        written = name.startswith(_PYDANTIC) and name not in _PYDANTIC_COUNTED
        return written or name == "__signature__"
    return type(item).__name__ == "CField" and type(item).__module__ == "_ctypes"


def _inherited(value: type, name: str) -> Any:
    return next((vars(base)[name] for base in value.__mro__[1:] if name in vars(base)), value)


def _dataclass_fields(value: Any) -> Iterator[Part]:
    options = {name: getattr(value.__dataclass_params__, name) for name in _DATACLASS_OPTIONS}
    yield part("dataclass options", options)
    fields = value.__dataclass_fields__
    for name, field in fields.items():
        settings = {option: getattr(field, option) for option in _FIELD_OPTIONS}
        told = {option: item for option, item in settings.items() if _is_set(item)}
        yield part(f"field {name}", told)
    # Their order is that of the arguments; those of __init__ alone are among them.
    yield part("fields", tuple(fields))


def _is_set(item: Any) -> bool:
    # By its type: a class that was sent to a worker process has a copy of what stands for nothing.
    is_missing = type(item) is type(dataclasses.MISSING)
    return item is not None and item is not False and not is_missing


def _function_of(item: Any) -> Any:
    return function_behind(item)


def _is_generated(item: Any) -> bool:
    """Whether a library wrote this method for the class."""
    function = _function_of(item)
    if not isinstance(function, FunctionType):
        return False
    made_in = str(function.__globals__.get("__name__", ""))
    if made_in.startswith("namedtuple_") and function.__code__.co_filename.startswith("<"):
        return True
    if is_library_function(function):
        # dataclasses wraps what it wrote; what the user wrapped is the user's.
        function = inspect.unwrap(function)
    code = function.__code__ if isinstance(function, FunctionType) else None
    return code is not None and (
        code.co_qualname.startswith(_GENERATED_NAMES)
        or code.co_filename.startswith(_GENERATED_FILES)
    )


def _defaults(item: Any) -> tuple[Any, Any]:
    """The defaults of a method that a library wrote, which the user may have replaced."""
    function = _function_of(item)
    return function.__defaults__, function.__kwdefaults__
