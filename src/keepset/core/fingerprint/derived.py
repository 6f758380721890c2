"""Derived: what an instance holds of the builtin class that the user derived its class from."""

from __future__ import annotations

import functools
import logging
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

_VECTORIZE = ("pyfunc", "otypes", "signature", "excluded")

# The class, what to call an instance, and its content as a builtin value. The methods are those of
# the builtin class, because the user's class may have others. Subclasses come first.
_BASES: list[tuple[type, str, Callable[[Any], Any]]] = [
    (OrderedDict, "mapping", lambda value: dict(OrderedDict.items(value))),
    (defaultdict, "mapping", lambda value: (dict(dict.items(value)), value.default_factory)),
    (dict, "mapping", lambda value: dict(dict.items(value))),
    (list, "list", lambda value: list(list.__iter__(value))),
    (set, "set", lambda value: frozenset(set.__iter__(value))),
    (frozenset, "set", lambda value: frozenset(frozenset.__iter__(value))),
    (bytearray, "bytearray", lambda value: bytearray(memoryview(value))),
    (staticmethod, "staticmethod", lambda value: staticmethod(value.__func__)),
    (classmethod, "classmethod", lambda value: classmethod(value.__func__)),
    (property, "property", lambda value: property(value.fget, value.fset, value.fdel)),
    (functools.cached_property, "property", lambda value: value.func),
    (np.vectorize, "np.vectorize", lambda value: [getattr(value, name) for name in _VECTORIZE]),
    (np.generic, "scalar", lambda value: np.asarray(value)),
]
# What the base keeps in the attributes of an instance: content, caches and locks.
_COPIED = (*functools.WRAPPER_ASSIGNMENTS, "__annotations__", "__wrapped__")
_KNOWN: dict[type, tuple[str, ...]] = {
    staticmethod: _COPIED,
    classmethod: _COPIED,
    functools.cached_property: ("func", "attrname", "lock", "__doc__"),
    np.vectorize: (*_VECTORIZE, "cache", "_ufunc", "_in_and_out_core_dims", "__doc__", "__name__"),
}


def content_of_base(value: Any) -> tuple[str, Any, tuple[str, ...]] | None:
    """The sort of an instance, its content as a builtin value, and attributes that follow from it.

    None for what derives from nothing of the kind.
    """
    if isinstance(value, np.ndarray):
        return _array(value)
    for base, sort, content in _BASES:
        if isinstance(value, base):
            return sort, content(value), _KNOWN.get(base, ())
    if "pathlib" in sys.modules and isinstance(value, sys.modules["pathlib"].PurePath):
        bases = sys.modules["pathlib"].Path.__mro__
        known = tuple(name for base in bases for name in getattr(base, "__slots__", ()))
        return "path", value.as_posix(), known
    if isinstance(value, logging.Logger):
        # Loggers say things and change nothing; what the user added may.
        return "logger", value.name, tuple(vars(logging.Logger("any")))
    if "numpy.random" in sys.modules and isinstance(value, np.random.Generator):
        return "generator", value.bit_generator, ()
    return None


def _array(value: Any) -> tuple[str, Any, tuple[str, ...]]:
    if "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray):
        plain = np.ma.MaskedArray(np.asarray(value), np.ma.getmaskarray(value))
        plain.fill_value = value.fill_value
        known = ("_mask", "_fill_value", "_hardmask", "_sharedmask", "_isfield", "_baseclass")
        return "array", plain, known
    return "array", np.asarray(value), ()
