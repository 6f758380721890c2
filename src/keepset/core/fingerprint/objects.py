"""Objects: instances of any class, by the class and the state that a copy of them would get.

An object's state is what ``__getstate__`` or ``__reduce_ex__`` give, without writing it anywhere;
values that a ``functools.cached_property`` left behind do not count, as they follow from the rest.
A class with ``__keepset_fingerprint__(self)`` decides for itself: what that returns counts.
"""

from __future__ import annotations

import copyreg
import enum
import functools
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from keepset.core.fingerprint.origin import is_library_class, library_of
from keepset.core.fingerprint.plain import content_digest
from keepset.core.fingerprint.sketch import ByName, Part, Sketch, Uncountable, part, shortened
from keepset.core.fingerprint.tokenizers import tokenizer_sketch
from keepset.core.structure import is_namedtuple

# Types whose repr is short and says everything.
_TELLING = {"datetime", "decimal", "fractions", "uuid", "zoneinfo"}

_FAMILIAR = {
    "_thread.lock": "threading.Lock",
    "_thread.RLock": "threading.RLock",
    "_thread._local": "threading.local",
    "_io.TextIOWrapper": "open file",
    "_io.BufferedReader": "open file",
    "_io.BufferedWriter": "open file",
    "_io.FileIO": "open file",
    "builtins.generator": "generator",
    "builtins.coroutine": "coroutine",
    "builtins.async_generator": "async generator",
}
_MOVING = ("builtins", "itertools")
# Whose objects stand for something that runs, waits or is connected.
_RUNNING = {
    "_queue",
    "_socket",
    "_thread",
    "asyncio",
    "concurrent",
    "multiprocessing",
    "queue",
    "selectors",
    "socket",
    "ssl",
    "subprocess",
    "threading",
    "weakref",
}

# Where compilers of functions keep the function that they were given.
_WRAPPED = ("__wrapped__", "py_func", "python_function")
_COMPILERS = {"jax", "jaxlib", "numba", "tensorflow"}


def object_sketch(value: Any) -> Sketch:
    """The sketch of any object that no other rule knows."""
    kind = type(value)
    if hasattr(kind, "__keepset_fingerprint__"):
        chosen = part("__keepset_fingerprint__()", kind.__keepset_fingerprint__(value))
        return Sketch("object", f"{kind.__name__} object", kind.__name__.encode(), [chosen])
    if isinstance(value, enum.Enum):
        parts = [_class(kind), part("value", value._value_)]
        return Sketch("enum", f"{kind.__name__}.{value.name}", str(value.name).encode(), parts)
    if is_namedtuple(kind):
        fields = [
            part(f"field {name}", item) for name, item in zip(kind._fields, value, strict=True)
        ]
        return Sketch("namedtuple", f"{kind.__name__} namedtuple", parts=[_class(kind), *fields])
    if isinstance(value, np.ndarray):
        content = part("array", np.asarray(value))
        attributes = _attributes(kind, getattr(value, "__dict__", {}))
        return Sketch("array", f"{kind.__name__} array", parts=[_class(kind), content, *attributes])
    if isinstance(value, set | frozenset):
        content = part("items", frozenset(value))
        attributes = _attributes(kind, getattr(value, "__dict__", {}))
        return Sketch(
            "set", f"{kind.__name__} of {len(value):,}", parts=[_class(kind), content, *attributes]
        )
    return tokenizer_sketch(value) or _compiled(value) or _by_state(value)


def type_name(value: Any) -> str:
    """What to call the type of a value in a message."""
    kind = type(value)
    full = f"{kind.__module__}.{kind.__qualname__}"
    return _FAMILIAR.get(full, full.removeprefix("builtins."))


def _class(kind: type) -> Part:
    return Part(f"class {kind.__name__}", kind, b"class")


def _compiled(value: Any) -> Sketch | None:
    kind = type(value)
    if library_of(kind) not in _COMPILERS:
        return None
    for name in _WRAPPED:
        inner = getattr(value, name, None)
        if callable(inner):
            parts = [_class(kind), part("wrapped function", inner)]
            return Sketch("compiled function", f"{kind.__name__} function", parts=parts)
    return None


def _by_state(value: Any) -> Sketch:
    kind = type(value)
    moves = hasattr(kind, "__next__") and kind.__module__ in _MOVING
    if moves or library_of(kind) in _RUNNING or isinstance(value, threading.Thread):
        raise Uncountable(_article(type_name(value)))
    try:
        reduce = copyreg.dispatch_table.get(kind)
        state = reduce(value) if reduce is not None else value.__reduce_ex__(4)
    # Whatever a class does to say that it cannot be copied.
    except Exception as error:
        return _by_content(value, error)
    if isinstance(state, str):
        return Sketch("object", state, state.encode(), [_class(kind)])
    telling = kind.__module__ in _TELLING
    text = shortened(repr(value)) if telling else f"{kind.__name__} object"
    library = library_of(kind) if is_library_class(kind) else ""
    return Sketch("object", text, parts=[_class(kind), *_state(kind, state)], library=library)


def _by_content(value: Any, error: Exception) -> Sketch:
    kind = type(value)
    if hasattr(value, "__array__"):
        return Sketch(
            "object",
            f"{kind.__name__} object",
            parts=[_class(kind), part("array", np.asarray(value))],
        )
    try:
        content = content_digest(value)
    except (TypeError, BufferError):
        # What Python says of its own objects adds nothing to what this says.
        remark = "" if is_library_class(kind) else f" ({type(error).__name__}: {error})"
        raise Uncountable(_article(type_name(value)), shortened(remark, 200)) from error
    return Sketch("object", f"{kind.__name__} object", content, [_class(kind)])


def _state(kind: type, state: tuple[Any, ...]) -> Iterator[Part]:
    make, arguments, attributes, items, pairs = (*state, None, None, None)[:5]
    if make is copyreg.__newobj__:  # type: ignore[attr-defined]
        arguments = arguments[1:]
    elif make is not kind:
        yield part("constructor", make)
    # The class counts already, and may be among the arguments.
    for i, item in enumerate(arguments):
        if item is not kind:
            yield part(f"argument {i}", item)
    if isinstance(attributes, tuple) and len(attributes) == 2:
        for half in attributes:
            yield from _attributes(kind, half)
    else:
        yield from _attributes(kind, attributes)
    if items is not None:
        yield part("items", list(items))
    if pairs is not None:
        yield part("items", dict(pairs))


def _attributes(kind: type, state: Any) -> Iterator[Part]:
    if state is None:
        return
    if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
        yield part("state", state)
        return
    derived = _derived(kind)
    for name in sorted(state):
        if name not in derived and not _is_empty_hook(kind, name, state[name]):
            yield part(f"attribute {name}", _machinery(kind, state[name]))


def _machinery(kind: type, item: Any) -> Any:
    # A lock that a library's object holds for itself says nothing about what it computes.
    if type(item).__module__ == "_thread" and is_library_class(kind):
        return ByName(f"threading.{type(item).__name__}")
    return item


def _is_empty_hook(kind: type, name: str, item: Any) -> bool:
    """Whether this is an empty place for hooks; each version of torch has more of them."""
    return name.startswith("_") and "hook" in name and not item and hasattr(kind, "state_dict")


def _derived(kind: type) -> set[str]:
    return {
        name
        for base in kind.__mro__
        for name, item in vars(base).items()
        if isinstance(item, functools.cached_property)
    }


def _article(name: str) -> str:
    return f"an {name}" if name[0].lower() in "aeio" else f"a {name}"
