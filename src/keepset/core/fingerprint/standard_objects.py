"""Standard objects: what comes with Python and has a content that copying does not know."""

from __future__ import annotations

import _weakref
import contextvars
import copy
import functools
import gc
import itertools
import os
import re
import struct
import sys
import types
import typing
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from keepset.core.fingerprint.extensions import file_digest
from keepset.core.fingerprint.origin import is_library_class
from keepset.core.fingerprint.sketch import Part, Sketch, Uncountable, part

_STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")
_CONTEXT = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")
# What a type variable or an alias was made from.
_MADE_FROM = ("__bound__", "__constraints__", "__default__", "__supertype__", "__value__")


def standard_sketch(value: Any) -> Sketch | None:
    """The sketch of an object of the standard library that has a rule; None for all others."""
    rule = _RULES.get(type(value))
    if rule is not None:
        return rule(value)
    kind = type(value)
    if kind.__module__ == "decimal" and kind.__name__ == "Context" and is_library_class(kind):
        return _decimal_context(value)
    if kind.__module__ == "typing" and is_library_class(kind) and hasattr(value, "__name__"):
        return _typing(value)
    if kind.__module__ == "_json" and is_library_class(kind):
        return Sketch("library name", f"json.{kind.__name__}", kind.__name__.encode())
    if any(value is getattr(sys, name, None) for name in _STREAMS):
        return Sketch("library name", f"{kind.__name__} of the process", kind.__name__.encode())
    if kind.__module__ in ("_hashlib", "_blake2", "_sha1", "_sha2", "_sha3", "_md5"):
        return _object(value, name=value.name, digest=value.copy().hexdigest())
    return _ctypes(value, sys.modules["ctypes"]) if "ctypes" in sys.modules else None


def _object(value: Any, /, **parts: Any) -> Sketch:
    kind = type(value)
    named = [part(name, item) for name, item in parts.items()]
    return Sketch("object", f"{kind.__name__} object", parts=[_class(kind), *named])


def _class(kind: type) -> Part:
    return Part(f"class {kind.__name__}", kind, b"class")


def _context_variable(value: contextvars.ContextVar[Any]) -> Sketch:
    try:
        sketch = _object(value, name=value.name, value=value.get())
    except LookupError:
        sketch = _object(value, name=value.name)
    sketch.text = f"context variable {value.name}"
    return sketch


def _opaque(value: Any) -> Sketch:
    # What it calls is no attribute, but the collector knows it.
    inside = [each for each in gc.get_referents(value) if each is not type(value)]
    return _object(value, inside=inside)


def _match(value: re.Match[Any]) -> Sketch:
    return _object(
        value,
        pattern=value.re,
        string=value.string,
        bounds=(value.pos, value.endpos),
        at=value.regs,
    )


def _decimal_context(value: Any) -> Sketch:
    # Its flags say what calculations met, and change no result.
    settings = {name: getattr(value, name) for name in _CONTEXT}
    traps = sorted(signal.__name__ for signal, is_set in value.traps.items() if is_set)
    return _object(value, **settings, traps=traps)


def _reference(value: Any) -> Sketch:
    return _object(value, referent=value())


def _cycle(value: Any) -> Sketch:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12
            _, (rest,), state = value.__reduce__()
            return _object(value, rest=list(copy.copy(rest)), state=state)
    except (TypeError, ValueError) as error:  # over something that cannot be copied
        raise Uncountable("an itertools.cycle") from error


def _cell(value: types.CellType) -> Sketch:
    try:
        return _object(value, content=value.cell_contents)
    except ValueError:
        return _object(value)


def _typing(value: Any) -> Sketch | None:
    parts = {}
    for name in _MADE_FROM:
        try:
            parts[name] = getattr(value, name)
        except AttributeError:
            continue
    return _object(value, name=value.__name__, **parts) if parts else None


def _forward(value: typing.ForwardRef) -> Sketch:
    # Whether it was resolved already does not count.
    return _object(value, name=value.__forward_arg__)


def _ctypes(value: Any, ctypes: Any) -> Sketch | None:
    if isinstance(value, ctypes.CDLL):
        found = file_digest(value._name) if value._name else b""
        return _object(value, name=os.path.basename(value._name or ""), file=found)
    if isinstance(value, ctypes._CFuncPtr):
        inside = list((value._objects or {}).values())
        named = any(isinstance(each, ctypes.CDLL) for each in inside)
        name = getattr(value, "__name__", None) if named else None
        return _object(
            value, name=name, arguments=value.argtypes, result=value.restype, inside=inside
        )
    if type(value).__name__ == "CThunkObject":  # a Python function that C calls
        return _opaque(value)
    if isinstance(value, ctypes.Structure):
        kinds = [base for base in reversed(type(value).__mro__) if "_fields_" in vars(base)]
        names = [field[0] for kind in kinds for field in vars(kind)["_fields_"]]
        fields = {f"field {name}": getattr(value, name) for name in names}
        return _object(value, **fields, **vars(value))
    if isinstance(value, ctypes.Union):
        return _object(value, content=bytes(value))
    if isinstance(value, ctypes.Array):
        return _object(value, items=list(value))
    if isinstance(value, ctypes.c_void_p | ctypes._Pointer):
        if value:
            raise Uncountable("a pointer of ctypes", ", because it holds an address")
        return _object(value)
    if isinstance(value, ctypes._SimpleCData):
        return _object(value, value=value.value)
    return None


_RULES: dict[type, Callable[[Any], Sketch]] = {
    struct.Struct: lambda value: _object(value, format=value.format),
    contextvars.ContextVar: _context_variable,
    contextvars.Context: lambda value: _object(value, variables=list(value.items())),
    type(functools.cmp_to_key(lambda one, other: 0)): _opaque,
    itertools.cycle: _cycle,
    re.Match: _match,
    types.CellType: _cell,
    typing.ForwardRef: _forward,
    _weakref.ReferenceType: _reference,
    weakref.WeakMethod: _reference,
    weakref.WeakSet: lambda value: _object(value, items=frozenset(value)),
    weakref.WeakKeyDictionary: lambda value: _object(value, items=dict(value.items())),
    weakref.WeakValueDictionary: lambda value: _object(value, items=dict(value.items())),
    type({}.keys()): lambda value: _object(value, keys=list(value)),
    type({}.values()): lambda value: _object(value, values=list(value)),
    type({}.items()): lambda value: _object(value, items=list(value)),
}
