"""Objects: instances of any class, by the class and the state that a copy of them would get.

An object's state is what ``__getstate__`` or ``__reduce_ex__`` return, without writing it anywhere;
values that a ``functools.cached_property`` left behind count if they may have been changed.
A class with ``__keepset_fingerprint__(self)`` decides for itself: what that returns counts.
"""

from __future__ import annotations

import abc
import copyreg
import dis
import enum
import functools
import typing
import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from operator import itemgetter
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

import numpy as np

from keepset.core.fingerprint.bounds import bounded
from keepset.core.fingerprint.callable_methods import MAKING, unwrapped
from keepset.core.fingerprint.class_attributes import (
    attributes_of,
    has_class_attribute,
    is_disguised,
)
from keepset.core.fingerprint.derived import content_of_base
from keepset.core.fingerprint.extensions import extension_of
from keepset.core.fingerprint.functions import annotations_read, effects_of_function
from keepset.core.fingerprint.held_results import results_of_properties
from keepset.core.fingerprint.introspection import counts, counts_left_out, counts_sharing
from keepset.core.fingerprint.library_objects import library_sketch
from keepset.core.fingerprint.moment import once
from keepset.core.fingerprint.opaque_objects import hides_memory, opaque_sketch
from keepset.core.fingerprint.origin import (
    is_library_class,
    is_library_function,
    library_of,
    module_of,
)
from keepset.core.fingerprint.plain import content_digest, is_namespace, order_of
from keepset.core.fingerprint.running import is_running, type_name
from keepset.core.fingerprint.sketch import ByName, Part, Sketch, Uncountable, part, shortened
from keepset.core.fingerprint.standard_objects import standard_sketch
from keepset.core.fingerprint.tables import table_sketch
from keepset.core.fingerprint.tokenizers import tokenizer_sketch
from keepset.core.fingerprint.torch_objects import torch_sketch
from keepset.core.fingerprint.writers import class_method_writes
from keepset.core.record import record
from keepset.core.structure import is_namedtuple

# Types whose repr is short and says everything.
_TELLING = {"datetime", "decimal", "fractions", "uuid", "zoneinfo"}

# Where compilers of functions keep the function that they were given.
_WRAPPED = ("__wrapped__", "py_func", "python_function")
_COMPILERS = {"jax", "jaxlib", "numba", "tensorflow"}

# What objects of libraries find out of themselves when they are used.
_CACHES = {
    "albumentations": {"_key2func"},  # follows from the targets, in the order of a set
    "jinja2": {"cache"},  # of compiled templates, which follow from the loader and the settings
    "pandas": {"_cache"},
    "pydantic": {"_default_factory_takes_validated_data"},
    "scipy": {"_has_canonical_format", "_has_sorted_indices"},
}

# Below it there are no objects, and most numbers.
_SMALLEST_ADDRESS = 1 << 16

# What a class may define to say what a copy of its instances gets.
_COPYING = ("__getstate__", "__reduce__", "__reduce_ex__")
# Bases that hold nothing.
_EMPTY_BASES = (object, abc.ABC, typing.Generic)


def object_sketch(value: Any) -> Sketch:
    """The sketch of any object that no other rule knows."""
    kind = type(value)
    if is_disguised(kind):
        _ask_for_class(value)
    simple = once(kind, partial(_simple_class, kind))
    if simple is not None and (sketch := _simple_object(value, simple)) is not None:
        return sketch
    if has_class_attribute(kind, "__keepset_fingerprint__"):
        chosen = part("__keepset_fingerprint__()", kind.__keepset_fingerprint__(value))
        return Sketch("object", f"{kind.__name__} object", kind.__name__.encode(), [chosen])
    if is_disguised(kind):
        return library_sketch(value) or _by_state(value)
    if isinstance(value, enum.Enum):
        parts = [_class(kind), part("value", value._value_)]
        return Sketch("enum", f"{kind.__name__}.{value.name}", str(value.name).encode(), parts)
    if is_namedtuple(kind):
        return _namedtuple(value)
    return (
        standard_sketch(value)
        or table_sketch(value)
        or torch_sketch(value)
        or library_sketch(value)
        or opaque_sketch(value)
        or _derived_object(value)
        or tokenizer_sketch(value)
        or _compiled(value)
        or _by_state(value)
    )


def _ask_for_class(value: Any) -> None:
    """Refuse a proxy that cannot make what it stands for."""
    try:
        value.__class__  # noqa: B018 - what isinstance asks for
    except Exception as error:
        remark = shortened(f" ({type(error).__name__}: {error})", 200)
        raise Uncountable(_article(type_name(value)), remark, breaks_off=True) from error


@record
class _SimpleClass:
    """A class of the user's whose instances are what their ``__dict__`` holds, and no more."""

    label: str
    text: str
    derived: frozenset[str]


def _simple_class(kind: type) -> _SimpleClass | None:
    """What is known of all instances of a class, if nothing about them is special."""
    if not is_plain_class(kind) or not _has_default_state(kind):
        return None
    return _SimpleClass(_class(kind).label, f"{kind.__name__} object", frozenset(_derived(kind)))


def is_plain_class(kind: type) -> bool:
    """Whether a class and its bases are the user's own, and its objects hold attributes only."""
    plain = all(base in _EMPTY_BASES or _adds_only_methods(base) for base in kind.__mro__)
    return plain and type(kind) in (type, abc.ABCMeta)


def _adds_only_methods(kind: type) -> bool:
    special = {"__dict__", "__keepset_fingerprint__", "__slots__", "state_dict"}
    defined = {name for name, item in vars(kind).items() if type(item) is not GetSetDescriptorType}
    is_own = module_of(kind) is not None and not is_library_class(kind)
    return is_own and special.isdisjoint(defined)


def _simple_object(value: Any, known: _SimpleClass) -> Sketch | None:
    attributes = dict(attributes_of(value))
    if not set(map(type, attributes)) <= {str}:
        return None
    parts = [Part(known.label, type(value), b"class")]
    for name, item in sorted(_without_addresses(attributes).items(), key=itemgetter(0)):
        if name not in known.derived:
            label = f"attribute {name}"
            parts.append(Part(label, item, label.encode("utf-8", "surrogatepass")))
    parts += results_of_properties(value, sorted(known.derived))
    return Sketch("object", known.text, parts=[*parts, *_order_read(attributes)])


def attributes_of_records(values: list[Any]) -> tuple[type, list[dict[str, Any]]] | None:
    """The class of a list of records, and what each holds; None for any other list.

    Records are objects of one plain class, of which nothing is special and no method writes
    attributes, but for those that make them: dataclasses, for one.
    """
    kind = type(values[0])
    if kind.__flags__ & _IMMUTABLE_TYPE or not all(type(value) is kind for value in values):
        return None
    simple = once(kind, partial(_simple_class, kind))
    if simple is None or simple.derived or not _is_record(kind):
        return None
    if counts("order") or counts_sharing():
        return None
    # The order of attributes does not count.
    return kind, [dict(sorted(value.__dict__.items())) for value in values]


# The flag of classes that are written in C.
_IMMUTABLE_TYPE = 1 << 8


def _is_record(kind: type) -> bool:
    functions = (
        function
        for base in kind.__mro__
        for name, item in list(vars(base).items())
        if name not in MAKING
        for function, _ in unwrapped(item)
    )
    return all(map(_leaves_alone, functions))


def _leaves_alone(function: FunctionType) -> bool:
    """Whether a method certainly writes nothing of its object."""
    if function.__code__.co_filename == "<string>":
        return True  # dataclasses made it
    effects = effects_of_function(function)
    if effects is None:
        return is_library_function(function)
    for write in effects.writes:
        changes = write.kind in ("attr", "item", "delete", "inplace")
        calls = write.kind == "method" and class_method_writes(None, write.name)
        if write.path[0][0] == "param" and (changes or calls):
            return False
    handed_on = (path for call in effects.calls for paths in call.arguments for path in paths)
    named = (path for call in effects.calls for _, paths in call.keywords for path in paths)
    return not any(path == (("param", path[0][1]), ()) for path in (*handed_on, *named))


def _shows_order(kind: type) -> bool:
    """Whether the text of an object, of which runs are named, lists its attributes in order."""
    bases = {f"{base.__module__}.{base.__name__}" for base in kind.__mro__}
    return not bases.isdisjoint(("argparse.Namespace", "types.SimpleNamespace"))


def _order_read(attributes: Iterable[str]) -> list[Part]:
    """The order of attributes, where some function lists them."""
    return order_of(attributes) if counts("order") else []


def _class(kind: type) -> Part:
    return Part(f"class {kind.__name__}", kind, b"class")


def _namedtuple(value: Any) -> Sketch:
    kind = type(value)
    fields = [
        part(f"field {name}", _machinery(kind, item))
        for name, item in zip(kind._fields, tuple.__iter__(value), strict=False)
    ]
    parts = [_class(kind), *fields, *_own_attributes(value)]
    return Sketch("namedtuple", f"{kind.__name__} namedtuple", parts=parts)


def _derived_object(value: Any) -> Sketch | None:
    """An instance of what the user derived from a builtin: the class, that content, attributes."""
    kind = type(value)
    if is_library_class(kind) and not isinstance(value, np.ndarray | set | frozenset):
        return None
    if _defined_by_user(kind, _COPYING):
        return None
    content = content_of_base(value)
    if content is None:
        return None
    sort, inside, known = content
    attributes = [each for each in _own_attributes(value) if each.label.split()[-1] not in known]
    text = f"{kind.__name__} of {len(value):,}" if sort == "set" else f"{kind.__name__} {sort}"
    return Sketch(sort, text, parts=[_class(kind), part("content", inside), *attributes])


def _defined_by_user(kind: type, names: tuple[str, ...]) -> bool:
    """Whether a class of the user's among the bases defines one of these methods."""
    users = (base for base in kind.__mro__ if not is_library_class(base))
    return any(name in vars(base) for base in users for name in names)


def _compiled(value: Any) -> Sketch | None:
    kind = type(value)
    if library_of(kind) not in _COMPILERS or not is_library_class(kind):
        return None
    for name in _WRAPPED:
        inner = getattr(value, name, None)
        if callable(inner):
            parts = [_class(kind), part("wrapped function", inner)]
            return Sketch("compiled function", f"{kind.__name__} function", parts=parts)
    return None


def _by_state(value: Any) -> Sketch:
    kind = type(value)
    if is_running(value):
        raise Uncountable(_article(type_name(value)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # itertools from Python 3.12
            reduce = copyreg.dispatch_table.get(kind)
            state = reduce(value) if reduce is not None else value.__reduce_ex__(4)
    # Whatever a class does to say that it cannot be copied.
    except Exception as error:
        return _by_content(value, error)
    if isinstance(state, str):
        # The name of something that is there once, which may hold things all the same.
        parts = [_class(kind), *extension_of(value), *_own_attributes(value)]
        for each in parts:
            each.value = ByName(type_name(each.value)) if is_running(each.value) else each.value
        return Sketch("object", state, state.encode(), parts)
    telling = kind.__module__ in _TELLING and is_library_class(kind)
    text = shortened(repr(value)) if telling else f"{kind.__name__} object"
    library = library_of(kind) if is_library_class(kind) else ""
    parts = [_class(kind), *_state(value, state)]
    parts += (
        order_of(attributes_of(value)) if _shows_order(kind) else _order_read(attributes_of(value))
    )
    if not library:
        parts += results_of_properties(value, sorted(_derived(kind)))
    if library:
        parts += annotations_read(parts, library)
    return Sketch("object", text, parts=parts, library=library)


def _by_content(value: Any, error: Exception) -> Sketch:
    kind = type(value)
    hides_nothing = all(map(_holds_nothing_hidden, kind.__mro__)) and not hides_memory(kind)
    if _has_default_state(kind) and hides_nothing:
        # Python asks the class for what it may not define, and the metaclass raises anything.
        parts = [_class(kind), *_own_attributes(value), *_order_read(attributes_of(value))]
        return Sketch("object", f"{kind.__name__} object", parts=parts)
    if has_class_attribute(kind, "__array__"):
        parts = [_class(kind), part("array", np.asarray(value)), *_own_attributes(value)]
        return Sketch("object", f"{kind.__name__} object", parts=parts)
    try:
        content = content_digest(value)
    except (TypeError, BufferError):
        # What Python says of its own objects adds nothing to what this says.
        remark = "" if is_library_class(kind) else f" ({type(error).__name__}: {error})"
        raise Uncountable(_article(type_name(value)), shortened(remark, 200)) from error
    return Sketch("object", f"{kind.__name__} object", content, [_class(kind)])


def _holds_nothing_hidden(kind: type) -> bool:
    return kind in _EMPTY_BASES or not is_library_class(kind)


def _state(value: Any, state: tuple[Any, ...]) -> Iterator[Part]:
    kind = type(value)
    make, arguments, attributes, items, pairs, setter = (*state, None, None, None, None)[:6]
    if make is copyreg.__newobj__:  # type: ignore[attr-defined]
        arguments = arguments[1:]
    elif make is not kind:
        yield part("constructor", make)
    # The class counts already, and may be among the arguments.
    for i, item in enumerate(arguments):
        if item is not kind:
            yield part(f"argument {i}", item)
    yield from _attributes(value, attributes)
    if not isinstance(attributes, dict) and _is_copied_by_library(kind):
        # A library's class says what a copy gets, and knows nothing of what the user added.
        yield from _own_attributes(value)
    if not is_library_class(kind) and not _has_default_state(kind):
        yield from _left_behind(value, attributes if isinstance(attributes, dict) else {})
    if items is not None:
        yield part("items", bounded(items))
    if pairs is not None:
        yield part("items", _mapping(bounded(pairs)))
    if setter is not None:
        yield part("state setter", setter)


def _left_behind(value: Any, state: dict[Any, Any]) -> Iterator[Part]:
    """The attributes that a copy would not get as they are, and that functions may use.

    Those without content, for which they are often left behind, count by their type.
    """
    for each in _own_attributes(value):
        name = each.label.removeprefix("attribute ")
        is_copied = name in state and state[name] is each.value
        if not is_copied and counts_left_out(name):
            found = Part(f"attribute {name}", each.value, f"left behind {name}".encode())
            found.optional = True
            yield found


def _mapping(pairs: list[Any]) -> Any:
    try:
        return dict(pairs)
    except (TypeError, ValueError):
        return pairs


def _is_copied_by_library(kind: type) -> bool:
    """Whether what a copy of a user's object gets is said by the class of a library."""
    if is_library_class(kind) or kind in copyreg.dispatch_table:
        return False
    return not _has_default_state(kind) and not _defined_by_user(kind, _COPYING)


def _has_default_state(kind: type) -> bool:
    """Whether Python itself finds the state: a dict of attributes, one of slots, or a pair."""
    default = all(getattr(kind, name) is getattr(object, name) for name in _COPYING)
    return default and kind not in copyreg.dispatch_table


def _attributes(value: Any, state: Any) -> Iterator[Part]:
    kind = type(value)
    if isinstance(state, tuple) and len(state) == 2 and _has_default_state(kind):
        for half in state:
            yield from _named_attributes(kind, half or {})
    elif isinstance(state, dict) and all(isinstance(name, str) for name in list(state)):
        yield from _named_attributes(kind, state)
        if not _attribute_names(value).issuperset(state):
            # A dict that is not that of the attributes is content, and its order counts.
            yield from order_of(state)
    elif state is not None:
        if type(state) is tuple:
            # The attributes of an object that has none are None at first, and an empty dict once
            # it was looked at.
            has_none = not attributes_of(value)
            state = tuple(
                None if has_none and type(item) is dict and not item else item for item in state
            )
        yield part("state", state)


def _attribute_names(value: Any) -> set[str]:
    slots = {
        name
        for base in type(value).__mro__
        for name, item in list(vars(base).items())
        if isinstance(item, MemberDescriptorType)
    }
    return slots | set(attributes_of(value))


def _own_attributes(value: Any) -> Iterator[Part]:
    """The attributes that an object holds itself, in its ``__dict__`` and its slots."""
    found = dict(attributes_of(value))
    for base in type(value).__mro__:
        for name, item in list(vars(base).items()):
            if isinstance(item, MemberDescriptorType) and not is_library_class(base):
                try:
                    found.setdefault(name, item.__get__(value))
                except AttributeError:
                    continue  # a slot that is empty
    yield from _named_attributes(type(value), found)


def _named_attributes(kind: type, state: dict[str, Any]) -> Iterator[Part]:
    derived = _derived(kind)
    for name, item in sorted(_without_addresses(state).items(), key=itemgetter(0)):
        is_cache = name in _CACHES.get(library_of(kind), ()) and is_library_class(kind)
        if name not in derived and not is_cache and not _is_empty_hook(kind, name, item):
            yield part(f"attribute {name}", _machinery(kind, item))


def _without_addresses(state: dict[str, Any]) -> dict[str, Any]:
    """The attributes, in which the ``id`` of another one stands for that: each process has its own.

    ``TfidfVectorizer`` notes by it that its stop words were checked.
    """
    addresses = {
        name for name, item in state.items() if type(item) is int and item > _SMALLEST_ADDRESS
    }
    if not addresses:
        return state
    names = {id(item): name for name, item in sorted(state.items()) if name not in addresses}
    of = {name: names[state[name]] for name in addresses if state[name] in names}
    return {**state, **{name: ByName(f"id of {other}") for name, other in of.items()}}


def _machinery(kind: type, item: Any) -> Any:
    if not is_library_class(kind):
        return item
    # A lock that a library's object holds for itself says nothing about what it computes.
    if type(item).__module__ == "_thread":
        return ByName(f"threading.{type(item).__name__}")
    # Nor do the globals in which it looked annotations up.
    return ByName("globals") if is_namespace(item) else item


def _is_empty_hook(kind: type, name: str, item: Any) -> bool:
    """Whether this is an empty place for hooks; each version of torch has more of them."""
    hook = name.startswith("_") and "hook" in name and has_class_attribute(kind, "state_dict")
    return hook and isinstance(item, dict | list | tuple | type(None)) and not item


def _derived(kind: type) -> set[str]:
    """The names of what follows from the rest: of cached properties that nothing else assigns."""
    names: dict[str, Any] = {}
    for base in kind.__mro__:
        for name, item in list(vars(base).items()):
            names.setdefault(name, item)
    found = {name for name, item in names.items() if type(item) is functools.cached_property}
    if not found:
        return found
    functions = (item for base in kind.__mro__ for item in list(vars(base).values()))
    return found - {
        step.argval
        for function in functions
        if isinstance(function, FunctionType)
        for step in dis.get_instructions(function)
        if step.opname == "STORE_ATTR"
    }


def _article(name: str) -> str:
    return f"an {name}" if name[0].lower() in "aeio" else f"a {name}"
